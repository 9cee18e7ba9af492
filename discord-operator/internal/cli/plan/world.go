// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/channel"
	"jutsu.com/operators/discord-operator/internal/controller/group"
	"jutsu.com/operators/discord-operator/internal/controller/role"
	"jutsu.com/operators/discord-operator/internal/controller/server"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// world is a server on Discord and the objects that are to be applied to it.
type world struct {
	*live
	serverID string
	// after are the objects of the manifests; before, nil for unknown, are those that were applied last.
	after, before *objects
	// snap is the server as it would be with what was planned so far; shown has what is to be deleted besides,
	// which users know by its name.
	snap, shown *guildcache.Snapshot
	// taken are the objects that have what is on Discord, by its id.
	taken map[string]status.Object
	// removals are the objects that have a manifest no longer.
	removals map[*lifecycle.Kind][]*step
	// presumed are the DiscordServers that have no manifest, and skipped how many objects are of other servers.
	presumed []string
	skipped  int
	// byName are the objects that were found on Discord by their names alone.
	byName []string
	// iconless are the servers whose icon has no ConfigMap here.
	iconless []string
	made     uint64
	steps    []*step
}

// step is what is planned for one object.
type step struct {
	object status.Object
	kind   *lifecycle.Kind
	// from are the objects among which it is; removed says that it has a manifest no longer.
	from    *objects
	removed bool
	guild   *bot.Guild
	binding lifecycle.Binding
	plan    lifecycle.Plan
	// further are differences that the plan of the resource does not have.
	further []resource.Difference
	issues  []conditions.Issue
}

// kinds are those below a server, in the order in which they can refer to each other.
var kinds = []*lifecycle.Kind{&role.Kind, &group.Kind, &channel.Kind}

// compute plans all objects, and returns what would come of it.
func compute(ctx context.Context, l *live, serverID string, after, before *objects) *Report {
	w := &world{
		live: l, serverID: serverID, after: after, before: before, snap: l.snapshot, shown: l.snapshot,
		taken: map[string]status.Object{},
	}
	w.takeOverStatus()
	for _, objects := range []*objects{after, before} {
		if objects != nil {
			w.presume(objects)
			w.assignServers(objects)
		}
	}
	if before != nil {
		w.planRemovals(ctx)
	}
	for _, kind := range kinds {
		w.planKind(ctx, kind)
	}
	w.planServers(ctx)
	return w.report()
}

// takeOverStatus gives the objects the status that those before them had: ids, above all.
func (w *world) takeOverStatus() {
	if w.before == nil {
		return
	}
	for k, was := range w.before.all {
		is := w.after.all[k]
		if is == nil || *idOf(is) != "" {
			continue
		}
		switch is := is.(type) {
		case *v1alpha1.DiscordServer:
			was.(*v1alpha1.DiscordServer).Status.DeepCopyInto(&is.Status)
		case *v1alpha1.DiscordRole:
			was.(*v1alpha1.DiscordRole).Status.DeepCopyInto(&is.Status)
		case *v1alpha1.DiscordGroup:
			was.(*v1alpha1.DiscordGroup).Status.DeepCopyInto(&is.Status)
		case *v1alpha1.DiscordChannel:
			was.(*v1alpha1.DiscordChannel).Status.DeepCopyInto(&is.Status)
		}
	}
}

// idOf is the id in the status of an object.
func idOf(o status.Object) *string {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return &o.Status.ServerID
	case *v1alpha1.DiscordRole:
		return &o.Status.RoleID
	case *v1alpha1.DiscordGroup:
		return &o.Status.GroupID
	case *v1alpha1.DiscordChannel:
		return &o.Status.ChannelID
	}
	panic(fmt.Sprintf("%T is none of our kinds", o))
}

// presume adds the servers that objects refer to and that have no manifest: a folder of one team's objects
// alone is of the server that the command line names.
func (w *world) presume(o *objects) {
	var names []types.NamespacedName
	add := func(ref *v1alpha1.ServerReference, namespace string) {
		if ref != nil {
			names = append(names, ref.In(namespace))
		}
	}
	for _, r := range of[*v1alpha1.DiscordRole](o) {
		add(&r.Spec.ServerRef, r.Namespace)
	}
	for _, g := range of[*v1alpha1.DiscordGroup](o) {
		add(&g.Spec.ServerRef, g.Namespace)
	}
	for _, c := range of[*v1alpha1.DiscordChannel](o) {
		add(c.Spec.ServerRef, c.Namespace)
	}
	for _, name := range names {
		s := &v1alpha1.DiscordServer{}
		s.Namespace, s.Name, s.Spec.ServerID = name.Namespace, name.Name, w.serverID
		allowEverything(&s.Spec)
		if o.all[keyOf(s)] == nil {
			o.all[keyOf(s)] = s
			w.presumed = append(w.presumed, strings.TrimPrefix(name.String(), "/"))
		}
	}
}

