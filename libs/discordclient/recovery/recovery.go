// SPDX-License-Identifier: Apache-2.0

// Package recovery finds out what came of a create whose answer was lost.
//
// A create has no idempotency key: when its answer was lost, or the process died before it could
// save the new id, a channel or role may exist that is not recorded anywhere. Before creating again,
// look for it: [Channel], [Role]. A webhook is found by listing those of its channel and by the audit
// log: Discord returns its token to the application that created it, and to no other.
package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Outcome is the result of looking for a lost create.
type Outcome string

const (
	// Found means: this is the object; adopt it.
	Found Outcome = "found"
	// Absent means: nothing was created, and nothing will be any more; create.
	Absent Outcome = "absent"
	// Hidden means: this is the object, and Discord hides it from the bot. Never create now.
	Hidden Outcome = "hidden"
	// Unsure means: it is not known yet; look again after [Result.After]. Never create now.
	Unsure Outcome = "unsure"
	// Unproven means: something matches, and only the audit log, which Discord does not show the bot,
	// could prove that it is this object. Neither adopt nor create; see [Intent.ProofOnly].
	Unproven Outcome = "unproven"
)

// Proof is what a find rests on.
type Proof string

const (
	// ProofAuditLog means: the audit log names the object together with the reason of the intent.
	// That is certain.
	ProofAuditLog Proof = "audit-log"
	// ProofMatch means: it is the only object that fits, and no other claims it. The audit log,
	// which is written late or never, does not have it.
	ProofMatch Proof = "match"
)

// Result is what was found out about a lost create.
type Result struct {
	Outcome Outcome
	ID      string        // of what was found
	Proof   Proof         // what the find rests on
	After   time.Duration // when to look again, for Unsure
	Why     string        // in words, for a status
}

// DefaultPropagation is how long after an attempt the sources are taken to be complete: longer than
// a call may be under way, and than Discord takes to write its audit log.
const DefaultPropagation = 15 * time.Second

const (
	// clockSkew is by how much the clocks of Discord and of the recorder of the intent may differ
	// where only the time shows whose a channel is.
	clockSkew = time.Minute
	// maxAsked is about how many channels Discord is asked at once. The next look asks about others.
	maxAsked = 3
	// maxNamed bounds the ids in a message.
	maxNamed = 5
	// refusedRetry is when an audit log is asked for again that Discord refuses, maybe for a moment.
	refusedRetry = 5 * time.Second
	// unprovenRetry is when an audit log is asked for again that Discord does not show the bot.
	unprovenRetry = time.Minute
	// tooEarly is why it is not known yet what came of a create.
	tooEarly = "the result of an earlier create may still appear"
	// provenSkew is the same for entries of the audit log, which name the intent: looking further
	// back costs a page at most, and makes no mistake.
	provenSkew = time.Hour
)

// Intent is what was to be created.
type Intent struct {
	GuildID  string
	Type     discordgo.ChannelType
	ParentID string
	Name     string // as it was given to the create
	// Reason is the audit log reason of the create. It must name the intent and no other, by an
	// object's UID for example.
	Reason string
	// NotBefore is when the intent came up; older channels are not it.
	NotBefore time.Time
	// LastAttempt is the last moment at which a create may have been sent. After a crash that is
	// the moment at which this process took over; after an unknown outcome, when that came back.
	LastAttempt time.Time
	// Claimed reports whether a channel belongs to another object; nil for never.
	Claimed func(channelID string) bool
	// ProofOnly says that nothing but the audit log proves the intent's object: a match is not found,
	// and once the log was read to its end without the intent's create, it counts as absent.
	ProofOnly bool
	// Propagation is how long after LastAttempt the sources are complete; 0 for DefaultPropagation.
	Propagation time.Duration
	// Now is the time; nil for time.Now.
	Now func() time.Time

	role bool // it is a role, and not a channel
}

// action is the create in the audit log.
func (in Intent) action() discordgo.AuditLogAction {
	if in.role {
		return discordgo.AuditLogActionRoleCreate
	}
	return discordgo.AuditLogActionChannelCreate
}

// noun is what was to be created.
func (in Intent) noun() string {
	if in.role {
		return "role"
	}
	return "channel"
}

func (in Intent) withDefaults() Intent {
	in.Propagation = cmp.Or(in.Propagation, DefaultPropagation)
	if in.Now == nil {
		in.Now = time.Now
	}
	if in.Claimed == nil {
		in.Claimed = func(string) bool { return false }
	}
	return in
}

// complete is when the sources surely show what came of the intent's create.
func (in Intent) complete() time.Time { return in.LastAttempt.Add(in.Propagation) }

