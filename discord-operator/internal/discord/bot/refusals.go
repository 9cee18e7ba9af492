// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/discordclient"
)

// namespaceShare divides the refused calls that Discord still tolerates: a namespace may cause one
// twentieth of them. A wrong token or refused calls of one tenant must not stop other tenants.
const namespaceShare = 20

// refusals counts the calls that Discord has refused. The field shares has a count per namespace.
// The field whole counts all refusals, because Discord counts all refusals of an IP address
// together. refusals is safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	whole  *discordclient.InvalidRequests
	shares map[string]*discordclient.InvalidRequests
	// kept is the number of counts after the last cleanup. The next cleanup runs at twice this
	// number.
	kept int
}

func newRefusals(now func() time.Time) *refusals {
	return &refusals{
		whole: discordclient.NewInvalidRequests(now), shares: map[string]*discordclient.InvalidRequests{},
	}
}

// minShares is the number of counts below which no cleanup runs.
const minShares = 1000

// of returns the count of a namespace. A cleanup drops counts of 0. A bot may still use a dropped
// count after its namespace got a new count, which at most doubles the namespace's share.
func (r *refusals) of(namespace string) *discordclient.InvalidRequests {
	r.mu.Lock()
	defer r.mu.Unlock()
	share := r.shares[namespace]
	if share != nil {
		return share
	}
	if len(r.shares) >= max(2*r.kept, minShares) {
		for name, old := range r.shares {
			if old.Idle() {
				delete(r.shares, name)
			}
		}
		r.kept = len(r.shares)
	}
	share = r.whole.Share(namespaceShare)
	r.shares[namespace] = share
	return share
}

// Caused returns a context for the calls that an object causes. A refused call counts for the
// object's namespace, even if another namespace's bot sent it. Every call counts in the namespace's
// share of the bot's calls.
func (b *Bots) Caused(ctx context.Context, o client.Object) context.Context {
	ctx = discordclient.WithTenant(ctx, o.GetNamespace())
	return discordclient.WithRefusals(ctx, b.refusals.of(o.GetNamespace()))
}

// owns reports whether a namespace has a DiscordServer with a token. Without such a DiscordServer,
// the namespace gets at most half of the calls of the token's bot.
func (b *Bots) owns(namespace, token string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for server, u := range b.uses {
		if server.Namespace == namespace && u.bot != nil && u.bot.token == token {
			return true
		}
	}
	return false
}
