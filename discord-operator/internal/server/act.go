package server

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// state is how far a pass has come.
type state struct {
	changed bool // something was written that a status must tell soon
	guildID string
	guild   *discordclient.Guild // as it is after an edit
	usable  bool
}

// act carries out the steps, in order.
func (r *Reconciler) act(ctx context.Context, s *v1alpha1.DiscordServer, seen *observed, todo steps) (now state, err error) {
	if todo.create {
		return r.create(ctx, s, seen)
	}
	if !todo.usable {
		return now, todo.verdict
	}
	now.guildID, now.usable = seen.guildID, true
	if !seen.intended {
		if err := r.Status.EnsureFinalizer(ctx, s); err != nil {
			return now, err
		}
	}
	if s.Status.ServerID == "" {
		now.changed = true
		r.Records.Is(s.UID, seen.guildID)
		r.welcome(s, seen)
	}
	if len(todo.fields) > 0 {
		if err := r.edit(ctx, s, seen, todo, &now); err != nil {
			return now, issues.Graver(todo.verdict, err)
		}
	}
	return now, todo.verdict
}

func (r *Reconciler) welcome(s *v1alpha1.DiscordServer, seen *observed) {
	how := "adopted"
	if seen.recovered {
		how = "recovered"
	}
	r.Metrics.Created(Kind, how)
	r.Status.Normal(s, "Adopted", "The bot %q is a member of the server %q (%s).", seen.application.Name, seen.snap.Guild.Name, seen.guildID)
}

// create tries to make a guild, which Discord itself does not let bots do any more. The finalizer is the record of the intent, as for channels.
func (r *Reconciler) create(ctx context.Context, s *v1alpha1.DiscordServer, seen *observed) (now state, err error) {
	if refusedBefore(s) {
		return now, serverIDRequired(seen)
	}
	if !seen.intended {
		if err := r.Status.EnsureFinalizer(ctx, s); err != nil {
			return now, err
		}
	}
	r.Records.Nothing(s.UID)
	guild, err := seen.bot.CreateGuild(ctx, discordclient.GuildCreate{Name: guildName(s)})
	switch discordclient.ClassOf(err) {
	case discordclient.ClassNone:
		r.Records.Is(s.UID, guild.ID)
		r.Metrics.Created(Kind, "created")
		r.Status.Normal(s, "Created", "Created the server %q (%s) on Discord.", guild.Name, guild.ID)
		seen.bot.Guild(guild.ID) // it is followed from now on
		return state{changed: true, guildID: guild.ID}, conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"The server was created. Discord has not sent its state yet.").After(time.Second)
	case discordclient.ClassDenied, discordclient.ClassGone, discordclient.ClassInvalid:
		return now, serverIDRequired(seen)
	case discordclient.ClassUnknown:
		r.Records.Doubt(s.UID)
		return now, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's response to the create of the server was lost. The operator looks for it before it creates another one.",
		).After(time.Second)
	default:
		return now, err
	}
}

// refusedBefore reports whether Discord has refused a create for this very spec: every try counts towards its limit of refused requests.
func refusedBefore(s *v1alpha1.DiscordServer) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, conditions.TypeReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonServerIDRequired && ready.ObservedGeneration == s.Generation
}

func serverIDRequired(seen *observed) error {
	return conditions.Degraded(v1alpha1.ReasonServerIDRequired,
		"Discord does not let bots create servers. Create one in Discord, add the bot %q to it (%s), and set spec.serverId to its id: "+
			"right-click the server with developer mode on, \"Copy Server ID\".", seen.application.Name, inviteURL(seen))
}

// edit puts all settings right by one call.
func (r *Reconciler) edit(ctx context.Context, s *v1alpha1.DiscordServer, seen *observed, todo steps, now *state) error {
	guild, err := seen.bot.EditGuild(ctx, seen.guildID, todo.edit, external.Reason(Kind, client.ObjectKeyFromObject(s), s.UID))
	if err != nil {
		return err
	}
	now.guild, now.changed = &guild, true
	if settled(s.Status.Conditions, s.Generation) {
		r.Status.DriftCorrected(s, todo.fields)
	}
	return nil
}

// settled reports whether the object was Ready for this very spec, so that a difference was made by people on Discord.
func settled(conds []metav1.Condition, generation int64) bool {
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == generation
}
