// SPDX-License-Identifier: Apache-2.0

// Package world reads a DiscordServer and its groups, channels and roles, as far as the user may read
// them.
package world

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/kubectl"
)

// World is a DiscordServer with its groups, channels and roles, sorted by namespace and name.
type World struct {
	Server   *v1alpha1.DiscordServer
	Groups   []v1alpha1.DiscordGroup
	Channels []v1alpha1.DiscordChannel
	Roles    []v1alpha1.DiscordRole
	// Hidden has the kinds that the user may not list everywhere, each with the namespaces that
	// Read has listed.
	Hidden map[string][]string
}

// Name returns the server's namespace and name.
func (w *World) Name() types.NamespacedName { return client.ObjectKeyFromObject(w.Server) }

// Objects returns all groups, channels and roles.
func (w *World) Objects() (all []status.Object) {
	for i := range w.Groups {
		all = append(all, &w.Groups[i])
	}
	for i := range w.Channels {
		all = append(all, &w.Channels[i])
	}
	for i := range w.Roles {
		all = append(all, &w.Roles[i])
	}
	return all
}

// Group returns the group of a channel; nil if there is none or the user may not read it.
func (w *World) Group(c *v1alpha1.DiscordChannel) *v1alpha1.DiscordGroup {
	if c.Spec.GroupRef == nil {
		return nil
	}
	i := slices.IndexFunc(w.Groups, func(g v1alpha1.DiscordGroup) bool {
		return client.ObjectKeyFromObject(&g) == c.Spec.GroupRef.In(c.Namespace)
	})
	if i < 0 {
		return nil
	}
	return &w.Groups[i]
}

// Read reads the objects of a DiscordServer. If the user may not list a kind everywhere, Read lists
// the server's namespace, the user's namespace (own), and all other namespaces that the user may
// list.
func Read(ctx context.Context, k8s client.Reader, server *v1alpha1.DiscordServer, own string) (*World, error) {
	w := &World{Server: server, Hidden: map[string][]string{}}
	r := &reader{Reader: k8s, World: w, own: own}
	var groups v1alpha1.DiscordGroupList
	var channels v1alpha1.DiscordChannelList
	var roles v1alpha1.DiscordRoleList
	err := errors.Join(
		r.list(ctx, kinds.Group, &groups, func() { w.Groups = append(w.Groups, groups.Items...) }),
		r.list(ctx, kinds.Channel, &channels, func() { w.Channels = append(w.Channels, channels.Items...) }),
		r.list(ctx, kinds.Role, &roles, func() { w.Roles = append(w.Roles, roles.Items...) }))
	if err != nil {
		return nil, err
	}
	w.keepOwn()
	return w, nil
}

type reader struct {
	client.Reader
	*World
	own        string
	namespaces []string // namespaces to list one by one; nil until a list of all namespaces is forbidden
}

func (r *reader) list(ctx context.Context, kind kubectl.Kind, list client.ObjectList, add func()) error {
	err := r.List(ctx, list)
	if !apierrors.IsForbidden(err) {
		if err == nil {
			add()
		}
		return err
	}
	if r.namespaces == nil {
		if err := r.findNamespaces(ctx); err != nil {
			return err
		}
	}
	read := []string{}
	for _, namespace := range r.namespaces {
		switch err := r.List(ctx, list, client.InNamespace(namespace)); {
		case apierrors.IsForbidden(err):
		case err != nil:
			return err
		default:
			read = append(read, namespace)
			add()
		}
	}
	r.Hidden[kind.Resource()] = read
	return nil
}

func (r *reader) findNamespaces(ctx context.Context) error {
	found := map[string]bool{r.Server.Namespace: true, r.own: true}
	var all corev1.NamespaceList
	if err := r.List(ctx, &all); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	for i := range all.Items {
		found[all.Items[i].Name] = true
	}
	r.namespaces = slices.Sorted(maps.Keys(found))
	return nil
}

func (w *World) keepOwn() {
	server := w.Name()
	w.Groups = slices.DeleteFunc(w.Groups, func(g v1alpha1.DiscordGroup) bool {
		return g.Spec.ServerRef.In(g.Namespace) != server
	})
	w.Roles = slices.DeleteFunc(w.Roles, func(r v1alpha1.DiscordRole) bool {
		return r.Spec.ServerRef.In(r.Namespace) != server
	})
	w.Channels = slices.DeleteFunc(w.Channels, func(c v1alpha1.DiscordChannel) bool {
		ref := cmp.Or(c.Spec.ServerRef, c.Status.ServerRef) // the status names the server if the group was not read
		return w.Group(&c) == nil && (ref == nil || ref.In(c.Namespace) != server)
	})
	slices.SortFunc(w.Groups, func(a, b v1alpha1.DiscordGroup) int { return byName(&a, &b) })
	slices.SortFunc(w.Channels, func(a, b v1alpha1.DiscordChannel) int { return byName(&a, &b) })
	slices.SortFunc(w.Roles, func(a, b v1alpha1.DiscordRole) int { return byName(&a, &b) })
}

func byName(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
