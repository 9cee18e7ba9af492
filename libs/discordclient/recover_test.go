package discordclient

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecideChannel(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) // the intent; the last attempt is 10 s later
	at := func(d time.Duration) string { return SnowflakeAt(t0.Add(d)) }
	second := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Second) }
	fits := func(id string) *Channel { return &Channel{ID: id, Name: "tokyo-alarms", ParentID: "7"} }
	entry := func(target, reason string) AuditEntry {
		return AuditEntry{Action: AuditChannelCreate, TargetID: target, Reason: reason}
	}
	ours, other := at(5*time.Second), at(6*time.Second)
	for name, c := range map[string]struct {
		now, listed int // seconds after the intent
		logAge      int // in seconds, of what was read of the audit log
		channels    []*Channel
		audit       []AuditEntry
		claimed     string
		want        Outcome
		id          string
		proof       Proof
	}{
		"nothing, too early":                           {now: 12, listed: 12, want: OutcomeUnsure},
		"nothing, and nothing can come":                {now: 30, listed: 30, want: OutcomeAbsent},
		"nothing, but the list is older":               {now: 30, listed: 12, want: OutcomeUnsure},
		"nothing, but the log was not read to its end": {now: 30, logAge: 10, listed: 30, want: OutcomeUnsure},
		"the audit log proves it at once":              {now: 11, listed: 11, channels: []*Channel{fits(ours)}, audit: []AuditEntry{entry(ours, "uid")}, want: OutcomeFound, id: ours, proof: ProofAuditLog},
		"proved, though renamed and moved by hand":     {now: 11, listed: 11, channels: []*Channel{{ID: ours, Name: "renamed"}}, audit: []AuditEntry{entry(ours, "uid")}, want: OutcomeFound, id: ours, proof: ProofAuditLog},
		"proved twice: the older one":                  {now: 11, listed: 11, channels: []*Channel{fits(other), fits(ours)}, audit: []AuditEntry{entry(other, "uid"), entry(ours, "uid")}, want: OutcomeFound, id: ours, proof: ProofAuditLog},
		"proved, not listed yet":                       {now: 11, listed: 4, audit: []AuditEntry{entry(ours, "uid")}, want: OutcomeUnsure},
		"proved, deleted since":                        {now: 40, listed: 40, audit: []AuditEntry{entry(ours, "uid")}, want: OutcomeAbsent},
		"one fits, the audit log may be late":          {now: 11, listed: 11, channels: []*Channel{fits(ours)}, want: OutcomeUnsure},
		"one fits, the audit log never tells":          {now: 30, listed: 30, channels: []*Channel{fits(ours)}, want: OutcomeFound, id: ours, proof: ProofMatch},
		"one fits, but was created for another reason": {now: 30, listed: 30, channels: []*Channel{fits(other)}, audit: []AuditEntry{entry(other, "uid2")}, want: OutcomeAbsent},
		"one fits, but belongs to another object":      {now: 30, listed: 30, channels: []*Channel{fits(other)}, claimed: other, want: OutcomeAbsent},
		"one fits, and was made a moment ago":          {now: 30, listed: 30, channels: []*Channel{fits(at(29 * time.Second))}, want: OutcomeUnsure},
		"made a moment ago, and never told":            {now: 45, listed: 45, channels: []*Channel{fits(at(29 * time.Second))}, want: OutcomeFound, id: at(29 * time.Second), proof: ProofMatch},
		"made before the log was read, but not long":   {now: 45, logAge: 10, listed: 45, channels: []*Channel{fits(at(29 * time.Second))}, want: OutcomeUnsure},
		"two fit, one is another's":                    {now: 30, listed: 30, channels: []*Channel{fits(ours), fits(other)}, audit: []AuditEntry{entry(other, "uid2")}, want: OutcomeFound, id: ours, proof: ProofMatch},
		"two fit, nobody knows which":                  {now: 30, listed: 30, channels: []*Channel{fits(ours), fits(other)}, want: OutcomeUnsure},
		"older than the intent":                        {now: 30, listed: 30, channels: []*Channel{fits(at(-time.Hour))}, want: OutcomeAbsent},
		"older by less than clocks differ":             {now: 30, listed: 30, channels: []*Channel{fits(at(-time.Second))}, want: OutcomeFound, id: at(-time.Second), proof: ProofMatch},
		"another type":                                 {now: 30, listed: 30, channels: []*Channel{{ID: ours, Type: ChannelVoice, Name: "tokyo-alarms", ParentID: "7"}}, want: OutcomeAbsent},
		"another category":                             {now: 30, listed: 30, channels: []*Channel{{ID: ours, Name: "tokyo-alarms"}}, want: OutcomeAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := ChannelIntent{
				GuildID: "1", ParentID: "7", Name: "Tokyo Alarms", Reason: "uid", NotBefore: t0, LastAttempt: second(10),
				Claimed: func(id string) bool { return id == c.claimed }, Now: func() time.Time { return second(c.now) },
			}.withDefaults()
			got := decideChannel(in, evidence{channels: c.channels, listed: second(c.listed), audit: c.audit, audited: second(c.now - c.logAge)})
			want := Recovery{Outcome: c.want, ID: c.id, Proof: c.proof, Why: got.Why, After: got.After}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", got.Why, diff)
			}
			if (got.Outcome == OutcomeUnsure) != (got.After > 0) || got.Why == "" {
				t.Errorf("look again after %v because %q", got.After, got.Why)
			}
		})
	}
}

