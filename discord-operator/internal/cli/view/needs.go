// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/world"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/libs/kubectl/term"
)

// Need is a permission that the bot needs, with the reasons.
type Need struct {
	Permission string   `json:"permission"`
	Why        []string `json:"why"`
	bit        permissions.Bits
}

const maxReasons = 3

// Needs returns the permissions that the bot needs. others has the additional permissions that only
// objects of other namespaces need. An observed DiscordServer needs only ViewChannel. Other observed
// objects, and objects with the reason NotAllowed, need no permission.
func Needs(w *world.World) (own, others []Need) {
	var of, foreign needs
	if status.Observed(w.Server) {
		of.add(permissions.ViewChannel, "to see groups and channels")
	} else {
		of.add(permissions.ViewChannel|permissions.ManageChannels, "to manage groups and channels")
		of.add(permissions.ViewAuditLog, "to find the result of an interrupted create")
		if managed(w.Server.Spec) {
			of.add(permissions.ManageGuild, "settings of the DiscordServer "+w.Server.Name)
		}
	}
	for _, o := range w.Objects() {
		ready := meta.FindStatusCondition(o.GetConditions(), conditions.TypeReady)
		if status.Observed(o) || ready != nil && ready.Reason == v1alpha1.ReasonNotAllowed {
			continue
		}
		into, name := &of, kinds.Of(o).Kind+" "+o.GetName()
		if o.GetNamespace() != w.Server.Namespace {
			into, name = &foreign, kinds.Of(o).Kind+" "+o.GetNamespace()+"/"+o.GetName()
		}
		into.addObject(o, name)
	}
	own = of.list()
	have := of.bits()
	for _, n := range foreign.list() {
		if !have.Has(n.bit) {
			others = append(others, n)
		}
	}
	return own, others
}

func managed(spec v1alpha1.DiscordServerSpec) bool {
	return spec.Name != "" || spec.Description != nil || spec.Icon != nil || spec.VerificationLevel != "" ||
		spec.DefaultNotifications != "" || spec.ExplicitContentFilter != "" || spec.PreferredLocale != "" ||
		spec.AFKChannelID != nil || spec.AFKChannelRef != nil || spec.AFKTimeout != "" || spec.SystemChannelRef != nil ||
		spec.RulesChannelRef != nil || spec.PublicUpdatesChannelRef != nil || spec.Community != "" ||
		spec.SystemChannelFlags != nil
}

// needs has, for each permission, the reasons why the bot needs it. The index is the number of the
// permission's bit.
type needs struct{ why [64][]string }

func (n *needs) add(bits permissions.Bits, why string) {
	for i := range n.why {
		if bits&(1<<i) != 0 {
			n.why[i] = append(n.why[i], why)
		}
	}
}

func (n *needs) addObject(o status.Object, name string) {
	overwritten := func(spec []v1alpha1.PermissionOverwrite) {
		if spec != nil {
			n.add(permissions.ManageRoles, "overwrites of "+name)
			n.add(overwrites.Mentioned(spec)&^permissions.Administrator, "overwrites of "+name)
		}
	}
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		n.add(permissions.ViewChannel|permissions.ManageChannels, name)
		overwritten(o.Spec.PermissionOverwrites)
	case *v1alpha1.DiscordChannel:
		n.add(permissions.ViewChannel|permissions.ManageChannels, name)
		if o.Spec.Type.IsVoiceLike() {
			n.add(permissions.Connect, "to edit "+name)
		}
		if o.Spec.Webhook != nil {
			n.add(permissions.ManageWebhooks, "webhook of "+name)
		}
		overwritten(o.Spec.PermissionOverwrites)
	case *v1alpha1.DiscordRole:
		n.add(permissions.ManageRoles, name)
		n.add(overwrites.Bits(o.Spec.Permissions), "to give it to "+name)
	}
}

func (n *needs) list() (all []Need) {
	for i := range n.why {
		if why := n.why[i]; why != nil {
			bit := permissions.Bits(1) << i
			all = append(all, Need{Permission: bit.Names()[0], Why: why, bit: bit})
		}
	}
	return all
}

func (n *needs) bits() (all permissions.Bits) {
	for _, need := range n.list() {
		all |= need.bit
	}
	return all
}

