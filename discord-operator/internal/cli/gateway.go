// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// gatewayTimeout limits the wait for a server, which the Gateway usually sends within a second.
const gatewayTimeout = 10 * time.Second

// NewClient returns a client that keeps guilds in memory, updated by the Gateway.
func NewClient(o discordclient.Options) (*guildcache.Client, error) {
	return guildcache.New(guildcache.Options{Options: o, Grace: 2 * gatewayTimeout})
}

// Connect waits up to gatewayTimeout until the Gateway has sent the server with its hidden channels.
// connected reports whether the Gateway has sent them.
func Connect(
	ctx context.Context, api *guildcache.Client, view *guildcache.View,
) (snap *guildcache.Snapshot, connected bool) {
	ctx, cancel := context.WithTimeout(ctx, gatewayTimeout)
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	events := api.Subscribe(ctx)
	go func() {
		defer close(ended)
		_ = api.Run(ctx) // an invalid token has the same effect here as an unreachable Gateway
	}()
	for snap = view.Snapshot(); snap.Mode != guildcache.ModeLive; snap = view.Snapshot() {
		if _, ok := <-events; !ok {
			return snap, false
		}
	}
	return snap, true
}
