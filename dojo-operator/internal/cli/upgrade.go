// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/kubectl"
)

type upgradeRequest struct {
	to, image            string
	minor, withoutBackup bool
}

func (s *session) newUpgrade() *cobra.Command {
	var ask kubectl.Asking
	var r upgradeRequest
	cmd := s.changing("upgrade", "Upgrade Postgres to a newer minor or major version",
		`With --minor, the Dojo's own Cluster gets the newest minor version that the operator knows. The instances restart one
after the other, with a switchover before the last. A single instance restarts with an outage. With --to or --image, the
Cluster gets a newer major version.

For a major version, the operator takes a backup, stops the pods, has CloudNativePG upgrade the data, runs a query, and
starts the pods. Until CloudNativePG upgrades the data, you can cancel: set the former version in the Dojo again.`,
		time.Hour, &ask,
		planned(s.world, func(w *world.World) (change, error) {
			if err := upgradable(w); err != nil {
				return change{}, err
			}
			if r.minor {
				return minorUpgradeOf(w.Dojo, r)
			}
			return upgradeOf(w, r)
		}))
	cmd.Flags().StringVar(&r.to, "to", "", "the major `VERSION`, such as 18")
	cmd.Flags().BoolVar(&r.minor, "minor", false, "upgrade to the newer minor version that kubectl dojo status shows")
	cmd.Flags().StringVar(&r.image, "image", "",
		"the `IMAGE` of the new version, for a Dojo that sets imageName instead of version")
	cmd.Flags().BoolVar(&r.withoutBackup, "without-backup", false,
		"do not make a backup first: a failed upgrade can then lose the data")
	ask.Bind(cmd)
	ask.BindName(cmd, "the Dojo")
	return cmd
}

// upgradable returns an error if the Dojo's own Cluster has no data to upgrade. A change of the
// version would prevent the restore of a lost Cluster.
func upgradable(w *world.World) error {
	d := w.Dojo
	if ownCluster(d) == nil {
		return fmt.Errorf("%s has no Cluster of its own: upgrade its database server with that server's own tools", d.Name)
	}
	name := cnpg.ObjectName(d)
	had := d.Status.Database != nil && d.Status.Database.ClusterUID != ""
	readable := !w.Unreadable(kinds.Cluster) && !w.Absent[kinds.Cluster.Resource()]
	absent := world.Find[*cnpgv1.Cluster](w, kinds.Cluster, name) == nil
	switch {
	case d.DeletionTimestamp != nil:
		return fmt.Errorf("%s is being deleted, so its database cannot be upgraded: see kubectl dojo status %s -n %s",
			d.Name, d.Name, d.Namespace)
	case absent && (!recovery.LostAt(d).IsZero() || had && readable):
		return fmt.Errorf("the Cluster %[1]s is gone, so it has no data to upgrade: restore the data with kubectl dojo "+
			"restore %[2]s -n %[3]s, or, if nothing can be restored, begin anew with kubectl dojo accept-loss %[2]s -n %[3]s",
			name, d.Name, d.Namespace)
	}
	return nil
}

func minorUpgradeOf(d *corev1api.Dojo, r upgradeRequest) (ch change, err error) {
	db := d.Status.Database
	switch {
	case r.to != "" || r.image != "" || r.withoutBackup:
		return ch, kubectl.Usage("--minor excludes --to, --image and --without-backup")
	case ownCluster(d).Version == "":
		return ch, fmt.Errorf("%s has no spec.postgres.cluster.version, so the operator does not "+
			"choose the image of Postgres: set version, or set the newer image in imageName", d.Name)
	case db == nil || db.NewerVersion == "":
		return ch, fmt.Errorf("the operator knows no newer minor version of Postgres for %s", d.Name)
	}
	version := db.NewerVersion
	ch.Annotations = map[string]any{corev1api.MinorUpgradeAnnotation: version}
	outage := "The primary restarts last: requests fail for some seconds."
	if _, desired, _ := strings.Cut(db.Instances, "/"); desired == "1" {
		outage = "The only instance of Postgres restarts: requests fail until it is ready again."
	}
	ch.Means = []string{fmt.Sprintf("Postgres %s of %s becomes %s.", db.Version, d.Name, version), outage}
	minor, _, _ := strings.Cut(version, "-")
	ch.Done = func(d *corev1api.Dojo) bool {
		db := d.Status.Database
		if db == nil || db.NewerVersion == version || db.Version != minor {
			return false
		}
		ready, desired, _ := strings.Cut(db.Instances, "/")
		return isReady(d) && ready == desired
	}
	return ch, nil
}

