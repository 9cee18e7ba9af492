// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

// Report is the result of `kubectl dojo plan`.
type Report struct {
	OperatorVersion string  `json:"operatorVersion"`
	Dojos           []*Dojo `json:"dojos"`
	Summary         Summary `json:"summary"`
	// Notes are assumptions that apply to all Dojos.
	Notes []string `json:"notes,omitempty"`
}

// Dojo is the plan of one Dojo.
type Dojo struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Stages    []Stage `json:"stages"`
	// Consequences are the consequences of all stages, without duplicates.
	Consequences []Consequence `json:"consequences,omitempty"`
	// Problems are the errors and refusals that keep the Dojo from its desired state.
	Problems []string `json:"problems,omitempty"`
	// Waits is the reason and message of Progressing if the Dojo does not become Ready.
	Waits string `json:"waits,omitempty"`
	// Ready is true if the Dojo is Ready at the end of the plan.
	Ready bool `json:"ready"`
	// Unknown lists the gaps of the plan that missing rights cause.
	Unknown []string `json:"unknown,omitempty"`
}

// Stage has the operator's changes until it must wait for another controller.
type Stage struct {
	// After describes the work of other controllers before this stage; empty for the first stage.
	After   []string `json:"after,omitempty"`
	Changes []Change `json:"changes"`
	// Writes are the operator's requests to the API server.
	Writes []Write `json:"writes,omitempty"`
}

// Summary counts changes and Dojos with problems. An object counts once per stage that changes it.
type Summary struct {
	Create   int `json:"create"`
	Change   int `json:"change"`
	Delete   int `json:"delete"`
	Problems int `json:"problems"`
}

// Add adds the plan of a Dojo.
func (r *Report) Add(d *Dojo) {
	r.Dojos = append(r.Dojos, d)
	if len(d.Problems) > 0 {
		r.Summary.Problems++
	}
	for _, stage := range d.Stages {
		for _, c := range stage.Changes {
			switch c.Action {
			case Create:
				r.Summary.Create++
			case Update:
				r.Summary.Change++
			case Delete:
				r.Summary.Delete++
			}
		}
	}
}

// Note adds an assumption that applies to all Dojos.
func (r *Report) Note(text string) { r.Notes = append(r.Notes, text) }

// Changes reports whether the operator would change any object.
func (r *Report) Changes() bool { return r.Summary.Create+r.Summary.Change+r.Summary.Delete > 0 }

// Text renders the report for a terminal.
func (r *Report) Text() string {
	var out strings.Builder
	for _, d := range r.Dojos {
		d.write(&out)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "Note: %s\n", note)
	}
	s := r.Summary
	if s == (Summary{}) {
		fmt.Fprintf(&out, "No changes: dojo-operator %s would write nothing.\n", r.OperatorVersion)
		return out.String()
	}
	fmt.Fprintf(&out, "To create: %d, to change: %d, to delete: %d. Dojos with problems: %d.\n",
		s.Create, s.Change, s.Delete, s.Problems)
	return out.String()
}

func (d *Dojo) write(out *strings.Builder) {
	changes := slices.ContainsFunc(d.Stages, func(s Stage) bool { return len(s.Changes) > 0 })
	if !changes && len(d.Problems)+len(d.Unknown) == 0 && d.Ready {
		return
	}
	fmt.Fprintf(out, "Dojo %s/%s\n", d.Namespace, d.Name)
	for _, stage := range d.Stages {
		stage.write(out)
	}
	for _, c := range d.Consequences {
		fmt.Fprintf(out, "  %s %s: %s: %s.\n", mark(c.Effect), c.Effect, c.Object, c.Message)
	}
	switch {
	case d.Waits != "":
		fmt.Fprintf(out, "  The plan does not show later steps, because the Dojo then waits: %s\n", d.Waits)
	case d.Ready && changes:
		out.WriteString("  Then the Dojo is Ready.\n")
	}
	for _, problem := range d.Problems {
		fmt.Fprintf(out, "  ! %s\n", problem)
	}
	for _, unknown := range d.Unknown {
		fmt.Fprintf(out, "  ? %s\n", unknown)
	}
	out.WriteString("\n")
}

func mark(e Effect) string {
	if e == Downtime || e == DataAtRisk {
		return "!"
	}
	return ">"
}

func (s Stage) write(out *strings.Builder) {
	if len(s.After) > 0 && len(s.Changes) > 0 {
		fmt.Fprintf(out, "Then, when %s:\n", sentence(s.After))
	}
	for _, c := range s.Changes {
		sign := map[Action]string{Create: "+", Update: "~", Delete: "-"}[c.Action]
		name := c.Name
		if c.Unknown {
			name = withoutHash(name)
		}
		fmt.Fprintf(out, "%s %s %s\n", sign, c.Kind, name)
		for _, f := range c.shown() {
			fmt.Fprintf(out, "    %s\n", f.line(c.Action))
		}
	}
}

func sentence(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

func (f Field) line(action Action) string {
	or := func(value string) string {
		if value == "" {
			return "none"
		}
		return value
	}
	if action == Create {
		return f.Path + ": " + or(f.New)
	}
	return f.Path + ": " + or(f.Old) + " -> " + or(f.New)
}

// highlights lists the path prefixes that the text shows of a new object. JSON shows all fields.
var highlights = map[string][]string{
	kinds.Dojo.Kind:       {"spec."},
	kinds.Deployment.Kind: {"spec.replicas", "spec.template.spec.containers[dojo].image"},
	kinds.Service.Kind:    {"spec.ports["},
	kinds.Cluster.Kind: {
		"spec.instances", "spec.imageName", "spec.imageCatalogRef.", "spec.storage.", "spec.bootstrap.",
	},
	kinds.Database.Kind:   {"spec.name", "spec.owner", "spec.cluster.name"},
	kinds.Role.Kind:       {"spec.name", "spec.cluster.name"},
	kinds.Schedule.Kind:   {"spec.schedule", "spec.method"},
	kinds.Pooler.Kind:     {"spec.instances", "spec.pgbouncer.poolMode"},
	kinds.Autoscaler.Kind: {"spec.minReplicas", "spec.maxReplicas"},
	kinds.Ingress.Kind:    {"spec.rules[", "spec.ingressClassName"},
	kinds.HTTPRoute.Kind:  {"spec.hostnames["},
	kinds.Channel.Kind:    {"spec.name", "spec.groupRef."},
}

func (c Change) shown() []Field {
	if c.Action != Create {
		return c.Fields
	}
	return slices.DeleteFunc(slices.Clone(c.Fields), func(f Field) bool {
		return !slices.ContainsFunc(highlights[c.Kind], func(prefix string) bool { return strings.HasPrefix(f.Path, prefix) })
	})
}