// allowEverything grants all that a server can: what it really grants, its manifest would say.
func allowEverything(s *v1alpha1.DiscordServerSpec) {
	all := v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	s.AllowedNamespaces, s.AllowedRoles, s.AllowAdoption, s.AllowRetention = &all,
		&v1alpha1.AllowedRoles{Namespaces: all}, true, true
	for _, name := range permissions.Documented() {
		s.AllowedRoles.Permissions = append(s.AllowedRoles.Permissions, v1alpha1.Permission(name))
	}
}

// assignServers gives the servers their ids on Discord.
func (w *world) assignServers(o *objects) {
	for _, s := range of[*v1alpha1.DiscordServer](o) {
		s.Status.ServerID = s.Spec.ServerID
	}
}

// planKind binds and then plans all objects of a kind: siblings are ordered by their ids.
func (w *world) planKind(ctx context.Context, kind *lifecycle.Kind) {
	steps := w.begin(ctx, kind, w.after)
	w.bindAll(steps)
	for _, s := range steps {
		if s.guild == nil || len(s.issues) > 0 || status.Paused(s.object) {
			continue
		}
		s.guild.Snapshot = w.snap
		w.plan(ctx, s)
	}
	w.steps = slices.Concat(w.steps, steps, w.removals[kind])
}

// ofKind are the objects of a kind, in the order of their names.
func (o *objects) ofKind(kind *lifecycle.Kind) []status.Object {
	switch kind {
	case &role.Kind:
		return generic(of[*v1alpha1.DiscordRole](o))
	case &group.Kind:
		return generic(of[*v1alpha1.DiscordGroup](o))
	default:
		return generic(of[*v1alpha1.DiscordChannel](o))
	}
}

func generic[T status.Object](typed []T) (all []status.Object) {
	for _, o := range typed {
		all = append(all, o)
	}
	return all
}

