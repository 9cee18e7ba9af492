// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/discordclient"
)

// namespaceShare is the part (one in so many) of the remaining refusals that a namespace may use. A
// wrong token or refused calls of one tenant must not stop other tenants.
const namespaceShare = 20

// refusals counts refused calls by namespace. Discord counts them by address, so all are shares of
// one. It is safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	whole  *discordclient.InvalidRequests
	shares map[string]*discordclient.InvalidRequests
	// kept is the number of counts after the last cleanup.
	kept int
}

func newRefusals(now func() time.Time) *refusals {
	return &refusals{
		whole: discordclient.NewInvalidRequests(now), shares: map[string]*discordclient.InvalidRequests{},
	}
}

// Below minShares counts there is no cleanup.
const minShares = 1000

// of returns the count of a namespace. A dropped count was 0, so a bot that still has it adds at
// most one share.
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

// Caused returns a context for the calls that an object causes. Their refusals count for its namespace,
// whichever bot makes them, and they take its share of that bot's calls.
func (b *Bots) Caused(ctx context.Context, o client.Object) context.Context {
	ctx = discordclient.WithTenant(ctx, o.GetNamespace())
	return discordclient.WithRefusals(ctx, b.refusals.of(o.GetNamespace()))
}

// owns reports whether a namespace has a server that uses a token. Others have at most half of the
// calls of its bot.
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