// evidence is what was read.
type evidence struct {
	channels []*discordclient.Channel
	roles    []discordclient.Role
	listed   time.Time // the list is newer than this
	// hidden are the channels that are there and that the bot may not view, as far as they are known,
	// and maybe those of them that could be the intent's.
	hidden map[string]bool
	maybe  []string
	// unlisted are the channels that Discord has when it is asked for them, but not in its list.
	unlisted map[string]bool
	audit    []discordclient.AuditEntry
	audited  time.Time // the audit log is newer than this
	unshown  bool      // Discord does not show the bot the audit log, which counts as an empty one
	self     string    // the bot's own user id
	// pending says that Discord was not asked about all channels that fit yet.
	pending bool
}

// completeFor is when the audit log surely has the intent's create, and those of all channels that
// fit: one that another client has just made must not be taken for it.
func (in Intent) completeFor(fits []string) time.Time {
	at := in.complete()
	for _, id := range fits {
		if written := discordclient.CreatedAt(id).Add(in.Propagation); written.After(at) {
			at = written
		}
	}
	return at
}

// Channel looks for a channel whose create may have been carried out. It makes no call as long as
// looking cannot help. Otherwise it makes one for the list of channels and one for the bot's own
// creates in the audit log, which all intents of a guild share, and one for each channel that fits, of
// which it asks about three at once. The [guildcache.Client] remembers the answers, so that none is asked
// for again. What others do in the guild adds none. Errors are those of the calls; a log that may not be
// read is none.
func Channel(ctx context.Context, c *guildcache.Client, in Intent) (Result, error) {
	in = in.withDefaults()
	snap := c.Guild(in.GuildID).Snapshot()
	state := in.known(snap)
	early := in.Now().Before(in.complete())
	if state.listed.Before(in.complete()) && (!early || snap.Mode != guildcache.ModeLive) {
		if err := in.list(ctx, c, &state); err != nil {
			return Result{}, err
		}
	}
	fits := in.candidates(state)
	if early && len(fits)+len(state.maybe) == 0 {
		return decide(in, state), nil
	}
	err := in.readAudit(ctx, c, &state)
	switch {
	case errors.Is(err, guildcache.ErrReading):
		return Result{Outcome: Unsure, After: time.Second, Why: tooEarly}, nil
	case errors.Is(err, guildcache.ErrRefused):
		return Result{Outcome: Unsure, After: refusedRetry, Why: "Discord has refused to show the audit log"}, nil
	case err != nil:
		return Result{}, err
	}
	return decide(in, state), nil
}

// Role is [Channel] for a role, which has neither type nor parent, and is never hidden.
func Role(ctx context.Context, c *guildcache.Client, in Intent) (Result, error) {
	in.role = true
	return Channel(ctx, c, in)
}

// list reads what there is.
func (in Intent) list(ctx context.Context, c *guildcache.Client, state *evidence) (err error) {
	since := in.Now()
	if in.role {
		state.roles, err = c.ListRoles(ctx, in.GuildID)
	} else {
		state.channels, err = c.ListChannels(ctx, in.GuildID)
	}
	state.listed = since
	return err
}

// readAudit reads what the audit log knows of the intent and of the channels that fit, and asks
// Discord for those that its list lacks.
func (in Intent) readAudit(ctx context.Context, c *guildcache.Client, state *evidence) (err error) {
	from, complete := in.NotBefore.Add(-provenSkew), in.completeFor(in.candidates(*state))
	state.audit, state.audited, err = c.OwnCreates(ctx, in.GuildID, in.action(), from, complete, in.Now())
	if err != nil {
		return err
	}
	state.unshown = !c.ShowsCreates(in.GuildID, in.action())
	state.self = c.Guild(in.GuildID).Snapshot().SelfID()
	if err := in.readCreators(ctx, c, state); err != nil {
		return err
	}
	left := maxAsked
	for _, e := range state.audit {
		if !in.own(e, state.self) || state.lists(e.TargetID) || state.hidden[e.TargetID] ||
			c.KnownGone(in.GuildID, in.action(), e.TargetID) {
			continue
		}
		if left == 0 {
			state.pending = true
			break
		}
		left--
		if err := in.ask(ctx, c, state, e.TargetID); err != nil {
			return err
		}
	}
	return nil
}

