// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl/term"
)

// notes adds the warnings to the plan.
func (p *Plan) notes(w *world.World, from source) {
	note := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	database := world.Find[*cnpgv1.Database](w, kinds.Database, cnpg.ObjectName(w.Dojo))
	moment := p.To
	if moment.IsZero() && from.backup != nil {
		moment = backupOf(from.backup).Ended
	}
	if database != nil && !moment.IsZero() && moment.Before(database.CreationTimestamp.Time) {
		note("The Database %s was created at %s, after that moment: the restored data may have no database of the Dojo.",
			database.Name, term.Exact(database.CreationTimestamp.Time))
	}
	if from.window != nil && !from.window.Live && !from.window.Sure {
		note("The log ends at about %s. Postgres archives it at least every %s, so the last writes before its end are lost.",
			term.Exact(from.window.To), strings.TrimSuffix(archiveInterval.String(), "0s"))
	}
	if from.window != nil && from.window.Live && !p.Replaces {
		note("The log is archived at least every %s: a later moment needs kubectl dojo backup %s first.",
			strings.TrimSuffix(archiveInterval.String(), "0s"), w.Dojo.Name)
	}
	_, image, _ := unstructured.NestedString(p.Object.Object, "spec", "imageName")
	_, catalog, _ := unstructured.NestedMap(p.Object.Object, "spec", "imageCatalogRef")
	if p.InPlace && !image && !catalog {
		note("Nothing says which version of Postgres the data has, so it is CloudNativePG's default one: " +
			"if that is wrong, name the image with its tag in --postgres-image.")
	}
	if p.Replaces {
		note("A backup keeps the current data: kubectl dojo restore %s --as OTHER restores it.",
			w.Dojo.Name)
	}
	if p.InPlace && p.ServerName != "" {
		note("If the Dojo comes from a repository, pause its sync until this is done, and set "+
			"spec.postgres.cluster.backup.plugin.parameters.serverName to %s there.", p.ServerName)
	}
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
	var rows [][]string
	if p.Window != nil {
		rows = append(rows, []string{"  restorable", p.Window.Words(w.Now), style.Good("ok")})
	}
	about := p.about
	if p.ServerName != "" {
		about += ", archives to serverName " + p.ServerName
	}
	out.WriteString(term.Table(rows, 2))
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
