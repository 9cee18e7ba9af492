package v1

// The reasons that the conditions of a Dojo give, beside conditions.ReasonSettled and conditions.ReasonRetrying that all kinds share.
const (
	// ReasonScaledToZero (Available=False): spec.replicas is 0, or an autoscaler of the Deployment wants none: nothing runs and nothing is wrong.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonReplicasReady (Available=True): at least one pod answers its readiness probe.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonStarting (Available=False): no pod has been ready since the Dojo was created.
	ReasonStarting = "Starting"
	// ReasonScalingUp (Available=False): no pod was wanted, and none is ready yet since.
	ReasonScalingUp = "ScalingUp"
	// ReasonNoReadyReplicas (Available=False): pods have been ready before, none is now. This is an outage.
	ReasonNoReadyReplicas = "NoReadyReplicas"

	// ReasonRollingOut (Progressing): pods are being started or stopped, for a new revision or another number of replicas.
	ReasonRollingOut = "RollingOut"
	// ReasonReplicasUnavailable: a finished rollout has lost replicas. Progressing at first, since Kubernetes replaces pods by
	// itself, and Degraded once it has lasted longer than the operator's --progress-deadline.
	ReasonReplicasUnavailable = "ReplicasUnavailable"
	// ReasonWaitingForCredentials (Progressing): the Secret of spec.credentialsRef does not exist yet.
	ReasonWaitingForCredentials = "WaitingForCredentials"
	// ReasonWaitingForDeletion (Progressing): a child of a former Dojo of the same name is still being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and so is the Dojo.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonCredentialsNotFound (Degraded): the Secret of spec.credentialsRef is still missing after --progress-deadline.
	// Create it, or name another; pods that run already go on with the credentials that they have.
	ReasonCredentialsNotFound = "CredentialsNotFound"
	// ReasonCredentialsNotShared (Degraded): the Secret is in another namespace and does not exist there or does not
	// allow this namespace. Its owner shares it with the annotation core.jutsu.com/allowed-namespaces. Or the operator does not
	// watch that namespace (--watch-namespaces).
	ReasonCredentialsNotShared = "CredentialsNotShared"
	// ReasonCredentialsIncomplete (Degraded): the Secret lacks a key or has an empty one; the message names it.
	ReasonCredentialsIncomplete = "CredentialsIncomplete"
	// ReasonDatabaseNotSupported (Degraded): spec.database asks for a kind of database that no operator provides yet.
	ReasonDatabaseNotSupported = "DatabaseNotSupported"
	// ReasonNameTaken (Degraded): an object with the name of a child exists and belongs to somebody else. It is left
	// alone. Rename the Dojo, or delete that object.
	ReasonNameTaken = "NameTaken"
	// ReasonChildRefused (Degraded): the API server refuses a child, because of a quota, a policy or a missing
	// permission; the message says which. It is tried again every 15 seconds.
	ReasonChildRefused = "ChildRefused"
	// ReasonPodsRefused (Degraded): the Deployment may not create its pods, because of a quota or a policy; the
	// message says which.
	ReasonPodsRefused = "PodsRefused"
	// ReasonPaused (Degraded): somebody has paused the Deployment's rollout, so that nothing reaches the pods until it is resumed.
	ReasonPaused = "Paused"
	// ReasonProgressDeadlineExceeded (Degraded): the rollout has made no progress for --progress-deadline and the pods do not say why.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons that come from the pods themselves (Degraded). They keep the names that Kubernetes gives them.
const (
	// ReasonImagePullBackOff: the image cannot be pulled.
	ReasonImagePullBackOff = "ImagePullBackOff"
	// ReasonInvalidImageName: the image's name is not one.
	ReasonInvalidImageName = "InvalidImageName"
	// ReasonErrImageNeverPull: the image is not on the node and the policy forbids to pull it.
	ReasonErrImageNeverPull = "ErrImageNeverPull"
	// ReasonCreateContainerConfigError: the container's configuration cannot be made, for example since a key of a Secret is missing.
	ReasonCreateContainerConfigError = "CreateContainerConfigError"
	// ReasonCreateContainerError: the runtime refuses to create the container.
	ReasonCreateContainerError = "CreateContainerError"
	// ReasonRunContainerError: the runtime cannot start the container.
	ReasonRunContainerError = "RunContainerError"
	// ReasonCrashLoopBackOff: the application has ended three times or more and is not ready.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonUnschedulable: no node takes the pod.
	ReasonUnschedulable = "Unschedulable"
)

// ConditionDatabaseReady is the type of the condition that a Dojo with spec.postgres has beside those of every kind: whether its
// database is as the spec says, and if not, which step is under way or has failed. Progressing, Degraded and Ready take it into account.
const ConditionDatabaseReady = "DatabaseReady"

// The reasons of a Dojo with spec.postgres, in DatabaseReady and in the other conditions alike.
const (
	// ReasonDatabaseReady (DatabaseReady=True): the database, its owner and its schema are as the spec says.
	ReasonDatabaseReady = "Ready"
	// ReasonWaitingForCluster (Progressing): the CloudNativePG Cluster does not exist yet, or not all of its instances are ready.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonCreatingRole (Progressing): Postgres does not have the role that owns the database yet, or not its present password.
	ReasonCreatingRole = "CreatingRole"
	// ReasonCreatingDatabase (Progressing): Postgres does not have the database yet.
	ReasonCreatingDatabase = "CreatingDatabase"
	// ReasonWaitingForSQL (Progressing): a ConfigMap or Secret of spec.postgres.initSQL does not exist yet.
	ReasonWaitingForSQL = "WaitingForSQL"
	// ReasonApplyingSchema (Progressing): a Job brings the tables up to date.
	ReasonApplyingSchema = "ApplyingSchema"
	// ReasonTakingFinalBackup (Progressing): the Dojo is being deleted, and waits for a last backup.
	ReasonTakingFinalBackup = "TakingFinalBackup"
	// ReasonDeletingDatabase (Progressing): the Dojo is being deleted with its data; the message says what it waits for.
	ReasonDeletingDatabase = "DeletingDatabase"

	// ReasonCloudNativePGNotInstalled (Degraded): the cluster lacks a kind of CloudNativePG 1.30. Install it; the Dojo then goes on
	// by itself. What runs goes on meanwhile.
	ReasonCloudNativePGNotInstalled = "CloudNativePGNotInstalled"
	// ReasonClusterNotFound (Degraded): the Cluster of spec.postgres.clusterRef is still missing after --database-deadline. Create it.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotReady (Degraded): the Cluster lacks instances and nothing has changed for --database-deadline. See
	// `kubectl describe cluster` and its pods.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonClusterHibernated (Degraded): the Cluster hibernates. Wake it by taking off its annotation cnpg.io/hibernation.
	ReasonClusterHibernated = "ClusterHibernated"
	// ReasonDatabaseFailed (Degraded): CloudNativePG cannot bring the role or the database into Postgres; the message says what it says.
	ReasonDatabaseFailed = "DatabaseFailed"
	// ReasonSQLNotFound (Degraded): a ConfigMap or Secret of spec.postgres.initSQL is still missing after --progress-deadline. Create it, or
	// take it out.
	ReasonSQLNotFound = "SQLNotFound"
	// ReasonSchemaFailed (Degraded): the Job that brings the tables up to date has failed; the message has the last lines of its log. Mend
	// the SQL, or delete the Job to have it tried again.
	ReasonSchemaFailed = "SchemaFailed"
	// ReasonFinalBackupFailed (Degraded): the last backup of a Dojo that is being deleted has failed, so nothing is deleted. Delete the Backup
	// to have it tried again, or set finalBackup to false.
	ReasonFinalBackupFailed = "FinalBackupFailed"
)

// ConditionBackupSucceeded is the type of the condition that a Dojo with spec.postgres.cluster.backup has once CloudNativePG has tried a backup:
// whether the last one succeeded. It is for people and for alarms; the other conditions do not take it into account, since the next backup may
// succeed by itself.
const ConditionBackupSucceeded = "BackupSucceeded"

const (
	// ReasonBackupSucceeded (BackupSucceeded=True): the last backup is there.
	ReasonBackupSucceeded = "LastBackupSucceeded"
	// ReasonBackupFailed (BackupSucceeded=False): the last backup has failed; the message has CloudNativePG's words.
	ReasonBackupFailed = "LastBackupFailed"
)

// ConditionAlertsReady is the type of the condition that a Dojo with spec.alerts has: whether its alarms are on their way to the channel, and if
// not, what is missing. Progressing, Degraded and Ready take it into account, Available does not.
const ConditionAlertsReady = "AlertsReady"

// The reasons of a Dojo with spec.alerts, in AlertsReady and in the other conditions alike.
const (
	// ReasonAlertsReady (AlertsReady=True): the channel, its webhook and the objects of prometheus-operator are there.
	ReasonAlertsReady = "Ready"
	// ReasonWaitingForChannel (Progressing): the DiscordChannel does not exist yet, or discord-operator is still at it.
	ReasonWaitingForChannel = "WaitingForChannel"

	// ReasonDiscordOperatorNotInstalled (Degraded): the cluster lacks the kind DiscordChannel. Install discord-operator; the Dojo then goes on
	// by itself.
	ReasonDiscordOperatorNotInstalled = "DiscordOperatorNotInstalled"
	// ReasonPrometheusOperatorNotInstalled (Degraded): the cluster lacks a kind of prometheus-operator; the message names it. Install it; the Dojo
	// then goes on by itself.
	ReasonPrometheusOperatorNotInstalled = "PrometheusOperatorNotInstalled"
	// ReasonChannelNotFound (Degraded): the DiscordChannel of spec.alerts.discord.channelRef is still missing after --progress-deadline. Create
	// it, or name another.
	ReasonChannelNotFound = "ChannelNotFound"
	// ReasonChannelNotReady (Degraded): the DiscordChannel cannot be posted to, for longer than --progress-deadline or because of
	// something that a person has to mend; the message has its own words.
	ReasonChannelNotReady = "ChannelNotReady"
	// ReasonChannelWithoutWebhook (Degraded): the DiscordChannel of spec.alerts.discord.channelRef has no spec.webhook, so Alertmanager cannot post
	// there. Add one.
	ReasonChannelWithoutWebhook = "ChannelWithoutWebhook"
)
