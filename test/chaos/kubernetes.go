// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

const (
	serverName        = "jujutsu"
	tokenSecret       = "discord-bot"
	credentialsSecret = "dojo-app"
	sharedCluster     = "shared"
)

// The lists are short, so that several objects and users choose the same name.
var (
	channelNames = []string{"alerts", "deploys", "general", "incidents"}
	groupNames   = []string{"Alerts", "Teams"}
	hookNames    = []string{"alertmanager", "reports"}
	tagNames     = []string{"bug", "question", "solved"}
)

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

func oneIn(random *rand.Rand, n int) bool { return random.IntN(n) == 0 }

func uniqueWord(random *rand.Rand) string { return fmt.Sprintf("%016x", random.Uint64()) }

// withTimeout sets a timeout that is long enough for a busy API server, but wastes little time
// while the API server is down.
func (r *run) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}

func channelName(slot int) string { return fmt.Sprintf("channel-%d", slot) }
func groupName(slot int) string   { return fmt.Sprintf("group-%d", slot) }

func groupRef(random *rand.Rand) *v1alpha1.GroupReference {
	return &v1alpha1.GroupReference{Name: groupName(random.IntN(groupSlots))}
}

func (r *run) createChannel(ctx context.Context, a action) (string, error) {
	random := a.random()
	c := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: channelName(a.slot)}}
	c.Spec.Name = pick(random, channelNames)
	if oneIn(random, 5) {
		c.Spec.Type = v1alpha1.ChannelTypeForum
	}
	if oneIn(random, 4) {
		c.Spec.ServerRef = &v1alpha1.ServerReference{Name: serverName}
	} else {
		c.Spec.GroupRef = groupRef(random)
	}
	for range random.IntN(4) {
		changeChannel(random, c)
	}
	// Users create only text channels, so a DiscordChannel of another type can adopt none of them.
	if c.Spec.Type == "" && oneIn(random, 8) {
		if id := r.anyUserChannel(random); id != "" {
			c.Spec.Adopt = &v1alpha1.Adoption{ID: id}
		}
	}
	return "#" + c.Spec.Name + describe(c), r.create(ctx, c)
}

func describe(c *v1alpha1.DiscordChannel) string {
	var text strings.Builder
	if c.Spec.Type != "" {
		_, _ = fmt.Fprintf(&text, " (%s)", c.Spec.Type)
	}
	if c.Spec.GroupRef != nil {
		_, _ = fmt.Fprintf(&text, " in %s", c.Spec.GroupRef.Name)
	}
	if c.Spec.Webhook != nil {
		_, _ = fmt.Fprintf(&text, ", webhook %q", c.Spec.Webhook.Name)
	}
	if c.Spec.Adopt != nil {
		_, _ = fmt.Fprintf(&text, ", adopts %s", c.Spec.Adopt.ID)
	}
	if c.Spec.DeletionPolicy != "" {
		_, _ = fmt.Fprintf(&text, ", policy %s", c.Spec.DeletionPolicy)
	}
	return text.String()
}

func changeChannel(random *rand.Rand, c *v1alpha1.DiscordChannel) string {
	changes := []func() string{
		func() string { c.Spec.Name = pick(random, channelNames); return "name " + c.Spec.Name },
		func() string {
			topic := "Topic " + uniqueWord(random)[:4]
			c.Spec.Topic = &topic
			return "topic " + topic
		},
		func() string { nsfw := oneIn(random, 2); c.Spec.NSFW = &nsfw; return "nsfw" },
		func() string {
			c.Spec.Slowmode = &metav1.Duration{Duration: time.Duration(random.IntN(60)) * time.Second}
			return "slowmode"
		},
		func() string { at := random.Int32N(6); c.Spec.Position = &at; return fmt.Sprintf("position %d", at) },
		func() string { c.Spec.PermissionOverwrites = overwrites(random); return "overwrites" },
		func() string {
			if c.Spec.GroupRef == nil {
				return "nothing"
			}
			c.Spec.GroupRef = groupRef(random)
			return "group " + c.Spec.GroupRef.Name
		},
		func() string {
			c.Spec.DeletionPolicy = pick(random,
				[]v1alpha1.DeletionPolicy{"", v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyRetain})
			return "policy " + string(c.Spec.DeletionPolicy)
		},
	}
	if c.Spec.Type == v1alpha1.ChannelTypeForum {
		changes = append(changes, func() string { return changeTags(random, c) })
	} else {
		changes = append(changes, webhookChanges(random, c)...)
	}
	return pick(random, changes)()
}

