// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/term"
)

func (s *session) newBackups() *cobra.Command {
	var format kubectl.Output
	cmd := s.forWorld("backups", "Show what can be restored: spans of time, and backups",
		`Shows the points in time to which the database of a Dojo can be restored, and the result of each of its backups.
Times are in UTC. The exit code is 3 if kubectl dojo restore cannot restore the database.`,
		func(_ context.Context, w *world.World) error {
			if w.Unreadable(kinds.Backup) {
				return fmt.Errorf("you may not list %s in the namespace %s", kinds.Backup.Resource(), s.Namespace)
			}
			return s.backups(w, format)
		})
	format.Bind(cmd)
	return cmd
}

type backupReport struct {
	Restorable []recovery.Window `json:"restorable"`
	Backups    []recovery.Backup `json:"backups"`
}

func (s *session) backups(w *world.World, format kubectl.Output) error {
	report := backupReport{Restorable: recovery.Windows(w), Backups: recovery.Backups(w)}
	if err := format.Write(s.Plugin, report, func() string { return backupText(w, report, s.Style) }); err != nil {
		return err
	}
	if ok, _ := recovery.Restorable(w); !ok {
		return kubectl.ErrIll
	}
	return nil
}

func backupText(w *world.World, report backupReport, style term.Style) string {
	var out strings.Builder
	if len(report.Restorable) == 0 {
		out.WriteString("No point in time can be restored.\n")
	} else {
		rows := [][]string{{"RESTORABLE (UTC)", "FROM", ""}}
		for _, window := range report.Restorable {
			rows = append(rows, []string{window.Words(w.Now), window.ServerName, window.Store()})
		}
		out.WriteString(term.Table(rows, 3))
	}
	out.WriteString("\n")
	if len(report.Backups) == 0 {
		return out.String() + "There is no backup.\n"
	}
	rows := [][]string{{"BACKUP", "ENDED", "METHOD", "FROM", "STATE"}}
	for _, b := range report.Backups {
		rows = append(rows, backupRow(b, w.Now, style))
	}
	return out.String() + term.Table(rows, 3)
}

func backupRow(b recovery.Backup, now time.Time, style term.Style) []string {
	ended, from, state := "-", "", b.Phase
	if !b.Ended.IsZero() {
		ended = term.Moment(b.Ended, now)
	}
	if b.Place != nil {
		from = b.Place.ServerName
	}
	switch {
	case b.Usable:
		state = style.Good("ok")
	case b.Phase == cnpgv1.BackupPhaseCompleted:
		state = "completed; kubectl dojo restore --backup cannot use it"
	case b.Error != "":
		state = style.Bad(b.Phase + ": " + b.Error)
	}
	return []string{b.Name, ended, b.Method, from, state}
}

func (s *session) newBackup() *cobra.Command {
	var ask kubectl.Asking
	var wait waiting
	cmd := s.forWorld("backup", "Take a backup now",
		`Takes a backup of the Dojo's own Cluster now, where and how the Dojo's spec says.`,
		func(ctx context.Context, w *world.World) error { return s.backup(ctx, w, &ask, &wait) })
	ask.Bind(cmd)
	wait.bind(cmd, cnpg.MaxBackupTime)
	return cmd
}

func (s *session) backup(ctx context.Context, w *world.World, ask *kubectl.Asking, wait *waiting) error {
	backup, err := backupNow(w)
	if err != nil {
		return err
	}
	if err := s.Create(ctx, backup.DeepCopy(), client.DryRunAll); err != nil {
		return err
	}
	text, err := yaml.Marshal(backup)
	if err != nil {
		return err
	}
	s.Print("Creates:\n%s", text)
	if err := ask.Confirm(ctx, s.Plugin, string(text)); err != nil {
		return err
	}
	if err := s.Create(ctx, backup.DeepCopy()); err != nil {
		return err
	}
	if !wait.wait {
		s.Print("Created the Backup. To see its result: kubectl dojo backups %s -n %s\n", w.Dojo.Name, w.Dojo.Namespace)
		return nil
	}
	return s.backupEnds(ctx, backup, wait.timeout)
}

func backupNow(w *world.World) (*unstructured.Unstructured, error) {
	d := w.Dojo
	live := world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ObjectName(d))
	switch {
	case ownCluster(d) == nil:
		return nil, fmt.Errorf("%s has no Cluster of its own: back up its database with that database's own tools", d.Name)
	case d.BackupPolicy() == nil:
		return nil, fmt.Errorf("%s does not say where backups go: set spec.postgres.cluster.backup", d.Name)
	case w.Unreadable(kinds.Cluster):
		return nil, fmt.Errorf("you may not get %s in the namespace %s", kinds.Cluster.Resource(), d.Namespace)
	case live == nil:
		return nil, fmt.Errorf("the Cluster %s does not exist: %s", cnpg.ObjectName(d), seeStatus(d))
	case cnpg.Hibernates(live):
		return nil, fmt.Errorf("the Cluster %s is hibernated, and a backup would wait for ever. %s",
			live.Name, recovery.ResumeFirst(d, live))
	}
	backup := kinds.Backup.Named(d.Namespace, cnpg.BackupName(d, w.Now.UTC().Format("20060102150405")))
	backup.SetLabels(map[string]string{
		ownership.NameLabel: ownership.Application, ownership.InstanceLabel: d.Name,
		"app.kubernetes.io/managed-by": fieldOwner,
	})
	backup.Object["spec"] = cnpg.BackupSpecNow(d, live)
	return backup, nil
}

func (s *session) backupEnds(ctx context.Context, backup *unstructured.Unstructured, timeout time.Duration) error {
	return s.poll(ctx, timeout, func(ctx context.Context) (progress string, ok bool, err error) {
		live := &cnpgv1.Backup{}
		if err := s.Get(ctx, client.ObjectKeyFromObject(backup), live); err != nil {
			return "", false, err
		}
		if phase := string(live.Status.Phase); phase != "" {
			progress = "Backup " + live.Name + ": " + phase
		}
		if cnpg.BackupFailed(live) {
			err = fmt.Errorf("the backup has failed: %s", cnpg.BackupError(live))
		}
		return progress, live.Status.Phase == cnpgv1.BackupPhaseCompleted, err
	})
}
