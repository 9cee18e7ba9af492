// SPDX-License-Identifier: Apache-2.0

package v1

// The reasons of a Dojo's conditions, beside conditions.ReasonReconciled and
// conditions.ReasonRetrying, which all kinds share.
const (
	// ReasonScaledToZero (Available=False): spec.replicas is 0, or an autoscaler has scaled the
	// Deployment to 0. Not an error.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonSuspended (Available=False; Ready and DatabaseReady=True): the Dojo is suspended by
	// spec.suspend. Not an error.
	ReasonSuspended = "Suspended"
	// ReasonSuspending: the Dojo is being suspended, and pods or instances of its Cluster still
	// run. Progressing at first, Degraded if pods still run after --database-deadline.
	ReasonSuspending = "Suspending"
	// ReasonPaused (Paused=True): the Dojo has the annotation core.jutsu.com/paused. Ready has this
	// reason too: True if the Dojo matches its spec, False (Progressing) with a message about the
	// pending changes otherwise. Degraded while the Dojo is being deleted with its data: nothing is
	// deleted until the annotation is removed.
	ReasonPaused = "Paused"
	// ReasonReplicasReady (Available=True): at least one pod passes its readiness probe.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonStarting (Available=False): no pod has been ready since the Dojo was created.
	ReasonStarting = "Starting"
	// ReasonScalingUp (Available=False): the Dojo was scaled up from 0, and no pod is ready yet.
	ReasonScalingUp = "ScalingUp"
	// ReasonNoReadyReplicas (Available=False): pods were ready before, and none is now. This is an
	// outage.
	ReasonNoReadyReplicas = "NoReadyReplicas"
	// ReasonDatabaseUnreachable (Available=False): the Cluster of spec.postgres has no ready
	// primary, so requests cannot reach Postgres. This is an outage, even if pods are ready.
	ReasonDatabaseUnreachable = "DatabaseUnreachable"

	// ReasonRollingOut (Progressing): pods are being started or stopped, for a new revision or a
	// changed number of replicas.
	ReasonRollingOut = "RollingOut"
	// ReasonReplicasUnavailable: replicas of a complete rollout have become unavailable.
	// Progressing at first, since Kubernetes replaces them, Degraded after the operator's
	// --progress-deadline.
	ReasonReplicasUnavailable = "ReplicasUnavailable"
	// ReasonWaitingForCredentials (Progressing): the Secret of spec.credentialsRef or of
	// bootstrap.import does not exist yet.
	ReasonWaitingForCredentials = "WaitingForCredentials"
	// ReasonWaitingForDeletion (Progressing): a child of a former Dojo of the same name is still
	// being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and the Dojo with
	// it.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonCredentialsNotFound (Degraded): the Secret of spec.credentialsRef or of
	// bootstrap.import does not exist after --progress-deadline. Create it, or name another one.
	// Running pods keep their credentials.
	ReasonCredentialsNotFound = "CredentialsNotFound"
	// ReasonCredentialsNotShared (Degraded): the Secret of another namespace does not exist or does
	// not allow the Dojo's namespace, or the operator does not watch the Secret's namespace
	// (--watch-namespaces). The Secret's owner allows the Dojo's namespace by the annotation
	// core.jutsu.com/allowed-namespaces.
	ReasonCredentialsNotShared = "CredentialsNotShared"
	// ReasonCredentialsIncomplete (Degraded): the Secret lacks a key, or its value is empty or
	// invalid; the message names the key.
	ReasonCredentialsIncomplete = "CredentialsIncomplete"
	// ReasonNameConflict (Degraded): a foreign object has the name of a child, or a child takes
	// more than 128 KiB of memory. The object is not changed. Delete the foreign object, make the
	// child smaller, or create the Dojo under another name.
	ReasonNameConflict = "NameConflict"
	// ReasonChildRefused (Degraded): the API server refuses a child because of a quota, a policy or
	// a missing permission; the message has the cause. The operator retries with pauses of 15
	// seconds to 10 minutes.
	ReasonChildRefused = "ChildRefused"
	// ReasonReplicaFailure (Degraded): the Deployment cannot create its pods because of a quota or
	// a policy; the message has the cause.
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonDeploymentPaused (Degraded): a user has paused the Deployment's rollout. Changes do not
	// reach the pods until the user resumes it.
	ReasonDeploymentPaused = "DeploymentPaused"
	// ReasonAutoscalingInactive (Degraded): the HorizontalPodAutoscaler of spec.autoscaling has not
	// been able to scale for five minutes; the message has the cause. Usually the cluster has no
	// metrics of pods: install metrics-server.
	ReasonAutoscalingInactive = "AutoscalingInactive"
	// ReasonRolloutFailed (Degraded): the rollout of a new image has failed, and
	// with spec.rollout.rollback Automatic the former image serves again. Name
	// another image.
	ReasonRolloutFailed = "RolloutFailed"
	// ReasonProgressDeadlineExceeded (Degraded): the rollout has made no
	// progress for spec.rollout.progressDeadline, or --progress-deadline, and
	// the pods report no cause.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of a Dojo that has or had spec.exposure.gateway.
const (
	// ReasonGatewayAPINotInstalled (Degraded): the cluster lacks the kind HTTPRoute. Install the
	// Gateway API; the Dojo then continues automatically.
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
	// ReasonWaitingForGateway (Progressing): the controller of a Gateway has not reported on the
	// HTTPRoute yet.
	ReasonWaitingForGateway = "WaitingForGateway"
	// ReasonGatewayNotReady (Degraded): no controller of the Gateway has reported on the HTTPRoute
	// after --progress-deadline. The Gateway does not exist, or its controller does not run. Create
	// it, or name another one.
	ReasonGatewayNotReady = "GatewayNotReady"
	// ReasonWaitingForIngress (Progressing): an Ingress replaces a Gateway. The HTTPRoute stays
	// until the Ingress has an address.
	ReasonWaitingForIngress = "WaitingForIngress"
	// ReasonIngressNotReady (Degraded): the Ingress has no address after --progress-deadline. If no
	// controller serves the Ingress, correct its class. If its controller reports no addresses,
	// delete the HTTPRoute.
	ReasonIngressNotReady = "IngressNotReady"
	// ReasonRouteRefused (Degraded): a Gateway does not accept the HTTPRoute, or cannot resolve its
	// references. The message has the message of the Gateway's controller.
	ReasonRouteRefused = "RouteRefused"
)

// Reasons of the pods (Degraded), by their Kubernetes names.
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

// ConditionPaused is the type of a condition that exists only while True: the Dojo has the
// annotation core.jutsu.com/paused, so none of its children is written.
const ConditionPaused = "Paused"

// ConditionDatabaseReady is the type of an additional condition of a Dojo with spec.postgres. It
// reports whether the database matches the spec, and otherwise the step in progress or the failed
// one. Progressing, Degraded and Ready include it.
const ConditionDatabaseReady = "DatabaseReady"

// The reasons of a Dojo with spec.postgres, in DatabaseReady and all other conditions.
const (
	// ReasonDatabaseReady (DatabaseReady=True): the database, its owner and its schema match the
	// spec.
	ReasonDatabaseReady = "Ready"
	// ReasonWaitingForCluster (Progressing): the CloudNativePG Cluster does not exist yet, or not
	// all of its instances are ready.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonCreatingRole (Progressing): Postgres does not have the application's login or its
	// current password yet.
	ReasonCreatingRole = "CreatingRole"
	// ReasonRotatingPassword: the application uses another login, and the former one stays valid
	// until no pod has it. Progressing at first, Degraded after the operator's --database-deadline;
	// the message names the pods. The next rotation waits.
	ReasonRotatingPassword = "RotatingPassword"
	// ReasonCreatingDatabase (Progressing): Postgres does not have the database yet.
	ReasonCreatingDatabase = "CreatingDatabase"
	// ReasonWaitingForBackup (Progressing): the Backup of bootstrap.recovery does not exist yet or
	// has not completed.
	ReasonWaitingForBackup = "WaitingForBackup"
	// ReasonRestoring (Progressing): CloudNativePG restores the data of the Dojo's own Cluster.
	ReasonRestoring = "Restoring"
	// ReasonImporting (Progressing): CloudNativePG imports the data of the Dojo's own Cluster.
	ReasonImporting = "Importing"
	// ReasonWaitingForSQL (Progressing): a ConfigMap or Secret of spec.postgres.initSQL, or its
	// key, does not exist yet.
	ReasonWaitingForSQL = "WaitingForSQL"
	// ReasonApplyingSchema (Progressing): a Job applies the SQL.
	ReasonApplyingSchema = "ApplyingSchema"
	// ReasonWaitingForPooler (Progressing): not all instances of spec.postgres.cluster.pooler are
	// available yet.
	ReasonWaitingForPooler = "WaitingForPooler"
	// ReasonRemovingPooler: spec.postgres.cluster.pooler was removed, and the Pooler stays until no
	// pod uses it. Progressing at first, Degraded after --database-deadline; the message names the
	// pods.
	ReasonRemovingPooler = "RemovingPooler"
	// ReasonUpgrading (Progressing): Postgres is being upgraded to another major version;
	// status.database.upgrade has the step.
	ReasonUpgrading = "Upgrading"
	// ReasonTakingFinalBackup (Progressing): the Dojo is being deleted and waits for a final
	// backup.
	ReasonTakingFinalBackup = "TakingFinalBackup"
	// ReasonDeletingDatabase (Progressing): the Dojo is being deleted with its data; the message
	// names the object that the deletion waits for. Or the reclaimPolicy of a Dojo that is being
	// deleted was changed from Delete to Retain, and not every object is marked as retained yet.
	ReasonDeletingDatabase = "DeletingDatabase"

	// ReasonCloudNativePGNotInstalled (Degraded): the cluster lacks a kind of CloudNativePG 1.30.
	// Install it; the Dojo then continues automatically. Running pods are not affected.
	ReasonCloudNativePGNotInstalled = "CloudNativePGNotInstalled"
	// ReasonCloudNativePGNotReadable: a kind of CloudNativePG is installed but not readable: the
	// API server does not serve it or does not permit it. Until it is readable, the operator
	// changes nothing. Progressing at first, Degraded after --progress-deadline.
	ReasonCloudNativePGNotReadable = "CloudNativePGNotReadable"
	// ReasonClusterNotFound (Degraded): the Cluster of spec.postgres.clusterRef does not exist
	// after --database-deadline. Create the Cluster.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotReady (Degraded): the Cluster lacks ready instances and has made no progress
	// for --database-deadline. See `kubectl describe cluster` and the Cluster's pods.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonClusterRefused (Degraded): CloudNativePG refuses spec.postgres.cluster, for example
	// because of a parameter that it sets itself; the message has its error. The Cluster is not
	// changed. Correct the field in the error.
	ReasonClusterRefused = "ClusterRefused"
	// ReasonPoolerRefused (Degraded): CloudNativePG refuses spec.postgres.cluster.pooler, for
	// example because of a parameter that it does not pass on; the message has its error. The
	// Pooler is not changed. Correct the field in the error.
	ReasonPoolerRefused = "PoolerRefused"
	// ReasonPoolerNotReady (Degraded): the Pooler lacks available instances and has made no
	// progress for --database-deadline. See `kubectl describe pooler` and the Pooler's pods.
	ReasonPoolerNotReady = "PoolerNotReady"
	// ReasonUnknownSize (Degraded): the platform does not define
	// spec.postgres.cluster.size, or its definition is invalid. The Cluster is
	// not changed. Use one of the sizes in the message.
	ReasonUnknownSize = "UnknownSize"
	// ReasonUnknownVersion (Degraded): the catalog of Postgres images has no image for
	// spec.postgres.cluster.version, or is not valid. The Cluster is not changed. Use one of the
	// versions in the message, or set imageName instead of version.
	ReasonUnknownVersion = "UnknownVersion"
	// ReasonUnknownTimeZone (Degraded): the time zone of spec.postgres.cluster.versionPolicy.window
	// does not exist, and no minor upgrade begins. Use a name of the IANA database, such as
	// Europe/Belgrade.
	ReasonUnknownTimeZone = "UnknownTimeZone"
	// ReasonVersionTooLow (Degraded): version or imageName has a lower major version of Postgres
	// than the Cluster's data. The Cluster is not changed. Name the version of the data, or a
	// higher one.
	ReasonVersionTooLow = "VersionTooLow"
	// ReasonUpgradeNeedsBackup (Degraded): an upgrade to another major version of Postgres is
	// requested, but spec.postgres.cluster.backup is not set. Nothing is changed. Set the version
	// back and configure backups, or set the annotation core.jutsu.com/upgrade-without-backup.
	ReasonUpgradeNeedsBackup = "UpgradeNeedsBackup"
	// ReasonUpgradeBackupFailed (Degraded): the backup before an upgrade has failed or does not
	// end. Nothing is changed. Delete the Backup to retry it, or set the version back.
	ReasonUpgradeBackupFailed = "UpgradeBackupFailed"
	// ReasonUpgradeFailed (Degraded): CloudNativePG could not upgrade the data, the query after it
	// fails, or a step takes longer than --database-deadline. No pod runs until the upgrade has
	// ended; the message says how to go back.
	ReasonUpgradeFailed = "UpgradeFailed"
	// ReasonClusterHibernated (Degraded): the Cluster is hibernated, but not by spec.suspend.
	// Remove its annotation cnpg.io/hibernation.
	ReasonClusterHibernated = "ClusterHibernated"
	// ReasonDatabaseLost (Degraded): the Dojo's own Cluster is gone, with its data. The operator
	// creates no empty Cluster. Restore the lost one under its name, or allow an empty one: set the
	// annotation core.jutsu.com/recreate-database to the value in the message.
	ReasonDatabaseLost = "DatabaseLost"
	// ReasonBackupNotUsable (Degraded): the Backup of bootstrap.recovery does not exist after
	// --progress-deadline, has failed, or does not name its location. No Cluster is created.
	ReasonBackupNotUsable = "BackupNotUsable"
	// ReasonRestoreFailed (Degraded): CloudNativePG could not restore the data, has not begun to
	// after --database-deadline, or takes longer than 6 hours; the message says where to find the
	// cause. There is no data yet: delete the Cluster to start over.
	ReasonRestoreFailed = "RestoreFailed"
	// ReasonImportFailed (Degraded): CloudNativePG could not import the data, has not begun to
	// after --database-deadline, or takes longer than 6 hours; the message says where to find the
	// cause. There is no data yet: delete the Cluster to start over.
	ReasonImportFailed = "ImportFailed"
	// ReasonDatabaseNotRestored (Degraded): the restored data has no database of the name in
	// bootstrap.recovery.database; the message lists its databases. No empty one is created.
	ReasonDatabaseNotRestored = "DatabaseNotRestored"
	// ReasonOriginMismatch (Degraded): the Cluster exists, but its data has another origin than
	// bootstrap. The Cluster is not changed.
	ReasonOriginMismatch = "OriginMismatch"
	// ReasonDatabaseFailed (Degraded): CloudNativePG cannot create or change the role or the
	// database in Postgres; the message has its error.
	ReasonDatabaseFailed = "DatabaseFailed"
	// ReasonSQLNotFound (Degraded): a ConfigMap or Secret of spec.postgres.initSQL, or its key,
	// does not exist after --progress-deadline. Create it, or remove the reference.
	ReasonSQLNotFound = "SQLNotFound"
	// ReasonSchemaFailed (Degraded): the SQL has failed; the message has the last lines of its log.
	// Fix the SQL, or delete the Job to retry it.
	ReasonSchemaFailed = "SchemaFailed"
	// ReasonSchemaStalled (Degraded): the Job that applies the SQL does not start, runs longer than
	// --database-deadline, or does not end after the SQL has succeeded. Or a former Job does not
	// end. Or the Job has used up its retries without an error of the SQL, for example because
	// Postgres did not respond; the operator creates the Job again after --database-deadline. The
	// message has the cause.
	ReasonSchemaStalled = "SchemaStalled"
	// ReasonClusterInUse (Degraded): the Dojo is being deleted with its Cluster, or suspended, but
	// other Dojos or Databases use the Cluster; the message names them. Until they are gone,
	// nothing is deleted. Until they are gone or suspended, the Cluster is not hibernated.
	ReasonClusterInUse = "ClusterInUse"
	// ReasonDeletionStalled (Degraded): the Dojo is being deleted with its data, and a step does
	// not end; the message names the cause and the remedy.
	ReasonDeletionStalled = "DeletionStalled"
	// ReasonFinalBackupFailed (Degraded): the final backup of a Dojo that is being deleted has
	// failed, its definition is invalid, or the Cluster lacks the Dojo's labels. No data is
	// deleted. Delete the Backup to retry it, set the labels, or set finalBackup to false.
	ReasonFinalBackupFailed = "FinalBackupFailed"
)

// ConditionBackupSucceeded is the type of an additional condition of a Dojo with
// spec.postgres.cluster.backup after the first backup. It reports whether the last backup
// succeeded. It is also False while the write-ahead log cannot be archived. It is for users and
// alerts; the other conditions do not include it, because the next backup may succeed.
const ConditionBackupSucceeded = "BackupSucceeded"

const (
	// ReasonBackupSucceeded (BackupSucceeded=True): the last backup has completed.
	ReasonBackupSucceeded = "LastBackupSucceeded"
	// ReasonBackupFailed (BackupSucceeded=False): the last backup has failed; the message has
	// CloudNativePG's error.
	ReasonBackupFailed = "LastBackupFailed"
	// ReasonArchivingFailed (BackupSucceeded=False): the write-ahead log cannot be archived,
	// because the object store does not respond or has the log of a former Cluster; the message has
	// CloudNativePG's error. Meanwhile no backup completes, and the log fills the volume.
	ReasonArchivingFailed = "ArchivingFailed"
)

// ConditionAlertsReady is the type of an additional condition of a Dojo with spec.alerts. It
// reports whether alerts can reach the channel, and otherwise what is missing. Progressing,
// Degraded and Ready include it, Available does not.
const ConditionAlertsReady = "AlertsReady"

// The reasons of a Dojo with spec.alerts, in AlertsReady and all other conditions.
const (
	// ReasonAlertsReady (AlertsReady=True): the channel, its webhook and the objects of
	// prometheus-operator exist.
	ReasonAlertsReady = "Ready"
	// ReasonWaitingForChannel (Progressing): the DiscordChannel does not exist or is not Ready yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonMovingAlerts (Progressing): the alerts now go to another channel. The Dojo's own
	// channel is deleted once Alertmanager has its new configuration.
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
	// --progress-deadline. The message quotes that of the DiscordChannel.
	ReasonChannelNotReady = "ChannelNotReady"
	// ReasonChannelWithoutWebhook (Degraded): the DiscordChannel of spec.alerts.discord.channelRef
	// has no spec.webhook, so Alertmanager cannot post there. Add one.
	ReasonChannelWithoutWebhook = "ChannelWithoutWebhook"
	// ReasonWebhookInvalid (Degraded): the Secret with the URL of the channel's webhook is missing,
	// or its URL is not one of Discord's API. Alerts keep going to the last valid URL, if any.
	// Delete the invalid Secret: discord-operator then writes it again. Give dojo-operator the same
	// --discord-api-url as discord-operator.
	ReasonWebhookInvalid = "WebhookInvalid"
)