// readCreators reads who created the channels that fit, unless the intent's is known and there, or
// nothing can be concluded yet.
func (in Intent) readCreators(ctx context.Context, c *guildcache.Client, state *evidence) error {
	for _, e := range state.audit {
		if in.own(e, state.self) && (state.lists(e.TargetID) || state.hidden[e.TargetID]) {
			return nil
		}
	}
	if in.ProofOnly {
		return nil
	}
	left := maxAsked
	for _, id := range append(in.candidates(*state), in.maybe(*state)...) {
		e, found, known := c.KnownCreate(in.GuildID, in.action(), id, in.Now())
		if !known && (left == 0 || in.Now().Before(in.complete())) {
			state.pending = true
			continue
		}
		if !known {
			left--
			var err error
			e, found, err = c.CreateOf(ctx, in.GuildID, in.action(), id, in.completeFor([]string{id}), in.Now())
			if err != nil {
				return err
			}
		}
		if found {
			state.audit = append(slices.Clone(state.audit), e)
		}
	}
	return nil
}

// known is what the view of the guild shows.
func (in Intent) known(snap *guildcache.Snapshot) evidence {
	if in.role {
		return evidence{roles: snap.Guild.Roles, listed: snap.RolesAt, unlisted: map[string]bool{}}
	}
	state := evidence{
		channels: snap.Channels(), listed: snap.CompleteAt, hidden: map[string]bool{}, unlisted: map[string]bool{},
	}
	for _, c := range snap.All() {
		if !c.Hidden {
			continue
		}
		state.hidden[c.ID] = true
		if c.Type == in.Type && in.youngEnough(c.ID) {
			state.maybe = append(state.maybe, c.ID)
		}
	}
	return state
}

// ask asks Discord itself about a channel or role that its list does not have: one of channels leaves
// out what the bot may not view.
func (in Intent) ask(ctx context.Context, c *guildcache.Client, state *evidence, id string) (err error) {
	if in.role {
		_, err = c.GetRole(ctx, in.GuildID, id)
	} else {
		_, err = c.GetChannel(ctx, id)
	}
	switch {
	case err == nil:
		state.unlisted[id] = true
	case discordclient.IsHidden(err) && !in.role:
		state.hidden[id] = true
	case discordclient.ClassOf(err) != discordclient.ClassGone:
		return err
	case !in.Now().Before(in.completeFor([]string{id})): // before, Discord may not know yet what it has made
		c.RememberGone(in.GuildID, in.action(), id)
	}
	return nil
}

// lists reports whether the list has a channel or role.
func (e *evidence) lists(id string) bool {
	return slices.ContainsFunc(e.channels, func(c *discordclient.Channel) bool { return c.ID == id }) ||
		slices.ContainsFunc(e.roles, func(r discordclient.Role) bool { return r.ID == id })
}

// decide draws the conclusion. It is pure.
func decide(in Intent, state evidence) Result {
	wait := max(in.complete().Sub(in.Now()), time.Second)
	if r, ok := in.proven(state, wait); ok {
		return r
	}
	complete := !in.Now().Before(in.complete()) && !state.listed.Before(in.complete())
	fits := in.candidates(state)
	if in.ProofOnly {
		return in.unproven(state, complete, wait)
	}
	switch {
	case state.pending && in.Now().Before(in.complete()):
		return Result{Outcome: Unsure, After: wait, Why: tooEarly}
	case state.pending:
		return Result{Outcome: Unsure, After: wait, Why: "the audit log is being asked who has created each " + in.noun() +
			" that may be it"}
	case len(in.maybe(state)) > 0:
		return Result{Outcome: Unsure, After: max(wait, in.Propagation), Why: fmt.Sprintf(
			"channels %s are hidden from the bot, and the audit log does not show who has created them; "+
				"let the bot view them, or delete them", some(in.maybe(state)))}
	case len(fits) > 1:
		return Result{Outcome: Unsure, After: max(wait, in.Propagation), Why: fmt.Sprintf(
			"%ss %s all match, and the audit log does not show which one was created for this object; "+
				"adopt one by its id, or delete them", in.noun(), some(fits))}
	case !complete:
		return Result{Outcome: Unsure, After: wait, Why: tooEarly}
	case len(fits) == 1 && state.audited.Before(in.completeFor(fits)):
		return Result{Outcome: Unsure, After: max(in.completeFor(fits).Sub(in.Now()), time.Second), Why: fmt.Sprintf(
			"%s %s matches, and the audit log may not yet show who has created it", in.noun(), fits[0])}
	case len(fits) == 1:
		return Result{Outcome: Found, ID: fits[0], Proof: ProofMatch, Why: "the only " + in.noun() + " that matches"}
	case state.audited.Before(in.complete()): // it may have been renamed or moved, and then the log alone knows it
		return Result{Outcome: Unsure, After: max(wait, in.Propagation),
			Why: "no " + in.noun() + " matches, and the audit log was not read to its end"}
	default:
		return Result{Outcome: Absent, Why: "no " + in.noun() + " matches, and the audit log shows none"}
	}
}

