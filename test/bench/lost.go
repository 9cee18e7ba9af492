// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"

	"jutsu.com/operators/test/discordtest"
)

// foreignCreates is the number of creates by other users in the audit log.
const foreignCreates = 10_000

func (b *bench) lost(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	d.FillAuditLog(d.guilds[0], foreignCreates/2)
	d.Faults().Add(discordtest.Fault{
		Route: "POST /guilds/{guild_id}/channels", Times: at.n, Action: discordtest.DropAfter(),
		Match: func(r discordtest.Request) bool { return bytes.Contains(r.Body, []byte(`"channel-`)) },
	})
	s.startLeader(ctx)
	began, watch := b.createChannels(ctx, s, d, at)
	pollUntil(ctx, func() (bool, error) { return len(d.textChannels()) >= at.n, nil })
	d.FillAuditLog(d.guilds[0], foreignCreates/2)
	done := watch.await(ctx)
	at.addSpread(channelToReady, spreadOf(began, done))
	s.awaitQuiet(ctx, b.quiet)
	at.add("calls to Discord but the creates", float64(d.callCount()-at.n-d.groups()), "in all")
	at.addAgainst(0, "channels on Discord too many", float64(len(d.textChannels())-at.n), "in all")
}
