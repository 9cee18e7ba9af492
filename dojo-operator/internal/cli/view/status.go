// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	logins "jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/libs/kubectl/term"
)

const (
	width = 110
	// shownEvents is the maximum number of events in the output.
	shownEvents = 3
)

// Report is the output of `kubectl dojo status` with -o json or -o yaml.
type Report struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Head
	Remedies []Remedy          `json:"remedies,omitempty"`
	Windows  []recovery.Window `json:"restorable,omitempty"`
	Firing   []string          `json:"firing,omitempty"`
	Children []Child           `json:"children"`
	// Denied lists resources that the user may not read.
	Denied []string             `json:"denied,omitempty"`
	Status corev1api.DojoStatus `json:"status"`
}

// ReportOf returns the report on a Dojo.
func ReportOf(w *world.World) Report {
	h := HeadOf(w.Dojo, w.Now)
	return Report{
		Namespace: w.Dojo.Namespace, Name: w.Dojo.Name, Head: h, Remedies: Remedies(w, h), Windows: recovery.Windows(w),
		Firing: w.Firing, Children: Children(w), Denied: w.DeniedResources(), Status: w.Dojo.Status,
	}
}

// Status renders the state of a Dojo for one screen.
func Status(w *world.World, style term.Style) string {
	h := HeadOf(w.Dojo, w.Now)
	var out strings.Builder
	out.WriteString(headline(h, w.Now, style))
	out.WriteString(RemedyLines(Remedies(w, h), style))
	out.WriteString("\n")
	tree := fmt.Sprintf("kubectl dojo tree %s -n %s", w.Dojo.Name, w.Dojo.Namespace)
	rows := [][]string{
		applicationRow(w), releaseRow(w, style), schemaRow(w), databaseRow(w, style), upgradeRow(w), loginRow(w),
		backupRow(w, style), alertsRow(w, style), {"Children", Summary(Children(w)), "", tree},
	}
	out.WriteString(term.Table(slices.DeleteFunc(rows, func(row []string) bool { return row == nil }), 2))
	out.WriteString(eventLines(w, style))
	if denied := w.DeniedResources(); len(denied) > 0 {
		text := "Not shown, because you may not read these resources: " + strings.Join(denied, ", ")
		out.WriteString(style.Dim(term.Wrap(text, "", width)))
	}
	return out.String()
}

func headline(h Head, now time.Time, style term.Style) string {
	var out strings.Builder
	since := ""
	if !h.Since.IsZero() {
		since = " for " + term.Age(h.Since, now)
	}
	fmt.Fprintf(&out, "%s  %s%s\n", h.Paint(style, strings.ToUpper(string(h.Health))), h.Reason, since)
	if h.Health != Ready {
		out.WriteString(term.Wrap(h.Message, "  ", width))
	}
	for _, also := range h.Also {
		out.WriteString(term.Wrap(also, style.Bad("  ! "), width))
	}
	return out.String()
}

// RemedyLines renders the remedies as a table.
func RemedyLines(all []Remedy, style term.Style) string {
	var rows [][]string
	for _, r := range all {
		label := r.Label + ":"
		if r.Label == "Careful" {
			label = style.Bad(label)
		}
		note := ""
		if r.Note != "" {
			note = "(" + r.Note + ")"
		}
		rows = append(rows, []string{"  " + label, r.Command, note})
	}
	return term.Table(rows, 2)
}

func applicationRow(w *world.World) []string {
	d := w.Dojo
	image := d.Spec.Image
	for i := range w.Pods {
		for _, c := range w.Pods[i].Spec.Containers {
			if c.Name == ownership.Application {
				image = cmp.Or(image, c.Image)
			}
		}
	}
	where := []string{d.Status.Endpoint}
	for _, host := range d.Status.Hosts {
		where = append(where, string(host))
	}
	none := fmt.Sprintf("0/%d", ptr.Deref(d.Spec.Replicas, 1))
	return []string{"Application", cmp.Or(d.Status.ReadyStatus, none) + " pods", image, strings.Join(where, ", ")}
}

func releaseRow(w *world.World, style term.Style) []string {
	if w.Dojo.Spec.Release == nil {
		return nil
	}
	done := w.Dojo.Status.Release
	if done == nil {
		return []string{"Release", "none yet", "", ""}
	}
	var last []string
	if done.Migration != "" {
		last = append(last, "last "+done.Migration)
	}
	if done.FinishedAt != nil {
		last = append(last, term.Moment(done.FinishedAt.Time, w.Now))
	}
	state := "done"
	switch {
	case done.Failure != nil:
		state = style.Bad("FAILED")
		last = append(last, "next step failed "+term.Moment(done.Failure.Time.Time, w.Now))
	case done.Migrations > 0:
		state = fmt.Sprintf("%d migrations", done.Migrations)
	}
	return []string{"Release", state, strings.Join(last, ", "), ""}
}

func schemaRow(w *world.World) []string {
	if len(w.Jobs) == 0 {
		return nil
	}
	latest := jobOf(&w.Jobs[len(w.Jobs)-1], w.Now) // Jobs are sorted by creation time
	return []string{"Schema", latest.State, "Job " + latest.Name, ""}
}

func newer(db *corev1api.DatabaseStatus) string {
	switch {
	case db.NewerVersion == "":
		return ""
	case db.NewerVersionAt != nil:
		return fmt.Sprintf(" (%s follows in the window from %s)", db.NewerVersion, term.Exact(db.NewerVersionAt.Time))
	}
	return fmt.Sprintf(" (%s is available)", db.NewerVersion)
}

