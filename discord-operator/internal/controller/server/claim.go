// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

// weight ranks the DiscordServers of a guild: the oldest with the lowest weight manages the guild.
type weight int

const (
	manages         weight = iota // the server manages the guild
	managedRecently               // the server managed the guild less than lossGrace ago
	wants                         // the server was not reconciled yet, or another server manages the guild
	observes                      // the server only observes the guild, so it must not block other servers
	unable                        // the server's bot cannot manage the guild, so the server must not block other servers
)

// lossGrace lets a user replace the token's Secret before another DiscordServer gets the guild.
const lossGrace = 10 * time.Minute

func weightOf(server *v1alpha1.DiscordServer, now time.Time) weight {
	ready := meta.FindStatusCondition(server.Status.Conditions, conditions.TypeReady)
	available := meta.FindStatusCondition(server.Status.Conditions, conditions.TypeAvailable)
	switch {
	case status.Observed(server):
		return observes
	case bot.Available(server):
		return manages
	case server.Status.ServerID != "" && available != nil && now.Sub(available.LastTransitionTime.Time) < lossGrace &&
		server.DeletionTimestamp.IsZero():
		return managedRecently
	case ready == nil || ready.Reason == v1alpha1.ReasonConflict ||
		!meta.IsStatusConditionTrue(server.Status.Conditions, conditions.TypeDegraded):
		return wants
	}
	return unable
}

// claimants ignores servers whose deletion has ended, because their conditions never change.
func (r *Reconciler) claimants(ctx context.Context, guildID string) ([]v1alpha1.DiscordServer, error) {
	var servers v1alpha1.DiscordServerList
	err := index.List(ctx, r.Client, &servers, "", index.ServerByGuild, guildID)
	return slices.DeleteFunc(servers.Items, func(s v1alpha1.DiscordServer) bool { return lifecycle.Ended(&s) }), err
}

func manager(servers []v1alpha1.DiscordServer, now time.Time) *v1alpha1.DiscordServer {
	if len(servers) == 0 {
		return nil
	}
	first := slices.MinFunc(servers, func(a, b v1alpha1.DiscordServer) int {
		age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		return cmp.Or(cmp.Compare(weightOf(&a, now), weightOf(&b, now)), age, cmp.Compare(a.UID, b.UID))
	})
	return &first
}