func webhookChanges(random *rand.Rand, c *v1alpha1.DiscordChannel) []func() string {
	return []func() string{
		func() string {
			c.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: pick(random, hookNames)}
			return "webhook " + c.Spec.Webhook.Name
		},
		func() string {
			c.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: pick(random, hookNames),
				SecretName: c.Name + "-" + uniqueWord(random)[:4]}
			return "webhook " + c.Spec.Webhook.Name + " in " + c.Spec.Webhook.SecretName
		},
		func() string { c.Spec.Webhook = nil; return "no webhook" },
	}
}

func changeTags(random *rand.Rand, c *v1alpha1.DiscordChannel) string {
	tags := []v1alpha1.ForumTag{}
	for _, i := range random.Perm(len(tagNames))[:random.IntN(len(tagNames)+1)] {
		tags = append(tags, v1alpha1.ForumTag{Name: tagNames[i], Moderated: oneIn(random, 3)})
	}
	c.Spec.Forum = &v1alpha1.ChannelForum{Tags: tags}
	return fmt.Sprintf("tags %v", tags)
}

func overwrites(random *rand.Rand) []v1alpha1.PermissionOverwrite {
	return pick(random, [][]v1alpha1.PermissionOverwrite{
		nil, {},
		{{Role: "@everyone", Deny: []v1alpha1.Permission{"ViewChannel"}}},
		{{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}},
			{RoleRef: &v1alpha1.RoleReference{Name: roleName(random.IntN(roleSlots))},
				Allow: []v1alpha1.Permission{"SendMessages"}}},
		{{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}},
			{Role: sensei, Allow: []v1alpha1.Permission{"SendMessages"}}},
	})
}

func (r *run) editChannel(ctx context.Context, a action) (string, error) {
	c, what := &v1alpha1.DiscordChannel{}, ""
	err := r.edit(ctx, channelName(a.slot), c, func() { what = changeChannel(a.random(), c) })
	return what, err
}

func (r *run) deleteChannel(ctx context.Context, a action) (string, error) {
	return "deleted", r.delete(ctx, channelName(a.slot), &v1alpha1.DiscordChannel{})
}

func (r *run) createGroup(ctx context.Context, a action) (string, error) {
	random := a.random()
	g := &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: groupName(a.slot)}}
	g.Spec.ServerRef.Name = serverName
	g.Spec.Name = pick(random, groupNames)
	for range random.IntN(3) {
		changeGroup(random, g)
	}
	return fmt.Sprintf("%q %s", g.Spec.Name, g.Spec.DeletionPolicy), r.create(ctx, g)
}

func changeGroup(random *rand.Rand, g *v1alpha1.DiscordGroup) string {
	switch random.IntN(4) {
	case 0:
		g.Spec.Name = pick(random, groupNames)
		return "name " + g.Spec.Name
	case 1:
		at := random.Int32N(4)
		g.Spec.Position = &at
		return fmt.Sprintf("position %d", at)
	case 2:
		g.Spec.PermissionOverwrites = overwrites(random)
		return "overwrites"
	default:
		g.Spec.DeletionPolicy = pick(random, []v1alpha1.DeletionPolicy{"", "", v1alpha1.DeletionPolicyRetain})
		return "policy " + string(g.Spec.DeletionPolicy)
	}
}

func (r *run) editGroup(ctx context.Context, a action) (string, error) {
	g, what := &v1alpha1.DiscordGroup{}, ""
	err := r.edit(ctx, groupName(a.slot), g, func() { what = changeGroup(a.random(), g) })
	return what, err
}

