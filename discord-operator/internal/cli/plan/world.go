// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
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
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
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

type world struct {
	*live
	serverID      string
	after, before *objects // before is nil if unknown
	// snap has the changes planned so far. withDeleted keeps deleted resources for the report.
	snap, withDeleted *guildcache.Snapshot
	taken             map[string]status.Object // the objects that have a resource; the keys are the resources' ids
	// removals are the objects of --before without a manifest in -f.
	removals map[*lifecycle.Kind][]*step
	presumed []string // DiscordServers without a manifest
	skipped  int      // number of objects of other servers
	byName   []string // objects whose resource was found only by its name
	iconless []string // DiscordServers whose icon's ConfigMap is not among the manifests
	made     uint64
	unread   error // why a member could not be read
	steps    []*step
}

type step struct {
	object  status.Object
	kind    *lifecycle.Kind
	from    *objects // the set of manifests that has the object
	removed bool     // whether the object is only in --before
	named   bool     // whether the object's resource can be found only by name
	guild   *bot.Guild
	binding lifecycle.Binding
	plan    lifecycle.Plan
	further []resource.Difference // differences that are not in plan: members of a role, a webhook
	// enforced has the changes that the server's limits require of a role that is paused or observed.
	enforced lifecycle.Plan
	issues   []conditions.Issue
}

var kinds = []*lifecycle.Kind{&role.Kind, &group.Kind, &channel.Kind}

