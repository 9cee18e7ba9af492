// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

const readyTimeout = 2 * time.Minute

var _ = Describe("kubectl discord export", func() {
	It("prints manifests whose objects become Ready, and are deleted, "+
		"without an edit on Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		populate(ctx, w)
		before := discord.Guild(w.guild)

		manifests := w.export(ctx)
		edits := len(w.edits())
		objects := w.expectAdopted(ctx, manifests)
		Expect(objects).
			To(HaveLen(1+3+2+9), "a server, three roles, two groups and nine channels; #hidden and #Capitals have no objects")
		Expect(manifests).To(ContainSubstring("text channel " + w.idsNamed("hidden")[0] + ": the bot may not view it"))

		By("having the webhook's URL in its Secret")
		var secret corev1.Secret
		Expect(k8s.Get(ctx, nameOf(w.ns, "tokyo-webhook"), &secret)).To(Succeed())
		hook := before.Webhooks[0]
		Expect(string(secret.Data["url"])).To(HaveSuffix("/webhooks/" + hook.ID + "/" + hook.Token))

		By("printing the same manifests again")
		Expect(w.export(ctx)).To(Equal(manifests))

		By("deleting all objects")
		deleteAll(ctx, w.ns)
		Expect(w.edits()[edits:]).To(BeEmpty(), "all resources that existed before stay on Discord")
		expectSame(discord.Guild(w.guild), before)
	})

	It("prints only valid objects for unusual names of channels, categories and roles", func(ctx context.Context) {
		w := newWorld(ctx)
		for i, name := range oddNames() {
			category := ""
			if i%3 == 0 {
				category = w.channelByHand(discordtest.Channel{Type: discordtest.TypeCategory, Name: name, Position: i})
			}
			w.channelByHand(discordtest.Channel{Name: name, Topic: name, ParentID: category, Position: 1000 - i})
			discord.CreateRoleByHand(w.guild, discordtest.Role{Name: name})
		}
		manifests := w.export(ctx)
		objects := w.expectAdopted(ctx, manifests)
		Expect(len(objects)).To(BeNumerically(">", len(oddNames())/2))

		By("proposing, in comments, names that the API server accepts")
		proposals := 0
		for document := range strings.SplitSeq(manifests, "\n---\n") {
			if strings.Contains(document, "Commented out:") {
				proposals++
				w.apply(ctx, uncommented(document), client.DryRunAll)
			}
		}
		Expect(proposals).To(BeNumerically(">", 5))
	})
})

var _ = Describe("The manifests of kubectl discord export for a random server", func() {
	for seed := range uint64(10) {
		It(fmt.Sprintf("change nothing in that server, "+
			"and create a copy of it in an empty server, seed %d", seed), func(ctx context.Context) {
			w := newWorldOf(ctx, newBot(), guildtest.Needed)
			Expect(guildtest.Populate(ctx, discord, w.guild, w.bot, seed)).To(Succeed())
			empty := newWorldOf(ctx, w.bot, guildtest.Needed)
			guildtest.Community(discord, empty.guild)

			w.expectAdopted(ctx, w.export(ctx))

			manifests := w.export(ctx, "--copy-to="+empty.guild, "--namespace="+empty.ns)
			Expect(manifests).NotTo(ContainSubstring("NOTE"))
			for _, o := range empty.applyAll(ctx, manifests) {
				Eventually(ctx, refetch(o)).WithTimeout(readyTimeout).Should(HaveCondition("Ready", "True", "Reconciled"),
					func() string { return unready(ctx, empty.ns) })
			}
			empty.expectIdle(ctx)
			Expect(guildtest.Portrait(discord.Guild(empty.guild))).To(Equal(guildtest.Portrait(discord.Guild(w.guild))))

			// Several channels may have the same name. The ids in the statuses tell them apart.
			By("planning no change for the copy's manifests, with their statuses")
			folder := GinkgoT().TempDir()
			for i, o := range allIn(ctx, empty.ns) {
				kind, err := k8s.GroupVersionKindFor(o)
				Expect(err).NotTo(HaveOccurred())
				o.GetObjectKind().SetGroupVersionKind(kind)
				text, err := yaml.Marshal(o)
				Expect(err).NotTo(HaveOccurred())
				Expect(os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".yaml")), text, 0o600)).To(Succeed())
			}
			code, output := empty.plan(ctx, folder)
			Expect(code).To(BeZero(), output)
		})
	}
})

