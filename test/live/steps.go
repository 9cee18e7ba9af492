// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

type channelSpec = v1alpha1.DiscordChannelSpec

type step struct {
	name, does string
	do         func(context.Context, *world) error
}

// Discord permits two changes of a channel's name or topic in ten minutes, so all steps together
// change the name or topic of each channel at most twice.
var steps = []step{
	{"create", "create the category, and the channel alerts in it", create},
	{"edit", "create a channel named edited, and edit its nsfw, slowmode and archive time", edit},
	{"order", "create the channels first, second and third, order them, and reverse their order", order},
	{"hide", "create a channel named private, which @everyone may not view", hide},
	{"role", "create a role without members, edit it, and let it view private", role},
	{"adopt", "create a channel named adopted with the bot's token, then adopt it with a topic", adopt},
	{"webhook", "create a webhook for alerts", webhook},
	{"lost answer", "create a channel named lost; the proxy drops the answer", lostAnswer},
	{"drift", "change topic and overwrites of the channel drift as the bot; the operator corrects both", drift},
	{"deleted", "delete the channel drift as the bot; the operator creates it again", deleted},
	{"errors", "make calls that Discord refuses: too long a name, a wrong slowmode, a deleted channel", refusals},
	{"audit log", "read the audit log's entries about all of these", auditLog},
	{"delete", "delete all objects in Kubernetes, and with them all of the above", deleteAll},
}

func create(ctx context.Context, w *world) error {
	alerts := w.channel("alerts", func(s *channelSpec) { s.Topic = new("What is on fire?") })
	if err := w.create(ctx, w.server(), w.group(), alerts); err != nil {
		return err
	}
	if _, err := w.list(ctx, "channels"); err != nil {
		return err
	}
	return w.look(ctx, categoryName, "alerts")
}

func edit(ctx context.Context, w *world) error {
	if err := w.create(ctx, w.channel("edited")); err != nil {
		return err
	}
	err := w.edit(ctx, "edited", func(s *channelSpec) {
		s.NSFW, s.Slowmode, s.DefaultAutoArchive = new(true), &metav1.Duration{Duration: 10 * time.Second},
			v1alpha1.AutoArchiveOneDay
	})
	if err != nil {
		return err
	}
	return w.look(ctx, "edited")
}

func order(ctx context.Context, w *world) error {
	names := []string{"first", "second", "third"}
	at := func(position int32) func(*channelSpec) { return func(s *channelSpec) { s.Position = &position } }
	inOrder := func(about string, want ...string) error {
		return w.reaches(ctx, about, strings.Join(want, " "), func() (string, error) { return w.ordered(ctx, names...) })
	}
	err := w.create(ctx, w.channel("third", at(3)), w.channel("first", at(1)), w.channel("second", at(2)))
	if err != nil {
		return err
	}
	if err := inOrder("the order of new channels", names...); err != nil {
		return err
	}
	err = errors.Join(w.edit(ctx, "first", at(9)), w.edit(ctx, "second", at(5)), w.edit(ctx, "third", at(1)))
	if err != nil {
		return err
	}
	return inOrder("the reversed order", "third", "second", "first")
}

func hide(ctx context.Context, w *world) error {
	private := w.channel("private", func(s *channelSpec) {
		s.PermissionOverwrites = []v1alpha1.PermissionOverwrite{
			{Role: "@everyone", Deny: []v1alpha1.Permission{"ViewChannel"}}}
	})
	if err := w.create(ctx, private); err != nil {
		return err
	}
	return w.look(ctx, "private")
}

func role(ctx context.Context, w *world) error {
	r := w.role("role")
	r.Spec.Color, r.Spec.Mentionable = new("#E67E22"), new(true)
	r.Spec.Permissions = []v1alpha1.Permission{"ViewChannel", "SendMessages"}
	if err := w.create(ctx, r); err != nil {
		return err
	}
	if _, err := w.list(ctx, "roles"); err != nil {
		return err
	}
	change := client.MergeFrom(r.DeepCopy())
	r.Spec.Hoist, r.Spec.Permissions = new(true), []v1alpha1.Permission{"ViewChannel"}
	if err := w.k8s.Patch(ctx, r, change); err != nil {
		return err
	}
	if err := w.ready(ctx, r); err != nil {
		return err
	}
	err := w.edit(ctx, "private", func(s *channelSpec) {
		s.PermissionOverwrites = append(s.PermissionOverwrites, v1alpha1.PermissionOverwrite{
			RoleRef: &v1alpha1.RoleReference{Name: "role"}, Allow: []v1alpha1.Permission{"ViewChannel"}})
	})
	if err != nil {
		return err
	}
	if _, err := w.list(ctx, "roles"); err != nil {
		return err
	}
	return w.look(ctx, "private")
}

func adopt(ctx context.Context, w *world) error {
	r, err := w.post(ctx, "adopted", nil)
	if err != nil {
		return err
	}
	c := w.channel("adopted", func(s *channelSpec) {
		s.Topic, s.DeletionPolicy = new("Adopted"), v1alpha1.DeletionPolicyDelete
		s.Adopt = &v1alpha1.Adoption{ID: text(asObject(r.body), "id")}
	})
	if err := w.create(ctx, c); err != nil {
		return err
	}
	return w.look(ctx, "adopted")
}

