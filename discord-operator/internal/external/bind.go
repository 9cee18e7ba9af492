package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/recovery"
)

// Lookup is what an object knows of its external.
type Lookup struct {
	Name    types.NamespacedName
	UID     types.UID
	Created time.Time // of the object
	// Intended says that the finalizer was stored before this pass, so that a create may have been sent.
	Intended          bool
	StatusID, AdoptID string

	GuildID, ParentID, DiscordName string
	// StoredName is the other name under which Discord has stored DiscordName; empty for none, as far as this process knows.
	StoredName string
	// Types are what the counterpart may be; the first is what is created.
	Types []discordgo.ChannelType
	// Reason stands in the audit log with everything that is done for the object.
	Reason string
	// Claims returns who else, and whether the object itself, claims an id.
	Claims func(id string) ([]Claim, error)
}

// Reason is what the audit log says about everything that is done for an object. It names the object for good, so a lost create is found by it.
func Reason(kind string, name types.NamespacedName, uid types.UID) string {
	return fmt.Sprintf("%s %s %s", kind, uid, name)
}

// Binding is where an object stands with its external. With neither a Channel nor Create, the error says why.
type Binding struct {
	// Channel is the counterpart as it is now.
	Channel *discordclient.Channel
	// Adopted says that it was not the object's before; Recovered, that it is the result of a create whose outcome was not known.
	Adopted, Recovered bool
	// Guessed says that it was recovered because nothing else fits, and the audit log does not tell whose it is.
	Guessed bool
	// Create says that there is surely none, so one may be created.
	Create bool
}

// Finder looks for counterparts.
type Finder struct {
	Records *Records
	// Settle is how long after a create of unknown outcome absence is believed.
	Settle time.Duration
	// Now tells the time.
	Now func() time.Time
}

// Locate looks for the counterpart of an object, in memory wherever that is enough.
func (f *Finder) Locate(ctx context.Context, c *guildcache.Client, snap *guildcache.Snapshot, s Lookup) (Binding, error) {
	entry := f.Records.Entry(s.UID)
	for _, id := range []string{entry.ID, s.StatusID} {
		if ch, ok := snap.Channel(id); id != "" && ok {
			return f.take(s, ch, Binding{Channel: ch})
		}
	}
	for _, id := range slices.Compact([]string{entry.ID, s.StatusID}) {
		if id != "" {
			if err := confirmGone(ctx, c, s.GuildID, id); err != nil {
				return Binding{}, err
			}
		}
	}
	if s.AdoptID != "" && entry.ID == "" && s.StatusID == "" {
		if ch, ok := snap.Channel(s.AdoptID); ok {
			return f.take(s, ch, Binding{Channel: ch, Adopted: true})
		}
		return Binding{}, conditions.Degraded(v1alpha1.ReasonAdoptNotFound,
			"The server has no channel or category with the id %s of spec.adopt, or the bot cannot see it. Check the id and the bot's permissions.", s.AdoptID)
	}
	if !s.Intended || entry.Known {
		return Binding{Create: true}, nil
	}
	return f.recover(ctx, c, s, entry)
}

// confirmGone asks Discord itself about a counterpart that the view does not have. It may only be hidden from the bot, and would then be
// created a second time.
func confirmGone(ctx context.Context, c *guildcache.Client, guildID, id string) error {
	_, err := c.GetChannel(ctx, id)
	switch discordclient.ClassOf(err) {
	case discordclient.ClassGone:
		return nil
	case discordclient.ClassNone:
		// The view lags behind, or it is in another guild: either is seen after the guild was read.
		return errors.Join(c.Refresh(ctx, guildID), conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"Channel %s exists, but Discord does not list it in this server.", id).After(issues.MaxBrief))
	default:
		return err
	}
}

// take checks that what was found is of the right kind and nobody else's.
func (f *Finder) take(s Lookup, ch *discordclient.Channel, found Binding) (Binding, error) {
	if !slices.Contains(s.Types, ch.Type) {
		return Binding{}, conditions.Degraded(v1alpha1.ReasonAdoptMismatch,
			"Channel %s on Discord has the type %s, which this kind cannot manage. Adopt another one.", ch.ID, ch.TypeName())
	}
	claims, err := s.Claims(ch.ID)
	if err != nil {
		return Binding{}, err
	}
	if len(claims) > 0 {
		if owner := Winner(claims); owner.UID != s.UID {
			return Binding{}, conflict(ch, owner)
		}
	}
	if !found.Recovered {
		f.Records.Is(s.UID, ch.ID)
	} else if !f.Records.Claim(s.UID, ch.ID) {
		return Binding{}, issues.Brief(time.Second) // another pass has just taken it for its object: this one looks on
	}
	return found, nil
}

func conflict(ch *discordclient.Channel, owner Claim) error {
	return conditions.Degraded(v1alpha1.ReasonConflict,
		"%q (%s) on Discord is already managed by %s. Delete one of the two objects.", ch.Name, ch.ID, owner.Name)
}

// recover looks for the result of a create that may have been carried out.
func (f *Finder) recover(ctx context.Context, c *guildcache.Client, s Lookup, entry Record) (Binding, error) {
	var unclear error
	result, err := recovery.Channel(ctx, c, recovery.Intent{
		GuildID: s.GuildID, Type: s.Types[0], ParentID: s.ParentID, Name: s.DiscordName, Reason: s.Reason,
		NotBefore: s.Created, LastAttempt: entry.LastAttempt, Propagation: f.Settle, Now: f.Now,
		Claimed: func(id string) bool {
			if holder := f.Records.Holder(id); holder != "" && holder != s.UID {
				return true
			}
			claims, err := s.Claims(id)
			unclear = errors.Join(unclear, err)
			return slices.ContainsFunc(claims, func(c Claim) bool { return c.UID != s.UID })
		},
	})
	if err := errors.Join(err, unclear); err != nil {
		return Binding{}, err
	}
	switch result.Outcome {
	case recovery.Found:
		ch, ok := c.Guild(s.GuildID).Snapshot().Channel(result.ID)
		if !ok {
			return Binding{}, issues.Brief(time.Second) // the view lags behind the list that named it
		}
		return f.take(s, ch, Binding{Channel: ch, Recovered: true, Guessed: result.Proof != recovery.ProofAuditLog})
	case recovery.Absent:
		f.Records.Nothing(s.UID)
		return Binding{Create: true}, nil
	default:
		return Binding{}, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"An earlier create may have succeeded. The operator looks for its result before it creates another one: %s.", result.Why,
		).After(result.After)
	}
}

// Create makes the external. It must only be called when Locate has said so, and after the finalizer was stored.
func (f *Finder) Create(ctx context.Context, c *guildcache.Client, s Lookup, in discordclient.ChannelCreate) (*discordclient.Channel, error) {
	f.Records.Nothing(s.UID)
	ch, err := c.CreateChannel(ctx, s.GuildID, in, s.Reason)
	switch {
	case err == nil:
		f.Records.Is(s.UID, ch.ID)
		f.Records.Named(s.UID, in.Name, ch.Name)
	case discordclient.ClassOf(err) == discordclient.ClassUnknown:
		f.Records.Doubt(s.UID)
		return nil, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's response to a create was lost. The operator looks for its result before it creates another one.").After(time.Second)
	}
	return ch, err
}