func unready(ctx context.Context, namespace string) string {
	GinkgoHelper()
	var lines []string
	for _, o := range allIn(ctx, namespace) {
		conditions, _ := statusOf(o)
		if c := meta.FindStatusCondition(conditions, "Ready"); c == nil || c.Status != metav1.ConditionTrue {
			lines = append(lines, fmt.Sprintf("%T %s: %+v", o, o.GetName(), c))
		}
	}
	return strings.Join(lines, "\n")
}

func populate(ctx context.Context, w *world) {
	GinkgoHelper()
	const view, send, undocumented = discordtest.PermViewChannel, discordtest.PermSendMessages,
		discordtest.Permissions(1 << 47)
	const bans = discordtest.Permissions(1 << 2)               // a permission that the bot lacks
	headmaster := discord.AddRole(w.guild, "Headmaster", view) // in the role order above the bot's own role
	role := func(r discordtest.Role) string { return discord.CreateRoleByHand(w.guild, r) }
	sensei := role(discordtest.Role{Name: "Sensei", Color: 0xE67E22, Hoist: true, Mentionable: true,
		Permissions: view | bans | undocumented})
	student, otherStudent := role(discordtest.Role{Name: "Student"}), role(discordtest.Role{Name: "Student"})

	private := []discordtest.Overwrite{{ID: w.guild, Deny: view},
		{ID: w.bot.UserID, Type: 1, Allow: view | discordtest.PermManageChannels},
		{ID: sensei, Allow: view | send}}
	incidents := w.channelByHand(discordtest.Channel{Type: discordtest.TypeCategory, Name: "Incidents 🔥", Position: 9,
		Overwrites: private})
	archive := w.channelByHand(discordtest.Channel{Type: discordtest.TypeCategory, Name: "Archive", Position: 4,
		Overwrites: []discordtest.Overwrite{}})
	general := w.channelByHand(discordtest.Channel{Name: "general",
		Topic: "What everyone may read, \"quoted\"\n# and more", Position: 3})
	tokyo := w.channelByHand(discordtest.Channel{Name: "tokyo", ParentID: incidents, Position: 8, NSFW: true,
		RateLimitPerUser: 5400, DefaultAutoArchive: 4320})
	w.channelByHand(discordtest.Channel{Name: "news", Type: discordtest.TypeAnnouncement, ParentID: incidents,
		Position: 2, Overwrites: []discordtest.Overwrite{}})
	w.channelByHand(discordtest.Channel{Name: "general", ParentID: incidents, Position: 2,
		Overwrites: []discordtest.Overwrite{
			{ID: student, Deny: send}, {ID: otherStudent, Allow: send | undocumented},
			{ID: discord.AddUser("Yuji"), Type: 1, Allow: view}, {ID: sensei},
			{ID: headmaster, Allow: send},
		}})
	w.channelByHand(discordtest.Channel{Name: "old", ParentID: archive})
	w.channelByHand(discordtest.Channel{Name: "hidden", ParentID: archive,
		Overwrites: []discordtest.Overwrite{{ID: w.guild, Deny: view}}}) // this also hides the channel from the bot
	w.channelByHand(discordtest.Channel{Name: "Capitals", ParentID: archive})
	lounge := w.channelByHand(discordtest.Channel{Name: "Lounge", Type: discordtest.TypeVoice, ParentID: incidents,
		Position: 1, UserLimit: 5, Region: "japan"})
	w.channelByHand(discordtest.Channel{Name: "Main Stage", Type: discordtest.TypeStage, ParentID: incidents, VideoQuality: 2})
	w.channelByHand(discordtest.Channel{Name: "pictures", Type: discordtest.TypeMedia, Flags: discordtest.FlagHideMediaDownload})
	w.channelByHand(discordtest.Channel{Name: "ideas", Type: discordtest.TypeForum, ParentID: archive,
		Topic: strings.Repeat("ü", 4096), Reaction: discordtest.Emoji{Name: "✅"}, SortOrder: new(1), Layout: 2,
		ThreadSlowmode: 30, Flags: discordtest.FlagRequireTag | 1<<7,
		Tags: []discordtest.Tag{{Name: "bug", Emoji: discordtest.Emoji{Name: "🐛"}}, {Name: "solved", Moderated: true}}})
	discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) {
		g.Features = []string{"COMMUNITY", "NEWS"}
		g.Description, g.VerificationLevel, g.DefaultNotifications, g.ExplicitContentFilter = "A school", 3, 1, 2
		g.AFKChannelID, g.AFKTimeout, g.SystemChannelID, g.PreferredLocale = lounge, 900, general, "ja"
		g.SystemChannelFlags, g.RulesChannelID, g.PublicUpdatesChannelID = 5, general, general
	})
	bot, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret(w.bot.Token),
		APIURL: discord.APIURL()})
	Expect(err).NotTo(HaveOccurred())
	_, err = bot.CreateWebhook(ctx, tokyo, "Alertmanager", "")
	Expect(err).NotTo(HaveOccurred())
	discord.CreateWebhookByHand(tokyo, "a user's")
}

