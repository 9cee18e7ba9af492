package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// state is how far a pass has come: what stands on Discord and in the cluster after it.
type state struct {
	changed bool // something was written that a status must tell soon
	channel *discordclient.Channel
	hook    *discordclient.Webhook
	secret  string // name of the Secret with the webhook's URL
}

// act carries out the steps, in order. What stands in the way of the settings does not keep the webhook from being put right, nor the other
// way round.
func (r *Reconciler) act(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, s steps) (now state, err error) {
	now.channel = seen.Channel
	if s.create != nil || seen.Channel != nil {
		if err := r.intend(ctx, c, seen, s); err != nil {
			return now, err
		}
	}
	if s.create != nil {
		if err := r.create(ctx, c, seen, s.create, &now); err != nil {
			return now, err
		}
		s.edit, s.fields = leftOver(s.create, now.channel)
	}
	if now.channel == nil {
		return now, s.verdict
	}
	r.welcome(c, seen, &now)
	failed := s.verdict
	if len(s.fields) > 0 {
		failed = issues.Graver(failed, r.edit(ctx, c, seen, s, &now))
	}
	failed = issues.Graver(failed, r.arrange(ctx, c, seen, &now))
	failed = issues.Graver(failed, r.webhook(ctx, c, seen, s.hook, &now))
	return now, failed
}

// intend stores the finalizer before anything exists for the object. While Discord would not take a create now anyway, there is no intent yet:
// after a crash, every intent costs a search.
func (r *Reconciler) intend(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, s steps) error {
	if seen.sought.Intended {
		return nil
	}
	if s.create != nil {
		if err := seen.Bot.MayCreateChannel(seen.Guild.ID); err != nil {
			return err
		}
	}
	return r.Status.EnsureFinalizer(ctx, c)
}

func (r *Reconciler) create(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, in *discordclient.ChannelCreate, now *state) error {
	again := c.Status.ChannelID != ""
	ch, err := r.Finder.Create(ctx, seen.Bot.Client, seen.sought, *in)
	if err != nil {
		return err
	}
	now.channel, now.changed = ch, true
	r.Hooks.Nothing(c.UID) // a new channel has no webhook
	r.Metrics.Created(Kind, "created")
	if again {
		r.Status.DriftCorrected(c, []string{"existence"})
	} else {
		r.Status.Normal(c, "Created", "Created #%s on Discord.", ch.Name)
	}
	return nil
}

// welcome tells of a channel that the object has not had before.
func (r *Reconciler) welcome(c *v1alpha1.DiscordChannel, seen *observed, now *state) {
	switch {
	case seen.Adopted:
		now.changed = true
		r.Metrics.Created(Kind, "adopted")
		r.Status.Normal(c, "Adopted", "Adopted #%s (%s) on Discord.", now.channel.Name, now.channel.ID)
	case seen.Recovered:
		now.changed = true
		r.Metrics.Created(Kind, "recovered")
		r.Status.Normal(c, "Recovered", "Found #%s (%s) on Discord, the result of an interrupted create.", now.channel.Name, now.channel.ID)
	}
}

// edit puts all settings right by one call. Where the limit of names and topics holds it back, the other settings go first.
func (r *Reconciler) edit(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, s steps, now *state) error {
	ch, err := seen.Bot.EditChannel(ctx, now.channel.ID, s.edit, seen.sought.Reason)
	fields := s.fields
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok && (!s.edit.Name.IsZero() || !s.edit.Topic.IsZero()) && limited.After > issues.MaxBrief {
		rest := s.edit
		rest.Name, rest.Topic = discordclient.Change[string]{}, discordclient.Change[string]{}
		if fields = without(fields, "name", "topic"); len(fields) == 0 {
			return err
		}
		var failed error
		if ch, failed = seen.Bot.EditChannel(ctx, now.channel.ID, rest, seen.sought.Reason); failed != nil {
			return failed
		}
	} else if err != nil {
		return err
	} else if name, ok := s.edit.Name.Get(); ok {
		r.Finder.Records.Named(c.UID, name, ch.Name)
	}
	now.channel, now.changed = ch, true
	if drifted(c) && !seen.Adopted {
		r.Status.DriftCorrected(c, fields)
	}
	return err
}

// drifted reports whether a difference was made by people on Discord, and not by a new spec.
func drifted(c *v1alpha1.DiscordChannel) bool { return settled(c.Status.Conditions, c.Generation) }

