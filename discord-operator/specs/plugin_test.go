// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func kubectlDiscord(ctx context.Context, namespace string, args ...string) (code int, output string) {
	GinkgoHelper()
	return kubectlDiscordAs(ctx, cluster.Kubeconfig(), namespace, args...)
}

func kubectlDiscordAs(ctx context.Context, kubeconfig, namespace string, args ...string) (code int, output string) {
	GinkgoHelper()
	args = append([]string{"--namespace=" + namespace}, args...)
	command := exec.CommandContext(ctx, operator.Plugin("kubectl-discord"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig) // with a flag, a note would follow each printed command
	text, err := command.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	GinkgoWriter.Printf("$ kubectl discord %s\n%s", strings.Join(args[1:], " "), text)
	secrets.ExpectNotIn(string(text))
	if ended != nil {
		code = ended.ExitCode()
	}
	return code, string(text)
}

func userWith(ctx context.Context, namespace string, roles ...string) string {
	GinkgoHelper()
	user := "user-of-" + namespace
	kubeconfig, err := cluster.UserKubeconfig(user)
	Expect(err).NotTo(HaveOccurred())
	for _, role := range roles {
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		})).To(Succeed())
	}
	return kubeconfig
}

var _ = Describe("kubectl discord", func() {
	It("shows a server with its objects in all namespaces that the user may list", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s := w.server(serverAllows(v1alpha1.FromAll))
		own, theirs := w.group("alerts", groupAllows(v1alpha1.FromAll)), a.channel("alerts", "tokyo")
		ready(ctx, s, own, theirs, w.role("on-call"))
		Eventually(ctx, refetch(s)).Should(And(HaveField("Status.Channels.Total", BeEquivalentTo(2)),
			HaveField("Status.Roles.Total", BeEquivalentTo(3))), "@everyone, the bot's role and on-call")
		calls := len(w.calls())
		code, text := kubectlDiscord(ctx, w.ns, "status", "jujutsu")
		Expect(text).To(And(
			MatchRegexp(`^READY  Jujutsu High \(`+w.guild+`\), 2 of 500 channels, 3 of 250 roles, 2 namespaces\n`),
			ContainSubstring("the operator reports no missing permission"), MatchRegexp(`├─ Group alerts +Ready`),
			MatchRegexp(`│  └─ Channel tokyo \(`+a.ns+`\) +Ready +http`), MatchRegexp(`└─ Role on-call +Ready`)))
		Expect(code).To(BeZero())

		By("showing a fault, and exiting with status 3")
		edit(ctx, theirs, func(c *v1alpha1.DiscordChannel) {
			c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{Role: "Nobody", Deny: []v1alpha1.Permission{"SendMessages"}}}
		})
		eventuallyDegraded(ctx, theirs, v1alpha1.ReasonRoleNotFound)
		code, text = kubectlDiscord(ctx, w.ns, "status", "jujutsu", "-o", "json")
		Expect(code).To(Equal(3))
		var report struct {
			Health  string
			Objects []struct{ Name, Health, Reason string }
		}
		Expect(json.Unmarshal([]byte(text), &report)).To(Succeed())
		Expect(report.Health).To(Equal("Ready"))
		Expect(report.Objects).To(ContainElement(And(HaveField("Name", "tokyo"), HaveField("Reason", "RoleNotFound"))))

		By("hiding the objects of other namespaces from a user who may list only one namespace")
		reader := userWith(ctx, w.ns, "discord-view")
		Eventually(ctx, func(ctx context.Context) string {
			_, text := kubectlDiscordAs(ctx, reader, w.ns, "status", "jujutsu")
			return text
		}).WithPolling(time.Second).Should(And(HavePrefix("READY"), ContainSubstring("Group alerts"), Not(ContainSubstring("tokyo")),
			ContainSubstring("discordchannels.discord.jutsu.com: listed only in "+w.ns)))
		code, text = kubectlDiscordAs(ctx, reader, w.ns, "check-token", "jujutsu")
		Expect(code).To(Equal(1))
		Expect(text).To(Equal("kubectl discord: you (user-of-" + w.ns + ") may not get secrets in the namespace " + w.ns + ".\n"))
		code, text = kubectlDiscordAs(ctx, reader, w.ns, "undelete", "group", "alerts", "-y")
		Expect(code).To(Equal(1))
		Expect(text).To(ContainSubstring("the DiscordGroup alerts is not being deleted"))
		Expect(w.calls()).To(HaveLen(calls), "no command should call Discord")
		edit(ctx, theirs, func(c *v1alpha1.DiscordChannel) { c.Spec.PermissionOverwrites = nil })
		eventuallyReady(ctx, theirs)
	})

	It("prints an invite link with all permissions that the objects need", func(ctx context.Context) {
		w := newWorldOf(ctx, newBot(), discordtest.PermViewChannel|discordtest.PermManageChannels)
		s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.Description = new("A school") })
		c := w.channel("", "alerts", withWebhook, func(c *v1alpha1.DiscordChannel) {
			c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{
				{Role: "@everyone", Deny: []v1alpha1.Permission{"ManageMessages"}}}
		})
		r := w.role("on-call", func(s *v1alpha1.DiscordRoleSpec) { s.Permissions = []v1alpha1.Permission{"MentionEveryone"} })
		create(ctx, s, c, r)
		eventuallyDegraded(ctx, s, v1alpha1.ReasonMissingPermissions)
		Eventually(ctx, refetch(s)).Should(HaveField("Status.MissingPermissions", ConsistOf(
			BeEquivalentTo("ManageGuild"), BeEquivalentTo("ViewAuditLog"), BeEquivalentTo("ManageMessages"),
			BeEquivalentTo("ManageRoles"), BeEquivalentTo("ManageWebhooks"))))
		code, text := kubectlDiscord(ctx, w.ns, "status", "jujutsu")
		Expect(code).To(Equal(3))
		Expect(text).To(ContainSubstring("lacks ManageGuild, ViewAuditLog, ManageMessages, ManageRoles, ManageWebhooks"))

		code, text = kubectlDiscord(ctx, w.ns, "check-token", "jujutsu", "--discord-api-url="+discord.APIURL())
		Expect(code).To(Equal(3))
		Expect(text).To(And(ContainSubstring("fix  permissions"), ContainSubstring("MentionEveryone"),
			ContainSubstring("-> kubectl discord invite jujutsu -n "+w.ns)))

		code, text = kubectlDiscord(ctx, w.ns, "invite", "jujutsu")
		Expect(code).To(BeZero())
		Expect(text).To(MatchRegexp(`MentionEveryone +to give it to DiscordRole on-call`))
		discord.SetPermissions(w.guild, w.bot.UserID, asked(text))
		eventuallyReady(ctx, s, c, r)
		Expect(s.Status.MissingPermissions).To(BeEmpty())
		code, text = kubectlDiscord(ctx, w.ns, "check-token", "jujutsu", "--discord-api-url="+discord.APIURL())
		Expect(code).To(BeZero(), text)
	})

	It("prints manifests that adopt a channel and change nothing", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		dev := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Dev"})
		id := w.channelByHand(discordtest.Channel{
			Name: "tokyo", Topic: "Alerts", ParentID: w.categoryByHand("Incidents"),
			Overwrites: []discordtest.Overwrite{{ID: dev, Allow: discordtest.PermSendMessages}},
		})
		w.channelByHand(discordtest.Channel{Name: "other"})
		code, text := kubectlDiscord(ctx, w.ns, "adopt", "jujutsu", id, "--discord-api-url="+discord.APIURL())
		Expect(code).To(BeZero(), text)
		Expect(w.expectAdopted(ctx, strings.TrimPrefix(text, "---\n"))).To(HaveLen(2), "the channel and its category")
		code, text = kubectlDiscord(ctx, w.ns, "adopt", "jujutsu", id, "--discord-api-url="+discord.APIURL())
		Expect(code).To(Equal(1))
		Expect(text).To(ContainSubstring("the DiscordChannel " + w.ns + "/tokyo already names the id " + id))
	})
})