func databaseRow(w *world.World, style term.Style) []string {
	db := w.Dojo.Status.Database
	if db == nil {
		if source := w.Dojo.CredentialsSource(); source.Name != "" {
			return []string{"Database", "external", "Secret " + source.String(), ""}
		}
		return nil
	}
	var about []string
	if db.Version != "" {
		about = append(about, "Postgres "+db.Version+newer(db))
	}
	if pg := w.Dojo.Spec.Postgres; pg != nil && pg.Cluster != nil {
		about = append(about, cmp.Or(string(pg.Cluster.Size), pg.Cluster.Storage.Size.String()))
	}
	if db.Primary != "" {
		about = append(about, "primary "+db.Primary)
	}
	c := clusterOf(w)
	var state string
	detail := strings.Join(about, ", ")
	switch {
	case c != nil:
		_, state, _ = clusterState(c)
		state, _, _ = strings.Cut(state, ", ")
	case w.Unreadable(kinds.Cluster):
		state = db.Instances + " instances"
	case db.ClusterUID != "" || !recovery.LostAt(w.Dojo).IsZero():
		state, detail = style.Bad("MISSING"), "was "+detail
	case w.Dojo.Spec.Postgres != nil && w.Dojo.Spec.Postgres.ClusterRef != nil: // another owner must create this Cluster
		state = style.Bad("MISSING")
	default:
		state = style.Busy("not created yet")
	}
	if db.Pooler != nil {
		detail += fmt.Sprintf(", PgBouncer %s", db.Pooler.Instances)
	}
	return []string{"Database", db.ClusterName, state, detail}
}

func upgradeRow(w *world.World) []string {
	db := w.Dojo.Status.Database
	if db == nil || db.Upgrade == nil {
		return nil
	}
	u := db.Upgrade
	backup := ""
	if u.Backup != "" {
		backup = "Backup " + u.Backup
	}
	return []string{"Upgrade", u.From + " to " + u.To, string(u.Step), backup}
}

func loginRow(w *world.World) []string {
	db := w.Dojo.Status.Database
	if db == nil || db.Login == "" {
		return nil
	}
	former := ""
	if db.FormerLogin != "" {
		former = db.FormerLogin + " is valid too, until no pod uses it"
	}
	for _, login := range []cnpg.Login{cnpg.Owner, cnpg.Second} {
		secret := world.Find[*metav1.PartialObjectMetadata](w, kinds.Secret, login.ObjectName(w.Dojo))
		if secret == nil || login.SQLName(w.Dojo) != db.Login {
			continue
		}
		verb := "made"
		if secret.Annotations[logins.RotationAnnotation] != "" {
			verb = "rotated"
		}
		return []string{"Login", db.Login, verb + " " + term.Age(cnpg.LastWritten(secret), w.Now) + " ago", former}
	}
	return []string{"Login", db.Login, "", former}
}

func backupRow(w *world.World, style term.Style) []string {
	policy := w.Dojo.BackupPolicy()
	if policy == nil {
		if w.Dojo.Spec.Postgres != nil && w.Dojo.Spec.Postgres.Cluster != nil {
			return []string{"Backups", style.Bad("none"), "spec.postgres.cluster.backup is not set", ""}
		}
		return nil
	}
	last, state, next := "", "none yet", ""
	if db := w.Dojo.Status.Database; db != nil && db.LastBackup != nil {
		last, state = term.Moment(db.LastBackup.Time.Time, w.Now), " ok"
	} else if all := recovery.Completed(w); len(all) > 0 { // these are backups of a deleted Cluster
		last, state = term.Moment(all[0].Ended, w.Now), " ok"
	}
	if db := w.Dojo.Status.Database; db != nil && db.NextBackup != nil {
		next = "next " + term.Moment(db.NextBackup.Time, w.Now)
	}
	if meta.IsStatusConditionFalse(w.Dojo.Status.Conditions, corev1api.ConditionBackupSucceeded) {
		state = style.Bad(" failing")
	}
	windows := recovery.Windows(w)
	if len(windows) > 0 {
		return []string{"Backups", last + state, next, "restorable " + windows[0].Words(w.Now)}
	}
	return []string{"Backups", last + state, next, ""}
}

func alertsRow(w *world.World, style term.Style) []string {
	alerts := w.Dojo.Status.Alerts
	if alerts == nil {
		return nil
	}
	ready := meta.FindStatusCondition(w.Dojo.Status.Conditions, corev1api.ConditionAlertsReady)
	state := "ok"
	if ready == nil || ready.Status != metav1.ConditionTrue {
		state = "not ready"
		if ready != nil {
			state = ready.Reason
		}
	}
	firing := ""
	switch {
	case w.Firing == nil:
	case len(w.Firing) == 0:
		firing = "none firing"
	default:
		firing = style.Bad(fmt.Sprintf("%d firing: %s", len(w.Firing), strings.Join(w.Firing, ", ")))
	}
	return []string{"Alerts", "#" + alerts.ChannelName, state, strings.TrimSpace(firing + " " + alerts.ChannelURL)}
}

func eventLines(w *world.World, style term.Style) string {
	var rows [][]string
	for _, e := range w.Events[:min(len(w.Events), shownEvents)] {
		kind := e.Type
		if kind == corev1.EventTypeWarning {
			kind = style.Bad(kind)
		}
		message := []rune(strings.Join(strings.Fields(e.Message), " "))
		if len(message) > 80 {
			message = append(slices.Clone(message[:77]), []rune("...")...)
		}
		rows = append(rows, []string{
			"  " + term.Moment(world.LastSeen(e), w.Now), kind, e.Reason,
			e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, string(message),
		})
	}
	if len(rows) == 0 {
		return ""
	}
	return "Last events\n" + term.Table(rows, 2)
}
