// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
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

// upgradeRequest is the wish of a user.
type upgradeRequest struct {
	to, image            string
	minor, withoutBackup bool
}

func (c *cli) newUpgrade() *cobra.Command {
	var ask kubectl.Asking
	var wait waiting
	var r upgradeRequest
	cmd := c.forWorld("upgrade", "Upgrade Postgres to a newer minor or major version",
		`With --minor, the Cluster gets the newest minor version that the operator knows: its instances restart one after
the other, with a switchover before the last. With --to, it gets another major version.

The operator upgrades the Dojo's own Cluster: it takes a backup, stops the pods, has CloudNativePG upgrade the data,
runs a query, and starts the pods. Until the upgrade of the data begins, the former version can be set again.`,
		func(ctx context.Context, s *session, w *world.World) error { return s.upgrade(ctx, w, r, &ask, &wait) })
	cmd.Flags().StringVar(&r.to, "to", "", "the major `VERSION`, such as 18")
	cmd.Flags().BoolVar(&r.minor, "minor", false, "take the newer minor version of kubectl dojo status")
	cmd.Flags().StringVar(&r.image, "image", "", "the `IMAGE`, of a Dojo that names imageName instead of version")
	cmd.Flags().BoolVar(&r.withoutBackup, "without-backup", false, "upgrade without a backup to go back to")
	ask.Bind(cmd)
	ask.BindName(cmd, "the Dojo")
	wait.bind(cmd, time.Hour)
	return cmd
}

func (s *session) upgrade(
	ctx context.Context, w *world.World, r upgradeRequest, ask *kubectl.Asking, wait *waiting,
) error {
	d := w.Dojo
	if r.minor {
		return s.upgradeMinor(ctx, w, r, ask, wait)
	}
	ch, to, err := upgradeOf(w, r)
	if err != nil {
		return err
	}
	confirm := ask.Asker(ctx, s.Plugin)
	if r.withoutBackup {
		confirm = func(string) error {
			return ask.ConfirmName(ctx, s.Plugin, "the Dojo", d.Name, "Without a backup there is no way back.")
		}
	}
	if err := s.apply(ctx, d, ch, confirm); err != nil {
		return err
	}
	return s.finish(ctx, d.Name, wait, func(d *corev1api.Dojo) bool {
		db := d.Status.Database
		return isReady(d) && db != nil && db.Upgrade == nil && majorOf(db.Version) >= to
	})
}

func (s *session) upgradeMinor(
	ctx context.Context, w *world.World, r upgradeRequest, ask *kubectl.Asking, wait *waiting,
) error {
	ch, version, err := minorUpgradeOf(w.Dojo, r)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, w.Dojo, ch, ask.Asker(ctx, s.Plugin)); err != nil {
		return err
	}
	minor, _, _ := strings.Cut(version, "-")
	return s.finish(ctx, w.Dojo.Name, wait, func(d *corev1api.Dojo) bool {
		db := d.Status.Database
		if db == nil || db.NewerVersion == version || db.Version != minor {
			return false
		}
		ready, desired, _ := strings.Cut(db.Instances, "/")
		return isReady(d) && ready == desired
	})
}

// minorUpgradeOf plans the upgrade to the newer minor version in the status.
func minorUpgradeOf(d *corev1api.Dojo, r upgradeRequest) (ch change, version string, err error) {
	if r.to != "" || r.image != "" || r.withoutBackup {
		return ch, "", kubectl.Usage("--minor excludes --to, --image and --without-backup")
	}
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return ch, "", fmt.Errorf("%s has no Cluster of its own: upgrade Postgres where its database is", d.Name)
	}
	if d.Spec.Postgres.Cluster.Version == "" {
		return ch, "", fmt.Errorf("%s names no version, so the operator does not choose its image: "+
			"set spec.postgres.cluster.version or imageName", d.Name)
	}
	db := d.Status.Database
	if db == nil || db.NewerVersion == "" {
		return ch, "", fmt.Errorf("the operator knows no newer minor version of Postgres for %s", d.Name)
	}
	ch.Annotations = map[string]string{corev1api.MinorUpgradeAnnotation: db.NewerVersion}
	outage := "The primary restarts last: requests fail for some seconds."
	if _, desired, _ := strings.Cut(db.Instances, "/"); desired == "1" {
		outage = "There is one instance: requests fail until it runs again."
	}
	ch.Means = []string{fmt.Sprintf("Postgres %s of %s becomes %s.", db.Version, d.Name, db.NewerVersion), outage}
	return ch, db.NewerVersion, nil
}

func majorOf(version string) int {
	digits, _, _ := strings.Cut(version, ".")
	major, _ := strconv.Atoi(digits)
	return major
}

