// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/discordclient"
)

// A namespace may cause at most 1/20 of the refusals that remain until all calls stop, so that it
// cannot use them up for the other tenants.
const namespaceShare = 20

// refusals counts refused calls per namespace and, as Discord does, per IP address (whole).
type refusals struct {
	mu     sync.Mutex
	whole  *discordclient.InvalidRequests
	shares map[string]*discordclient.InvalidRequests
	// kept is the number of shares after the last cleanup. The next cleanup runs at twice this
	// number, but not below minShares.
	kept int
}

func newRefusals(now func() time.Time) *refusals {
	return &refusals{
		whole: discordclient.NewInvalidRequests(now), shares: map[string]*discordclient.InvalidRequests{},
	}
}

const minShares = 1000

// of returns the count of a namespace, and sometimes drops idle counts. If a bot still uses a
// dropped count, the namespace may cause at most twice its share of refusals.
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

// Caused returns a context that counts calls and refusals for the object's namespace.
func (b *Bots) Caused(ctx context.Context, o client.Object) context.Context {
	ctx = discordclient.WithTenant(ctx, o.GetNamespace())
	return discordclient.WithRefusals(ctx, b.refusals.of(o.GetNamespace()))
}

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
