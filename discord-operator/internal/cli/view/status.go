// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/world"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/kubectl/term"
)

const width = 110

// Report is the status of a server as JSON or YAML.
type Report struct {
	State              `json:",inline"`
	Server             string                 `json:"server,omitempty"` // the server's name on Discord
	Channels           *v1alpha1.ChannelCount `json:"channels,omitempty"`
	Roles              *v1alpha1.RoleCount    `json:"roles,omitempty"`
	Namespaces         int32                  `json:"namespaces"`
	ApplicationID      string                 `json:"applicationId,omitempty"`
	MissingPermissions []v1alpha1.Permission  `json:"missingPermissions,omitempty"`
	InviteURL          string                 `json:"inviteURL,omitempty"`
	Objects            []State                `json:"objects"`
	NotShown           []string               `json:"notShown,omitempty"`
}

// ReportOf returns the status of a server.
func ReportOf(w *world.World, now time.Time) Report {
	s := w.Server.Status
	r := Report{
		State: StateOf(w.Server, now), Server: s.Name, Channels: s.Channels, Roles: s.Roles, Namespaces: s.Namespaces,
		ApplicationID: s.ApplicationID, MissingPermissions: s.MissingPermissions, InviteURL: s.InviteURL,
		Objects: []State{}, NotShown: notShown(w),
	}
	for _, o := range w.Objects() {
		r.Objects = append(r.Objects, StateOf(o, now))
	}
	return r
}

// Ill reports whether a user must fix the server or one of its objects.
func (r Report) Ill() bool {
	return r.Broken || len(r.MissingPermissions) > 0 ||
		slices.ContainsFunc(r.Objects, func(s State) bool { return s.Broken })
}

func notShown(w *world.World) (lines []string) {
	for _, resource := range slices.Sorted(maps.Keys(w.Hidden)) {
		read := "in no namespace"
		if in := w.Hidden[resource]; len(in) > 0 {
			read = "only in " + strings.Join(in, ", ")
		}
		lines = append(lines, fmt.Sprintf("%s: listed %s", resource, read))
	}
	return lines
}

// Status describes a server and its objects on one screen.
func Status(w *world.World, now time.Time, style term.Style) string {
	r := ReportOf(w, now)
	t := &tree{World: w, now: now, style: style}
	var out strings.Builder
	head := []string{fmt.Sprintf("%s (%s)", term.Printable(orNone(r.Server)), orNone(w.Server.Spec.ServerID))}
	if r.Channels != nil {
		head = append(head, fmt.Sprintf("%d of %d channels", r.Channels.Total, r.Channels.Limit))
	}
	if r.Roles != nil {
		head = append(head, fmt.Sprintf("%d of %d roles", r.Roles.Total, r.Roles.Limit))
	}
	head = append(head, term.Count(int(r.Namespaces), "namespace"))
	out.WriteString(r.Paint(style, strings.ToUpper(string(r.Health))) + "  " + strings.Join(head, ", ") + "\n")
	if r.Health != Ready {
		out.WriteString(term.Wrap(term.Printable(r.because()+" (for "+term.Age(r.Since, now)+")"), "  ", width))
	}
	out.WriteString("  " + bot(w, r, style) + "\n")
	for _, line := range r.Drift {
		out.WriteString("  drift " + term.Printable(line) + "\n")
	}
	nodes := t.nodes()
	out.WriteString(term.Forest(nodes))
	if len(nodes) == 0 {
		out.WriteString("  No group, channel or role that you may list refers to this server.\n")
	}
	if len(r.NotShown) > 0 {
		out.WriteString("Objects can be missing here, because you may not list these resources in all namespaces:\n")
		for _, line := range r.NotShown {
			out.WriteString("  " + line + "\n")
		}
	}
	return out.String()
}

func orNone(text string) string {
	if text == "" {
		return "?"
	}
	return text
}

func bot(w *world.World, r Report, style term.Style) string {
	switch who := "bot " + orNone(r.ApplicationID); {
	case len(r.MissingPermissions) > 0:
		var names []string
		for _, p := range r.MissingPermissions {
			names = append(names, string(p))
		}
		return fmt.Sprintf("%s: lacks %s  (kubectl discord invite %s -n %s)",
			who, style.Bad(strings.Join(names, ", ")), w.Server.Name, w.Server.Namespace)
	case r.Channels == nil:
		return who + ": the operator has not seen the server yet"
	default:
		return who + ": the operator reports no missing permission"
	}
}

func (s State) because() string {
	if s.Message == "" {
		return s.Reason
	}
	return s.Reason + ": " + s.Message
}

type tree struct {
	*world.World
	now   time.Time
	style term.Style
}

func (t *tree) nodes() (nodes []term.Node) {
	in, unread := map[string][]term.Node{}, map[string]bool{}
	var alone []term.Node
	for i := range t.Channels {
		c := &t.Channels[i]
		node := t.node(c)
		switch {
		case c.Spec.GroupRef == nil:
			alone = append(alone, node)
			continue
		case t.Group(c) == nil:
			unread[c.Spec.GroupRef.In(c.Namespace).String()] = true
		}
		group := c.Spec.GroupRef.In(c.Namespace).String()
		in[group] = append(in[group], node)
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		node := t.node(g)
		node.Children = in[g.Namespace+"/"+g.Name]
		nodes = append(nodes, node)
	}
	for _, group := range slices.Sorted(maps.Keys(unread)) {
		nodes = append(nodes, term.Node{
			Name: "Group " + group, Cells: []string{t.style.Dim("?"), "it does not exist, or you may not read it"},
			Children: in[group],
		})
	}
	nodes = append(nodes, alone...)
	for i := range t.Roles {
		nodes = append(nodes, t.node(&t.Roles[i]))
	}
	return nodes
}

func (t *tree) node(o status.Object) term.Node {
	s := StateOf(o, t.now)
	name := kinds.Short(kinds.Of(o)) + " " + s.Name
	if s.Namespace != t.Server.Namespace {
		name += " (" + s.Namespace + ")"
	}
	node := term.Node{Name: name, Cells: []string{s.Paint(t.style, string(s.Health)), term.Printable(t.detail(o, s))}}
	for _, line := range s.Drift {
		node.Children = append(node.Children, term.Node{Name: term.Printable(line), Cells: []string{t.style.Busy("drift")}})
	}
	return node
}

func (t *tree) detail(o status.Object, s State) string {
	if s.Health != Ready {
		return s.because()
	}
	switch o := o.(type) {
	case *v1alpha1.DiscordChannel:
		return o.Status.ChannelURL
	case *v1alpha1.DiscordGroup:
		count := map[string]bool{}
		for i := range t.Channels {
			if g := t.Group(&t.Channels[i]); g != nil && g.UID == o.UID {
				count[t.Channels[i].Namespace] = true
			}
		}
		if len(count) > 1 {
			return term.Count(len(count), "namespace")
		}
	case *v1alpha1.DiscordRole:
		if n := len(o.Spec.Members); n > 0 {
			return term.Count(n, "member")
		}
	}
	return ""
}
