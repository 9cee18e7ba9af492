package channel

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// hookHistory is what may happen to the webhook of a channel and to its Secret, in any order: the spec changes, people delete things on both sides, answers
// are lost, the operator is killed.
type hookHistory struct {
	scene   *scene
	channel *v1alpha1.DiscordChannel
	hooks   []discordclient.Webhook // of the channel on Discord
	secrets map[string]*metav1.PartialObjectMetadata
	ids     int

	// What the process knows.
	entry   external.Record
	settled bool // what a create of unknown outcome could have made would show

	// told are the ids of all webhooks that a status has ever named, forsaken of those that none had when the spec ceased to ask for their name.
	told, forsaken map[string]bool
	// twice says that a webhook was created beside one of the same name.
	twice string
}

const ownApplication = "app"

// strangers are webhooks that others have made: a person, and another program with the same bot.
func strangers() []discordclient.Webhook {
	return []discordclient.Webhook{
		{ID: "1", Type: discordgo.WebhookTypeIncoming, Name: "alerts"},
		{ID: "2", Type: discordgo.WebhookTypeIncoming, Name: "another program's", ApplicationID: ownApplication, Token: discordclient.NewSecret("t2")},
	}
}

func (h *hookHistory) see() *observed {
	seen := h.scene.sees(&discordclient.Channel{Name: "alerts"}, "")
	seen.hooks, seen.hookEntry, seen.hookSettled = slices.Clone(h.hooks), h.entry, h.entry.Known || h.settled
	for _, name := range slices.Sorted(maps.Keys(h.secrets)) {
		seen.secrets = append(seen.secrets, *h.secrets[name])
		if name == h.channel.WebhookSecretName() {
			seen.namesake = h.secrets[name]
		}
	}
	return seen
}

// pass plans and carries the plan out as act does, up to a number of steps, and returns whether nothing was to be done. The last step is the status; lost says
// that the answer to a create does not arrive.
func (h *hookHistory) pass(most int, lost bool) (rest bool) {
	todo := planWebhook(h.channel, h.see())
	if todo.verdict != nil {
		return false
	}
	now, rest := state{channel: &discordclient.Channel{ID: "300"}}, !todo.create && !todo.rename && !todo.write && todo.remove == "" && len(todo.strays) == 0
	var steps []func() (goOn bool)
	if todo.remove != "" {
		steps = append(steps, func() bool { h.drop(todo.remove); return true })
	}
	if h.channel.Spec.Webhook != nil {
		steps = append(steps, func() bool { return h.provide(todo, &now, lost) })
		if todo.write {
			steps = append(steps, func() bool { h.write(now.hook.ID); return true })
		}
		steps = append(steps, func() bool { now.secret = h.channel.WebhookSecretName(); return true })
	}
	for _, stray := range todo.strays {
		steps = append(steps, func() bool { delete(h.secrets, stray.Name); return true })
	}
	for i, step := range steps {
		if i >= most || !step() {
			if i < most {
				h.tell(now, conditions.Progressing("", ""))
			}
			return false
		}
	}
	if most >= len(steps) {
		h.tell(now, nil)
	}
	return rest
}

// provide makes or renames the webhook.
func (h *hookHistory) provide(todo hookSteps, now *state, lost bool) bool {
	hook := todo.use
	switch {
	case todo.create:
		h.entry = external.Record{Known: true}
		if slices.ContainsFunc(h.hooks[2:], func(w discordclient.Webhook) bool { return w.Name == h.channel.Spec.Webhook.Name }) {
			h.twice = h.channel.Spec.Webhook.Name
		}
		h.ids++
		id := strconv.Itoa(100 + h.ids)
		made := discordclient.Webhook{ID: id, Type: discordgo.WebhookTypeIncoming, Name: h.channel.Spec.Webhook.Name, ApplicationID: ownApplication,
			Token: discordclient.NewSecret("t" + id)}
		h.hooks = append(h.hooks, made)
		if lost {
			h.entry, h.settled = external.Record{}, false
			return false
		}
		hook = &made
	case todo.rename:
		i := slices.IndexFunc(h.hooks, func(w discordclient.Webhook) bool { return w.ID == hook.ID })
		h.hooks[i].Name = h.channel.Spec.Webhook.Name
	}
	h.entry, now.hook = external.Record{Known: true, ID: hook.ID}, hook
	return true
}

func (h *hookHistory) write(hookID string) {
	name := h.channel.WebhookSecretName()
	h.secrets[name] = secretMeta(name, hookID)
}

func (h *hookHistory) tell(now state, end error) {
	h.channel.Status.Webhook = webhookStatus(h.channel, now, end)
	h.told[statusHook(h.channel)] = true
}

