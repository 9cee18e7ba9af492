package group

import (
	"context"
	"errors"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/libs/discordclient"
)

// arrangeRetry is when siblings are looked at again that another pass puts into order.
const arrangeRetry = 200 * time.Millisecond

// state is how far a pass has come.
type state struct {
	changed  bool // something was written that a status must tell soon
	category *discordclient.Channel
}

// act carries out the steps, in order.
func (r *Reconciler) act(ctx context.Context, g *v1alpha1.DiscordGroup, seen *observed, s steps) (now state, err error) {
	now.category = seen.Channel
	if s.create != nil || seen.Channel != nil {
		if err := r.intend(ctx, g, seen, s); err != nil {
			return now, err
		}
	}
	if s.create != nil {
		if err := r.create(ctx, g, seen, s.create, &now); err != nil {
			return now, err
		}
	}
	if now.category == nil {
		return now, s.verdict
	}
	r.welcome(g, seen, &now)
	failed := s.verdict
	if len(s.fields) > 0 {
		failed = issues.Graver(failed, r.edit(ctx, g, seen, s, &now))
	}
	failed = issues.Graver(failed, r.arrange(ctx, g, seen, &now))
	return now, failed
}

// intend stores the finalizer before anything exists for the object. While Discord would not take a create now anyway, there is no intent yet:
// after a crash, every intent costs a search.
func (r *Reconciler) intend(ctx context.Context, g *v1alpha1.DiscordGroup, seen *observed, s steps) error {
	if seen.sought.Intended {
		return nil
	}
	if s.create != nil {
		if err := seen.Bot.MayCreateChannel(seen.Guild.ID); err != nil {
			return err
		}
	}
	return r.Status.EnsureFinalizer(ctx, g)
}

func (r *Reconciler) create(ctx context.Context, g *v1alpha1.DiscordGroup, seen *observed, in *discordclient.ChannelCreate, now *state) error {
	again := g.Status.GroupID != ""
	category, err := r.Finder.Create(ctx, seen.Bot.Client, seen.sought, *in)
	if err != nil {
		return err
	}
	now.category, now.changed = category, true
	r.Metrics.Created(Kind, "created")
	if again {
		r.Status.DriftCorrected(g, []string{"existence"})
	} else {
		r.Status.Normal(g, "Created", "Created the category %q on Discord.", category.Name)
	}
	return nil
}

// welcome tells of a category that the object has not had before.
func (r *Reconciler) welcome(g *v1alpha1.DiscordGroup, seen *observed, now *state) {
	switch {
	case seen.Adopted:
		now.changed = true
		r.Metrics.Created(Kind, "adopted")
		r.Status.Normal(g, "Adopted", "Adopted the category %q (%s) on Discord.", now.category.Name, now.category.ID)
	case seen.Recovered:
		now.changed = true
		r.Metrics.Created(Kind, "recovered")
		r.Status.Normal(g, "Recovered", "Found the category %q (%s) on Discord, the result of an interrupted create.", now.category.Name, now.category.ID)
	}
}

// edit puts all settings right by one call. Where the limit of names holds it back, the overwrites go first.
func (r *Reconciler) edit(ctx context.Context, g *v1alpha1.DiscordGroup, seen *observed, s steps, now *state) error {
	category, err := seen.Bot.EditChannel(ctx, now.category.ID, s.edit, seen.sought.Reason)
	fields := s.fields
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok && limited.After > issues.MaxBrief && len(fields) == 2 {
		fields = fields[1:]
		var failed error
		rest := discordclient.ChannelEdit{Overwrites: s.edit.Overwrites}
		if category, failed = seen.Bot.EditChannel(ctx, now.category.ID, rest, seen.sought.Reason); failed != nil {
			return failed
		}
	} else if err != nil {
		return err
	} else if name, ok := s.edit.Name.Get(); ok {
		r.Finder.Records.Named(g.UID, name, category.Name)
	}
	now.category, now.changed = category, true
	if drifted(g) && !seen.Adopted {
		r.Status.DriftCorrected(g, fields)
	}
	return err
}

// drifted reports whether a difference was made by people on Discord, and not by a new spec.
func drifted(g *v1alpha1.DiscordGroup) bool { return settled(g.Status.Conditions, g.Generation) }

// arrange puts the group and its siblings into the order of their specs: whoever sees them wrong first puts all right, by one call.
func (r *Reconciler) arrange(ctx context.Context, g *v1alpha1.DiscordGroup, seen *observed, now *state) error {
	if g.Spec.Position == nil {
		return nil
	}
	seen.ranks[now.category.ID] = *g.Spec.Position
	view := seen.Bot.Guild(seen.Guild.ID)
	if order.Right(view.Snapshot().Categories(), seen.ranks) {
		return nil
	}
	done, ok := r.arranging.Take(seen.Guild.ID)
	if !ok {
		return issues.Brief(arrangeRetry)
	}
	defer done()
	moves := order.Moves(view.Snapshot().Categories(), seen.ranks)
	if moves == nil {
		return nil
	}
	if err := seen.Bot.MoveChannels(ctx, seen.Guild.ID, moves); err != nil {
		return err
	}
	if drifted(g) {
		r.Status.DriftCorrected(g, []string{"position"})
	}
	return nil
}
