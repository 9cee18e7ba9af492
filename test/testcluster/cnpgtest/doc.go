// SPDX-License-Identifier: Apache-2.0

// Package cnpgtest simulates CloudNativePG where no containers run, as httptest simulates a web
// server. It is for tests and the playground; no operator imports it.
//
// The kinds are CloudNativePG's own, from its CustomResourceDefinitions
// (testcluster.CloudNativePGCRDs). The package simulates CloudNativePG's operator and the instance
// manager of each pod in version 1.30, as far as the API shows them:
//
//   - A Cluster gets its instances at once, or as many as StandIn.SetReadyInstances allows. It gets
//     phase, readyInstances, instancesStatus, currentPrimary, targetPrimary, writeService, image
//     and the Ready condition. It gets its Services, the Secret of the application and the
//     PodDisruptionBudgets. Existing PodDisruptionBudgets of the same names are overwritten.
//     StandIn.FailPrimary, Promote, FillDisk and FailArchiving cause or end faults.
//   - Only the plugin barman-cloud is installed. With another plugin, CloudNativePG changes only
//     the phase of the Cluster.
//   - After a change of the image (within a major version), of the resources, of the plugins, or
//     of a parameter that Postgres reads only at its start, CloudNativePG replaces the pods one
//     after another, the primary last. Meanwhile the phase is "Upgrading cluster".
//   - Only a healthy Cluster can hibernate. It then has no ready instance and stays Ready=True.
//   - With an image of a higher major version no instance runs, and a Job upgrades the data.
//     StandIn.SetUpgrades selects how the Job ends. After a failure no instance runs until the
//     image has the old version again. The old version does not start if the Job began to link the
//     data files or replaced the data.
//   - A Cluster with data from a backup (bootstrap.recovery) or another database (initdb.import)
//     has no instance before CloudNativePG's Job has filled it. The Job begins only after the
//     Backup is completed. The Job's pods fail if the password Secret is missing, or after
//     StandIn.FailBootstrap.
//   - A DatabaseRole is applied when its Cluster is up and its password Secret names the role;
//     status.secretResourceVersion is the version of the applied Secret. A change of the Secret is
//     noticed only with the label cnpg.io/reload=true, and with a delay. StandIn.Accepts simulates
//     a login: Postgres accepts only the password that was applied last. StandIn.SetRole makes
//     sessions of a role act as another role, and StandIn.ActsAs reads this setting. The setting
//     exists as long as the role and the role's Cluster.
//   - A Database is applied only if its owner exists and the image has all its extensions. The
//     simulated image has only a few extensions of Postgres. A failed Database is tried again
//     after RetryInterval (30 s in CloudNativePG), or when the object changes.
//   - Databases and DatabaseRoles have finalizers while their Cluster exists. With the reclaim
//     policy delete, a database with open sessions (Options.Sessions) is not dropped, and status
//     still says applied. A role that owns a database is not dropped either (2BP01). Deleting the
//     Cluster removes all finalizers.
//   - A ScheduledBackup makes Backups. With immediate it makes the first Backup at once, unless an
//     earlier ScheduledBackup of the same name left an immediate Backup. A schedule without six
//     fields is refused in the status.
//   - A Backup is pending while its Cluster is down, or while another Backup that is older or
//     started has not ended. Then it is started, and then completed or in the phase of
//     StandIn.SetBackups. A Backup fails for good if its Cluster is hibernated. With the method
//     plugin, it also fails if the Cluster has no plugin, or if a pod is older than the plugin.
//     While a Backup runs, the Cluster's condition LastBackupSucceeded is False with the reason
//     BackupStarted. When a Cluster archives under another serverName, its completed Backups under
//     the former serverName are deleted, as the plugin barman-cloud does.
//   - A Pooler gets a Service, and a Deployment whose replicas are the Pooler's spec.instances.
//     Kubernetes runs the pods. Without its Cluster, the Pooler is inactive. If a Cluster or
//     another owner's object has the Pooler's name, the Pooler gets no status.
//
// With StartWebhooks, CloudNativePG's own manager admits its kinds, so that defaults, refusals and
// limits are exact.
//
// A database has one table. StandIn.Insert commits rows into it with the login's rights in
// Postgres. As with CloudNativePG, the table survives failovers, upgrades and the deletion of a
// Database with the reclaim policy retain. The deletion of a Database with the policy delete, or of
// the Cluster, removes the table. StandIn.Restorable returns the rows of a Backup; a restored
// Cluster does not get these rows.
//
// The package runs no Postgres and no SQL, and ends no sessions.
package cnpgtest