func (h *hookHistory) drop(id string) {
	h.hooks = slices.DeleteFunc(h.hooks, func(w discordclient.Webhook) bool { return w.ID == id })
}

// Spec asks for a webhook, for one of another name or in another Secret, or for none.
func (h *hookHistory) Spec(t *rapid.T) {
	h.channel.Spec.Webhook = rapid.SampledFrom([]*v1alpha1.ChannelWebhook{
		nil, {Name: "alerts"}, {Name: "reports"}, {Name: "alerts", SecretName: "elsewhere"},
	}).Draw(t, "spec")
	for _, w := range h.hooks[2:] {
		if asked := h.channel.Spec.Webhook; !h.told[w.ID] && w.ID != h.entry.ID && (asked == nil || asked.Name != w.Name) {
			h.forsaken[w.ID] = true
		}
	}
}

// Pass is one that comes to its end.
func (h *hookHistory) Pass(*rapid.T) { h.pass(9, false) }

// Lose is one whose create is not answered.
func (h *hookHistory) Lose(*rapid.T) { h.pass(9, true) }

// Kill ends the process in a pass, or before it.
func (h *hookHistory) Kill(t *rapid.T) {
	h.pass(rapid.IntRange(0, 3).Draw(t, "steps"), rapid.Bool().Draw(t, "lost"))
	h.entry, h.settled = external.Record{}, false
}

// Wait is long enough for everything to show.
func (h *hookHistory) Wait(*rapid.T) { h.settled = true }

// HandDelete lets somebody delete a webhook of the channel.
func (h *hookHistory) HandDelete(t *rapid.T) {
	if len(h.hooks) > 2 {
		h.drop(rapid.SampledFrom(h.hooks[2:]).Draw(t, "webhook").ID)
	}
}

// BreakSecret lets somebody delete the Secret, or change it.
func (h *hookHistory) BreakSecret(t *rapid.T) {
	for name, secret := range h.secrets {
		if delete(h.secrets, name); rapid.Bool().Draw(t, "changed") {
			h.secrets[name] = changedMeta(secret.DeepCopy(), func(m *metav1.PartialObjectMetadata) { m.ManagedFields[0].Manager = "kubectl" })
		}
		return
	}
}

// Check is what holds at every moment.
func (h *hookHistory) Check(t *rapid.T) {
	if h.twice != "" {
		t.Fatalf("a second webhook %q was created", h.twice)
	}
	if len(h.hooks) < 2 || h.hooks[0].Name != strangers()[0].Name || h.hooks[1].Name != strangers()[1].Name {
		t.Fatalf("the webhooks of others were touched: %v", h.hooks)
	}
}

// expectSettled expects the one webhook and the one Secret that the spec asks for. Beside them there may be what docs/discord.md names: a webhook whose create
// was cut short, and which the spec did not ask for any more when the operator could look again.
func (h *hookHistory) expectSettled(t *rapid.T) {
	for range 4 {
		h.settled = true
		h.pass(9, false)
		h.Check(t)
	}
	if !h.pass(9, false) {
		t.Fatal("it does not come to rest")
	}
	asked, want := h.channel.Spec.Webhook, []string{}
	if asked != nil {
		want = []string{h.channel.WebhookSecretName()}
		if secret := h.secrets[want[0]]; secret == nil || !holds(secret, statusHook(h.channel)) {
			t.Fatalf("the Secret is not that of %s", statusHook(h.channel))
		}
	}
	if got := slices.Sorted(maps.Keys(h.secrets)); !slices.Equal(got, want) {
		t.Fatalf("Secrets %v, asked for are %v", got, want)
	}
	found := false
	for _, w := range h.hooks[2:] {
		mine := asked != nil && w.ID == statusHook(h.channel)
		found = found || mine && w.Name == asked.Name
		if !mine && (h.told[w.ID] || !h.forsaken[w.ID]) {
			t.Fatalf("the webhook %s %q is left over", w.ID, w.Name)
		}
	}
	if asked != nil && !found {
		t.Fatalf("there is no webhook %q: %v", asked.Name, h.hooks)
	}
}

// Whatever happens: never two webhooks of a name, nobody else's is touched, and in the end there are the one webhook and the one Secret that the spec asks for.
func TestAnyHistoryOfAWebhookEndsWell(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	rapid.Check(t, func(t *rapid.T) {
		h := &hookHistory{
			scene: s, channel: object(spec{Name: "alerts"}), hooks: strangers(), secrets: map[string]*metav1.PartialObjectMetadata{},
			told: map[string]bool{}, forsaken: map[string]bool{},
		}
		t.Repeat(rapid.StateMachineActions(h))
		h.expectSettled(t)
	})
}
