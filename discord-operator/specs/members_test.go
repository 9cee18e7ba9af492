// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("The members of two DiscordRoles with 100 members each", SpecPriority(1), func() {
	const (
		// most is the maximum length of spec.members.
		most = 100
		// period is shorter than the period of Discord's rate limits, so that the spec ends soon.
		period = 300 * time.Millisecond
	)

	It("get and lose each role by one call per member, even if Discord's rate limits are low", func(ctx context.Context) {
		l := limits()
		l.Routes[giveRole] = discordtest.Rate{N: 7, Per: period}
		l.Routes[takeRole] = discordtest.Rate{N: 7, Per: period}
		l.Routes[getMember] = discordtest.Rate{N: 9, Per: period}
		anotherDiscord(ctx, discordtest.Options{Limits: l})
		w := newWorld(ctx)
		var users []v1alpha1.UserID
		for i := range most {
			users = append(users, v1alpha1.UserID(w.user(fmt.Sprintf("student-%02d", i))))
		}
		var objects []client.Object
		for _, name := range []string{"first", "second"} {
			objects = append(objects, w.role(name, func(s *roleSpec) { s.Members = users }))
		}
		create(ctx, w.server())
		create(ctx, objects...)
		const patience = 2 * time.Minute // enough for 200 calls at seven per period
		holders := func() (n int) {
			for _, user := range users {
				n += len(discord.Guild(w.guild).Members[string(user)].Roles)
			}
			return n
		}
		Eventually(ctx, holders).WithTimeout(patience).Should(Equal(len(objects) * most))
		eventuallyReady(ctx, objects...)
		Expect(w.repeated(giveRole)).To(BeEmpty(), "each member should get each role by one call")

		for _, o := range objects {
			edit(ctx, o.(*v1alpha1.DiscordRole), func(r *v1alpha1.DiscordRole) { r.Spec.Members = nil })
		}
		Eventually(ctx, holders).WithTimeout(patience).Should(BeZero())
		eventuallyReady(ctx, objects...)
		for _, o := range objects {
			Expect(o).To(HaveField("Status.Members", BeEmpty()))
		}
		Expect(w.repeated(takeRole)).To(BeEmpty(), "each member should lose each role by one call")
		w.expectIdle(ctx)
	})
})

func (w *world) repeated(route string) (paths []string) {
	counts := map[string]int{}
	for _, r := range discord.RequestsOf(w.bot.UserID) {
		if r.Route == route {
			counts[r.Path]++
		}
	}
	for path, n := range counts {
		if n > 1 {
			paths = append(paths, fmt.Sprintf("%d times %s", n, path))
		}
	}
	slices.Sort(paths)
	return paths
}