// arrange puts the channel and its siblings into the order of their specs: whoever sees them wrong first puts all right, by one call.
func (r *Reconciler) arrange(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, now *state) error {
	if c.Spec.Position == nil {
		return nil
	}
	seen.ranks[now.channel.ID] = *c.Spec.Position
	siblings := func() []*discordclient.Channel {
		return textLike(seen.Bot.Guild(seen.Guild.ID).Snapshot(), now.channel.ParentID)
	}
	if order.Right(siblings(), seen.ranks) {
		return nil
	}
	done, ok := r.arranging.Take(seen.Guild.ID + "/" + now.channel.ParentID)
	if !ok {
		return issues.Brief(arrangeRetry)
	}
	defer done()
	moves := order.Moves(siblings(), seen.ranks)
	if moves == nil {
		return nil
	}
	if err := seen.Bot.MoveChannels(ctx, seen.Guild.ID, moves); err != nil {
		return err
	}
	if drifted(c) {
		r.Status.DriftCorrected(c, []string{"position"})
	}
	return nil
}

// webhook carries out what is to be done about the webhook, then about its Secret.
func (r *Reconciler) webhook(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, s hookSteps, now *state) error {
	if s.verdict != nil {
		return s.verdict
	}
	if s.remove != "" {
		if err := seen.Bot.DeleteWebhook(ctx, s.remove, seen.sought.Reason); discordclient.ClassOf(err) != discordclient.ClassGone && err != nil {
			return err
		}
		r.Status.Normal(c, "WebhookDeleted", "Deleted the webhook, which the spec no longer has.")
	}
	if c.Spec.Webhook != nil {
		if err := r.provide(ctx, c, seen, s, now); err != nil {
			return err
		}
	}
	for i := range s.strays {
		err := client.IgnoreNotFound(r.Client.Delete(ctx, &s.strays[i], client.Preconditions{UID: &s.strays[i].UID}))
		if err != nil {
			return fmt.Errorf("delete Secret %s: %w", s.strays[i].Name, err)
		}
	}
	return nil
}

// provide makes the webhook and its Secret what the spec asks for.
func (r *Reconciler) provide(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, s hookSteps, now *state) error {
	hook := s.use
	if s.create {
		made, err := r.createHook(ctx, c, seen, now)
		if err != nil {
			return err
		}
		hook = made
	} else if s.rename {
		edited, err := seen.Bot.EditWebhook(ctx, hook.ID, discordclient.WebhookEdit{Name: discordclient.Set(c.Spec.Webhook.Name)}, seen.sought.Reason)
		if err != nil {
			return err
		}
		if hook = &edited; drifted(c) {
			r.Status.DriftCorrected(c, []string{"webhook.name"})
		}
	}
	r.Hooks.Is(c.UID, hook.ID)
	now.hook = hook
	if s.write {
		if err := r.applySecret(ctx, c, hook, s.live); err != nil {
			return err
		}
		now.changed = true
	}
	now.secret = c.WebhookSecretName()
	return nil
}

func (r *Reconciler) createHook(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, now *state) (*discordclient.Webhook, error) {
	lost := statusHook(c) != ""
	r.Hooks.Nothing(c.UID)
	made, err := seen.Bot.CreateWebhook(ctx, now.channel.ID, discordclient.WebhookCreate{Name: c.Spec.Webhook.Name}, seen.sought.Reason)
	if discordclient.ClassOf(err) == discordclient.ClassUnknown {
		r.Hooks.Doubt(c.UID)
		return nil, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's response to the create of the webhook was lost. The operator looks for it before it creates another one.",
		).After(lostHookRetry)
	}
	if err != nil {
		return nil, err
	}
	now.changed = true
	if lost {
		r.Status.DriftCorrected(c, []string{"webhook"})
	} else {
		r.Status.Normal(c, "WebhookCreated", "Created the webhook %q.", made.Name)
	}
	return &made, nil
}

// applySecret writes the Secret with the webhook's URL over the live one, nil where there is none.
func (r *Reconciler) applySecret(
	ctx context.Context, c *v1alpha1.DiscordChannel, hook *discordclient.Webhook, live *metav1.PartialObjectMetadata,
) error {
	secret := apply.Write(FieldOwner, live, apply.Typed(secretFor(c, hook)))
	results := r.Applier.Run(ctx, c, apply.Plan{Apply: []*apply.Object{secret}})
	if results.Stale {
		return apply.ErrStale
	}
	if worst := conditions.Worst(results.Issues); worst != nil {
		return cmp.Or(worst.Err, error(worst))
	}
	return nil
}