// endless is a guild with more entries in its audit log than are read at once, the oldest first.
type endless struct{ Client }

func (endless) ListAuditLog(_ context.Context, _ string, q AuditQuery) ([]AuditEntry, error) {
	page := make([]AuditEntry, q.Limit)
	for i := range page {
		page[i] = AuditEntry{ID: SnowflakeAt(CreatedAt(q.After).Add(time.Duration(i+1) * time.Millisecond)), Action: AuditChannelCreate, TargetID: "1", Reason: "other"}
	}
	return page, nil
}

func (endless) ListChannels(context.Context, string) ([]*Channel, error) { return nil, nil }

// What is beyond the part of the audit log that was read is not taken for what is not there.
func TestALogThatIsTooLongProvesNoAbsence(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Token: NewSecret("token")})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Hour)
	in := ChannelIntent{GuildID: "1", Name: "a", Reason: "uid", NotBefore: began, LastAttempt: began}
	got, err := RecoverChannel(t.Context(), endless{c}, in)
	if err != nil || got.Outcome != OutcomeUnsure || got.After <= 0 {
		t.Errorf("%+v, %v; want it unsure", got, err)
	}
}

func TestEchoesBringAnswersAndEventsIntoOrder(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		steps string // letters: states; lower case: an event; upper case: an own write that is answered; ( begins a write
		want  string // y or n per event and answer: applied or not
	}{
		"the event of an own write":                      {"(Aa", "yy"},
		"an event before its answer":                     {"(aA", "yn"},
		"a person's edit between event and answer":       {"(abA", "yyn"},
		"a person's edit before the own event":           {"(bAa", "yyy"},
		"the event of an own write but the last is late": {"(A(Bab", "yyny"},
		"events lost, then a person's edit":              {"(A(Bc", "yyy"},
		"back by hand after all events":                  {"(A(Baba", "yynyy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, got := &echo{}, ""
			for _, step := range c.steps {
				switch {
				case step == '(':
					e.begin()
				case step < 'a':
					got += yesNo(e.end(step+'a'-'A', now))
				default:
					got += yesNo(e.event(step, now))
				}
			}
			if got != c.want {
				t.Errorf("%s gives %s, want %s", c.steps, got, c.want)
			}
		})
	}
	e := &echo{}
	e.begin()
	e.end('a', now)
	e.begin()
	e.end('b', now)
	if !e.event('a', now.Add(2*echoLife)) || !e.idle(now.Add(2*echoLife)) {
		t.Error("an own write is waited for for ever")
	}
}

func yesNo(b bool) string { return map[bool]string{true: "y", false: "n"}[b] }

func TestSnowflakes(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	if got := CreatedAt(SnowflakeAt(at)); !got.Equal(at) {
		t.Errorf("%v came back as %v", at, got)
	}
	if got := CreatedAt("175928847299117063"); !got.Equal(time.UnixMilli(1462015105796)) { // Discord's own example
		t.Errorf("the documented example is of %v", got)
	}
	if SnowflakeAt(time.Unix(0, 0)) != "0" || !CreatedAt("x").IsZero() {
		t.Error("what has no time got one")
	}
	if CompareIDs("9", "10") >= 0 || CompareIDs("11", "10") <= 0 || CompareIDs("7", "7") != 0 {
		t.Error("ids are not ordered by number")
	}
}
