// SPDX-License-Identifier: Apache-2.0

// Package recovery finds the object of a create with a lost response. A create has no idempotency
// key, so call [Channel] or [Role] before creating again. Find a lost webhook in its channel's
// list, where only the creating application sees the token, and in the audit log.
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
	// Found means: the create's object exists. Adopt it.
	Found Outcome = "found"
	// Absent means: the create made nothing and will make nothing. Create the object.
	Absent Outcome = "absent"
	// Hidden means: the create's object exists, but Discord hides it from the bot. Do not create.
	Hidden Outcome = "hidden"
	// Unsure means: not known yet. Look again after [Result.After]. Do not create.
	Unsure Outcome = "unsure"
	// Unproven means: a match needs proof by the audit log, which the bot may not view. Look again
	// after [Result.After]. Do not create.
	Unproven Outcome = "unproven"
)

// Proof is the evidence for a [Result] that is [Found].
type Proof string

const (
	// ProofAuditLog means: an audit log entry of the object has [Intent.Reason]. This proof is
	// certain.
	ProofAuditLog Proof = "audit-log"
	// ProofMatch means: the object is the only match that [Intent.Claimed] does not claim.
	ProofMatch Proof = "match"
)

// Result is the result of looking for a lost create.
type Result struct {
	Outcome Outcome
	ID      string // id of the channel or role found
	Proof   Proof
	After   time.Duration // time until the next look, for Unsure and Unproven
	Why     string        // for a status message
}

// DefaultPropagation is the longest time from a create until list and audit log show its result.
const DefaultPropagation = 15 * time.Second

const (
	// skewPropagations times Propagation is the time by which Discord's clock may be behind.
	skewPropagations = 4
	maxAsked         = 3
	maxNamed         = 5
	refusedRetry     = 5 * time.Second
	unprovenRetry    = time.Minute
	tooEarly         = "the result of an earlier create may still appear"
	// Clocks may differ, so the log is read from provenSkew before Intent.NotBefore.
	provenSkew = time.Hour
)

// Intent describes the channel or role of a lost create.
type Intent struct {
	GuildID  string
	Type     discordgo.ChannelType
	ParentID string
	Name     string // as given to the create
	// Reason is the audit log reason of the create. It must be unique, such as an object's UID.
	Reason string
	// Objects that are older than NotBefore by more than [discordclient.ClockSkew] do not match.
	NotBefore time.Time
	// LastAttempt is the end of the last create, or the start of this process after a crash.
	LastAttempt time.Time
	// Claimed reports whether a channel or role belongs to another object of the caller; nil claims
	// none.
	Claimed func(channelID string) bool
	// ProofOnly accepts only the audit log as proof. The outcome is Absent if the bot has read the
	// log to its end and found no entry.
	ProofOnly bool
	// Propagation is the time after LastAttempt until list and audit log are complete. Discord's
	// clock may be behind Now by four times as long. Default [DefaultPropagation].
	Propagation time.Duration
	Now         func() time.Time // default time.Now

	role bool // whether the object is a role, not a channel
}

func (in Intent) action() discordgo.AuditLogAction {
	if in.role {
		return discordgo.AuditLogActionRoleCreate
	}
	return discordgo.AuditLogActionChannelCreate
}

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

func (in Intent) complete() time.Time { return in.LastAttempt.Add(in.Propagation) }

type evidence struct {
	channels      []*discordclient.Channel
	roles         []discordclient.Role
	listed        time.Time // time of the request for channels or roles
	hidden        map[string]bool
	hiddenMatches []string
	gone          map[string]bool // objects that the audit log names and that are deleted
	audit         []discordclient.AuditEntry
	audited       time.Time // time up to which the audit log was read
	auditDenied   bool      // whether Discord hides the audit log from the bot; it then counts as empty
	self          string    // the bot's user id
	lookAt        time.Time // time of the next look-up of an object; zero if none is needed
}

// LoggedAt returns the time at which list and audit log surely have the object, even if Discord's
// clock, which dates the id, is behind. See [Intent.Propagation].
func LoggedAt(id string, propagation time.Duration) time.Time {
	return discordclient.CreatedAt(id).Add(skewPropagations*propagation + propagation)
}

func (in Intent) loggedAt(id string) time.Time { return LoggedAt(id, in.Propagation) }

// completeFor returns when the audit log surely has the creates of the intent and of the objects in
// fits. If read earlier, the log may lack the entry of another client's object, which then looks
// like the intent's.
func (in Intent) completeFor(state evidence, fits []string) time.Time {
	at := in.complete()
	if state.auditDenied {
		return at
	}
	for _, id := range fits {
		if logged := in.loggedAt(id); logged.After(at) {
			at = logged
		}
	}
	return at
}

