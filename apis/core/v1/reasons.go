// SPDX-License-Identifier: Apache-2.0

package v1

// The reasons that the conditions of a Dojo have, beside conditions.ReasonReconciled and
// conditions.ReasonRetrying, which all kinds share.
const (
	// ReasonScaledToZero (Available=False): spec.replicas is 0, or an autoscaler has scaled the
	// Deployment to 0. This is no error.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonSuspended (Available=False; Ready and DatabaseReady=True): the Dojo is suspended by
	// spec.suspend. This is no error.
	ReasonSuspended = "Suspended"
	// ReasonSuspending: the Dojo is being suspended, and its pods or the instances of its Cluster have yet
	// to end. Progressing at first, and Degraded where pods have not ended after --database-deadline.
	ReasonSuspending = "Suspending"
	// ReasonPaused (Paused=True): the Dojo has the annotation core.jutsu.com/paused. Ready has the reason
	// too: it is True where the Dojo matches its spec, and False (Progressing) where something is to be
	// written; the message names it. Degraded while the Dojo is being deleted with its data: nothing is
	// deleted until the annotation is removed.
	ReasonPaused = "Paused"
	// ReasonReplicasReady (Available=True): at least one pod passes its readiness probe.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonStarting (Available=False): no pod has been ready since the Dojo was created.
	ReasonStarting = "Starting"
	// ReasonScalingUp (Available=False): the Dojo was scaled up from 0, and no pod is ready yet.
	ReasonScalingUp = "ScalingUp"
	// ReasonNoReadyReplicas (Available=False): pods have been ready before, and none is now. This
	// is an outage.
	ReasonNoReadyReplicas = "NoReadyReplicas"
	// ReasonDatabaseUnreachable (Available=False): the Cluster of spec.postgres has no ready primary, so
	// that requests cannot reach Postgres. This is an outage, even while pods are ready.
	ReasonDatabaseUnreachable = "DatabaseUnreachable"

	// ReasonRollingOut (Progressing): pods are being started or stopped, for a new revision or a
	// changed number of replicas.
	ReasonRollingOut = "RollingOut"
	// ReasonReplicasUnavailable: replicas of a complete rollout have become unavailable.
	// Progressing at first, because Kubernetes replaces them, and Degraded after the operator's
	// --progress-deadline.
	ReasonReplicasUnavailable = "ReplicasUnavailable"
	// ReasonWaitingForCredentials (Progressing): the Secret of spec.credentialsRef, or of bootstrap.import,
	// does not exist yet.
	ReasonWaitingForCredentials = "WaitingForCredentials"
	// ReasonWaitingForDeletion (Progressing): a child of a former Dojo with the same name is still
	// being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and the Dojo with
	// it.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonCredentialsNotFound (Degraded): the Secret of spec.credentialsRef, or of bootstrap.import, does
	// not exist after --progress-deadline. Create it, or name another one. Running pods keep the credentials that
	// they have.
	ReasonCredentialsNotFound = "CredentialsNotFound"
	// ReasonCredentialsNotShared (Degraded): the Secret is in another namespace, and does not exist
	// there or does not allow the Dojo's namespace. Its owner allows it with the annotation
	// core.jutsu.com/allowed-namespaces. Or the operator does not watch that namespace
	// (--watch-namespaces).
	ReasonCredentialsNotShared = "CredentialsNotShared"
	// ReasonCredentialsIncomplete (Degraded): the Secret lacks a key, or its value is empty or
	// invalid; the message names the key.
	ReasonCredentialsIncomplete = "CredentialsIncomplete"
	// ReasonDatabaseNotSupported (Degraded): the kind of database in spec.database is not supported
	// yet.
	ReasonDatabaseNotSupported = "DatabaseNotSupported"
	// ReasonNameConflict (Degraded): an object with the name of a child exists and is not
	// controlled by the Dojo, or takes more than 128 KiB of memory. It is not changed. Delete it, or
	// create the Dojo under another name.
	ReasonNameConflict = "NameConflict"
	// ReasonChildRefused (Degraded): the API server refuses a child because of a quota, a policy or
	// a missing permission; the message has the cause. It is retried with pauses that grow from 15
	// seconds to 10 minutes.
	ReasonChildRefused = "ChildRefused"
	// ReasonReplicaFailure (Degraded): the Deployment cannot create its pods because of a quota or
	// a policy; the message has the cause.
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonDeploymentPaused (Degraded): a user has paused the Deployment's rollout, so that
	// changes do not reach the pods until it is resumed.
	ReasonDeploymentPaused = "DeploymentPaused"
	// ReasonAutoscalingInactive (Degraded): the HorizontalPodAutoscaler of spec.autoscaling has not been
	// able to scale for five minutes, so that the number of pods stays as it is; the message has its own.
	// Usually the cluster has no metrics of pods: install metrics-server.
	ReasonAutoscalingInactive = "AutoscalingInactive"
	// ReasonProgressDeadlineExceeded (Degraded): the rollout has made no progress for
	// --progress-deadline, and the pods report no cause.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of a Dojo that has or had spec.exposure.gateway.
const (
	// ReasonGatewayAPINotInstalled (Degraded): the cluster lacks the kind HTTPRoute. Install the Gateway
	// API; the Dojo then continues automatically.
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
	// ReasonWaitingForGateway (Progressing): the controller of a Gateway has not reported on the
	// HTTPRoute yet.
	ReasonWaitingForGateway = "WaitingForGateway"
	// ReasonGatewayNotReady (Degraded): no controller of the Gateway has reported on the HTTPRoute
	// after --progress-deadline: the Gateway does not exist, or its controller does not run. Create it,
	// or name another one.
	ReasonGatewayNotReady = "GatewayNotReady"
	// ReasonWaitingForIngress (Progressing): the Dojo had a Gateway, whose HTTPRoute stays until the Ingress has
	// an address.
	ReasonWaitingForIngress = "WaitingForIngress"
	// ReasonIngressNotReady (Degraded): the same, after --progress-deadline: no controller takes the Ingress, or
	// one that reports no address. Correct its class, or delete the HTTPRoute.
	ReasonIngressNotReady = "IngressNotReady"
	// ReasonRouteRefused (Degraded): a Gateway does not accept the HTTPRoute, or cannot resolve what it
	// refers to; the message has that of the Gateway's controller.
	ReasonRouteRefused = "RouteRefused"
)

// Reasons of the pods (Degraded), under the names that Kubernetes gives them.
const (
	// ReasonImagePullBackOff: the image cannot be pulled.
	ReasonImagePullBackOff = "ImagePullBackOff"
	// ReasonInvalidImageName: the name of the image is invalid.
	ReasonInvalidImageName = "InvalidImageName"
	// ReasonErrImageNeverPull: the image is not on the node, and its pull policy is Never.
	ReasonErrImageNeverPull = "ErrImageNeverPull"
	// ReasonCreateContainerConfigError: the container's configuration cannot be created, for
	// example because a key of a Secret is missing.
	ReasonCreateContainerConfigError = "CreateContainerConfigError"
	// ReasonCreateContainerError: the runtime refuses to create the container.
	ReasonCreateContainerError = "CreateContainerError"
	// ReasonRunContainerError: the runtime cannot start the container.
	ReasonRunContainerError = "RunContainerError"
	// ReasonCrashLoopBackOff: the application has exited three times or more and is not ready.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonUnschedulable: no node fits the pod.
	ReasonUnschedulable = "Unschedulable"
)

// ConditionPaused is the type of a condition that a Dojo has only while it is True: the annotation
// core.jutsu.com/paused is set, so that none of the Dojo's children is written.
const ConditionPaused = "Paused"

// ConditionDatabaseReady is the type of the condition that a Dojo with spec.postgres has in
// addition: whether its database matches the spec, and if not, which step is in progress or has
// failed. Progressing, Degraded and Ready include it.
const ConditionDatabaseReady = "DatabaseReady"

// The reasons of a Dojo with spec.postgres, in DatabaseReady and in the other conditions alike.
const (
	// ReasonDatabaseReady (DatabaseReady=True): the database, its owner and its schema match the
	// spec.
	ReasonDatabaseReady = "Ready"
	// ReasonWaitingForCluster (Progressing): the CloudNativePG Cluster does not exist yet, or not
	// all of its instances are ready.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonCreatingRole (Progressing): Postgres does not have the login of the application yet, or
	// not its current password.
	ReasonCreatingRole = "CreatingRole"
	// ReasonRotatingPassword: the application has turned to another login, and the former one stays
	// valid until no pod has it. Progressing at first, and Degraded after the operator's
	// --database-deadline; the message says which pods. The password is not rotated again before.
	ReasonRotatingPassword = "RotatingPassword"
	// ReasonCreatingDatabase (Progressing): Postgres does not have the database yet.
	ReasonCreatingDatabase = "CreatingDatabase"
	// ReasonWaitingForBackup (Progressing): the Backup of bootstrap.recovery does not exist yet, or has not
	// completed.
	ReasonWaitingForBackup = "WaitingForBackup"
	// ReasonRestoring (Progressing): CloudNativePG restores the data of the Dojo's own Cluster.
	ReasonRestoring = "Restoring"
	// ReasonImporting (Progressing): CloudNativePG imports the data of the Dojo's own Cluster.
	ReasonImporting = "Importing"
	// ReasonWaitingForSQL (Progressing): a ConfigMap or Secret of spec.postgres.initSQL, or the key
	// in it, does not exist yet.
	ReasonWaitingForSQL = "WaitingForSQL"
	// ReasonApplyingSchema (Progressing): a Job applies the SQL.
	ReasonApplyingSchema = "ApplyingSchema"
	// ReasonWaitingForPooler (Progressing): not all instances of PgBouncer that spec.postgres.cluster.pooler
	// asks for are available yet.
	ReasonWaitingForPooler = "WaitingForPooler"
	// ReasonRemovingPooler: spec.postgres.cluster.pooler was removed, and the Pooler stays until no pod uses
	// it any more. Progressing at first, and Degraded after --database-deadline; the message says which pods.
	ReasonRemovingPooler = "RemovingPooler"
	// ReasonUpgrading (Progressing): Postgres is upgraded to another major version;
	// status.database.upgrade has the step.
	ReasonUpgrading = "Upgrading"
	// ReasonTakingFinalBackup (Progressing): the Dojo is being deleted and waits for a final
	// backup.
	ReasonTakingFinalBackup = "TakingFinalBackup"
	// ReasonDeletingDatabase (Progressing): the Dojo is being deleted with its data, or with the policy
	// Retain instead of a former Delete; the message names what it waits for.
	ReasonDeletingDatabase = "DeletingDatabase"

	// ReasonCloudNativePGNotInstalled (Degraded): the cluster lacks a kind of CloudNativePG 1.30.
	// Install it; the Dojo then continues automatically. Running pods are not affected.
	ReasonCloudNativePGNotInstalled = "CloudNativePGNotInstalled"
	// ReasonCloudNativePGNotReadable: a kind of CloudNativePG is installed and cannot be read, because
	// the API server does not serve it, or does not permit it. Nothing is decided meanwhile. Progressing
	// at first, and Degraded after --progress-deadline.
	ReasonCloudNativePGNotReadable = "CloudNativePGNotReadable"
	// ReasonClusterNotFound (Degraded): the Cluster of spec.postgres.clusterRef does not exist
	// after --database-deadline. Create it.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotReady (Degraded): the Cluster lacks ready instances and has made no progress
	// for --database-deadline. See `kubectl describe cluster` and its pods.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonClusterRefused (Degraded): CloudNativePG refuses what spec.postgres.cluster says, such as a
	// parameter that it sets itself; the message has its error. The Cluster stays as it is. Correct the
	// field that the error names.
	ReasonClusterRefused = "ClusterRefused"
	// ReasonPoolerRefused (Degraded): CloudNativePG refuses what spec.postgres.cluster.pooler says, such as
	// a parameter that it does not pass on; the message has its error. The Pooler stays as it is. Correct
	// the field that the error names.
	ReasonPoolerRefused = "PoolerRefused"
	// ReasonPoolerNotReady (Degraded): the Pooler lacks available instances and has made no progress for
	// --database-deadline. See `kubectl describe pooler` and its pods.
	ReasonPoolerNotReady = "PoolerNotReady"
	// ReasonVersionTooLow (Degraded): version or imageName is of a lower major version of Postgres than
	// the data of the Cluster. The Cluster is not changed. Name the version of the data, or a higher one.
	ReasonVersionTooLow = "VersionTooLow"
	// ReasonUpgradeNeedsBackup (Degraded): an upgrade to another major version of Postgres is asked for, and
	// there are no backups to go back to. Nothing is changed. Configure backups, set the annotation
	// core.jutsu.com/upgrade-without-backup, or set the version back.
	ReasonUpgradeNeedsBackup = "UpgradeNeedsBackup"
	// ReasonUpgradeBackupFailed (Degraded): the backup before an upgrade has failed or does not end, so that
	// nothing is changed. Delete the Backup to retry it, or set the version back.
	ReasonUpgradeBackupFailed = "UpgradeBackupFailed"
	// ReasonUpgradeFailed (Degraded): CloudNativePG could not upgrade the data, or the query after it fails,
	// or a step takes longer than --database-deadline. No pod runs meanwhile; the message has how to go back.
	ReasonUpgradeFailed = "UpgradeFailed"
	// ReasonClusterHibernated (Degraded): the Cluster is hibernated, and not by spec.suspend. Remove its annotation
	// cnpg.io/hibernation.
	ReasonClusterHibernated = "ClusterHibernated"
	// ReasonDatabaseLost (Degraded): the Dojo's own Cluster is gone, with the data. No empty one is created
	// in its place until you restore it under its name or set the annotation
	// core.jutsu.com/recreate-database; the message has its value.
	ReasonDatabaseLost = "DatabaseLost"
	// ReasonBackupNotUsable (Degraded): the Backup of bootstrap.recovery does not exist after
	// --progress-deadline, has failed, or does not say where it is. No Cluster is created.
	ReasonBackupNotUsable = "BackupNotUsable"
	// ReasonRestoreFailed (Degraded): CloudNativePG could not restore the data, or does not begin; the
	// message says where the cause is. There is no data yet: delete the Cluster to start over.
	ReasonRestoreFailed = "RestoreFailed"
	// ReasonImportFailed (Degraded): CloudNativePG could not import the data, or does not begin; the
	// message says where the cause is. There is no data yet: delete the Cluster to start over.
	ReasonImportFailed = "ImportFailed"
	// ReasonDatabaseNotRestored (Degraded): what was restored has no database of the name that
	// bootstrap.recovery.database has; the message names those that it has. No empty one is created.
	ReasonDatabaseNotRestored = "DatabaseNotRestored"
	// ReasonOriginMismatch (Degraded): the Cluster exists, and its data did not come from what bootstrap
	// says. It is left alone.
	ReasonOriginMismatch = "OriginMismatch"
	// ReasonDatabaseFailed (Degraded): CloudNativePG cannot create or change the role or the
	// database in Postgres; the message has its error.
	ReasonDatabaseFailed = "DatabaseFailed"
	// ReasonSQLNotFound (Degraded): a ConfigMap or Secret of spec.postgres.initSQL, or the key in it,
	// does not exist after --progress-deadline. Create it, or remove the reference.
	ReasonSQLNotFound = "SQLNotFound"
	// ReasonSchemaFailed (Degraded): the Job that applies the SQL has failed; the message has the
	// last lines of its log. Fix the SQL, or delete the Job to retry it.
	ReasonSchemaFailed = "SchemaFailed"
	// ReasonSchemaStalled (Degraded): the Job that applies the SQL has not started, runs for longer
	// than --database-deadline or does not end; or a former one does not. The message has the cause.
	ReasonSchemaStalled = "SchemaStalled"
	// ReasonClusterInUse (Degraded): the Dojo is being deleted with its Cluster, or suspended, and others
	// have databases in it; the message names them. Nothing is deleted or hibernated before they are gone.
	ReasonClusterInUse = "ClusterInUse"
	// ReasonDeletionStalled (Degraded): the Dojo is being deleted with its data, and a step of that does
	// not end; the message has what it waits for, and what to do.
	ReasonDeletionStalled = "DeletionStalled"
	// ReasonFinalBackupFailed (Degraded): the final backup of a Dojo that is being deleted has failed,
	// its definition is invalid, or the Cluster is not the Dojo's by its labels, so no data is deleted.
	// Delete the Backup to retry it, set the labels, or set finalBackup to false.
	ReasonFinalBackupFailed = "FinalBackupFailed"
)

// ConditionBackupSucceeded is the type of the condition that a Dojo with
// spec.postgres.cluster.backup has after the first backup: whether the last one succeeded; also False
// while none can. It is for users and alerts; the other conditions do not include it, because the
// next backup may succeed.
const ConditionBackupSucceeded = "BackupSucceeded"

const (
	// ReasonBackupSucceeded (BackupSucceeded=True): the last backup has completed.
	ReasonBackupSucceeded = "LastBackupSucceeded"
	// ReasonBackupFailed (BackupSucceeded=False): the last backup has failed; the message has
	// CloudNativePG's error.
	ReasonBackupFailed = "LastBackupFailed"
	// ReasonArchivingFailed (BackupSucceeded=False): the write-ahead log cannot be archived, because the
	// object store does not answer, or has the log of a former Cluster; the message has
	// CloudNativePG's error. No backup completes meanwhile, and the log fills the volume.
	ReasonArchivingFailed = "ArchivingFailed"
)

// ConditionAlertsReady is the type of the condition that a Dojo with spec.alerts has in addition:
// whether its alerts can be delivered to the channel, and if not, what is missing. Progressing,
// Degraded and Ready include it, Available does not.
const ConditionAlertsReady = "AlertsReady"

// The reasons of a Dojo with spec.alerts, in AlertsReady and in the other conditions alike.
const (
	// ReasonAlertsReady (AlertsReady=True): the channel, its webhook and the objects of
	// prometheus-operator exist.
	ReasonAlertsReady = "Ready"
	// ReasonWaitingForChannel (Progressing): the DiscordChannel does not exist or is not Ready yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonMovingAlerts (Progressing): the alerts go to another channel now, and the Dojo's own one is
	// deleted as soon as Alertmanager has its new configuration.
	ReasonMovingAlerts = "MovingAlerts"

	// ReasonDiscordOperatorNotInstalled (Degraded): the cluster lacks the kind DiscordChannel.
	// Install discord-operator; the Dojo then continues automatically.
	ReasonDiscordOperatorNotInstalled = "DiscordOperatorNotInstalled"
	// ReasonPrometheusOperatorNotInstalled (Degraded): the cluster lacks a kind of
	// prometheus-operator; the message names it. Install it; the Dojo then continues automatically.
	ReasonPrometheusOperatorNotInstalled = "PrometheusOperatorNotInstalled"
	// ReasonChannelNotFound (Degraded): the DiscordChannel of spec.alerts.discord.channelRef does
	// not exist after --progress-deadline. Create it, or name another one.
	ReasonChannelNotFound = "ChannelNotFound"
	// ReasonChannelNotReady (Degraded): the DiscordChannel is Degraded, or has not been Ready for
	// --progress-deadline; the message has its own message.
	ReasonChannelNotReady = "ChannelNotReady"
	// ReasonChannelWithoutWebhook (Degraded): the DiscordChannel of spec.alerts.discord.channelRef
	// has no spec.webhook, so Alertmanager cannot post there. Add one.
	ReasonChannelWithoutWebhook = "ChannelWithoutWebhook"
	// ReasonWebhookInvalid (Degraded): the Secret with the URL of the channel's webhook holds none of
	// Discord's API, or is missing. The alerts go where they went before, if they did. Delete the
	// Secret, which discord-operator writes again; give both operators the same --discord-api-url.
	ReasonWebhookInvalid = "WebhookInvalid"
)
