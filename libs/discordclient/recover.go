package discordclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A create has no idempotency key: when its answer was lost, or the process died before it could save the new id, a
// channel may exist that nobody knows. Before creating again, look for it: [RecoverChannel]. A webhook is found by listing those of its channel: Discord
// tells its token to the application that created it, and to no other.

// Outcome is the result of looking for a lost create.
type Outcome string

const (
	// OutcomeFound means: this is the object; adopt it.
	OutcomeFound Outcome = "found"
	// OutcomeAbsent means: nothing was created, and nothing will be any more; create.
	OutcomeAbsent Outcome = "absent"
	// OutcomeUnsure means: it cannot be told yet; look again after [Recovery.After]. Never create now.
	OutcomeUnsure Outcome = "unsure"
)

// Proof is what a find rests on.
type Proof string

const (
	// ProofAuditLog means: the audit log names the object together with the reason of the intent. That is certain.
	ProofAuditLog Proof = "audit-log"
	// ProofMatch means: it is the only object that fits, and nobody claims it. The audit log, which is written late or
	// never, did not tell of it.
	ProofMatch Proof = "match"
)

// Recovery is what was found out about a lost create.
type Recovery struct {
	Outcome Outcome
	ID      string        // of what was found
	Proof   Proof         // what the find rests on
	After   time.Duration // when to look again, for OutcomeUnsure
	Why     string        // in words, for a status
}

// DefaultSettle is how long after an attempt the sources are taken to be complete: longer than a call may be under way,
// and than Discord takes to write its audit log.
const DefaultSettle = 15 * time.Second

const (
	// clockSkew is by how much the clocks of Discord and of whoever noted the intent may differ where only the time tells whose a channel is.
	clockSkew = time.Minute
	// provenSkew is the same for entries of the audit log, which name the intent: looking further back costs a page at most, and makes no mistake.
	provenSkew = time.Hour
)

// maxAuditPages bounds how much of the audit log is read at once; what is beyond is as if it were not written yet.
const maxAuditPages = 20

// ChannelIntent is what was to be created.
type ChannelIntent struct {
	GuildID  string
	Type     ChannelType
	ParentID string
	Name     string // as it was given to the create
	// Reason is the audit log reason of the create. It must name the intent and no other, by an object's UID for example.
	Reason string
	// NotBefore is when the intent came up; older channels are not it.
	NotBefore time.Time
	// LastAttempt is the last moment at which a create may have been sent. After a crash that is the moment at which
	// this process took over; after an unknown outcome, when that came back.
	LastAttempt time.Time
	// Claimed reports whether a channel belongs to another object; nil for never.
	Claimed func(channelID string) bool
	// Settle is how long after LastAttempt the sources are complete; 0 for DefaultSettle.
	Settle time.Duration
	// Now is the time; nil for time.Now.
	Now func() time.Time
}

func (in ChannelIntent) withDefaults() ChannelIntent {
	orDefault(&in.Settle, DefaultSettle)
	if in.Now == nil {
		in.Now = time.Now
	}
	if in.Claimed == nil {
		in.Claimed = func(string) bool { return false }
	}
	return in
}

// settled is when the sources are complete.
func (in ChannelIntent) settled() time.Time { return in.LastAttempt.Add(in.Settle) }

// evidence is what was looked at.
type evidence struct {
	channels []*Channel
	listed   time.Time // the list is newer than this
	audit    []AuditEntry
	audited  time.Time // the audit log is newer than this
}

// complete is when the audit log would surely tell of the intent's create, and of those of all channels that fit: one that somebody else has just made
// must not be taken for it.
func (in ChannelIntent) complete(fits []string) time.Time {
	at := in.settled()
	for _, id := range fits {
		if told := CreatedAt(id).Add(in.Settle); told.After(at) {
			at = told
		}
	}
	return at
}

// RecoverChannel looks for a channel whose create may have been carried out. It makes no call as long as looking cannot
// help, one of the list of channels (shared by all intents of a guild, through the view) and one per page of the audit
// log otherwise. Errors are those of the calls; a log that may not be read is none.
func RecoverChannel(ctx context.Context, c Client, in ChannelIntent) (Recovery, error) {
	in = in.withDefaults()
	view := c.Guild(in.GuildID)
	snap := view.Snapshot()
	seen := evidence{channels: snap.Channels(), listed: snap.CompleteAt}
	early := in.Now().Before(in.settled())
	if seen.listed.Before(in.settled()) && (!early || snap.Mode != ModeLive) {
		since := in.Now()
		list, err := c.ListChannels(ctx, in.GuildID)
		if err != nil {
			return Recovery{}, err
		}
		seen.channels, seen.listed = list, since
	}
	fits := in.candidates(seen)
	if early && len(fits) == 0 {
		return decideChannel(in, seen), nil
	}
	page, err := view.auditSince(ctx, c, in, in.complete(fits))
	if err != nil {
		return Recovery{}, err
	}
	seen.audit, seen.audited = page.entries, page.read
	return decideChannel(in, seen), nil
}

// auditReading is what was read of a guild's audit log.
type auditReading struct {
	from, read time.Time
	entries    []AuditEntry
}

// auditFresh is how long a reading of the audit log serves intents that have not settled.
const auditFresh = time.Second

