// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"net/http"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("The operator's process", func() {
	It("serves metrics without Discord ids, over HTTPS, and only to authorized clients", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c := w.server(), w.group("incidents"), w.channel("incidents", "tokyo", withWebhook)
		ready(ctx, s, g, c)
		reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "unauthorized"}}
		create(ctx, reader)
		config, err := cluster.ServiceAccountConfig(ctx, w.ns, reader.Name)
		Expect(err).NotTo(HaveOccurred())

		code, _ := operator.Scrape(ctx, "")
		Expect(code).To(Equal(http.StatusUnauthorized))
		code, _ = operator.Scrape(ctx, config.BearerToken)
		Expect(code).To(Equal(http.StatusForbidden))

		var text string
		Eventually(ctx, func() string {
			text = scrape(ctx)
			return text
		}).Should(And(
			ContainSubstring(`discord_server_channels{name="jujutsu",namespace="`+w.ns+`"} 2`),
			ContainSubstring(`discord_object_condition{kind="DiscordChannel",name="tokyo",namespace="`+w.ns+
				`",reason="Reconciled",type="Ready"} 1`),
			ContainSubstring(`discord_creates_total{how="created",kind="DiscordGroup"}`),
			ContainSubstring(`discord_time_to_ready_seconds_count{kind="DiscordChannel"}`),
			ContainSubstring("controller_runtime_reconcile_total")))
		for _, id := range []string{w.guild, g.Status.GroupID, c.Status.ChannelID, c.Status.Webhook.ID, w.bot.UserID} {
			Expect(text).NotTo(ContainSubstring(id), "a series for each id would stay forever")
		}
	})

	It("releases its Lease on SIGTERM, and a standby becomes the leader", func(ctx context.Context) {
		// Wait until the first process leads. Otherwise, the second process could become leader.
		Eventually(ctx, operator.Leader).ShouldNot(BeEmpty())
		before, err := operator.Leader(ctx)
		Expect(err).NotTo(HaveOccurred())
		first := operator.Process()
		operator.Start(ctx)
		first.Stop()
		Expect(operator.Leader(ctx)).NotTo(Equal(before), "a stopped leader should release the lease, not let it expire")
		Eventually(ctx, operator.Leader).ShouldNot(Or(BeEmpty(), Equal(before)), "the standby should hold the lease")
		ready(ctx, newWorld(ctx).server())
	})

	It("prints its version, and reports an invalid command line", func(ctx context.Context) {
		out, err := exec.CommandContext(ctx, operator.Binary, "--version").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).To(HavePrefix("discord-operator "))
		out, err = exec.CommandContext(ctx, operator.Binary, "--colour=red").CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(out)).To(ContainSubstring("discord-operator: flag provided but not defined: -colour; see --help"))
	})
})