func oddNames() []string {
	names := []string{
		"General", "rules & info", " padded ", "trailing-", "-leading", "a--b", "~", "!!!", "名前", "Ünïcödé", "straße",
		"İstanbul", "ǅ", "ϒ", "Ⅷ", "ⓐ", "Ⓐ",
		"𝐆𝐞𝐧𝐞𝐫𝐚𝐥", "🔥・incidents", "│chat│", "a\u00a0b", "a\u200bb", "a\u2028b", "a\x01b", "a\x7fb", "tab\there",
		"line\nfeed", "---\nkind: Secret", "# comment",
		"yes", "null", "1e3", "0x10", "'", "\"", "{{.}}", "%s", "a:b", "@everyone", "here", "discord",
		strings.Repeat("x", 100), strings.Repeat("名", 100), "x_y", "__",
	}
	for r := rune('!'); r < 0x7f; r++ {
		names = append(names, "a"+string(r)+"b")
	}
	return names
}

func (w *world) export(ctx context.Context, args ...string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "token")
	Expect(os.WriteFile(file, []byte(w.bot.Token), 0o600)).To(Succeed())
	args = append([]string{"export", "--server-id=" + w.guild, "--token-file=" + file,
		"--discord-api-url=" + discord.APIURL(), "--namespace=" + w.ns}, args...)
	command := exec.CommandContext(ctx, operator.Plugin("kubectl-discord"), args...)
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), stderr.String())
	for _, hook := range discord.Guild(w.guild).Webhooks {
		secrets.Add(hook.Token)
	}
	secrets.ExpectNotIn(string(output) + stderr.String())
	return string(output)
}

// expectAdopted creates the objects of a file, and expects no edits on Discord.
func (w *world) expectAdopted(ctx context.Context, manifests string) []client.Object {
	GinkgoHelper()
	edits, before := len(w.edits()), discord.Guild(w.guild)
	objects := w.applyAll(ctx, manifests)
	for _, o := range objects {
		Eventually(ctx, refetch(o)).WithTimeout(readyTimeout).
			Should(HaveCondition("Ready", "True", "Reconciled"), o.GetName())
	}
	w.expectIdle(ctx)
	Expect(w.edits()[edits:]).To(BeEmpty(), "nothing on Discord should be edited")
	expectSame(discord.Guild(w.guild), before)
	return objects
}

func (w *world) applyAll(ctx context.Context, manifests string) []client.Object {
	GinkgoHelper()
	var objects []client.Object
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		if o := w.apply(ctx, document); o != nil {
			objects = append(objects, o)
		}
	}
	return objects
}