// Channel looks for the channel of a create that Discord may have executed. The intents of a guild
// share its cached channels and the cached entries of its audit log; Channel reads what the cache
// lacks, and the creators of at most three matches. A denied audit log is no error.
func Channel(ctx context.Context, c *guildcache.Client, in Intent) (Result, error) {
	in = in.withDefaults()
	snap := c.Guild(in.GuildID).Snapshot()
	state := in.fromSnapshot(snap)
	early := in.Now().Before(in.complete())
	if state.listed.Before(in.complete()) && (!early || snap.Mode != guildcache.ModeLive) {
		if err := in.list(ctx, c, &state); err != nil {
			return Result{}, err
		}
	}
	fits := in.candidates(state)
	if early && len(fits)+len(state.hiddenMatches) == 0 {
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

// Role is [Channel] for a role, which has neither type nor parent and is never hidden.
func Role(ctx context.Context, c *guildcache.Client, in Intent) (Result, error) {
	in.role = true
	return Channel(ctx, c, in)
}

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

func (in Intent) readAudit(ctx context.Context, c *guildcache.Client, state *evidence) (err error) {
	state.auditDenied = !c.ShowsCreates(in.GuildID, in.action())
	from, complete := in.NotBefore.Add(-provenSkew), in.completeFor(*state, in.candidates(*state))
	state.audit, state.audited, err = c.OwnCreates(ctx, in.GuildID, in.action(), from, complete, in.Now())
	if err != nil {
		return err
	}
	state.auditDenied = !c.ShowsCreates(in.GuildID, in.action())
	state.self = c.Guild(in.GuildID).Snapshot().SelfID()
	if err := in.readCreators(ctx, c, state); err != nil {
		return err
	}
	remaining := maxAsked
	for _, e := range state.audit {
		if !in.own(e, state.self) || state.lists(e.TargetID) || state.hidden[e.TargetID] {
			continue
		}
		if c.KnownGone(in.GuildID, in.action(), e.TargetID) {
			state.gone[e.TargetID] = true
			continue
		}
		if remaining == 0 {
			state.lookAgain(in.Now())
			break
		}
		remaining--
		if err := in.probe(ctx, c, state, e.TargetID); err != nil {
			return err
		}
	}
	return nil
}

func (in Intent) readCreators(ctx context.Context, c *guildcache.Client, state *evidence) error {
	for _, e := range state.audit {
		if in.own(e, state.self) && (state.lists(e.TargetID) || state.hidden[e.TargetID]) {
			return nil
		}
	}
	if in.ProofOnly {
		return nil
	}
	remaining := maxAsked
	for _, id := range append(in.candidates(*state), in.hiddenCandidates(*state)...) {
		e, found, known := c.KnownCreate(in.GuildID, in.action(), id, in.Now())
		complete := in.completeFor(*state, []string{id})
		switch {
		case known, state.auditDenied:
		case in.Now().Before(complete):
			state.lookAgain(complete)
		case remaining == 0:
			state.lookAgain(in.Now())
		default:
			remaining--
			var err error
			if e, found, err = c.CreateOf(ctx, in.GuildID, in.action(), id, in.Now()); err != nil {
				return err
			}
			state.auditDenied = !c.ShowsCreates(in.GuildID, in.action())
		}
		if found {
			state.audit = append(slices.Clone(state.audit), e)
		}
	}
	return nil
}

func (in Intent) fromSnapshot(snap *guildcache.Snapshot) evidence {
	if in.role {
		return evidence{roles: snap.Guild.Roles, listed: snap.RolesAt, gone: map[string]bool{}}
	}
	state := evidence{
		channels: snap.Channels(), listed: snap.CompleteAt, hidden: map[string]bool{}, gone: map[string]bool{},
	}
	for _, c := range snap.All() {
		if !c.Hidden {
			continue
		}
		state.hidden[c.ID] = true
		if c.Type == in.Type && in.youngEnough(c.ID) {
			state.hiddenMatches = append(state.hiddenMatches, c.ID)
		}
	}
	return state
}

// probe asks Discord for an object that is not in the list, because lists omit hidden channels.
func (in Intent) probe(ctx context.Context, c *guildcache.Client, state *evidence, id string) (err error) {
	if in.role {
		_, err = c.GetRole(ctx, in.GuildID, id)
	} else {
		_, err = c.GetChannel(ctx, id)
	}
	switch {
	case err == nil: // the list will have it
	case discordclient.IsHidden(err) && !in.role:
		state.hidden[id] = true
	case discordclient.ClassOf(err) != discordclient.ClassGone:
		return err
	case in.Now().Before(in.loggedAt(id)): // Discord may not know the new object yet
		state.lookAgain(in.loggedAt(id))
	default:
		c.RememberGone(in.GuildID, in.action(), id)
		state.gone[id] = true
	}
	return nil
}

func (e *evidence) lookAgain(at time.Time) {
	if e.lookAt.IsZero() || at.Before(e.lookAt) {
		e.lookAt = at
	}
}

func (e *evidence) lists(id string) bool {
	return slices.ContainsFunc(e.channels, func(c *discordclient.Channel) bool { return c.ID == id }) ||
		slices.ContainsFunc(e.roles, func(r discordclient.Role) bool { return r.ID == id })
}

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
	case !state.lookAt.IsZero() && in.Now().Before(in.complete()):
		return Result{Outcome: Unsure, After: wait, Why: tooEarly}
	case !state.lookAt.IsZero():
		return Result{Outcome: Unsure, After: in.until(state.lookAt), Why: fmt.Sprintf(
			"the %s that was created for this object may be one of %s, and the audit log may not yet show who has created "+
				"these", in.noun(),
			abbreviated(append(in.candidates(state), in.hiddenCandidates(state)...)))}
	case len(in.hiddenCandidates(state)) > 0:
		return Result{Outcome: Unsure, After: max(wait, in.Propagation), Why: fmt.Sprintf(
			"channels %s are hidden from the bot, and the audit log does not show who has created them; "+
				"give the bot ViewChannel in them", abbreviated(in.hiddenCandidates(state)))}
	case len(fits) > 1:
		return Result{Outcome: Unsure, After: max(wait, in.Propagation), Why: fmt.Sprintf(
			"%ss %s all match this object, and the audit log does not show which one was created for it; "+
				"set spec.adopt.id to the id of the right %[1]s", in.noun(), abbreviated(fits))}
	case !complete:
		return Result{Outcome: Unsure, After: wait, Why: tooEarly}
	case len(fits) == 1 && state.audited.Before(in.completeFor(state, fits)):
		return Result{Outcome: Unsure, After: in.until(in.completeFor(state, fits)), Why: fmt.Sprintf(
			"%s %s matches, and the audit log may not yet show who has created it", in.noun(), fits[0])}
	case len(fits) == 1:
		return Result{Outcome: Found, ID: fits[0], Proof: ProofMatch, Why: "the only " + in.noun() + " that matches"}
	case state.audited.Before(in.complete()): // only the audit log shows a channel that was renamed or moved
		return Result{Outcome: Unsure, After: max(wait, in.Propagation),
			Why: "no " + in.noun() + " matches, and the audit log was not read to its end"}
	default:
		return Result{Outcome: Absent, Why: "no " + in.noun() + " matches, and the bot sees no other proof"}
	}
}