var _ = Describe("kubectl discord undelete", func() {
	undelete := func(ctx context.Context, namespace, kind, name string) string {
		GinkgoHelper()
		code, text := kubectlDiscord(ctx, namespace, "undelete", kind, name, "--yes", "--confirm="+name)
		Expect(code).To(BeZero(), text)
		Expect(text).To(HaveSuffix("Done.\n"))
		return text
	}
	replaced := func(ctx context.Context, o client.Object) {
		GinkgoHelper()
		uid := o.GetUID()
		Expect(refetch(o)(ctx)).To(And(HaveField("UID", Not(Equal(uid))), HaveField("DeletionTimestamp", BeNil())))
	}

	It("takes back the deletion of a group and of a server "+
		"while both deletions wait for dependent objects", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c := w.server(), w.group("incidents"), w.channel("incidents", "alerts")
		ready(ctx, s, g, c)
		id, edits := g.Status.GroupID, len(w.edits())
		deleteObjects(ctx, s, g)
		eventuallyProgressing(ctx, g, v1alpha1.ReasonWaitingForDependents)
		eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForDependents)
		undelete(ctx, w.ns, "server", "jujutsu")
		undelete(ctx, w.ns, "group", "incidents")
		replaced(ctx, s)
		replaced(ctx, g)
		eventuallyReady(ctx, s, g, c)
		Expect(g.Status.GroupID).To(Equal(id))
		Expect(on(c).ParentID).To(Equal(id))
		w.expectIdle(ctx)
		Expect(w.edits()[edits:]).To(BeEmpty(), "nothing on Discord should be edited")
	})

	It("takes back a channel's deletion that Discord refuses, "+
		"and keeps the channel's messages and webhook", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", withWebhook)
		ready(ctx, w.server(), c)
		hook, id := hooks(c)[0], c.Status.ChannelID
		discord.PostByHand(id, discord.AddUser("Yuji"), "hello")
		stop := discord.Faults().Add(discordtest.Fault{
			Match: func(r discordtest.Request) bool { return r.BotID == w.bot.UserID && r.Method == http.MethodDelete },
			Action: discordtest.Action{Status: 400,
				Body: `{"code": 50074, "message": "Cannot delete a channel required for Community guilds"}`},
		})
		defer stop()
		deleteObjects(ctx, c)
		eventuallyDegraded(ctx, c, v1alpha1.ReasonDeletionFailed)
		edits, uid := len(w.edits()), c.UID
		collected := make(chan struct{})
		go func() { // stands in for the garbage collector, which does not run in the specs
			defer GinkgoRecover()
			defer close(collected)
			Eventually(ctx, refetch(c.DeepCopy())).Should(HaveField("UID", Not(Equal(uid))))
			Expect(client.IgnoreNotFound(k8s.Delete(ctx, w.secret(c.WebhookSecretName())))).To(Succeed())
		}()
		Expect(undelete(ctx, w.ns, "channel", "alerts")).To(ContainSubstring("the operator writes it again"))
		<-collected
		stop()
		replaced(ctx, c)
		eventuallyReady(ctx, c)
		Expect(c.Status.ChannelID).To(Equal(id))
		Expect(on(c).Name).To(Equal("alerts"))
		Expect(discord.Guild(w.guild).Messages[id]).To(ConsistOf(HaveField("Content", "hello")))
		Eventually(ctx, w.secretOf(c.WebhookSecretName())).Should(holdURLOf(hook))
		w.expectIdle(ctx)
		Expect(w.edits()[edits:]).To(BeEmpty(), "nothing on Discord should be edited")
	})

	It("refuses a tenant's request, and changes nothing, "+
		"unless the DiscordServer allows retention and adoption", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s, g := w.server(serverAllows(v1alpha1.FromAll)), a.group("theirs")
		c := a.channel(g.Name, "tokyo", inOwn)
		ready(ctx, s, g, c)
		deleteObjects(ctx, g)
		eventuallyProgressing(ctx, g, v1alpha1.ReasonWaitingForDependents)
		code, text := kubectlDiscord(ctx, a.ns, "undelete", "group", "theirs", "-y", "--confirm=theirs")
		Expect(code).To(Equal(1))
		Expect(text).To(ContainSubstring("must set spec.allowRetention and spec.allowAdoption"))
		Expect(refetch(g)(ctx)).To(HaveField("Annotations", BeEmpty()))

		By("reporting that the user may not get the DiscordServer")
		tenant := userWith(ctx, a.ns, "discord-view", "discord-edit")
		Eventually(ctx, func(ctx context.Context) string {
			_, text := kubectlDiscordAs(ctx, tenant, a.ns, "undelete", "group", "theirs", "-y", "--confirm=theirs")
			return text
		}).WithPolling(time.Second).Should(ContainSubstring("may not get discordservers.discord.jutsu.com in the namespace " + w.ns))

		By("allowing retention and adoption")
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.AllowRetention, s.Spec.AllowAdoption = true, true })
		id, edits := g.Status.GroupID, len(w.edits())
		undelete(ctx, a.ns, "group", "theirs")
		replaced(ctx, g)
		eventuallyReady(ctx, g, c)
		Expect(g.Status.GroupID).To(Equal(id))
		Expect(w.edits()[edits:]).To(BeEmpty())
	})
})