func upgradeOf(w *world.World, r upgradeRequest) (ch change, err error) {
	d := w.Dojo
	pg := ownCluster(d)
	to, err := target(pg, r)
	if err != nil {
		return ch, err
	}
	live := world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ObjectName(d))
	has := 0
	if live != nil {
		_, _, has = images.Majors(d, live, images.Input{Catalog: images.BuiltIn("")})
	} else if d.Status.Database != nil {
		has = images.Major(d.Status.Database.Version)
	}
	switch {
	case d.Status.Database != nil && d.Status.Database.Upgrade != nil:
		u := d.Status.Database.Upgrade
		return ch, fmt.Errorf("an upgrade of %s from Postgres %s to %s is already under way (step %s): wait for its end",
			d.Name, u.From, u.To, u.Step)
	case has > 0 && to < has:
		return ch, fmt.Errorf("%s has Postgres %d, and Postgres cannot be downgraded to %d. To get older data, restore an "+
			"older backup beside the Dojo: kubectl dojo restore %s -n %s --backup BACKUP --as OTHER",
			d.Name, has, to, d.Name, d.Namespace)
	case has > 0 && to == has:
		return ch, fmt.Errorf("%s has Postgres %d already", d.Name, has)
	case pg.Backup == nil && !r.withoutBackup:
		return ch, fmt.Errorf("%s has no spec.postgres.cluster.backup, so no backup can be made first: "+
			"set this field, or say --without-backup", d.Name)
	}
	fields := map[string]any{"version": strconv.Itoa(to)}
	if r.image != "" {
		fields = map[string]any{"imageName": r.image}
	}
	ch.Means = upgradeMeans(d, has, to, r)
	if name := recovery.NextServerName(w, d); pg.Backup != nil && recovery.ArchivesApart(d) {
		// The new version must not append to the WAL archive of the former version.
		fields["backup"] = archivingTo(name)
		ch.Means = append(ch.Means, "Backups and the write-ahead log of the new version go to the serverName "+name+
			". The backups and the log of the former version stay at their place.")
	}
	if r.withoutBackup {
		ch.Annotations = map[string]any{corev1api.UpgradeWithoutBackupAnnotation: strconv.Itoa(to)}
		ch.Loses = "The operator makes no backup first: a failed upgrade can lose the data."
	} else if _, had := d.Annotations[corev1api.UpgradeWithoutBackupAnnotation]; had {
		// Remove the annotation. If it names this version, the operator does not make a backup.
		ch.Annotations = map[string]any{corev1api.UpgradeWithoutBackupAnnotation: nil}
	}
	ch.Spec = map[string]any{"postgres": map[string]any{"cluster": fields}}
	ch.Done = func(d *corev1api.Dojo) bool {
		db := d.Status.Database
		return isReady(d) && db != nil && db.Upgrade == nil && images.Major(db.Version) >= to
	}
	return ch, nil
}

func archivingTo(serverName string) map[string]any {
	return map[string]any{"plugin": map[string]any{"parameters": map[string]any{"serverName": serverName}}}
}