// upgradeOf plans an upgrade to a major version.
func upgradeOf(w *world.World, r upgradeRequest) (ch change, to int, err error) {
	d := w.Dojo
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return ch, 0, fmt.Errorf("%s has no Cluster of its own: upgrade Postgres where its database is", d.Name)
	}
	pg := d.Spec.Postgres.Cluster
	if to, err = target(pg, r); err != nil {
		return ch, 0, err
	}
	live := world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ObjectName(d))
	has := 0
	if live != nil {
		_, _, has = images.Majors(d, live, images.Input{Catalog: images.BuiltIn("")})
	} else if d.Status.Database != nil {
		has = majorOf(d.Status.Database.Version)
	}
	switch {
	case d.Status.Database != nil && d.Status.Database.Upgrade != nil:
		u := d.Status.Database.Upgrade
		return ch, 0, fmt.Errorf("an upgrade of %s from %s to %s is under way: %s", d.Name, u.From, u.To, u.Step)
	case has > 0 && to < has:
		return ch, 0, fmt.Errorf("%s has Postgres %d: there is no way down to %d but to restore beside it", d.Name, has, to)
	case has > 0 && to == has:
		return ch, 0, fmt.Errorf("%s has Postgres %d already", d.Name, has)
	case pg.Backup == nil && !r.withoutBackup:
		return ch, 0, fmt.Errorf(
			"%s has no backups to go back to: set spec.postgres.cluster.backup, or say --without-backup", d.Name)
	}
	fields := map[string]any{"version": strconv.Itoa(to)}
	if r.image != "" {
		fields = map[string]any{"imageName": r.image}
	}
	ch.Means = upgradeMeans(d, has, to, r)
	if name := recovery.NextServerName(w, d); pg.Backup != nil && recovery.ArchivesApart(d) {
		// The log of the new version must not follow that of the old one.
		fields["backup"] = map[string]any{"plugin": map[string]any{"parameters": map[string]any{"serverName": name}}}
		ch.Means = append(ch.Means, "Backups and the log of the new version go to the serverName "+name+
			"; those of the former version stay.")
	}
	if r.withoutBackup {
		ch.Annotations = map[string]string{corev1api.UpgradeWithoutBackupAnnotation: strconv.Itoa(to)}
	}
	ch.Spec = map[string]any{"postgres": map[string]any{"cluster": fields}}
	return ch, to, nil
}

// target returns the wanted major version.
func target(pg *corev1api.PostgresCluster, r upgradeRequest) (int, error) {
	switch {
	case r.to == "" && r.image == "":
		return 0, kubectl.Usage("name the major version with --to, such as --to 18, or say --minor")
	case r.to != "" && r.image != "":
		return 0, kubectl.Usage("--to and --image exclude each other")
	case pg.ImageName != "" && r.to != "":
		return 0, kubectl.Usage("the Dojo names imageName %s: name the new one with --image", pg.ImageName)
	case pg.ImageName == "" && r.image != "":
		return 0, kubectl.Usage("the Dojo does not name imageName: name the major version with --to")
	}
	text := cmp.Or(r.to, images.VersionOf(r.image))
	if to := majorOf(text); to >= 14 && to < 100 && (r.image != "" || text == strconv.Itoa(to)) {
		return to, nil
	}
	return 0, kubectl.Usage("%q is no major version of Postgres, such as 18", cmp.Or(r.to, r.image))
}

func upgradeMeans(d *corev1api.Dojo, has, to int, r upgradeRequest) []string {
	first := "1. a backup, while the application runs"
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
		"4. a query proves it, and the pods start again",
	}
}

func (c *cli) newAcceptLoss() *cobra.Command {
	var ask kubectl.Asking
	var wait waiting
	cmd := c.forWorld("accept-loss", "Accept that the data of a lost Cluster is gone, and begin anew",
		`Allows the operator to replace a lost Cluster by an empty one, or by one with the data of
spec.postgres.cluster.bootstrap. A later loss needs the command again. First try kubectl dojo restore, which brings
the data back if there are backups.`,
		func(ctx context.Context, s *session, w *world.World) error { return s.acceptLoss(ctx, w, &ask, &wait) })
	ask.BindName(cmd, "the Dojo")
	wait.bind(cmd, 15*time.Minute)
	return cmd
}

func (s *session) acceptLoss(ctx context.Context, w *world.World, ask *kubectl.Asking, wait *waiting) error {
	d := w.Dojo
	ch, err := acceptance(w)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, d, ch, func(text string) error {
		s.Print("%s", text)
		return ask.ConfirmName(ctx, s.Plugin, "the Dojo", d.Name, "The data is lost then.")
	}); err != nil {
		return err
	}
	return s.finish(ctx, d.Name, wait, isReady)
}

// acceptance plans another Cluster in the place of a lost one.
func acceptance(w *world.World) (ch change, err error) {
	d := w.Dojo
	if recovery.LostAt(d).IsZero() {
		ready := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionDatabaseReady)
		state := "the Dojo does not say how its database is"
		if ready != nil {
			state = "DatabaseReady is " + ready.Reason
		}
		return ch, fmt.Errorf("the Cluster of %s is not lost: %s", d.Name, state)
	}
	loss := string(d.UID) // of a Cluster that this Dojo has never had, as the operator has it
	if d.Status.Database != nil {
		loss = cmp.Or(d.Status.Database.ClusterUID, loss)
	}
	ch.Annotations = map[string]string{corev1api.RecreateDatabaseAnnotation: loss}
	begins := "empty"
	if d.BootstrapSource() != nil {
		begins = "with what spec.postgres.cluster.bootstrap says"
	}
	ch.Means = []string{
		fmt.Sprintf("The operator creates another Cluster %s, which begins %s.", cnpg.ObjectName(d), begins),
	}
	if recovery.Restorable(w) {
		ch.Means = append(ch.Means, fmt.Sprintf(
			"There are backups: kubectl dojo restore %s -n %s brings the data back instead.", d.Name, d.Namespace))
	}
	return ch, nil
}