// Invitation is a link that adds the bot with the permissions in Asks.
type Invitation struct {
	URL  string `json:"url"`
	Asks []Need `json:"asks"`
	// NotAsked are permissions that only objects of other namespaces need.
	NotAsked []Need `json:"notAsked,omitempty"`
	// Administrator says which objects need that permission, if the link does not request it.
	Administrator []string `json:"administrator,omitempty"`
	// NotShown has the resources that the user may not list in all namespaces. Asks and NotAsked then
	// lack the needs of the objects that were not listed.
	NotShown []string `json:"notShown,omitempty"`
}

// InvitationOf returns the invitation. everyone adds the permissions that only objects of other
// namespaces need. administrator adds Administrator, which the link otherwise never requests.
func InvitationOf(w *world.World, everyone, administrator bool) (Invitation, error) {
	in := Invitation{NotShown: notShown(w)}
	in.Asks, in.NotAsked = Needs(w)
	if everyone {
		in.Asks, in.NotAsked = append(in.Asks, in.NotAsked...), nil
	}
	in.withAdministrator(administrator)
	var asked permissions.Bits
	for _, n := range in.Asks {
		asked |= n.bit
	}
	exactly := func(permissions.Bits) permissions.Bits { return asked }
	link, err := discordclient.ChangeInvite(w.Server.Status.InviteURL, exactly)
	if err != nil || w.Server.Status.InviteURL == "" {
		return in, fmt.Errorf("discord-operator does not know the bot of the DiscordServer %s yet, so there is no link. To "+
			"see why: kubectl discord status %[1]s -n %[2]s", w.Server.Name, w.Server.Namespace)
	}
	in.URL = link
	return in, nil
}

// withAdministrator requests Administrator only if asked is true, because an object of a tenant
// must not be able to request this permission.
func (in *Invitation) withAdministrator(asked bool) {
	of := func(n Need) bool { return n.bit == permissions.Administrator }
	need := Need{Permission: permissions.Administrator.String(), bit: permissions.Administrator}
	for _, n := range slices.Concat(in.Asks, in.NotAsked) {
		if of(n) {
			need.Why = append(need.Why, n.Why...)
		}
	}
	in.Asks, in.NotAsked = slices.DeleteFunc(in.Asks, of), slices.DeleteFunc(in.NotAsked, of)
	if !asked {
		in.Administrator = need.Why
		return
	}
	need.Why = append(need.Why, "--administrator")
	in.Asks = append(in.Asks, need)
}

// Warning says why the link can lack permissions; "" if all objects were listed.
func (in Invitation) Warning(w *world.World) string {
	if len(in.NotShown) == 0 {
		return ""
	}
	return "Warning: the link can lack permissions that objects need, because you may not list these resources in all " +
		"namespaces:\n  " + strings.Join(in.NotShown, "\n  ") + "\nThe bot can lose these permissions when a user opens " +
		"the link. Ask the platform team to run `kubectl discord invite " + w.Server.Name + " -n " + w.Server.Namespace +
		" -A` instead.\n"
}

// Text describes the invitation for a user.
func (in Invitation) Text(w *world.World, style term.Style) string {
	rows := func(list []Need) (rows [][]string) {
		for _, n := range list {
			rows = append(rows, []string{"  " + n.Permission, reasons(n.Why)})
		}
		return rows
	}
	var out strings.Builder
	out.WriteString(style.Bold(in.URL) + "\n")
	out.WriteString("A user with the permission Manage Server must open this link. The link asks for:\n" +
		term.Table(rows(in.Asks), 2))
	if len(in.NotAsked) > 0 {
		out.WriteString("Only objects of other namespaces need the permissions below; -A adds them to the link. Without " +
			"-A, the bot can lose these permissions when a user opens the link:\n" + term.Table(rows(in.NotAsked), 2))
	}
	if len(in.Administrator) > 0 {
		out.WriteString("The link does not ask for Administrator (--administrator adds it). Why it is needed: " +
			reasons(in.Administrator) + ".\n")
	}
	if EnablesCommunity(w) {
		out.WriteString("spec.community needs Administrator until Community is enabled (--administrator adds it).\n")
	}
	return out.String()
}

// EnablesCommunity reports whether the operator needs Administrator until the server has Community.
func EnablesCommunity(w *world.World) bool {
	return w.Server.Spec.Community != "" && !status.Observed(w.Server)
}

func reasons(why []string) string {
	if more := len(why) - maxReasons; more > 0 {
		why = append(why[:maxReasons:maxReasons], fmt.Sprintf("%d more", more))
	}
	return strings.Join(why, ", ")
}
