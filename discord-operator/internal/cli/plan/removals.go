// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/channel"
	"jutsu.com/operators/discord-operator/internal/controller/group"
	"jutsu.com/operators/discord-operator/internal/controller/role"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// planRemovals plans the deletions, and removes the deleted resources from the snapshot. It first
// finds the resources of all objects of --before, so that no two objects have the same resource.
func (w *world) planRemovals(ctx context.Context) {
	w.removals = map[*lifecycle.Kind][]*step{}
	for _, kind := range kinds {
		steps := w.begin(ctx, kind, w.before)
		var kept, removed []*step
		for _, s := range steps {
			if s.removed {
				removed = append(removed, s)
			} else {
				kept = append(kept, s)
			}
		}
		w.bindAll(append(kept, removed...))
		for _, s := range steps {
			w.assignWebhook(s)
		}
		w.removals[kind] = removed
	}
	w.takeOverStatus()
	var gone []string
	for _, kind := range kinds {
		for _, s := range w.removals[kind] {
			if s.guild == nil || len(s.issues) > 0 {
				continue
			}
			s.plan = w.planRemoved(s)
			s.plan.Report(s.unidentified())
			if d := s.plan.Delete; d != nil {
				gone = append(gone, d.ID)
			}
		}
	}
	w.snap, w.taken = w.snap.Without(gone...), map[string]status.Object{}
}

func (w *world) planRemoved(s *step) lifecycle.Plan {
	if i := s.kind.Identity(s.object); i.Adopt == nil && !i.Adopted && !i.Matched {
		s.binding.NoRetention = grant.RetentionRefused(s.guild.Server, s.object.GetNamespace(), s.kind.Noun)
	}
	w.recordClaims(s)
	s.guild.Snapshot = w.freed()
	if w.after.all[keyOf(s.guild.Server)] == nil {
		s.guild.Server = s.guild.Server.DeepCopy()
		s.guild.Server.DeletionTimestamp = new(metav1.Now())
	}
	var known []conditions.Issue
	if status.Paused(s.object) {
		known = append(known, status.PausedDeletion(s.object))
	}
	switch o := s.object.(type) {
	case *v1alpha1.DiscordRole:
		return role.PlanDeletion(o, role.State{Guild: s.guild, Binding: s.binding}, known)
	case *v1alpha1.DiscordGroup:
		if names := w.dependents(o); len(names) > 0 {
			known = append(known, *group.WaitingFor(o, names))
		}
		return group.PlanDeletion(o, group.State{Guild: s.guild, Binding: s.binding}, known)
	case *v1alpha1.DiscordChannel:
		return channel.PlanDeletion(o, channel.State{Guild: s.guild, Binding: s.binding}, known)
	}
	return lifecycle.Plan{}
}

const reasonUnidentified = "Unidentified"

// unidentified returns an issue if the operator may delete a resource that the plan cannot show:
// the object in the cluster has the resource's id in its status, but the manifest has only a name.
func (s *step) unidentified() *conditions.Issue {
	d := s.plan.Delete
	if d == nil || d.By != nil || d.How == lifecycle.Retained || !s.named || s.binding.Live != nil {
		return nil
	}
	return conditions.Degraded(reasonUnidentified,
		"The manifests no longer have this object, and the plan cannot identify its %[1]s: no %[1]s with the "+
			"name %[2]q on Discord is free (managed by no other object), or more than one. If the object's status in the "+
			"cluster has the id of a %[1]s, the operator may delete this %[1]s. To see this %[1]s in the plan, set --before "+
			"to manifests that have a status: the output of `kubectl get discord -A -o yaml`.",
		s.kind.Noun, s.kind.Identity(s.object).Name)
}

// recordClaims records the objects that name a removed object's resource in their status, or in
// spec.adopt if they are in the same namespace. It ignores objects that only observe the resource.
func (w *world) recordClaims(s *step) {
	id := *idOf(s.object)
	for _, o := range w.after.ofKind(s.kind) {
		i, here := s.kind.Identity(o), o.GetNamespace() == s.object.GetNamespace()
		claims := i.StatusID == id || here && i.StatusID == "" && i.Adopt != nil && i.Adopt.ID == id
		if id != "" && claims && !i.Observed {
			s.binding.Claim(title(o), here)
		}
	}
}

// freed returns a snapshot for deletions. If the server's manifest names a rules channel that has a
// manifest, that channel replaces a deleted rules channel, so the snapshot has no rules channel. The
// same applies to the updates channel.
func (w *world) freed() *guildcache.Snapshot {
	freed := *w.snap
	hasManifest := func(ref *v1alpha1.ChannelReference, in string) bool {
		c := &v1alpha1.DiscordChannel{}
		if ref == nil {
			return false
		}
		c.Namespace, c.Name = in, ref.Name
		return w.after.all[keyOf(c)] != nil
	}
	for _, s := range of[*v1alpha1.DiscordServer](w.after) {
		if s.Status.ServerID != w.serverID || status.Paused(s) || status.Observed(s) {
			continue
		}
		if hasManifest(s.Spec.RulesChannelRef, s.Namespace) {
			freed.Guild.RulesChannelID = ""
		}
		if hasManifest(s.Spec.PublicUpdatesChannelRef, s.Namespace) {
			freed.Guild.PublicUpdatesChannelID = ""
		}
	}
	return &freed
}

func (w *world) dependents(g *v1alpha1.DiscordGroup) (names []string) {
	for _, c := range of[*v1alpha1.DiscordChannel](w.after) {
		if ref := c.Spec.GroupRef; ref != nil && ref.In(c.Namespace).String() == keyOf(g).String() {
			names = append(names, issues.Name(c, g.Namespace))
		}
	}
	return names
}

func deletion(o status.Object, d *lifecycle.Deletion) []resource.Difference {
	switch {
	case d == nil || d.By == nil:
		return nil
	case d.By == webhook.Deleter{}:
		c, _ := o.(*v1alpha1.DiscordChannel)
		return ifYounger(c, []resource.Difference{{Action: resource.ActionDelete, Field: "webhook", To: d.ID}})
	}
	return []resource.Difference{{Action: resource.ActionDelete}}
}
