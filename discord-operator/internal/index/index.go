// Package index registers the cache's field indexes: objects by what they refer to.
package index

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// The names of the indexes, by kind, and the indexed fields.
const (
	ServerByGuild         = "guild"          // spec.serverId and status.serverId
	ServerBySecret        = "secret"         // spec.tokenSecretRef.name
	ServerBySystemChannel = "system-channel" // spec.systemChannelRef.name
	GroupByServer         = "server"         // spec.serverRef.name
	GroupByID             = "id"             // status.groupId and spec.adopt.id
	ChannelByGroup        = "group"          // spec.groupRef.name
	ChannelByServer       = "server"         // spec.serverRef.name: those outside of any group
	ChannelByID           = "id"             // status.channelId and spec.adopt.id
	ChannelBySecret       = "secret"         // the name of the webhook's Secret
	SecretByOwner         = "owner"          // UID of the object that controls it
)

// Add registers all indexes.
func Add(ctx context.Context, indexer client.FieldIndexer) error {
	for _, i := range []struct {
		kind   client.Object
		name   string
		values func(client.Object) []string
	}{
		{&v1alpha1.DiscordServer{}, ServerByGuild,
			of(func(s *v1alpha1.DiscordServer) []string { return []string{s.Spec.ServerID, s.Status.ServerID} })},
		{&v1alpha1.DiscordServer{}, ServerBySecret,
			of(func(s *v1alpha1.DiscordServer) []string { return []string{s.Spec.TokenSecretRef.Name} })},
		{&v1alpha1.DiscordServer{}, ServerBySystemChannel, of(func(s *v1alpha1.DiscordServer) []string {
			if s.Spec.SystemChannelRef == nil {
				return nil
			}
			return []string{s.Spec.SystemChannelRef.Name}
		})},
		{&v1alpha1.DiscordGroup{}, GroupByServer,
			of(func(g *v1alpha1.DiscordGroup) []string { return []string{g.Spec.ServerRef.Name} })},
		{&v1alpha1.DiscordGroup{}, GroupByID,
			of(func(g *v1alpha1.DiscordGroup) []string { return []string{g.Status.GroupID, adopted(g.Spec.Adopt)} })},
		{&v1alpha1.DiscordChannel{}, ChannelByGroup, of(func(c *v1alpha1.DiscordChannel) []string {
			if c.Spec.GroupRef == nil {
				return nil
			}
			return []string{c.Spec.GroupRef.Name}
		})},
		{&v1alpha1.DiscordChannel{}, ChannelByServer, of(func(c *v1alpha1.DiscordChannel) []string {
			if c.Spec.ServerRef == nil {
				return nil
			}
			return []string{c.Spec.ServerRef.Name}
		})},
		{&v1alpha1.DiscordChannel{}, ChannelByID,
			of(func(c *v1alpha1.DiscordChannel) []string { return []string{c.Status.ChannelID, adopted(c.Spec.Adopt)} })},
		{&v1alpha1.DiscordChannel{}, ChannelBySecret, of(func(c *v1alpha1.DiscordChannel) []string {
			if c.Spec.Webhook == nil {
				return nil
			}
			return []string{c.WebhookSecretName()}
		})},
		{secretMetadata(), SecretByOwner, of(func(s *metav1.PartialObjectMetadata) []string {
			if owner := metav1.GetControllerOfNoCopy(s); owner != nil {
				return []string{string(owner.UID)}
			}
			return nil
		})},
	} {
		if err := indexer.IndexField(ctx, i.kind, i.name, i.values); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.kind, i.name, err)
		}
	}
	return nil
}

// of adapts an index function to one kind, without empty values and duplicates.
func of[T client.Object](values func(T) []string) func(client.Object) []string {
	return func(o client.Object) []string {
		all := slices.DeleteFunc(values(o.(T)), func(v string) bool { return v == "" })
		return slices.Compact(all)
	}
}

func adopted(a *v1alpha1.Adoption) string {
	if a == nil {
		return ""
	}
	return a.ID
}

func secretMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
}
