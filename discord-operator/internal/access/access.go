// Package access resolves what a group or a channel needs of its DiscordServer: the session with its bot and the state of the guild.
package access

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/outcome"
	"jutsu.com/operators/discord-operator/internal/session"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// Access is what an object needs of its server.
type Access struct {
	Server  *v1alpha1.DiscordServer
	Session *session.Session
	GuildID string
	Snap    *discordclient.Snapshot
}

// To returns the access to a server that is Available. Until it is, the error says what is waited for.
func To(ctx context.Context, c client.Reader, sessions *session.Sessions, name types.NamespacedName) (*Access, error) {
	var server v1alpha1.DiscordServer
	if err := c.Get(ctx, name, &server); apierrors.IsNotFound(err) {
		return nil, waiting("DiscordServer %s does not exist. Create it.", name.Name)
	} else if err != nil {
		return nil, fmt.Errorf("get DiscordServer %s: %w", name, err)
	}
	if !meta.IsStatusConditionTrue(server.Status.Conditions, conditions.TypeAvailable) || server.Status.ServerID == "" {
		why := "it has not been reconciled yet."
		if ready := meta.FindStatusCondition(server.Status.Conditions, conditions.TypeReady); ready != nil {
			why = ready.Message
		}
		return nil, waiting("DiscordServer %s is not available: %s", name.Name, why)
	}
	a, err := open(ctx, sessions, &server, server.Status.ServerID)
	if issue, _ := errors.AsType[*conditions.Issue](err); issue.IsDegraded() { // the server's own trouble, told there
		return nil, waiting("DiscordServer %s is not available: %s", name.Name, issue.Message)
	}
	if err == nil && a.Snap.Presence == discordclient.PresenceAbsent {
		return nil, waiting("The bot is not a member of the Discord server of DiscordServer %s. See its conditions.", name.Name)
	}
	return a, err
}

// ToDelete returns the access that is needed to delete what an object has in a guild. It does not need a server that is well, only one that
// can be reached; otherwise the error is a Degraded issue with the reason DeletionFailed that says what to do.
func ToDelete(ctx context.Context, c client.Reader, sessions *session.Sessions, name types.NamespacedName, guildID string) (*Access, error) {
	var server v1alpha1.DiscordServer
	if err := c.Get(ctx, name, &server); apierrors.IsNotFound(err) {
		return nil, CannotDelete(fmt.Sprintf("DiscordServer %s no longer exists.", name.Name))
	} else if err != nil {
		return nil, fmt.Errorf("get DiscordServer %s: %w", name, err)
	}
	for _, id := range []string{server.Status.ServerID, server.Spec.ServerID} {
		if guildID == "" {
			guildID = id
		}
	}
	if guildID == "" {
		return nil, CannotDelete(fmt.Sprintf("The server id of DiscordServer %s is unknown.", name.Name))
	}
	s, err := SessionToDelete(ctx, sessions, &server)
	if err != nil {
		return nil, err
	}
	a, err := look(ctx, s, &server, guildID)
	if err == nil && a.Snap.Presence == discordclient.PresenceAbsent {
		return nil, CannotDelete("The bot is no longer a member of the server, or the server no longer exists.")
	}
	return a, err
}

func open(ctx context.Context, sessions *session.Sessions, server *v1alpha1.DiscordServer, guildID string) (*Access, error) {
	s, err := sessions.For(ctx, server)
	if err != nil {
		return nil, err
	}
	return look(ctx, s, server, guildID)
}

func look(ctx context.Context, s *session.Session, server *v1alpha1.DiscordServer, guildID string) (*Access, error) {
	snap, err := s.Look(ctx, guildID)
	if err != nil {
		return nil, err
	}
	return &Access{Server: server, Session: s, GuildID: guildID, Snap: snap}, nil
}

// SessionToDelete returns the session of a server, or else the last that it had.
func SessionToDelete(ctx context.Context, sessions *session.Sessions, server *v1alpha1.DiscordServer) (*session.Session, error) {
	s, err := sessions.For(ctx, server)
	issue, _ := errors.AsType[*conditions.Issue](err)
	if !issue.IsDegraded() {
		return s, err
	}
	if last, ok := sessions.Last(client.ObjectKeyFromObject(server)); ok {
		return last, nil
	}
	return nil, CannotDelete(issue.Message)
}

// CannotDelete says why the counterpart cannot be deleted, and what to do.
func CannotDelete(why string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonDeletionFailed,
		"Deletion on Discord failed: %s Fix the cause, or leave it on Discord: kubectl annotate ... %s=true",
		why, v1alpha1.ForceDeleteAnnotation).After(outcome.DeleteRetry)
}

func waiting(format string, args ...any) error {
	return conditions.Progressing(v1alpha1.ReasonWaitingForServer, format, args...)
}

// Refused turns what Discord does not let the bot delete into a reason to act.
func Refused(err error) error {
	switch discordclient.ClassOf(err) {
	case discordclient.ClassDenied, discordclient.ClassInvalid, discordclient.ClassLimit, discordclient.ClassBadToken:
		// Each try counts towards Discord's limit of refused requests.
		return CannotDelete(err.Error() + ".").After(outcome.DeniedRetry)
	default:
		return err
	}
}
