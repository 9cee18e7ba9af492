// SPDX-License-Identifier: Apache-2.0

package recovery_test

import (
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/test/discordtest"
)

// The audit log shows which role a create made. Without an entry of this role, Role returns the
// only matching role.
func TestLostRole(t *testing.T) {
	t.Parallel()
	const reason = "DiscordRole 1 ns/on-call"
	for name, c := range map[string]struct {
		made, renamed, deleted, byHand, lost bool
		want                                 recovery.Outcome
		proof                                recovery.Proof
	}{
		"executed":          {made: true, want: recovery.Found, proof: recovery.ProofAuditLog},
		"executed, renamed": {made: true, renamed: true, want: recovery.Found, proof: recovery.ProofAuditLog},
		"executed, a user created a matching role":     {made: true, byHand: true, want: recovery.Found, proof: recovery.ProofAuditLog},
		"executed, not logged":                         {made: true, lost: true, want: recovery.Found, proof: recovery.ProofMatch},
		"executed, deleted":                            {made: true, deleted: true, want: recovery.Absent},
		"not executed":                                 {want: recovery.Absent},
		"not executed, a user created a matching role": {byHand: true, want: recovery.Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(_ *discordtest.Options, g *guildcache.Options) { g.DisableGateway = true })
			began, ctx := time.Now(), t.Context()
			if c.lost {
				r.Discord.Faults().LoseAudit(-1)
			}
			var made discordclient.Role
			if c.made {
				var err error
				if made, err = r.Client.Client.CreateRole(ctx, r.Guild, discordclient.RoleCreate{Name: "On call"}, reason); err != nil {
					t.Fatal(err)
				}
			}
			if c.renamed {
				r.Discord.EditRoleByHand(r.Guild, made.ID, func(role *discordtest.Role) { role.Name = "Off duty" })
			}
			if c.deleted {
				r.Discord.DeleteRole(r.Guild, made.ID)
			}
			if c.byHand {
				r.Discord.CreateRoleByHand(r.Guild, discordtest.Role{Name: "On call"})
			}
			got, err := recovery.Role(ctx, r.Client, recovery.Intent{
				GuildID: r.Guild, Name: "On call", Reason: reason, NotBefore: began, LastAttempt: began,
				Now: func() time.Time { return time.Now().Add(2 * time.Minute) },
			})
			if err != nil || got.Outcome != c.want || got.Proof != c.proof || got.Outcome == recovery.Found && got.ID != made.ID {
				t.Errorf("%+v, %v, want %s of %s", got, err, c.want, made.ID)
			}
			if calls := r.Discord.RequestCounts()["GET /guilds/{guild_id}/roles"]; calls != 1 {
				t.Errorf("%d lists of roles, want 1", calls)
			}
		})
	}
}