// compute returns the report of all objects. If Discord could not be read, compute returns an
// error, because no object causes this problem.
func compute(ctx context.Context, l *live, serverID string, after, before *objects) (*Report, error) {
	w := &world{
		live: l, serverID: serverID, after: after, before: before, snap: l.snapshot, withDeleted: l.snapshot,
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
	if w.unread != nil {
		return nil, w.unread
	}
	return w.report(), nil
}

func (w *world) takeOverStatus() {
	if w.before == nil {
		return
	}
	for k, was := range w.before.all {
		is := w.after.all[k]
		if is == nil || *idOf(is) != "" {
			continue
		}
		if is.GetCreationTimestamp().Time.IsZero() { // no webhook of the operator is older than its object
			is.SetCreationTimestamp(was.GetCreationTimestamp())
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

// presume adds missing DiscordServers, because a folder may have only the objects of one team.
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

func allowEverything(s *v1alpha1.DiscordServerSpec) {
	all := v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	s.AllowedNamespaces, s.AllowedRoles, s.AllowAdoption, s.AllowRetention = &all,
		&v1alpha1.AllowedRoles{Namespaces: all}, true, true
	for _, name := range permissions.Documented() {
		s.AllowedRoles.Permissions = append(s.AllowedRoles.Permissions, v1alpha1.Permission(name))
	}
}

func (w *world) assignServers(o *objects) {
	for _, s := range of[*v1alpha1.DiscordServer](o) {
		s.Status.ServerID = s.Spec.ServerID
	}
}

// planKind first finds all resources, because the order of siblings depends on their ids.
func (w *world) planKind(ctx context.Context, kind *lifecycle.Kind) {
	steps := w.begin(ctx, kind, w.after)
	w.bindAll(steps)
	for _, s := range steps {
		if s.guild == nil || len(s.issues) > 0 {
			continue
		}
		s.guild.Snapshot = w.snap
		w.enforce(s)
		if !status.Paused(s.object) {
			w.plan(ctx, s)
		}
	}
	w.steps = slices.Concat(w.steps, steps, w.removals[kind])
}

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

func (w *world) locate(
	ctx context.Context, set *objects, o status.Object,
) (guild *bot.Guild, lookup lifecycle.Lookup, err error) {
	grants := &grant.Reader{Objects: set, Labels: true}
	of := func(server *v1alpha1.DiscordServer) *bot.Guild {
		guild := &bot.Guild{Server: server, ID: server.Status.ServerID, By: o.GetNamespace(), Snapshot: w.snap}
		if o.GetNamespace() == server.Namespace {
			guild.InviteURL = w.inviteURL()
		}
		return guild
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
			break // a group of another server has no category in this guild
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
		s.plan = role.NewPlan(o, role.State{
			Guild: s.guild, Binding: s.binding, Position: s.plan.Position, LowPlaces: w.lowPlaces(s),
		})
		var unread error
		s.further, unread = role.MemberChanges(o, resource.Role(s.binding.Live), w.member)
		if discordclient.ClassOf(unread) == discordclient.ClassInvalid { // an id in spec.members that Discord refuses
			err, unread = conditions.Worst(issues.Of(unread, time.Time{})), nil
		}
		w.unread = cmp.Or(w.unread, unread)
	case *v1alpha1.DiscordGroup:
		s.plan = group.NewPlan(o, group.State{
			Guild: s.guild, Binding: s.binding, Position: s.plan.Position, Roles: roles, Names: names,
		})
	case *v1alpha1.DiscordChannel:
		planned := channel.NewPlan(o, channel.State{
			Guild: s.guild, Binding: s.binding, Position: s.plan.Position, Roles: roles, Names: names,
			Webhook: w.webhook(s, o),
		})
		s.plan, s.further, err = planned.Plan, ifYounger(o, planned.Webhook.Differences(o)), planned.Webhook.Err
	}
	if status.Observed(s.object) {
		s.issues = append(s.kind.ObservedIssues(s.binding, w.snap, s.plan.Issues), conditions.Of(err)...)
		return
	}
	s.issues = append(slices.Clone(s.plan.Issues), conditions.Of(err)...)
	w.simulate(s)
}

// enforce plans as the operator does for a role that it otherwise does not change. The plan then
// continues with the role as it is after this change.
func (w *world) enforce(s *step) {
	o, ok := s.object.(*v1alpha1.DiscordRole)
	if !ok || s.binding.Live == nil || !status.Paused(o) && !status.Observed(o) {
		return
	}
	s.enforced = role.PlanBounds(o, role.State{Guild: s.guild, Binding: s.binding, LowPlaces: w.lowPlaces(s)})
	if edit, ok := s.enforced.Edit.(resource.RoleEdit); ok {
		bounded := *resource.Role(s.binding.Live)
		bounded.Permissions, _ = edit.Permissions.Get()
		w.add(nil, []discordclient.Role{bounded})
		s.binding.Live, s.guild.Snapshot = &bounded, w.snap
	}
}

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
	unbound := func(types.UID) string { return "" }
	names.Others = overwrites.OthersOf(roles, client.ObjectKeyFromObject(server), o.GetNamespace(), unbound, time.Now())
	return names
}

func (w *world) position(s *step) *lifecycle.Position {
	var siblings []status.Object
	for _, o := range w.after.ofKind(s.kind) {
		if o.GetNamespace() == s.object.GetNamespace() && beside(o, s.object) {
			siblings = append(siblings, o)
		}
	}
	return s.kind.PositionAmong(s.object, siblings)
}

func (w *world) lowPlaces(s *step) *role.LowPlaces {
	var all []status.Object
	for _, o := range w.after.ofKind(s.kind) {
		if beside(o, s.object) {
			all = append(all, o)
		}
	}
	return role.LowPlacesOf(s.object, s.guild.Server.Namespace, all, func(client.Object) string { return "" })
}

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

// planServers runs last, because a server's settings may refer to its channels.
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
		case s.UID == "": // presume has added the server, so it has no manifest
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
		state.Include(s, below.object)
	}
	result := &step{object: s}
	s, state.Icon = w.icon(ctx, s)
	state.Referenced, _ = server.Referenced(ctx, w.after, s) // reading a manifest never fails
	planned := server.NewPlan(s, state)
	result.plan, result.issues = lifecycle.Plan{Changes: planned.Changes}, planned.Issues
	return result
}

// icon returns the icon of s, and a copy of s for the plan. The copy lacks spec.icon if the icon's
// ConfigMap has no manifest. If the status of s names no icon, the copy's status names the icon of
// --before.
func (w *world) icon(ctx context.Context, s *v1alpha1.DiscordServer) (*v1alpha1.DiscordServer, server.Icon) {
	if s.Spec.Icon == nil {
		return s, server.Icon{}
	}
	s = s.DeepCopy()
	icon, _ := server.ReadIcon(ctx, w.after, s) // reading a manifest never fails
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
