// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const (
	namespaced = "the operator watches only some namespaces (--watch-namespaces). Instead of `from: Selector`, use " +
		"`from: Same`; or use `from: All`, which allows all watched namespaces."
	unlabelled = "the operator does not read the labels of Namespaces. Install the operator with the component " +
		"namespace-selectors, or use `from: Same` or `from: All` instead of `from: Selector`."
)

// Reader reads servers and groups from the cache, and checks that a namespace may refer to them.
type Reader struct {
	Objects client.Reader // from the cache
	Labels  bool          // whether the cache has the labels of all Namespaces
	Unread  string        // why the cache lacks the labels, for messages
}

// NewReader returns a Reader. namespaces lists the watched namespaces; an empty list means all.
// selectors means that the cache has the labels of all Namespaces.
func NewReader(cached client.Reader, namespaces []string, selectors bool) *Reader {
	switch {
	case len(namespaces) > 0:
		return &Reader{Objects: watched{cached, namespaces}, Unread: namespaced}
	case selectors:
		return &Reader{Objects: cached, Labels: true}
	}
	return &Reader{Objects: cached, Unread: unlabelled}
}

// Unlike the cache, watched returns NotFound for objects in unwatched namespaces.
type watched struct {
	client.Reader
	namespaces []string
}

func (w watched) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if !slices.Contains(w.namespaces, key.Namespace) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.String())
	}
	return w.Reader.Get(ctx, key, o, opts...)
}

func (r *Reader) namespace(ctx context.Context, name string) (Namespace, error) {
	found := Namespace{Name: name}
	if !r.Labels {
		return found, nil
	}
	meta := apply.Metadata("v1", "Namespace")
	err := r.Objects.Get(ctx, client.ObjectKey{Name: name}, meta)
	if client.IgnoreNotFound(err) != nil {
		return found, fmt.Errorf("get Namespace %s: %w", name, err)
	}
	found.Labels = meta.Labels
	return found, nil
}

// Server returns a server if a namespace may use it, as Uses decides.
func (r *Reader) Server(
	ctx context.Context, name types.NamespacedName, group *v1alpha1.DiscordGroup, by string,
) (*v1alpha1.DiscordServer, error) {
	server := &v1alpha1.DiscordServer{}
	allowed := func() (bool, error) { return r.Uses(ctx, server, group, by) }
	to := reference{kind: "DiscordServer", name: name, field: fieldNamespaces}
	if group != nil {
		to.via = group.Namespace
	}
	return server, r.get(ctx, to, server, by, allowed, noServer(name))
}

// ServerOfRoles returns a server if the namespace by may have roles there (spec.allowedRoles).
func (r *Reader) ServerOfRoles(
	ctx context.Context, name types.NamespacedName, by string,
) (*v1alpha1.DiscordServer, error) {
	server := &v1alpha1.DiscordServer{}
	allowed := func() (bool, error) { return r.UsesRoles(ctx, server, by) }
	to := reference{kind: "DiscordServer", name: name, field: fieldRoles}
	return server, r.get(ctx, to, server, by, allowed, noServer(name))
}

func noServer(name types.NamespacedName) *conditions.Issue {
	return conditions.Progressing(
		v1alpha1.ReasonWaitingForServer, "DiscordServer %s does not exist. Create the DiscordServer.", name.Name)
}

// Group returns a group if the channels of a namespace may refer to it.
func (r *Reader) Group(ctx context.Context, name types.NamespacedName, by string) (*v1alpha1.DiscordGroup, error) {
	group := &v1alpha1.DiscordGroup{}
	allowed := func() (bool, error) { return r.InGroup(ctx, group, by) }
	to := reference{kind: "DiscordGroup", name: name, field: fieldNamespaces}
	return group, r.get(ctx, to, group, by, allowed, conditions.Progressing(
		v1alpha1.ReasonWaitingForGroup, "DiscordGroup %s does not exist. Create it, or name another one in spec.groupRef.",
		name.Name))
}

type reference struct {
	kind  string
	name  types.NamespacedName
	field string
	via   string // the namespace of the group through which an object refers to the server; "" for none
}