func (r *run) deleteGroup(ctx context.Context, a action) (string, error) {
	return "deleted", r.delete(ctx, groupName(a.slot), &v1alpha1.DiscordGroup{})
}

func (r *run) editServer(ctx context.Context, a action) (string, error) {
	random, server, what := a.random(), &v1alpha1.DiscordServer{}, ""
	err := r.edit(ctx, serverName, server, func() {
		switch random.IntN(3) {
		case 0:
			server.Spec.Name = pick(random, []string{"Jujutsu High", "Tokyo Jujutsu High"})
			what = "name " + server.Spec.Name
		case 1:
			text := "Founded " + uniqueWord(random)[:4]
			server.Spec.Description, what = &text, "description "+text
		default:
			server.Spec.VerificationLevel = pick(random,
				[]v1alpha1.VerificationLevel{v1alpha1.VerificationLevelLow, v1alpha1.VerificationLevelHigh})
			what = "verificationLevel " + string(server.Spec.VerificationLevel)
		}
	})
	return what, err
}

func (r *run) breakWebhookSecret(ctx context.Context, a action) (string, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	c := &v1alpha1.DiscordChannel{}
	if err := r.Admin.Get(ctx, nameOf(channelName(a.slot)), c); err != nil {
		return "", err
	}
	if c.Spec.Webhook == nil {
		return "", errors.New("it has no webhook")
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.WebhookSecretName()}}
	if oneIn(a.random(), 2) {
		return "deleted " + secret.Name, r.Admin.Delete(ctx, secret)
	}
	nonsense := client.RawPatch(types.MergePatchType, []byte(`{"data":{"url":"bm9uc2Vuc2U="}}`))
	return "nonsense into " + secret.Name, r.Admin.Patch(ctx, secret, nonsense)
}

// revokeToken makes Discord replace the bot's token, and writes the new token to the Secret less
// than 15 seconds later.
func (r *run) revokeToken(ctx context.Context, a action) (string, error) {
	r.mu.Lock()
	token, err := r.discord.RotateToken(r.token)
	if err == nil {
		r.token = token
	}
	r.mu.Unlock()
	if err != nil {
		return "", err
	}
	r.secrets.add(token)
	late := time.Duration(a.random().IntN(15)) * time.Second
	r.later(ctx, late, func(ctx context.Context) { _ = r.writeToken(ctx) })
	return fmt.Sprintf("the Secret has it %s later", late), nil
}

func (r *run) loseToken(ctx context.Context, a action) (string, error) {
	late := time.Duration(1+a.random().IntN(4)) * time.Second
	err := r.delete(ctx, tokenSecret, &corev1.Secret{})
	r.later(ctx, late, func(ctx context.Context) { _ = r.writeToken(ctx) })
	return fmt.Sprintf("the Secret is back %s later", late), err
}

func (r *run) writeToken(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenSecret},
		StringData: map[string]string{"token": r.token}}
	if err := client.IgnoreAlreadyExists(r.Admin.Create(ctx, secret.DeepCopy())); err != nil {
		return err
	}
	return r.Admin.Patch(ctx, secret,
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"token":%q}}`, r.token)))
}

func nameOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (r *run) create(ctx context.Context, o client.Object) error {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return r.Admin.Create(ctx, o)
}

func (r *run) delete(ctx context.Context, name string, o client.Object) error {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	o.SetNamespace(namespace)
	o.SetName(name)
	return r.Admin.Delete(ctx, o)
}

func (r *run) edit(ctx context.Context, name string, o client.Object, change func()) error {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	if err := r.Admin.Get(ctx, nameOf(name), o); err != nil {
		return err
	}
	before := o.DeepCopyObject().(client.Object)
	change()
	return r.patch(ctx, o, before)
}

func (r *run) patch(ctx context.Context, o, before client.Object) error {
	err := r.Admin.Patch(ctx, o, client.MergeFrom(before))
	if err == nil {
		r.observer.wrote(o)
	}
	return err
}
