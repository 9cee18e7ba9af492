// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl/term"
)

func (p *Plan) notes(w *world.World, from source) {
	note := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	database := world.Find[*cnpgv1.Database](w, kinds.Database, cnpg.ObjectName(w.Dojo))
	moment := p.To
	if moment.IsZero() && from.backup != nil {
		moment = backupOf(from.backup).Ended
	}
	if database != nil && !moment.IsZero() && moment.Before(database.CreationTimestamp.Time) {
		note("The Database %s was created at %s, after the restored moment: the restored data may lack the database of the "+
			"Dojo.", database.Name, term.Exact(database.CreationTimestamp.Time))
	}
	if from.window != nil && !from.window.Live && !from.window.Sure {
		orLater := ""
		if from.window.Open {
			orLater = " or later"
		}
		note("The write-ahead log ends at about %s%s. Postgres archives this log at least every %s, so the last writes "+
			"before its end may be lost.",
			term.Exact(from.window.To), orLater, strings.TrimSuffix(archiveInterval.String(), "0s"))
	}
	if now := archive(w.Dojo); p.To.IsZero() && from.window != nil && from.former(w.Dojo) && now != nil {
		note("All of the write-ahead log of serverName %s is restored. If the Dojo was already restored to an earlier "+
			"moment, this restore brings back the writes after that moment. The Dojo now archives to serverName %s, which "+
			"has no backup, so the writes in that archive are not restored.",
			from.window.ServerName, now.ServerName)
	}
	if from.window != nil && from.window.Live && !p.Replaces {
		note("Postgres archives its write-ahead log at least every %s. To restore a moment that is not archived yet, first "+
			"run kubectl dojo backup %s -n %s.",
			strings.TrimSuffix(archiveInterval.String(), "0s"), w.Dojo.Name, w.Dojo.Namespace)
	}
	_, image, _ := unstructured.NestedString(p.Object.Object, "spec", "imageName")
	_, catalog, _ := unstructured.NestedMap(p.Object.Object, "spec", "imageCatalogRef")
	if p.InPlace && !image && !catalog {
		note("The version of Postgres of the data is not known, so CloudNativePG uses its default version. " +
			"If the data has another version, name an image of that version, with its tag, in --postgres-image.")
	}
	if p.InPlace && len(w.Others) > 0 {
		note("The Cluster %s also had the data of %s. That data is restored to the same moment.",
			p.Object.GetName(), strings.Join(w.Others, ", "))
	}
	if p.InPlace {
		p.Notes = append(p.Notes, grants(w)...)
	}
	if p.Replaces {
		note("Step 2 backs up the current data, and prints the command that restores that backup.")
	}
	if p.InPlace && p.ServerName != "" {
		note("If the Dojo comes from a Git repository, pause the sync until the restore has ended, and set "+
			"spec.postgres.cluster.backup.plugin.parameters.serverName to %s in the repository.", p.ServerName)
	}
}

// grants warns of users in other namespaces, whose Dojos the World lacks.
func grants(w *world.World) (all []string) {
	for _, login := range []cnpg.Login{cnpg.Owner, cnpg.Second} {
		secret := world.Find[*metav1.PartialObjectMetadata](w, kinds.Secret, login.ObjectName(w.Dojo))
		if secret == nil || secret.Annotations[corev1api.AllowedNamespacesAnnotation] == "" {
			continue
		}
		all = append(all, fmt.Sprintf("Dojos of other namespaces may use the database of %s: the annotation %s of the "+
			"Secret %s allows %q. Their data is restored to the same moment.",
			w.Dojo.Name, corev1api.AllowedNamespacesAnnotation, secret.Name,
			secret.Annotations[corev1api.AllowedNamespacesAnnotation]))
	}
	return all
}

// Text renders the plan for the user.
func (p *Plan) Text(w *world.World, style term.Style) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	moment := "the newest data that there is"
	if !p.To.IsZero() {
		moment = term.Exact(p.To)
	}
	line("Restores %s from %s to %s.", style.Bold(w.Dojo.Name), p.Source, moment)
	if p.Window != nil {
		state := style.Good("ok")
		if p.To.After(p.Window.To) {
			state = style.Busy("--to is after that: the restore succeeds only if the write-ahead log reaches --to")
		}
		line("  restorable  %s  %s", p.Window.Words(w.Now), state)
	}
	about := p.about
	if p.ServerName != "" {
		about += ", archives to serverName " + p.ServerName
	}
	line("  %s", about)
	for i, step := range p.Steps {
		text := step.Text
		if step.Action == Remove {
			text = style.Bad(text)
		}
		line("  %d. %s", i+1, text)
	}
	for _, note := range p.Notes {
		out.WriteString(term.Wrap(note, "  ! ", 110))
	}
	return out.String()
}

// ParseMoment parses RFC 3339, "2026-11-24 02:45", "24 Nov 02:45", "02:45" (the last 02:45) and
// "10m" (ten minutes ago). The default time zone is UTC.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	now = now.UTC()
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago).Truncate(time.Second), nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04",
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04",
	} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return at.UTC(), nil
		}
	}
	for _, layout := range []string{"2 Jan 15:04:05", "2 Jan 15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			at = at.AddDate(now.Year()-at.Year(), 0, 0)
			if at.After(now) {
				at = at.AddDate(-1, 0, 0)
			}
			return at, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			today := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
			if today.After(now) {
				today = today.AddDate(0, 0, -1)
			}
			return today, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 02:45, \"24 Nov 02:45\", \"2026-11-24 02:45:00\", "+
		"2026-11-24T02:45:00Z, or 10m for ten minutes ago; a time without a zone is in UTC", text)
}