// get returns the same issue for missing and forbidden objects of other namespaces, to hide which
// objects exist there.
func (r *Reader) get(
	ctx context.Context, to reference, o client.Object, by string,
	allowed func() (bool, error), missing *conditions.Issue,
) error {
	err := r.Objects.Get(ctx, to.name, o)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("get %s %s: %w", to.kind, to.name, err)
	case err != nil && by == to.name.Namespace:
		return missing
	case err != nil:
		return refused(to, by)
	}
	if yes, err := allowed(); yes || err != nil {
		return err
	}
	return refused(to, by)
}

// Uses calls the function Uses with the Namespaces' labels from the cache.
func (r *Reader) Uses(
	ctx context.Context, server *v1alpha1.DiscordServer, group *v1alpha1.DiscordGroup, by string,
) (bool, error) {
	user, err := r.namespace(ctx, by)
	via := user
	if group != nil && group.Namespace != by && err == nil {
		via, err = r.namespace(ctx, group.Namespace)
	}
	return err == nil && Uses(server, group, via, user), err
}

// UsesRoles calls the function UsesRoles with the Namespace's labels from the cache.
func (r *Reader) UsesRoles(ctx context.Context, server *v1alpha1.DiscordServer, by string) (bool, error) {
	user, err := r.namespace(ctx, by)
	return err == nil && UsesRoles(server, user), err
}

// InGroup reports whether the channels of a namespace may refer to a group.
func (r *Reader) InGroup(ctx context.Context, group *v1alpha1.DiscordGroup, by string) (bool, error) {
	user, err := r.namespace(ctx, by)
	return err == nil && Allows(group.Namespace, group.Spec.AllowedNamespaces, user), err
}

// Roles returns the Discord ids of the DiscordRoles in overwrites, by DiscordRole name.
func (r *Reader) Roles(
	ctx context.Context, namespace string, snap *guildcache.Snapshot, spec []v1alpha1.PermissionOverwrite,
) (map[string]string, error) {
	ids := map[string]string{}
	for _, o := range spec {
		if o.RoleRef == nil {
			continue
		}
		var role v1alpha1.DiscordRole
		err := r.Objects.Get(ctx, types.NamespacedName{Namespace: namespace, Name: o.RoleRef.Name}, &role)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get DiscordRole %s: %w", o.RoleRef.Name, err)
		}
		if role.Status.ServerID != "" && role.Status.ServerID != snap.Guild.ID {
			return nil, conditions.Degraded(v1alpha1.ReasonServerMismatch,
				"DiscordRole %s is in another server. In roleRef, name a DiscordRole of this object's server.", o.RoleRef.Name)
		}
		if _, there := snap.Role(role.Status.RoleID); !there {
			return nil, waitForRole(namespace, o.RoleRef.Name, err == nil)
		}
		ids[o.RoleRef.Name] = role.Status.RoleID
	}
	return ids, nil
}

func waitForRole(namespace, name string, exists bool) *conditions.Issue {
	if exists {
		return conditions.Progressing(v1alpha1.ReasonWaitingForRole,
			"DiscordRole %[1]s has no role on Discord yet. "+
				"See `kubectl describe discordroles.discord.jutsu.com %[1]s -n %[2]s`.",
			name, namespace)
	}
	return conditions.Progressing(v1alpha1.ReasonWaitingForRole,
		"DiscordRole %s does not exist. Create it, or name another one in roleRef.", name)
}

// SelectorUnusable returns an issue if allowedNamespaces has an unusable selector, or nil.
func (r *Reader) SelectorUnusable(allowed *v1alpha1.AllowedNamespaces) *conditions.Issue {
	return selectorUnusable(fieldNamespaces, allowed, r.Unread)
}

// RoleSelectorUnusable returns an issue if allowedRoles has an unusable selector, or nil.
func (r *Reader) RoleSelectorUnusable(server *v1alpha1.DiscordServer) *conditions.Issue {
	return selectorUnusable(fieldRoles+".namespaces", roleNamespaces(server), r.Unread)
}