// begin finds the servers of objects, and where they are or would be there. Those of other servers are left out.
func (w *world) begin(ctx context.Context, kind *lifecycle.Kind, set *objects) (steps []*step) {
	for _, o := range set.ofKind(kind) {
		s := &step{object: o, kind: kind, from: set, removed: w.after.all[keyOf(o)] == nil}
		parent, lookup, err := w.locate(ctx, set, o)
		switch {
		case err != nil:
			s.issues = conditions.Of(err)
		case parent.ID == w.serverID:
			s.guild, s.binding.Lookup = parent, lookup
		default:
			if set == w.after || s.removed {
				w.skipped++
			}
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// locate returns the guild of an object, and where what it has there is to be found.
func (w *world) locate(
	ctx context.Context, set *objects, o status.Object,
) (guild *bot.Guild, lookup lifecycle.Lookup, err error) {
	grants := &grant.Reader{Objects: set, Labels: true}
	of := func(server *v1alpha1.DiscordServer) *bot.Guild {
		return &bot.Guild{
			Server: server, ID: server.Status.ServerID, By: o.GetNamespace(), Snapshot: w.snap, InviteURL: w.inviteURL(),
		}
	}
	var server *v1alpha1.DiscordServer
	switch o := o.(type) {
	case *v1alpha1.DiscordRole:
		if server, err = grants.ServerOfRoles(ctx, o.Spec.ServerRef.In(o.Namespace), o.Namespace); err != nil {
			break
		}
		if refused := role.AdoptionRefused(o, server); refused != nil && set == w.after {
			return nil, lookup, refused
		}
		guild = of(server)
		lookup = role.Lookup(o, guild)
	case *v1alpha1.DiscordGroup:
		if server, err = grants.Server(ctx, o.Spec.ServerRef.In(o.Namespace), nil, o.Namespace); err == nil {
			guild = of(server)
			lookup = group.Lookup(o, guild)
		}
	case *v1alpha1.DiscordChannel:
		var parent *v1alpha1.DiscordGroup
		if server, parent, err = channel.Parents(ctx, grants, o); err != nil {
			break
		}
		if guild = of(server); guild.ID != w.serverID {
			break // its group has no place here
		}
		var categoryID string
		categoryID, err = channel.Category(guild, parent, o.Namespace)
		lookup = channel.Lookup(o, guild, categoryID)
	}
	return guild, lookup, err
}

func (w *world) inviteURL() string {
	return discordclient.InviteURL(w.webURL, w.application.ID, discordclient.PermissionsOverwrites, w.serverID)
}

// plan plans an object by the function of its kind, and adds to the state what it would create.
func (w *world) plan(ctx context.Context, s *step) {
	s.plan.Position = w.position(s)
	roles, err := w.roles(ctx, s)
	if err != nil {
		s.issues = conditions.Of(err)
		return
	}
	names := w.names(s.guild.Server, s.object)
	switch o := s.object.(type) {
	case *v1alpha1.DiscordRole:
		s.plan = role.NewPlan(o, role.State{Guild: s.guild, Binding: s.binding, Position: s.plan.Position, LowPlaces: w.lowPlaces(s)})
		s.further, err = role.MemberChanges(o, resource.Role(s.binding.Live), w.member)
	case *v1alpha1.DiscordGroup:
		s.plan = group.NewPlan(o, group.State{
			Guild: s.guild, Binding: s.binding, Position: s.plan.Position, Roles: roles, Names: names,
		})
	case *v1alpha1.DiscordChannel:
		planned := channel.NewPlan(o, channel.State{
			Guild: s.guild, Binding: s.binding, Position: s.plan.Position, Roles: roles, Names: names,
			Webhook: w.webhook(s),
		})
		s.plan, s.further, err = planned.Plan, planned.Webhook.Differences(o), planned.Webhook.Err
	}
	if status.Observed(s.object) {
		s.issues = append(s.kind.ObservedIssues(s.binding, w.snap, s.plan.Issues), conditions.Of(err)...)
		return
	}
	s.issues = append(slices.Clone(s.plan.Issues), conditions.Of(err)...)
	w.simulate(s)
}

// roles are those that the overwrites of an object name by roleRef.
func (w *world) roles(ctx context.Context, s *step) (map[string]string, error) {
	grants, namespace := &grant.Reader{Objects: w.after}, s.object.GetNamespace()
	switch o := s.object.(type) {
	case *v1alpha1.DiscordGroup:
		return grants.Roles(ctx, namespace, w.snap, o.Spec.PermissionOverwrites)
	case *v1alpha1.DiscordChannel:
		return grants.Roles(ctx, namespace, w.snap, o.Spec.PermissionOverwrites)
	}
	return nil, nil
}

// names decide which roles the overwrites of an object name by their names: as its status has them, and
// beside those that DiscordRoles of other namespaces have or will have.
func (w *world) names(server *v1alpha1.DiscordServer, o status.Object) overwrites.Names {
	names := overwrites.Names{Observed: true}
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		names.Recorded = o.Status.Roles
	case *v1alpha1.DiscordChannel:
		names.Recorded = o.Status.Roles
	}
	var roles []v1alpha1.DiscordRole
	for _, role := range of[*v1alpha1.DiscordRole](w.after) {
		roles = append(roles, *role)
	}
	none := func(types.UID) string { return "" }
	names.Others = overwrites.OthersOf(roles, client.ObjectKeyFromObject(server), o.GetNamespace(), none, time.Now())
	return names
}

// webhook is the state of the webhooks of a channel. Its Secret is in the cluster, so it is of no concern.
func (w *world) webhook(s *step) webhook.State {
	state := webhook.State{
		Guild: s.guild, Channel: resource.Channel(s.binding.Live), Application: w.application.ID, Complete: true,
		Record: lifecycle.Record{Known: true}, Err: w.hooksErr,
	}
	for _, hook := range w.hooks {
		if state.Channel != nil && hook.ChannelID == state.Channel.ID {
			state.Hooks = append(state.Hooks, hook)
		}
	}
	return state
}

// position is the desired place of an object among its siblings; nil for none.
func (w *world) position(s *step) *lifecycle.Position {
	var siblings []status.Object
	for _, o := range w.after.ofKind(s.kind) {
		if o.GetNamespace() == s.object.GetNamespace() && beside(o, s.object) {
			siblings = append(siblings, o)
		}
	}
	return s.kind.PositionAmong(s.object, siblings)
}

// low are the places in which a role of another namespace stays; nil for others.
func (w *world) lowPlaces(s *step) *role.LowPlaces {
	var all []status.Object
	for _, o := range w.after.ofKind(s.kind) {
		if beside(o, s.object) {
			all = append(all, o)
		}
	}
	return role.LowPlacesOf(s.object, s.guild.Server.Namespace, all, func(client.Object) string { return "" })
}

// beside reports whether two objects of a kind name the same parent.
func beside(a, b client.Object) bool {
	switch a := a.(type) {
	case *v1alpha1.DiscordRole:
		return a.Spec.ServerRef.In(a.Namespace) == b.(*v1alpha1.DiscordRole).Spec.ServerRef.In(b.GetNamespace())
	case *v1alpha1.DiscordGroup:
		return a.Spec.ServerRef.In(a.Namespace) == b.(*v1alpha1.DiscordGroup).Spec.ServerRef.In(b.GetNamespace())
	case *v1alpha1.DiscordChannel:
		by, parent := channel.SiblingsBy(a)
		otherBy, otherParent := channel.SiblingsBy(b.(*v1alpha1.DiscordChannel))
		return by == otherBy && parent == otherParent
	}
	return false
}

// planServers plans the objects of the server itself, which may refer to its channels.
func (w *world) planServers(ctx context.Context) {
	servers := of[*v1alpha1.DiscordServer](w.after)
	if w.before != nil {
		for _, s := range of[*v1alpha1.DiscordServer](w.before) {
			if w.after.all[keyOf(s)] == nil {
				servers = append(servers, s)
			}
		}
	}
	var steps []*step
	for _, s := range servers {
		switch {
		case s.UID == "": // it is presumed
		case s.Status.ServerID != w.serverID:
			w.skipped++
		case w.after.all[keyOf(s)] == nil:
			plan := server.PlanDeletion(s, server.State{}, nil)
			steps = append(steps, &step{object: s, removed: true, plan: plan})
		case status.Paused(s):
		default:
			steps = append(steps, w.planServer(ctx, s))
		}
	}
	w.steps = append(steps, w.steps...)
}

func (w *world) planServer(ctx context.Context, s *v1alpha1.DiscordServer) *step {
	state := server.State{
		Application: &w.application, InviteURL: w.inviteURL(), GuildID: s.Status.ServerID,
		Snapshot: w.snap, Manager: s,
	}
	name := client.ObjectKeyFromObject(s)
	for _, below := range w.steps {
		if below.guild == nil || below.removed || client.ObjectKeyFromObject(below.guild.Server) != name {
			continue
		}
		switch o := below.object.(type) {
		case *v1alpha1.DiscordRole:
			state.Roles = true
		case *v1alpha1.DiscordGroup:
			state.Groups = append(state.Groups, *o)
		case *v1alpha1.DiscordChannel:
			state.Channels = append(state.Channels, *o)
		}
	}
	result := &step{object: s}
	s, state.Icon = w.icon(ctx, s)
	state.Referenced, _ = server.Referenced(ctx, w.after, s) // manifests can always be read
	planned := server.NewPlan(s, state)
	result.plan, result.issues = lifecycle.Plan{Changes: planned.Changes}, planned.Issues
	return result
}

// icon returns the image of a server, and the server with what its icon on Discord is known to be: Discord has
// a hash of its own alone. Without the ConfigMap it has none.
func (w *world) icon(ctx context.Context, s *v1alpha1.DiscordServer) (*v1alpha1.DiscordServer, server.Icon) {
	if s.Spec.Icon == nil {
		return s, server.Icon{}
	}
	s = s.DeepCopy()
	icon, _ := server.ReadIcon(ctx, w.after, s) // manifests can always be read
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Spec.Icon.ConfigMapKeyRef.Name}
	if w.after.configMaps[name] == nil {
		w.iconless = append(w.iconless, s.Name)
		s.Spec.Icon = nil
	}
	if s.Status.Icon != nil || w.before == nil {
		return s, icon
	}
	was, _ := w.before.all[keyOf(s)].(*v1alpha1.DiscordServer)
	if was == nil || was.Spec.Icon == nil {
		return s, icon
	}
	if before, _ := server.ReadIcon(ctx, w.before, was); before.Hash != "" {
		s.Status.Icon = &v1alpha1.ServerIconStatus{SourceHash: before.Hash, DiscordHash: w.snap.Guild.Icon}
	}
	return s, icon
}
