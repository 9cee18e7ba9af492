// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment/spec"
)

// everything has the permissions of the bot in most specs. It does not contain Administrator.
const everything = discordtest.PermManageChannels | discordtest.PermManageGuild | discordtest.PermViewAuditLog |
	discordtest.PermViewChannel | discordtest.PermSendMessages | discordtest.PermManageRoles |
	discordtest.PermManageWebhooks

// world is the environment of one spec.
type world struct {
	ns    string
	bot   discordtest.Bot
	guild string // id
}

// newWorld creates a namespace, a bot and a guild. After the spec, it expects an idle operator,
// consistent conditions, and that all objects can be deleted.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	return newWorldOf(ctx, newBot(), everything)
}

func newWorldOf(ctx context.Context, bot discordtest.Bot, may discordtest.Permissions) *world {
	GinkgoHelper()
	w := &world{ns: newNamespace(ctx), bot: bot,
		guild: discord.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"}).ID}
	discord.AddMember(w.guild, w.bot.UserID, may)
	Expect(k8s.Create(ctx, w.token())).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		for _, hook := range discord.Guild(w.guild).Webhooks {
			secrets.Add(hook.Token)
		}
		if !CurrentSpecReport().Failed() {
			w.expectIdleFor(ctx, time.Second)
		}
		expectLawful(ctx, w.ns)
		deleteAll(ctx, w.ns)
	})
	return w
}

func newBot() discordtest.Bot {
	bot := discord.AddBot(discordtest.Bot{Name: "operator"})
	secrets.Add(bot.Token)
	return bot
}

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "discord-"}}
	Expect(k8s.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

func (w *world) token() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "discord-bot"},
		StringData: map[string]string{"token": w.bot.Token},
	}
}

func (w *world) server(change ...func(*v1alpha1.DiscordServer)) *v1alpha1.DiscordServer {
	return changed(&v1alpha1.DiscordServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "jujutsu"},
		Spec: v1alpha1.DiscordServerSpec{
			TokenSecretRef: v1alpha1.TokenSecretReference{Name: "discord-bot"}, ServerID: w.guild,
		},
	}, change)
}

func (w *world) group(name string, change ...func(*v1alpha1.DiscordGroup)) *v1alpha1.DiscordGroup {
	return changed(&v1alpha1.DiscordGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Spec:       v1alpha1.DiscordGroupSpec{ServerRef: v1alpha1.ServerReference{Name: "jujutsu"}, Name: name},
	}, change)
}

func (w *world) role(name string, change ...func(*v1alpha1.DiscordRoleSpec)) *v1alpha1.DiscordRole {
	r := &v1alpha1.DiscordRole{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Spec:       v1alpha1.DiscordRoleSpec{ServerRef: v1alpha1.ServerReference{Name: "jujutsu"}, Name: name},
	}
	for _, c := range change {
		c(&r.Spec)
	}
	return r
}

func (w *world) channel(group, name string, change ...func(*v1alpha1.DiscordChannel)) *v1alpha1.DiscordChannel {
	c := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Spec: v1alpha1.DiscordChannelSpec{Name: name}}
	if group == "" {
		c.Spec.ServerRef = &v1alpha1.ServerReference{Name: "jujutsu"}
	} else {
		c.Spec.GroupRef = &v1alpha1.GroupReference{Name: group}
	}
	return changed(c, change)
}

func changed[O client.Object](o O, change []func(O)) O {
	for _, c := range change {
		c(o)
	}
	return o
}

func withWebhook(c *v1alpha1.DiscordChannel) {
	c.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: "alertmanager"}
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(k8s.Create(ctx, o)).To(Succeed())
	}
}

func ready(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	create(ctx, objects...)
	eventuallyReady(ctx, objects...)
}

func (w *world) calls() []string {
	var calls []string
	for _, r := range discord.RequestsOf(w.bot.UserID) {
		calls = append(calls, r.Route)
	}
	return calls
}

