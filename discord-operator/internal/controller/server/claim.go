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
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

// weight says how good a server's claim on its guild is.
type weight int

const (
	holds   weight = iota // it manages the guild
	held                  // it did until a moment ago
	wants                 // it was not reconciled yet, or another server manages the guild
	watches               // it only observes the guild, so it must not block others
	cannot                // its bot cannot manage the guild, so it must not block others
)

// lossGrace is how long a server keeps its guild after its bot has become unable to manage it: another
// one that takes it keeps it, while the Secret with the token may be away for a moment.
const lossGrace = 10 * time.Minute

func claim(server *v1alpha1.DiscordServer, now time.Time) weight {
	ready := meta.FindStatusCondition(server.Status.Conditions, conditions.TypeReady)
	available := meta.FindStatusCondition(server.Status.Conditions, conditions.TypeAvailable)
	switch {
	case status.Observed(server):
		return watches
	case bot.Available(server):
		return holds
	case server.Status.ServerID != "" && available != nil && now.Sub(available.LastTransitionTime.Time) < lossGrace &&
		server.DeletionTimestamp.IsZero():
		return held
	case ready == nil || ready.Reason == v1alpha1.ReasonConflict ||
		!meta.IsStatusConditionTrue(server.Status.Conditions, conditions.TypeDegraded):
		return wants
	}
	return cannot
}

// claimants returns the servers whose spec or status names a guild.
func (r *Reconciler) claimants(ctx context.Context, guildID string) ([]v1alpha1.DiscordServer, error) {
	var servers v1alpha1.DiscordServerList
	err := index.List(ctx, r.Client, &servers, "", index.ServerByGuild, guildID)
	return servers.Items, err
}

// manager returns which of several servers with the same guild manages it: the one that does
// already, otherwise the oldest whose bot can; nil for none.
func manager(servers []v1alpha1.DiscordServer, now time.Time) *v1alpha1.DiscordServer {
	if len(servers) == 0 {
		return nil
	}
	first := slices.MinFunc(servers, func(a, b v1alpha1.DiscordServer) int {
		age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		return cmp.Or(cmp.Compare(claim(&a, now), claim(&b, now)), age, cmp.Compare(a.UID, b.UID))
	})
	return &first
}