func target(pg *corev1api.PostgresCluster, r upgradeRequest) (int, error) {
	switch {
	case r.to == "" && r.image == "":
		return 0, kubectl.Usage("name the major version with --to, such as --to 18, or say --minor")
	case r.to != "" && r.image != "":
		return 0, kubectl.Usage("--to and --image exclude each other")
	case pg.ImageName != "" && r.to != "":
		return 0, kubectl.Usage("the Dojo sets imageName %s: name the new image with --image", pg.ImageName)
	case pg.ImageName == "" && r.image != "":
		return 0, kubectl.Usage("the Dojo does not set imageName: name the major version with --to")
	}
	text := cmp.Or(r.to, images.VersionOf(r.image))
	if to := images.Major(text); to >= 14 && to < 100 && (r.image != "" || text == strconv.Itoa(to)) {
		return to, nil
	}
	return 0, kubectl.Usage("%q does not name a major version of Postgres from 14 on, such as 18", cmp.Or(r.to, r.image))
}

func upgradeMeans(d *corev1api.Dojo, has, to int, r upgradeRequest) []string {
	first := "1. the operator makes a backup; the application keeps running only if a plugin archives the write-ahead log"
	if r.withoutBackup {
		first = "1. no backup: if the upgrade fails, the data may be lost"
	}
	from := "Postgres"
	if has > 0 {
		from = fmt.Sprintf("Postgres %d", has)
	}
	return []string{
		fmt.Sprintf("%s of %s becomes %d:", from, d.Name, to), first,
		"2. all pods of the application end: requests fail from here on",
		"3. CloudNativePG upgrades the data and starts Postgres, usually within minutes",
		"4. the operator tests Postgres with a query, and starts the pods again",
	}
}

func (s *session) newAcceptLoss() *cobra.Command {
	var ask kubectl.Asking
	cmd := s.changing("accept-loss", "Accept that the data of a lost Cluster is gone, and begin anew",
		`Allows the operator to replace a lost Cluster by an empty one, or by one with the data of
spec.postgres.cluster.bootstrap. The command covers only this loss: after another loss, run it again. First try
kubectl dojo restore, which brings the data back if there are backups.`,
		15*time.Minute, &ask, planned(s.world, acceptance))
	ask.BindName(cmd, "the Dojo")
	return cmd
}

func acceptance(w *world.World) (ch change, err error) {
	d := w.Dojo
	if recovery.LostAt(d).IsZero() {
		ready := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionDatabaseReady)
		state := "the Dojo has no condition DatabaseReady"
		if ready != nil {
			state = "DatabaseReady has the reason " + ready.Reason
		}
		return ch, fmt.Errorf("the operator does not report the Cluster of %s as lost: %s", d.Name, state)
	}
	loss := string(d.UID) // the operator expects this UID if the status has no UID of a Cluster
	if d.Status.Database != nil {
		loss = cmp.Or(d.Status.Database.ClusterUID, loss)
	}
	ch.Annotations, ch.Loses, ch.Done = map[string]any{corev1api.RecreateDatabaseAnnotation: loss},
		"The Dojo loses all data of the lost Cluster.", isReady
	begins := "empty"
	if d.BootstrapSource() != nil {
		begins = "with the data of spec.postgres.cluster.bootstrap"
	}
	ch.Means = []string{
		fmt.Sprintf("The operator creates the Cluster %s again, %s.", cnpg.ObjectName(d), begins),
	}
	if name := recovery.NextServerName(w, d); recovery.ArchivesApart(d) {
		// Barman refuses to archive a new Cluster into the archive of another Cluster.
		ch.Spec = map[string]any{"postgres": map[string]any{"cluster": map[string]any{"backup": archivingTo(name)}}}
		ch.Means = append(ch.Means, "Backups and the write-ahead log of the new Cluster go to the serverName "+name+
			". The backups and the log of the lost Cluster stay at their place.",
			"If the Dojo comes from a Git repository, set this serverName in the repository too.")
	}
	if ok, _ := recovery.Restorable(w); ok {
		ch.Means = append(ch.Means, fmt.Sprintf(
			"There are backups: kubectl dojo restore %s -n %s brings the data back instead.", d.Name, d.Namespace))
	}
	return ch, nil
}