func (w *world) edits() []string {
	return slices.DeleteFunc(w.calls(), func(route string) bool { return strings.HasPrefix(route, "GET ") })
}

func (w *world) traffic() []string { return append(w.calls(), operator.Writes(w.ns)...) }

func since(before, now []string) []string { return now[len(before):] }

func (w *world) expectIdle(ctx context.Context) {
	GinkgoHelper()
	// The operator reconciles a DiscordServer two seconds after a change of one of its objects.
	w.expectIdleFor(ctx, 2500*time.Millisecond)
}

// expectIdleFor waits for a time without calls to Discord and writes to Kubernetes.
func (w *world) expectIdleFor(ctx context.Context, while time.Duration) {
	GinkgoHelper()
	const most = 200 * time.Millisecond // the most that one poll adds to idle, because all processes may pause
	idle, last, count := time.Duration(0), time.Now(), len(w.traffic())
	Eventually(ctx, func() time.Duration {
		idle += min(time.Since(last), most)
		last = time.Now()
		if n := len(w.traffic()); n != count {
			idle, count = 0, n
		}
		return idle
	}).Should(BeNumerically(">=", while), "the operator should become idle")
}

// deleteAll deletes all objects in a namespace, even if Discord cannot be reached.
func deleteAll(ctx context.Context, namespace string) {
	GinkgoHelper()
	left := func(ctx context.Context) []client.Object { return allIn(ctx, namespace) }
	for _, o := range left(ctx) {
		forceDelete(ctx, o)
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, o))).To(Succeed())
	}
	// A busy machine deletes three objects a second. Some specs have more than a hundred.
	Eventually(ctx, left).WithTimeout(readyTimeout).Should(BeEmpty(), "the objects should be deleted")
}

// forceDelete lets Kubernetes delete an object if its resource on Discord cannot be deleted.
func forceDelete(ctx context.Context, o client.Object) {
	GinkgoHelper()
	force := client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.ForceDeleteAnnotation+`":"true"}}}`))
	Expect(client.IgnoreNotFound(k8s.Patch(ctx, o, force))).To(Succeed())
}

func allIn(ctx context.Context, namespace string) []client.Object {
	GinkgoHelper()
	var all []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.DiscordChannelList{}, &v1alpha1.DiscordGroupList{},
		&v1alpha1.DiscordRoleList{}, &v1alpha1.DiscordServerList{}} {
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(meta.EachListItem(list, func(o runtime.Object) error {
			all = append(all, o.(client.Object))
			return nil
		})).To(Succeed())
	}
	return all
}

// expectLawful expects consistent conditions, and no secret in conditions and events.
func expectLawful(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, o := range allIn(ctx, namespace) {
		conditions, observed := statusOf(o)
		is := func(kind string) bool { return meta.IsStatusConditionTrue(conditions, kind) }
		Expect(is("Degraded") && is("Progressing")).To(BeFalse(), "%s is Degraded and Progressing", o.GetName())
		Expect(is("Ready") && (is("Degraded") || is("Progressing") || !is("Available"))).
			To(BeFalse(), "%s is Ready, but Degraded, Progressing or not Available", o.GetName())
		Expect(observed).To(BeNumerically("<=", o.GetGeneration()))
		for _, c := range conditions {
			secrets.ExpectNotIn(c.Message)
		}
	}
	var events eventsv1.EventList
	Expect(k8s.List(ctx, &events, client.InNamespace(namespace))).To(Succeed())
	for _, e := range events.Items {
		secrets.ExpectNotIn(e.Note)
	}
}

// secrets contains the tokens of all bots and webhooks. Only Secrets may contain them.
var secrets spec.Secrets

func nameOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func slowmode(seconds int) func(*v1alpha1.DiscordChannel) {
	return func(c *v1alpha1.DiscordChannel) {
		c.Spec.Slowmode = &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
}
