// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
)

// Report lists the changes that the operator would make after an apply of the manifests.
type Report struct {
	ServerID string   `json:"serverId"`
	Objects  []Object `json:"objects"` // with changes or problems
	Summary  Summary  `json:"summary"`

	notes []string
}

// Object lists the changes of one object.
type Object struct {
	Kind        string                `json:"kind"`
	Namespace   string                `json:"namespace,omitempty"`
	Name        string                `json:"name"`
	Differences []resource.Difference `json:"differences,omitempty"`
	Observed    []string              `json:"observed,omitempty"` // differences of an object that is only observed
	Problems    []Problem             `json:"problems,omitempty"` // the object cannot match its spec because of these
}

// Problem is a reason why an object cannot match its spec.
type Problem struct {
	Reason  string `json:"reason"` // reason of the object's condition, or Unidentified
	Message string `json:"message"`
}

// Summary counts objects. An object that is changed and moved counts twice.
type Summary struct {
	Create   int `json:"create"`
	Change   int `json:"change"`
	Move     int `json:"move"`
	Delete   int `json:"delete"`
	Problems int `json:"problems"`
	Observed int `json:"observed"` // observed objects with differences
}

func (w *world) report() *Report {
	r := &Report{ServerID: w.serverID, Objects: []Object{}, notes: w.notes()}
	for _, s := range w.steps {
		o := Object{
			Kind: kindOf(s.object), Namespace: s.object.GetNamespace(), Name: s.object.GetName(),
			Differences: w.differences(s),
		}
		if !s.removed && status.Observed(s.object) {
			o.Observed, o.Differences = lifecycle.FormatDifferences(o.Differences), nil
		}
		issues := s.issues
		if enforced := w.enforcements(s); len(enforced) > 0 {
			o.Differences = append(o.Differences, enforced...)
			issues = append(slices.Clone(issues), s.enforced.Issues...)
		}
		if s.removed {
			issues = append(slices.Clone(issues), s.plan.Issues...)
		}
		for _, issue := range issues {
			o.Problems = append(o.Problems, Problem{issue.Reason, issue.Message})
		}
		if len(o.Differences)+len(o.Observed)+len(o.Problems) > 0 {
			r.Objects = append(r.Objects, o)
			r.Summary.add(o)
		}
	}
	return r
}

func (s *Summary) add(o Object) {
	moves := func(d resource.Difference) bool { return d.Action == resource.ActionMove }
	changes := func(d resource.Difference) bool { return !moves(d) }
	switch {
	case o.created():
		s.Create++
	case o.deleted():
		s.Delete++
	default:
		if slices.ContainsFunc(o.Differences, changes) {
			s.Change++
		}
		if slices.ContainsFunc(o.Differences, moves) {
			s.Move++
		}
	}
	if len(o.Problems) > 0 {
		s.Problems++
	}
	if len(o.Observed) > 0 {
		s.Observed++
	}
}

func (o *Object) whole(action resource.Action) bool {
	return slices.Contains(o.Differences, resource.Difference{Action: action})
}

func (o *Object) created() bool { return o.whole(resource.ActionCreate) }
func (o *Object) deleted() bool { return o.whole(resource.ActionDelete) }

func (w *world) notes() (all []string) {
	if len(w.presumed) > 0 {
		all = append(all, fmt.Sprintf("The plan assumes spec.serverId %s for each DiscordServer without a manifest: %s.",
			w.serverID, strings.Join(w.presumed, ", ")))
	}
	if w.skipped > 0 {
		all = append(all, fmt.Sprintf("%d objects of other Discord servers are left out.", w.skipped))
	}
	if w.before == nil && len(w.byName) > 0 {
		all = append(all, fmt.Sprintf("The plan assumes that %d objects are already applied, and that each of them manages "+
			"the resource on Discord that has the object's spec.name. But for an object that was never applied, the "+
			"operator would create a new resource. To plan such objects correctly, set --before to the manifests that "+
			"are applied now.",
			len(w.byName)))
	}
	if len(w.iconless) > 0 {
		all = append(all, fmt.Sprintf("The icon of DiscordServer %s is not compared: the manifests lack its ConfigMap.",
			strings.Join(w.iconless, ", ")))
	}
	if w.hiddenUnread {
		all = append(all, "Discord's Gateway could not be reached, "+
			"so the plan does not know which channels are hidden from the bot, and can show a creation for a hidden channel.")
	}
	return all
}

func (o *Object) sign() string {
	switch {
	case o.created():
		return "+"
	case o.deleted():
		return "-"
	case len(o.Differences) > 0:
		return "~"
	case len(o.Observed) > 0:
		return "o"
	}
	return "!"
}

func (o *Object) title() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	if len(o.Observed) > 0 {
		name += " (observed)"
	}
	return name
}

func (r *Report) text() string {
	var out strings.Builder
	for i := range r.Objects {
		o := &r.Objects[i]
		fmt.Fprintf(&out, "%s %s %s\n", o.sign(), o.Kind, o.title())
		for _, d := range o.Differences {
			if line := d.String(); line != string(resource.ActionCreate) && line != string(resource.ActionDelete) {
				fmt.Fprintf(&out, "    %s\n", line)
			}
		}
		for _, line := range o.Observed {
			if len(o.Differences) > 0 {
				line = "only observed: " + line
			}
			fmt.Fprintf(&out, "    %s\n", line)
		}
		for _, p := range o.Problems {
			fmt.Fprintf(&out, "  ! %s: %s\n", p.Reason, p.Message)
		}
	}
	s := r.Summary
	if s == (Summary{}) {
		return "No changes: an apply would change nothing on Discord.\n"
	}
	fmt.Fprintf(&out, "\nTo create: %d, to change: %d, to move: %d, to delete: %d. Objects with problems: %d.",
		s.Create, s.Change, s.Move, s.Delete, s.Problems)
	if s.Observed > 0 {
		fmt.Fprintf(&out, " Objects with managementPolicy Observe that differ from Discord: %d.", s.Observed)
	}
	out.WriteString("\n")
	return out.String()
}

func (r *Report) json() (string, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return string(text) + "\n", err
}

func (r *Report) err() error {
	switch s := r.Summary; {
	case s.Problems > 0:
		return fmt.Errorf("objects that would not match their specs after an apply: %d", s.Problems)
	case s != Summary{Observed: s.Observed}:
		return ErrDiffers
	}
	return nil
}