// auditSince returns the creates of channels since an intent came up, from the last reading when that is newer than complete: after a crash many
// intents are looked for at once.
func (v *View) auditSince(ctx context.Context, c Client, in ChannelIntent, complete time.Time) (*auditReading, error) {
	now := in.Now()
	if last := v.audit.Load(); last != nil && !last.from.After(in.NotBefore) {
		// Before it is complete a reading can only prove what is there, and is looked at again in any case.
		recent := now.Before(complete) && now.Sub(last.read) < auditFresh
		if recent || !last.read.Before(complete) {
			return last, nil
		}
	}
	reading := &auditReading{from: in.NotBefore}
	var end string
	var err error
	if reading.entries, end, err = readAudit(ctx, c, in.GuildID, in.NotBefore); err != nil {
		return nil, err
	}
	if reading.read = now; end != "" {
		reading.read = CreatedAt(end)
	}
	v.audit.Store(reading)
	return reading, nil
}

// readAudit reads the creates of channels since an intent came up, oldest first; end is the entry up to which, empty for all there are. A log that
// Discord does not show the bot is an empty one.
func readAudit(ctx context.Context, c Client, guildID string, notBefore time.Time) (entries []AuditEntry, end string, err error) {
	after := SnowflakeAt(notBefore.Add(-provenSkew))
	for range maxAuditPages {
		page, err := c.ListAuditLog(ctx, guildID, AuditQuery{Action: AuditChannelCreate, After: after, Limit: 100})
		if ClassOf(err) == ClassDenied && CodeOf(err) != 0 { // what a proxy refuses may be there to be read a moment later
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, page...)
		last := after
		for _, e := range page {
			if CompareIDs(e.ID, last) > 0 {
				last = e.ID
			}
		}
		if len(page) < 100 || last == after {
			return entries, "", nil
		}
		after = last
	}
	return entries, after, nil
}

// decideChannel draws the conclusion. It is pure.
func decideChannel(in ChannelIntent, seen evidence) Recovery {
	wait := max(in.settled().Sub(in.Now()), time.Second)
	if r, ok := in.proven(seen, wait); ok {
		return r
	}
	settled := !in.Now().Before(in.settled()) && !seen.listed.Before(in.settled())
	fits := in.candidates(seen)
	switch {
	case len(fits) > 1:
		return Recovery{Outcome: OutcomeUnsure, After: max(wait, in.Settle), Why: fmt.Sprintf(
			"channels %s all match, and the audit log does not show which one was created for this object; adopt one by its id, or delete them", strings.Join(fits, ", "))}
	case !settled:
		return Recovery{Outcome: OutcomeUnsure, After: wait, Why: "the result of an earlier create may still appear"}
	case len(fits) == 1 && seen.audited.Before(in.complete(fits)):
		return Recovery{Outcome: OutcomeUnsure, After: max(in.complete(fits).Sub(in.Now()), time.Second), Why: fmt.Sprintf(
			"channel %s matches, and the audit log may not yet show who has created it", fits[0])}
	case len(fits) == 1:
		return Recovery{Outcome: OutcomeFound, ID: fits[0], Proof: ProofMatch, Why: "the only channel that matches"}
	case seen.audited.Before(in.settled()): // it may have been renamed or moved, and then the log alone knows it
		return Recovery{Outcome: OutcomeUnsure, After: max(wait, in.Settle), Why: "no channel matches, and the audit log was not read to its end"}
	default:
		return Recovery{Outcome: OutcomeAbsent, Why: "no channel matches, and the audit log shows none"}
	}
}

// proven looks for the intent's own entry in the audit log. A channel that it names and that is not in a list newer
// than it was deleted since: the create is over and did not last.
func (in ChannelIntent) proven(seen evidence, wait time.Duration) (Recovery, bool) {
	var found []string
	unseen := false
	for _, e := range seen.audit {
		if e.Action != AuditChannelCreate || e.Reason != cutReason(in.Reason) || in.Reason == "" || in.Claimed(e.TargetID) {
			continue
		}
		switch {
		case slices.ContainsFunc(seen.channels, func(c *Channel) bool { return c.ID == e.TargetID }):
			found = append(found, e.TargetID)
		case seen.listed.Before(CreatedAt(e.TargetID).Add(in.Settle)):
			unseen = true
		}
	}
	if len(found) > 0 {
		return Recovery{Outcome: OutcomeFound, ID: slices.MinFunc(found, CompareIDs), Proof: ProofAuditLog, Why: "the audit log names it"}, true
	}
	if unseen {
		return Recovery{Outcome: OutcomeUnsure, After: wait, Why: "the audit log names a channel that is not in the list yet"}, true
	}
	return Recovery{}, false
}

// candidates returns the ids of the channels that could be the intent's, oldest first: of its type, parent and name, not
// older than it, claimed by nobody, and not created for another reason.
func (in ChannelIntent) candidates(seen evidence) []string {
	foreign := map[string]bool{}
	for _, e := range seen.audit {
		if e.Action == AuditChannelCreate && e.Reason != cutReason(in.Reason) {
			foreign[e.TargetID] = true
		}
	}
	var ids []string
	for _, c := range seen.channels {
		if c.Type == in.Type && c.ParentID == in.ParentID && SameChannelName(in.Type, in.Name, c.Name, "") &&
			!CreatedAt(c.ID).Before(in.NotBefore.Add(-clockSkew)) && !foreign[c.ID] && !in.Claimed(c.ID) {
			ids = append(ids, c.ID)
		}
	}
	slices.SortFunc(ids, CompareIDs)
	return ids
}
