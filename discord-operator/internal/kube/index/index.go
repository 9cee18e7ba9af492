// SPDX-License-Identifier: Apache-2.0

// Package index registers the cache's field indexes, which find objects by their references.
package index

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/apply"
)

// Names of the indexes, with the fields that they index.
const (
	ServerByGuild   = "guild"  // spec.serverId and status.serverId
	ServerBySecret  = "secret" // spec.tokenSecretRef.name
	ServerByIcon    = "icon"   // spec.icon.configMapKeyRef.name
	GroupByServer   = "server" // namespace and name of the server
	GroupByID       = "id"     // status.groupId and spec.adopt.id
	ChannelByGroup  = "group"  // namespace and name of the group
	ChannelByServer = "server" // namespace and name of the server, for channels without a group
	ChannelInServer = "in"     // namespace and name of the server in the status
	ChannelByID     = "id"     // status.channelId and spec.adopt.id
	ChannelBySecret = "secret" // the name of the webhook's Secret
	RoleByServer    = "server" // namespace and name of the server
	RoleByID        = "id"     // status.roleId and spec.adopt.id
	ByRole          = "role"   // names of the DiscordRoles in the overwrites of groups and channels
	SecretByOwner   = "owner"  // UID of the object that controls the Secret
	BySelector      = "from"   // "Selector", for objects that allow namespaces by a selector
)

type index struct {
	kind   client.Object
	name   string
	values client.IndexerFunc
}

// Add registers all indexes.
func Add(ctx context.Context, indexer client.FieldIndexer) error { //nolint:funlen // a list
	server, group, channel := &v1alpha1.DiscordServer{}, &v1alpha1.DiscordGroup{}, &v1alpha1.DiscordChannel{}
	role := &v1alpha1.DiscordRole{}
	for _, i := range []index{
		by(server, ServerByGuild, func(s *v1alpha1.DiscordServer) []string {
			return []string{s.Spec.ServerID, s.Status.ServerID}
		}),
		by(server, ServerBySecret, func(s *v1alpha1.DiscordServer) []string {
			return []string{s.Spec.TokenSecretRef.Name}
		}),
		by(server, ServerByIcon, func(s *v1alpha1.DiscordServer) []string {
			return []string{ptr.Deref(s.Spec.Icon, v1alpha1.ServerIcon{}).ConfigMapKeyRef.Name}
		}),
		by(server, BySelector, func(s *v1alpha1.DiscordServer) []string {
			roles := ptr.Deref(s.Spec.AllowedRoles, v1alpha1.AllowedRoles{})
			return append(selector(s.Spec.AllowedNamespaces), selector(&roles.Namespaces)...)
		}),
		by(group, BySelector, func(g *v1alpha1.DiscordGroup) []string { return selector(g.Spec.AllowedNamespaces) }),
		by(group, GroupByServer, func(g *v1alpha1.DiscordGroup) []string {
			return []string{g.Spec.ServerRef.In(g.Namespace).String()}
		}),
		by(group, GroupByID, func(g *v1alpha1.DiscordGroup) []string {
			return []string{g.Status.GroupID, ptr.Deref(g.Spec.Adopt, v1alpha1.Adoption{}).ID}
		}),
		by(channel, ChannelByGroup, func(c *v1alpha1.DiscordChannel) []string {
			if c.Spec.GroupRef == nil {
				return nil
			}
			return []string{c.Spec.GroupRef.In(c.Namespace).String()}
		}),
		by(channel, ChannelByServer, func(c *v1alpha1.DiscordChannel) []string {
			if c.Spec.ServerRef == nil {
				return nil
			}
			return []string{c.Spec.ServerRef.In(c.Namespace).String()}
		}),
		by(channel, ChannelInServer, func(c *v1alpha1.DiscordChannel) []string {
			if c.Status.ServerRef == nil {
				return nil
			}
			return []string{c.Status.ServerRef.In(c.Namespace).String()}
		}),
		by(channel, ChannelByID, func(c *v1alpha1.DiscordChannel) []string {
			return []string{c.Status.ChannelID, ptr.Deref(c.Spec.Adopt, v1alpha1.Adoption{}).ID}
		}),
		by(channel, ChannelBySecret, func(c *v1alpha1.DiscordChannel) []string {
			if c.Spec.Webhook == nil {
				return nil
			}
			return []string{c.WebhookSecretName()}
		}),
		by(role, RoleByServer, func(r *v1alpha1.DiscordRole) []string {
			return []string{r.Spec.ServerRef.In(r.Namespace).String()}
		}),
		by(role, RoleByID, func(r *v1alpha1.DiscordRole) []string {
			return []string{r.Status.RoleID, ptr.Deref(r.Spec.Adopt, v1alpha1.Adoption{}).ID}
		}),
		by(group, ByRole, func(g *v1alpha1.DiscordGroup) []string { return roles(g.Spec.PermissionOverwrites) }),
		by(channel, ByRole, func(c *v1alpha1.DiscordChannel) []string { return roles(c.Spec.PermissionOverwrites) }),
		by(apply.Metadata("v1", "Secret"), SecretByOwner, func(s *metav1.PartialObjectMetadata) []string {
			return []string{string(ptr.Deref(metav1.GetControllerOfNoCopy(s), metav1.OwnerReference{}).UID)}
		}),
	} {
		if err := indexer.IndexField(ctx, i.kind, i.name, i.values); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.kind, i.name, err)
		}
	}
	return nil
}

func roles(list []v1alpha1.PermissionOverwrite) (names []string) {
	for _, o := range list {
		names = append(names, ptr.Deref(o.RoleRef, v1alpha1.RoleReference{}).Name)
	}
	return names
}

func selector(allowed *v1alpha1.AllowedNamespaces) []string {
	if allowed == nil || allowed.From != v1alpha1.FromSelector {
		return nil
	}
	return []string{string(allowed.From)}
}

func by[T client.Object](kind T, name string, values func(T) []string) index {
	return index{kind, name, func(o client.Object) []string {
		return slices.Compact(slices.DeleteFunc(values(o.(T)), func(v string) bool { return v == "" }))
	}}
}