func (w *world) post(ctx context.Context, name string, more map[string]any) (response, error) {
	body := map[string]any{"name": w.full(name), "type": 0, "parent_id": w.own.find(categoryName)}
	for field, value := range more {
		body[field] = value
	}
	return w.bot.do(ctx, http.MethodPost, "/guilds/"+w.own.guild+"/channels", body)
}

func webhook(ctx context.Context, w *world) error {
	err := w.edit(ctx, "alerts", func(s *channelSpec) { s.Webhook = &v1alpha1.ChannelWebhook{Name: "alertmanager"} })
	if err != nil {
		return err
	}
	s := &corev1.Secret{}
	err = client.IgnoreNotFound(w.k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "alerts-webhook"}, s))
	if err != nil {
		return err
	}
	w.note("Secret alerts-webhook", "url", presence(len(s.Data[v1alpha1.WebhookSecretKey]) > 0))
	_, err = w.bot.do(ctx, http.MethodGet, "/channels/"+w.own.find("alerts")+"/webhooks", nil)
	return err
}

func lostAnswer(ctx context.Context, w *world) error {
	w.loseNext("POST /guilds/{guild_id}/channels")
	if err := w.create(ctx, w.channel("lost")); err != nil {
		return err
	}
	w.note("the create of lost", "answers lost", strconv.Itoa(w.lostAnswers()))
	channels, err := w.list(ctx, "channels")
	count := 0
	for _, c := range channels {
		if text(c, "name") == w.full("lost") {
			count++
		}
	}
	w.note("the create of lost", "channels", strconv.Itoa(count))
	return err
}

func drift(ctx context.Context, w *world) error {
	const topic = "As in the spec"
	c := w.channel("drift", func(s *channelSpec) {
		s.Topic, s.PermissionOverwrites = new(topic), []v1alpha1.PermissionOverwrite{}
	})
	if err := w.create(ctx, c); err != nil {
		return err
	}
	path := "/channels/" + w.own.find("drift")
	overwrites := []any{map[string]any{"id": w.own.guild, "type": 0, "allow": "0", "deny": "2048"}}
	byHand := map[string]any{"topic": "By hand", "permission_overwrites": overwrites}
	_, err := w.bot.do(ctx, http.MethodPatch, path, byHand)
	if err != nil {
		return err
	}
	return w.reaches(ctx, "the corrected channel", topic+", 0 overwrites", func() (string, error) {
		now, err := w.read(ctx, "drift")
		overwrites, _ := now["permission_overwrites"].([]any)
		return fmt.Sprintf("%s, %d overwrites", text(now, "topic"), len(overwrites)), err
	})
}

func deleted(ctx context.Context, w *world) error {
	old := w.own.find("drift")
	if _, err := w.bot.do(ctx, http.MethodDelete, "/channels/"+old, nil); err != nil {
		return err
	}
	if err := w.replaced(ctx, old); err != nil {
		return err
	}
	if err := w.ready(ctx, w.channel("drift")); err != nil {
		return err
	}
	return w.look(ctx, "drift")
}

func (w *world) replaced(ctx context.Context, old string) error {
	return w.reaches(ctx, "the channel created again", "true", func() (string, error) {
		c := w.channel("drift")
		err := w.k8s.Get(ctx, client.ObjectKeyFromObject(c), c)
		return strconv.FormatBool(c.Status.ChannelID != "" && c.Status.ChannelID != old), err
	})
}

func refusals(ctx context.Context, w *world) error {
	if _, err := w.post(ctx, "long-"+strings.Repeat("x", 100), nil); err != nil {
		return err
	}
	if _, err := w.post(ctx, "wrong-type", map[string]any{"type": 99}); err != nil {
		return err
	}
	path := "/channels/" + w.own.find("alerts")
	if _, err := w.bot.do(ctx, http.MethodPatch, path, map[string]any{"rate_limit_per_user": 99999}); err != nil {
		return err
	}
	r, err := w.post(ctx, "gone", nil)
	if err != nil {
		return err
	}
	gone := "/channels/" + text(asObject(r.body), "id")
	for _, method := range []string{http.MethodDelete, http.MethodDelete, http.MethodGet} {
		if _, err := w.bot.do(ctx, method, gone, nil); err != nil {
			return err
		}
	}
	return nil
}

const channelDeleted = 12

func auditLog(ctx context.Context, w *world) error {
	path := "/guilds/" + w.own.guild + "/audit-logs?limit=100"
	last := w.own.find("gone") // an earlier step deleted it; its audit log entry may appear late
	_, err := w.holds(ctx, func() (bool, error) {
		r, err := w.bot.do(ctx, http.MethodGet, path, nil)
		entries, isList := asObject(r.body)["audit_log_entries"].([]any)
		for _, entry := range entries {
			if e := asObject(entry); text(e, "target_id") == last && e["action_type"] == float64(channelDeleted) {
				return true, err
			}
		}
		return isList && len(entries) == 0, err // a compatible server may always return an empty audit log
	})
	return err
}

func deleteAll(ctx context.Context, w *world) error {
	if err := w.deleteAll(ctx); err != nil {
		return err
	}
	return w.look(ctx, categoryName, "alerts")
}
