// SPDX-License-Identifier: Apache-2.0

// Package cnpgtest stands in for CloudNativePG where no containers run, as httptest stands in for a
// web server. It is for tests and for the playground; nothing of it is in an operator.
//
// The kinds are CloudNativePG's own, installed from its CustomResourceDefinitions
// (testcluster.CloudNativePGCRDs). What is played is the part of its operator and of the instance
// manager in each pod, as far as it shows through the API, in version 1.30:
//
//   - A Cluster gets the instances that it asks for, all at once or as many as
//     StandIn.SetReadyInstances allows: phase, readyInstances, instancesStatus, currentPrimary,
//     targetPrimary, writeService, image, the Ready condition; the Services, the Secret of the
//     application, and the PodDisruptionBudgets, in place of any others of their names. Hibernated, which
//     only a healthy one can be, it has no ready instance and stays Ready=True.
//     StandIn.FailPrimary, Promote, FillDisk and FailArchiving are what happens to it.
//     With an image of a higher major version no instance runs, and a Job upgrades the data (or not:
//     StandIn.SetUpgrades), until the image is that of the former version again. That one does not start
//     where the Job had begun to link the files of the data, or had put new data in its place.
//   - A Cluster whose data comes from elsewhere (bootstrap.recovery, initdb.import) has no instance before
//     CloudNativePG's Job has filled it, which does not begin without the Backup, and whose pods fail
//     without the Secret or where StandIn.FailBootstrap says so.
//   - A DatabaseRole is applied once its Cluster is up and its password Secret names the role;
//     status.secretResourceVersion is that of the password. A change of the Secret is noticed only
//     with the label cnpg.io/reload=true, and some time later. StandIn.Accepts says what Postgres
//     would: a role that may log in gets in with the password that was applied last, and no other.
//     StandIn.SetRole is a setting of a role, which goes with it or with its Cluster; StandIn.ActsAs reads it.
//   - A Database is applied once its owner is, and all its extensions: the image has a few of those that
//     come with Postgres. What cannot be applied is looked at again only every
//     RetryInterval (30 s in the original), except where the object itself changes.
//   - Both carry finalizers while their Cluster exists. With the reclaim policy delete, a database
//     with open sessions (Options.Sessions) is not dropped while status still says applied, and a
//     role that owns a database (2BP01) neither. A Cluster that is deleted lets go of them all.
//   - A ScheduledBackup makes Backups, the first at once with immediate, unless a former schedule of that
//     name has left such a one; one whose schedule does not have six fields is refused in its status. A
//     Backup is pending while its Cluster is not up or another one runs, then started, and then completed
//     or whatever StandIn.SetBackups says. While one runs, the condition LastBackupSucceeded of the
//     Cluster is False with the reason BackupStarted. Where a Cluster archives under another serverName, its
//     completed Backups of the former one are deleted, as by the plugin barman-cloud.
//   - A Pooler gets its Deployment and its Service, with its instances: the pods are the cluster's. It is
//     inactive without its Cluster, and nothing becomes of it where a Cluster, or another owner's object,
//     has its name.
//
// With StartWebhooks, CloudNativePG's own manager admits its kinds: defaults, refusals and limits are
// then the original's.
//
// A database has one table, into which StandIn.Insert commits rows with the rights that the login has in Postgres, and
// which outlives what it does in the original: failovers, upgrades and the Database, but not DROP DATABASE nor the
// Cluster. StandIn.Restorable has what its Backups bring back; a Cluster that is restored has none of it.
//
// What it does not do: run Postgres, run SQL, end sessions.
package cnpgtest