// until returns the time until at, but at least a second, and at most Propagation, because the
// intent's own entry may appear before at.
func (in Intent) until(at time.Time) time.Duration {
	return max(min(at.Sub(in.Now()), in.Propagation), time.Second)
}

func abbreviated(ids []string) string {
	if more := len(ids) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:maxNamed], ", "), more)
	}
	return strings.Join(ids, ", ")
}

// unproven returns the result if the mode is ProofOnly and proven has returned none. Its texts do not
// name an existing object, because the user may have no right to see it.
func (in Intent) unproven(state evidence, complete bool, wait time.Duration) Result {
	switch {
	case !complete:
		return Result{Outcome: Unsure, After: wait, Why: tooEarly}
	case state.auditDenied && len(in.candidates(state))+len(in.hiddenCandidates(state)) > 0:
		return Result{Outcome: Unproven, After: unprovenRetry, Why: fmt.Sprintf(
			"a %s of this name may exist, and without the audit log the bot cannot see who created it", in.noun())}
	case state.audited.Before(in.complete()):
		return Result{Outcome: Unsure, After: max(wait, in.Propagation), Why: "the audit log was not read to its end"}
	default:
		return Result{Outcome: Absent, Why: "the bot sees no proof of a " + in.noun()}
	}
}

// own reports whether the bot has created the entry's object for the intent. Other users may
// write the same reason, so it proves nothing in their entries.
func (in Intent) own(e discordclient.AuditEntry, self string) bool {
	other := self != "" && e.UserID != "" && e.UserID != self
	return e.Action == in.action() && !other && !in.foreign(e) && !in.Claimed(e.TargetID)
}

// foreign reports whether the entry's object was surely not created for the intent. An entry with
// the intent's reason may be of the bot that the caller used before.
func (in Intent) foreign(e discordclient.AuditEntry) bool {
	return in.Reason == "" || e.Reason != discordclient.CutReason(in.Reason)
}

// proven returns the result if audit log entries with the intent's reason decide it, and otherwise
// false. It ignores deleted objects.
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
		case !state.gone[e.TargetID]:
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
		why := "the audit log names a " + in.noun() + " that Discord does not list yet"
		return Result{Outcome: Unsure, After: max(wait, in.until(state.lookAt)), Why: why}, true
	}
	return Result{}, false
}

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

func (in Intent) hiddenCandidates(state evidence) []string {
	return in.unclaimed(state.hiddenMatches, state)
}

func (in Intent) youngEnough(id string) bool {
	at := discordclient.CreatedAt(id)
	return !at.Before(in.NotBefore.Add(-discordclient.ClockSkew)) && !at.After(in.complete().Add(discordclient.ClockSkew))
}

func (in Intent) unclaimed(ids []string, state evidence) []string {
	foreign := map[string]bool{}
	for _, e := range state.audit {
		if e.Action == in.action() && in.foreign(e) {
			foreign[e.TargetID] = true
		}
	}
	rest := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return foreign[id] || in.Claimed(id) })
	slices.SortFunc(rest, discordclient.CompareIDs)
	return rest
}
