// SPDX-License-Identifier: Apache-2.0

package v1

// The reasons of a Dojo's conditions, beside conditions.ReasonReconciled and
// conditions.ReasonRetrying, which all kinds share.
const (
	// ReasonScaledToZero (Available=False): spec.replicas is 0, or an autoscaler
	// has scaled the Deployment to 0. This is not an error.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonSuspended (Available=False; Ready=True and, with postgres.cluster,
	// DatabaseReady=True): the Dojo is suspended by spec.suspend. This is not an
	// error.
	ReasonSuspended = "Suspended"
	// ReasonSuspending: a Dojo with postgres.cluster is being suspended. Pods that
	// use its Cluster, a Backup of the Cluster or the Cluster's instances still
	// run. At first, the Dojo is Progressing. If pods still run after
	// --database-deadline, it is Degraded. If instances still run then, it is
	// Degraded with the reason ClusterNotReady.
	ReasonSuspending = "Suspending"
	// ReasonPaused (Paused=True): the Dojo has the annotation
	// core.jutsu.com/paused: "true". Unless the Dojo has another problem, the
	// condition Ready has this reason too. It is True if the Dojo matches its
	// spec. Otherwise it is False (Progressing), with a message about the pending
	// changes; if they concern the database or the alerts, DatabaseReady or
	// AlertsReady is False too. While the Dojo is being deleted with its data, it
	// is Degraded: until the annotation is removed, nothing is deleted.
	ReasonPaused = "Paused"
	// ReasonReplicasReady (Available=True): at least one pod passes its readiness probe.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonStarting (Available=False): no pod has been ready since the Dojo was created.
	ReasonStarting = "Starting"
	// ReasonScalingUp (Available=False): the Dojo was scaled up from 0 or resumed,
	// and no pod is ready yet.
	ReasonScalingUp = "ScalingUp"
	// ReasonNoReadyReplicas (Available=False): pods were ready before, and no pod
	// is ready now. This is an outage.
	ReasonNoReadyReplicas = "NoReadyReplicas"
	// ReasonDatabaseUnreachable (Available=False): requests cannot reach Postgres.
	// The Cluster of spec.postgres has no ready primary, its Pooler has no
	// available pod, or no pod may run because Postgres is being upgraded to
	// another major version. This is an outage, even if pods are ready.
	ReasonDatabaseUnreachable = "DatabaseUnreachable"

	// ReasonRollingOut (Progressing): pods are being started or stopped, for a new revision or a
	// changed number of replicas.
	ReasonRollingOut = "RollingOut"
	// ReasonReplicasUnavailable: the rollout was complete, but since then replicas
	// have become unavailable. At first, the Dojo is Progressing, because
	// Kubernetes replaces these replicas. If they are still unavailable after
	// spec.rollout.progressDeadline (by default the operator's --progress-deadline
	// plus minReadySeconds), the Dojo is Degraded.
	ReasonReplicasUnavailable = "ReplicasUnavailable"
	// ReasonWaitingForCredentials (Progressing): the Secret of
	// spec.credentialsRef, in the Dojo's namespace, or of bootstrap.import does
	// not exist yet.
	ReasonWaitingForCredentials = "WaitingForCredentials"
	// ReasonWaitingForDeletion (Progressing): a child of a former Dojo of the same
	// name, or another object with the name of a child, is still being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonNamespaceTerminating (Progressing): the Dojo is being deleted together
	// with its namespace.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonCredentialsNotFound (Degraded): the Secret of spec.credentialsRef, in
	// the Dojo's namespace, or of bootstrap.import does not exist after
	// --progress-deadline. Create the Secret. For credentialsRef, you can also
	// name another Secret. Running pods keep their credentials.
	ReasonCredentialsNotFound = "CredentialsNotFound"
	// ReasonCredentialsNotShared (Degraded): spec.credentialsRef names a Secret of
	// another namespace. This Secret does not exist, or does not allow the Dojo's
	// namespace, or the operator does not watch the Secret's namespace
	// (--watch-namespaces). The owner of the Secret can allow the Dojo's namespace
	// by the annotation core.jutsu.com/allowed-namespaces.
	ReasonCredentialsNotShared = "CredentialsNotShared"
	// ReasonCredentialsIncomplete (Degraded): the Secret of spec.credentialsRef or
	// of bootstrap.import lacks a key, or the value of a key is empty or invalid;
	// the message names the key.
	ReasonCredentialsIncomplete = "CredentialsIncomplete"
	// ReasonNameConflict (Degraded): an object has the name of a child, but does
	// not belong to the Dojo or takes more than 128 KiB of memory. The operator
	// does not change this object. Do what the message says: for example, make the
	// object smaller, delete it if nothing needs it, or create the Dojo under
	// another name.
	ReasonNameConflict = "NameConflict"
	// ReasonChildRefused (Degraded): the API server refuses a child, for example
	// because of a quota, a policy, a missing permission or an invalid value; the
	// message has the cause. The operator retries after about 15 seconds. The
	// pauses then become longer, up to about 10 minutes.
	ReasonChildRefused = "ChildRefused"
	// ReasonReplicaFailure (Degraded): the Deployment cannot create its pods because of a quota or
	// a policy; the message has the cause.
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonDeploymentPaused (Degraded): a user has paused the Deployment's
	// rollout. Changes do not reach the pods until a user resumes it.
	ReasonDeploymentPaused = "DeploymentPaused"
	// ReasonAutoscalingInactive (Degraded): for five minutes, the
	// HorizontalPodAutoscaler of spec.autoscaling has been unable to scale; the
	// message has the cause. Usually the cluster has no metrics of pods: install
	// metrics-server.
	ReasonAutoscalingInactive = "AutoscalingInactive"
	// ReasonRolloutFailed (Degraded): the rollout of a new image has failed.
	// Because spec.rollout.rollback is Automatic, the former image serves again.
	// Name another image.
	ReasonRolloutFailed = "RolloutFailed"
	// ReasonProgressDeadlineExceeded (Degraded): the rollout has made no progress
	// for spec.rollout.progressDeadline (by default --progress-deadline plus
	// minReadySeconds). The pods report no cause.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of a Dojo that has or had spec.exposure.gateway.
const (
	// ReasonGatewayAPINotInstalled (Degraded): the cluster lacks the kind
	// HTTPRoute. Install the Gateway API. The Dojo then continues automatically.
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
	// ReasonWaitingForGateway (Progressing): the controller of a Gateway has not
	// yet reported whether it accepts the HTTPRoute.
	ReasonWaitingForGateway = "WaitingForGateway"
	// ReasonGatewayNotReady (Degraded): after --progress-deadline, no controller
	// of the Gateway has reported whether it accepts the HTTPRoute. If the Gateway
	// does not exist, create it, or name another Gateway. If it exists, find out
	// why its controller does not run.
	ReasonGatewayNotReady = "GatewayNotReady"
	// ReasonWaitingForIngress (Progressing): an Ingress replaces a Gateway. The HTTPRoute stays
	// until the Ingress has an address.
	ReasonWaitingForIngress = "WaitingForIngress"
	// ReasonIngressNotReady (Degraded): the Ingress has no address after
	// --progress-deadline. If no controller serves the Ingress, correct its class.
	// If its controller never reports an address, check that requests through the
	// Ingress succeed, and delete the HTTPRoute.
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
	// ReasonCrashLoopBackOff: a container has exited three times or more and is
	// not ready.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonUnschedulable: no node fits the pod.
	ReasonUnschedulable = "Unschedulable"
)

// ConditionPaused is the type of a condition that exists only as True: the Dojo
// has the annotation core.jutsu.com/paused: "true", so the operator does not
// write its children. But it still prevents Alertmanager from posting to a URL
// that is not a webhook of Discord.
const ConditionPaused = "Paused"

// ConditionDatabaseReady is the type of an additional condition of a Dojo with
// spec.postgres. It reports whether the database matches the spec. If the
// database does not match the spec, it reports the step that is in progress or
// has failed. The conditions Progressing, Degraded and Ready include it.
const ConditionDatabaseReady = "DatabaseReady"

// The reasons of a Dojo with spec.postgres, in DatabaseReady, Progressing,
// Degraded and Ready.
const (
	// ReasonDatabaseReady (DatabaseReady=True): the database, its owner and its schema match the
	// spec.
	ReasonDatabaseReady = "Ready"
	// ReasonWaitingForCluster (Progressing): the CloudNativePG Cluster does not
	// exist yet, or has no ready primary. Or the Dojo's own Cluster is being
	// changed, lacks ready instances, lacks the plugin for its backups, or is not
	// reconciled by CloudNativePG.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonCreatingRole (Progressing): Postgres does not have the application's login or its
	// current password yet.
	ReasonCreatingRole = "CreatingRole"
	// ReasonRotatingPassword: the application uses another login, and the former
	// login stays valid until no pod uses it and no other Dojo names its Secret.
	// At first, the Dojo is Progressing, and after the operator's
	// --database-deadline Degraded. The message says what may still use the former
	// login. Another rotation waits until this rotation has ended.
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
	// ReasonApplyingSchema (Progressing): a Job runs SQL, or the SQL waits until
	// earlier SQL or a release step has ended.
	ReasonApplyingSchema = "ApplyingSchema"
	// ReasonWaitingForPooler (Progressing): the Pooler of spec.postgres.cluster.pooler was just
	// changed, or does not have the desired number of available instances yet.
	ReasonWaitingForPooler = "WaitingForPooler"
	// ReasonRemovingPooler: spec.postgres.cluster.pooler was removed, and the
	// Pooler stays until no pod uses it. At first, the Dojo is Progressing, and
	// after --database-deadline Degraded. The message says what may still use the
	// Pooler.
	ReasonRemovingPooler = "RemovingPooler"
	// ReasonUpgrading (Progressing): Postgres is being upgraded to another major version;
	// status.database.upgrade has the step.
	ReasonUpgrading = "Upgrading"
	// ReasonTakingFinalBackup (Progressing): the Dojo is being deleted and waits for a final
	// backup.
	ReasonTakingFinalBackup = "TakingFinalBackup"
	// ReasonDeletingDatabase (Progressing): the Dojo is being deleted with its
	// data; the message says what the deletion waits for. Or, during the deletion,
	// reclaimPolicy was changed from Delete to Retain, and the operator has not
	// marked all objects of the database as retained yet.
	ReasonDeletingDatabase = "DeletingDatabase"

	// ReasonCloudNativePGNotInstalled (Degraded): the Kubernetes cluster lacks a
	// kind of CloudNativePG 1.30. Install or upgrade CloudNativePG. The Dojo then
	// continues automatically. Running pods are not affected.
	ReasonCloudNativePGNotInstalled = "CloudNativePGNotInstalled"
	// ReasonCloudNativePGNotReadable: a kind of CloudNativePG is installed, but
	// the operator cannot read it: the API server does not serve the kind, or does
	// not permit the operator to read it. Until the operator can read the kind, it
	// does not change the database. At first, the Dojo is Progressing, and after
	// --progress-deadline Degraded.
	ReasonCloudNativePGNotReadable = "CloudNativePGNotReadable"
	// ReasonClusterNotFound (Degraded): the Cluster of spec.postgres.clusterRef
	// does not exist after --database-deadline. Create the Cluster. If it had data
	// of the Dojo, restore it under its name.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotReady (Degraded): for --database-deadline, the Cluster has
	// lacked ready instances, or has not completed a change or its hibernation.
	// Or, for --progress-deadline, CloudNativePG has not reconciled the Cluster
	// because of an error. See `kubectl describe cluster` and the Cluster's pods.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonClusterRefused (Degraded): CloudNativePG refuses
	// spec.postgres.cluster, for example because of a parameter that CloudNativePG
	// sets itself; the message has the error. The Cluster is not changed. Correct
	// the field in the error.
	ReasonClusterRefused = "ClusterRefused"
	// ReasonPoolerRefused (Degraded): CloudNativePG refuses
	// spec.postgres.cluster.pooler, for example because of a parameter that
	// CloudNativePG does not allow; the message has the error. The Pooler is not
	// changed. Correct the field in the error.
	ReasonPoolerRefused = "PoolerRefused"
	// ReasonPoolerNotReady (Degraded): for --database-deadline, the Pooler has
	// lacked available instances. See `kubectl describe pooler` and the Pooler's
	// pods.
	ReasonPoolerNotReady = "PoolerNotReady"
	// ReasonUnknownSize (Degraded): the platform does not define
	// spec.postgres.cluster.size, or its definition is invalid. No Cluster is
	// created, and an existing Cluster keeps its instances, resources, storage and
	// parameters, except the values that the spec sets. Use a size that the
	// platform defines.
	ReasonUnknownSize = "UnknownSize"
	// ReasonUnknownVersion (Degraded): the Cluster has no image of
	// spec.postgres.cluster.version, and the catalog of Postgres images has none
	// either, or is not valid. The Cluster is neither created nor changed. Use a
	// version that the message lists, set imageName instead of version, or ask the
	// platform team to correct the catalog.
	ReasonUnknownVersion = "UnknownVersion"
	// ReasonUnknownTimeZone (Degraded): the time zone of
	// spec.postgres.cluster.versionPolicy.window does not exist, so no automatic
	// minor upgrade begins. Use a name of the IANA database, such as
	// Europe/Belgrade.
	ReasonUnknownTimeZone = "UnknownTimeZone"
	// ReasonVersionTooLow (Degraded): version or imageName has a lower major
	// version of Postgres than the Cluster's data. The Cluster is not changed.
	// Name the version of the data. A higher version upgrades the data.
	ReasonVersionTooLow = "VersionTooLow"
	// ReasonUpgradeNeedsBackup (Degraded): an upgrade to another major version of
	// Postgres is requested, but spec.postgres.cluster.backup is not set. The
	// upgrade does not begin. Set the version back and configure backups, or set
	// the annotation core.jutsu.com/upgrade-without-backup.
	ReasonUpgradeNeedsBackup = "UpgradeNeedsBackup"
	// ReasonUpgradeBackupFailed (Degraded): the backup before an upgrade has
	// failed or does not end. The upgrade does not begin. Delete the Backup, so
	// that the operator makes another backup. Or set the version back.
	ReasonUpgradeBackupFailed = "UpgradeBackupFailed"
	// ReasonUpgradeFailed (Degraded): CloudNativePG could not upgrade the data,
	// the query after the upgrade fails, or the step Stopping or Upgrading takes
	// longer than --database-deadline. No pod starts until the upgrade has ended
	// or is reverted; the message says whether and how you can go back.
	ReasonUpgradeFailed = "UpgradeFailed"
	// ReasonClusterHibernated (Degraded): a user has hibernated the Cluster, or
	// the Cluster remains from a suspended Dojo that was deleted. Remove the
	// annotation cnpg.io/hibernation of the Cluster.
	ReasonClusterHibernated = "ClusterHibernated"
	// ReasonDatabaseLost (Degraded): the Dojo's own Cluster is gone, with its
	// data. The operator does not create a new Cluster in its place. Restore the
	// lost Cluster under its name. Or accept the loss: set the annotation
	// core.jutsu.com/recreate-database to the value in the message. The operator
	// then creates a Cluster that is empty or, with bootstrap, has the data that
	// bootstrap names.
	ReasonDatabaseLost = "DatabaseLost"
	// ReasonBackupNotUsable (Degraded): the Backup of bootstrap.recovery does not
	// exist after --progress-deadline, has failed, or does not name its location.
	// Or bootstrap.recovery has a targetTime, but the Backup is a volume snapshot.
	// The operator does not create a Cluster.
	ReasonBackupNotUsable = "BackupNotUsable"
	// ReasonRestoreFailed (Degraded): CloudNativePG could not restore the data,
	// has not begun the restore after --database-deadline, or has not completed it
	// after 6 hours. The message names the place where you find the cause. The
	// Cluster has no complete data yet: to start the restore again, delete the
	// Cluster.
	ReasonRestoreFailed = "RestoreFailed"
	// ReasonImportFailed (Degraded): CloudNativePG could not import the data, has
	// not begun the import after --database-deadline, or has not completed it
	// after 6 hours. The message names the place where you find the cause. The
	// Cluster has no complete data yet: to start the import again, delete the
	// Cluster.
	ReasonImportFailed = "ImportFailed"
	// ReasonDatabaseNotRestored (Degraded): the restored data has no database with
	// the name in status.database.name (bootstrap.recovery.database, if set); the
	// message lists the databases in this data. The operator does not create an
	// empty database instead.
	ReasonDatabaseNotRestored = "DatabaseNotRestored"
	// ReasonOriginMismatch (Degraded): the Cluster exists, but its annotation
	// core.jutsu.com/origin does not name the source in bootstrap, so its data may
	// come from elsewhere. The Cluster is not changed.
	ReasonOriginMismatch = "OriginMismatch"
	// ReasonDatabaseFailed (Degraded): CloudNativePG has not created or changed
	// the role or the database in Postgres; the message has CloudNativePG's error,
	// if there is one.
	ReasonDatabaseFailed = "DatabaseFailed"
	// ReasonSQLNotFound (Degraded): a ConfigMap or Secret of
	// spec.postgres.initSQL, or its key, does not exist after --progress-deadline.
	// Create the object or the key, or remove the reference.
	ReasonSQLNotFound = "SQLNotFound"
	// ReasonSchemaFailed (Degraded): the SQL has failed or has more than 4 MiB, or
	// its pod cannot start. The message has the cause, but no output of psql if
	// the SQL is in a Secret. Remove the cause. To run the same SQL again, delete
	// the Job.
	ReasonSchemaFailed = "SchemaFailed"
	// ReasonSchemaStalled (Degraded): the Job that runs the SQL does not start,
	// runs longer than --database-deadline, or does not end after the SQL has
	// succeeded. Or a former Job does not end. Or the Job has failed in all its
	// tries, but not because of an error in the SQL, for example because Postgres
	// did not respond. In this case, the operator creates the Job again after
	// --database-deadline. The message has the cause.
	ReasonSchemaStalled = "SchemaStalled"
	// ReasonClusterInUse (Degraded): the Dojo is being deleted with its Cluster,
	// or suspended, but other Dojos or Databases use the Cluster or its logins;
	// the message names them. While others use the Cluster, nothing is deleted.
	// While others that are not suspended use it, it is not hibernated.
	ReasonClusterInUse = "ClusterInUse"
	// ReasonDeletionStalled (Degraded): the Dojo is being deleted with its data,
	// but a step of the deletion does not end. The message has the cause and the
	// remedy.
	ReasonDeletionStalled = "DeletionStalled"
	// ReasonFinalBackupFailed (Degraded): the Dojo is being deleted, but the final
	// backup has failed, the definition of the backup is invalid, or the Cluster
	// lacks the Dojo's labels. No data is deleted. Delete the Backup, so that the
	// operator makes another backup, or set the labels. Or set finalBackup to
	// false: the data is then deleted without a final backup.
	ReasonFinalBackupFailed = "FinalBackupFailed"
)

// ConditionBackupSucceeded is the type of an additional condition of a Dojo
// with spec.postgres.cluster.backup. It exists once the first backup has ended,
// or the write-ahead log cannot be archived. It reports whether the last backup
// succeeded. It is also False while the write-ahead log cannot be archived. The
// other conditions do not include it, because the next backup may succeed. It
// is for users and alerts.
const ConditionBackupSucceeded = "BackupSucceeded"

const (
	// ReasonBackupSucceeded (BackupSucceeded=True): the last backup has completed.
	ReasonBackupSucceeded = "LastBackupSucceeded"
	// ReasonBackupFailed (BackupSucceeded=False): the last backup has failed; the message has
	// CloudNativePG's error.
	ReasonBackupFailed = "LastBackupFailed"
	// ReasonArchivingFailed (BackupSucceeded=False): the write-ahead log cannot be
	// archived, for example because the object store does not respond or has the
	// log of a former Cluster; the message has CloudNativePG's error. Until the
	// log is archived again, no backup completes, and the log fills the volume.
	ReasonArchivingFailed = "ArchivingFailed"
)

// ConditionAlertsReady is the type of an additional condition of a Dojo with
// spec.alerts. It reports whether alerts can reach the channel. If they cannot,
// it names the missing part. The conditions Progressing, Degraded and Ready
// include it, but Available does not.
const ConditionAlertsReady = "AlertsReady"

// The reasons of a Dojo with spec.alerts, in AlertsReady, Progressing, Degraded
// and Ready.
const (
	// ReasonAlertsReady (AlertsReady=True): the channel, its webhook and the
	// objects of prometheus-operator exist. But a suspended Dojo has no
	// PrometheusRule.
	ReasonAlertsReady = "Ready"
	// ReasonWaitingForChannel (Progressing): the DiscordChannel does not exist, is
	// not Available, or has no webhook with a Secret yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonMovingAlerts (Progressing): the alerts now go to another channel. The Dojo's own
	// channel is deleted once Alertmanager has its new configuration.
	ReasonMovingAlerts = "MovingAlerts"

	// ReasonDiscordOperatorNotInstalled (Degraded): the cluster lacks the kind
	// DiscordChannel. Install discord-operator. The Dojo then continues
	// automatically.
	ReasonDiscordOperatorNotInstalled = "DiscordOperatorNotInstalled"
	// ReasonPrometheusOperatorNotInstalled (Degraded): the cluster lacks a kind of
	// prometheus-operator; the message names the kind. Install
	// prometheus-operator. The Dojo then continues automatically.
	ReasonPrometheusOperatorNotInstalled = "PrometheusOperatorNotInstalled"
	// ReasonChannelNotFound (Degraded): the DiscordChannel of
	// spec.alerts.discord.channelRef does not exist after --progress-deadline.
	// Create this DiscordChannel, or name another DiscordChannel.
	ReasonChannelNotFound = "ChannelNotFound"
	// ReasonChannelNotReady (Degraded): the DiscordChannel is not Available or has
	// no webhook. Either the DiscordChannel is Degraded too, or this has lasted
	// longer than --progress-deadline. The message quotes the message of the
	// DiscordChannel.
	ReasonChannelNotReady = "ChannelNotReady"
	// ReasonChannelWithoutWebhook (Degraded): the DiscordChannel of
	// spec.alerts.discord.channelRef has no spec.webhook, so Alertmanager cannot
	// post there. Add spec.webhook.
	ReasonChannelWithoutWebhook = "ChannelWithoutWebhook"
	// ReasonWebhookInvalid (Degraded): the Secret with the URL of the channel's
	// webhook is missing after --progress-deadline, or its URL is not a URL of
	// Discord's API. Alerts still go to the last valid URL, if there was one. If
	// discord-operator has the flag --discord-api-url, give dojo-operator the same
	// value. Otherwise delete the invalid Secret: discord-operator then writes the
	// Secret again, unless the DiscordChannel is paused or only observed.
	ReasonWebhookInvalid = "WebhookInvalid"
)