// some lists a few ids, since a status is no place for all.
func some(ids []string) string {
	if more := len(ids) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:maxNamed], ", "), more)
	}
	return strings.Join(ids, ", ")
}

// unproven draws the conclusion for an intent that the log alone can prove, and does not. It names nothing
// that is there: that may not be for others to know.
func (in Intent) unproven(state evidence, complete bool, wait time.Duration) Result {
	switch {
	case !complete:
		return Result{Outcome: Unsure, After: wait, Why: tooEarly}
	case state.unshown && len(in.candidates(state))+len(in.maybe(state)) > 0:
		return Result{Outcome: Unproven, After: unprovenRetry, Why: fmt.Sprintf(
			"a %s of this name may exist, and Discord does not show the bot the audit log, which names its creator", in.noun())}
	case state.audited.Before(in.complete()):
		return Result{Outcome: Unsure, After: max(wait, in.Propagation), Why: "the audit log was not read to its end"}
	default:
		return Result{Outcome: Absent, Why: "the audit log shows none"}
	}
}

// own reports whether an entry of the audit log is that of the intent's create.
func (in Intent) own(e discordclient.AuditEntry, self string) bool {
	return e.Action == in.action() && !in.foreign(e, self) && !in.Claimed(e.TargetID)
}

// foreign reports whether an entry has another reason than the intent, or is another user's.
func (in Intent) foreign(e discordclient.AuditEntry, self string) bool {
	other := self != "" && e.UserID != "" && e.UserID != self
	return other || in.Reason == "" || e.Reason != discordclient.CutReason(in.Reason)
}

// proven looks for the intent's own entry in the audit log. A channel that it names, that a list
// newer than it lacks and that Discord does not know by its id either, was deleted since: the create
// is over and did not last.
func (in Intent) proven(state evidence, wait time.Duration) (Result, bool) {
	var found, hidden []string
	unlisted := false
	for _, e := range state.audit {
		switch {
		case !in.own(e, state.self):
		case state.lists(e.TargetID):
			found = append(found, e.TargetID)
		case state.hidden[e.TargetID]:
			hidden = append(hidden, e.TargetID)
		case state.unlisted[e.TargetID], state.listed.Before(discordclient.CreatedAt(e.TargetID).Add(in.Propagation)):
			unlisted = true
		}
	}
	if len(found) > 0 {
		id := slices.MinFunc(found, discordclient.CompareIDs)
		return Result{Outcome: Found, ID: id, Proof: ProofAuditLog, Why: "the audit log names it"}, true
	}
	if len(hidden) > 0 {
		id := slices.MinFunc(hidden, discordclient.CompareIDs)
		why := "the audit log names it, and the bot may not view it"
		return Result{Outcome: Hidden, ID: id, Proof: ProofAuditLog, Why: why}, true
	}
	if unlisted {
		why := "the audit log names a " + in.noun() + " that is not in the list yet"
		return Result{Outcome: Unsure, After: wait, Why: why}, true
	}
	return Result{}, false
}

// candidates returns the ids of the channels or roles that could be the intent's, oldest first: of its
// type, parent and name, not older than it, claimed by no other, and not created for another reason.
func (in Intent) candidates(state evidence) []string {
	var ids []string
	for _, c := range state.channels {
		if c.Type == in.Type && c.ParentID == in.ParentID && in.youngEnough(c.ID) &&
			discordclient.SameChannelName(in.Type, in.Name, c.Name, "") {
			ids = append(ids, c.ID)
		}
	}
	for _, r := range state.roles {
		if r.Name == in.Name && !r.Managed && in.youngEnough(r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return in.unclaimed(ids, state)
}

// maybe returns the ids of hidden channels that could be the intent's.
func (in Intent) maybe(state evidence) []string { return in.unclaimed(state.maybe, state) }

// youngEnough reports whether a channel is not older than the intent, nor so new that no attempt can have
// created it.
func (in Intent) youngEnough(id string) bool {
	at := discordclient.CreatedAt(id)
	return !at.Before(in.NotBefore.Add(-clockSkew)) && !at.After(in.complete().Add(clockSkew))
}

// unclaimed leaves the channels that were not created for another reason and that no other claims,
// oldest first.
func (in Intent) unclaimed(ids []string, state evidence) []string {
	foreign := map[string]bool{}
	for _, e := range state.audit {
		if e.Action == in.action() && in.foreign(e, state.self) {
			foreign[e.TargetID] = true
		}
	}
	left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return foreign[id] || in.Claimed(id) })
	slices.SortFunc(left, discordclient.CompareIDs)
	return left
}