func (w *world) apply(ctx context.Context, document string, options ...client.CreateOption) client.Object {
	GinkgoHelper()
	var of struct{ Kind string }
	Expect(yaml.Unmarshal([]byte(document), &of)).To(Succeed(), document)
	var o client.Object
	switch of.Kind {
	case "":
		return nil
	case "DiscordServer":
		o = &v1alpha1.DiscordServer{}
	case "DiscordGroup":
		o = &v1alpha1.DiscordGroup{}
	case "DiscordChannel":
		o = &v1alpha1.DiscordChannel{}
	case "DiscordRole":
		o = &v1alpha1.DiscordRole{}
	default:
		Fail(fmt.Sprintf("a %s is exported", of.Kind))
	}
	Expect(yaml.UnmarshalStrict([]byte(document), o)).To(Succeed())
	Expect(k8s.Create(ctx, o, options...)).To(Succeed(), document)
	return o
}

func uncommented(document string) string {
	_, object, _ := strings.Cut(document, "# apiVersion:")
	return strings.ReplaceAll("apiVersion:"+strings.ReplaceAll(object, "\n# ", "\n"), "\n#", "\n")
}

func expectSame(now, before discordtest.Guild) {
	GinkgoHelper()
	now.Audit, before.Audit = nil, nil
	Expect(now).To(Equal(before), "the guild should be as it was")
}

var _ = Describe("kubectl discord plan", func() {
	It("lists no change for an unedited export, and exits with status 3 if there are changes", func(ctx context.Context) {
		w := newWorld(ctx)
		populate(ctx, w)
		folder := GinkgoT().TempDir()
		manifests := w.export(ctx)
		write := func(name, text string) {
			Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
		}
		write("server.yaml", manifests)
		edits := len(w.edits())
		code, output := w.plan(ctx, folder)
		Expect(code).To(BeZero(), output)
		Expect(output).To(HavePrefix("No changes"))

		By("showing the changes of an edit")
		write("server.yaml", strings.Replace(manifests, "slowmode: 1h30m0s", "slowmode: 5s", 1))
		write("more.yaml", "apiVersion: discord.jutsu.com/v1alpha1\nkind: DiscordRole\nmetadata: {name: dev, namespace: "+w.ns+
			"}\nspec: {name: Dev, serverRef: {name: jujutsu}}\n")
		code, output = w.plan(ctx, folder)
		Expect(code).To(Equal(3), output)
		Expect(output).To(And(ContainSubstring("    slowmode: 1h30m0s -> 5s\n"), ContainSubstring("+ DiscordRole "+w.ns+"/dev\n")))

		By("showing how the removal of a role affects a channel")
		discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Dev"})
		before := GinkgoT().TempDir()
		Expect(os.Rename(filepath.Join(folder, "more.yaml"), filepath.Join(before, "more.yaml"))).To(Succeed())
		write("server.yaml", "apiVersion: discord.jutsu.com/v1alpha1\nkind: DiscordChannel\nmetadata: {name: dev, namespace: "+w.ns+
			"}\nspec: {name: dev, serverRef: {name: jujutsu}, permissionOverwrites: [{role: Dev, allow: [SendMessages]}]}\n")
		code, output = w.plan(ctx, folder, "--before", before)
		Expect(code).To(Equal(1), output)
		Expect(output).To(And(ContainSubstring("- DiscordRole "+w.ns+"/dev\n"), ContainSubstring("! RoleNotFound: ")))

		By("refusing an invalid object")
		write("more.yaml", "apiVersion: discord.jutsu.com/v1alpha1\nkind: DiscordRole\nmetadata: {name: dev}\nspec: {name: Dev}\n")
		code, output = w.plan(ctx, folder)
		Expect(code).To(Equal(1), output)
		Expect(output).To(ContainSubstring("more.yaml: DiscordRole dev: spec.serverRef: Required value"))
		Expect(w.edits()).To(HaveLen(edits), "nothing should be written to Discord")
	})
})

func (w *world) plan(ctx context.Context, folder string, more ...string) (code int, output string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "token")
	Expect(os.WriteFile(file, []byte(w.bot.Token), 0o600)).To(Succeed())
	command := exec.CommandContext(ctx, operator.Plugin("kubectl-discord"), append([]string{"plan", "-f", folder, "--server-id=" + w.guild,
		"--token-file=" + file, "--discord-api-url=" + discord.APIURL()}, more...)...)
	printed, err := command.CombinedOutput()
	secrets.ExpectNotIn(string(printed))
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	return command.ProcessState.ExitCode(), string(printed)
}
