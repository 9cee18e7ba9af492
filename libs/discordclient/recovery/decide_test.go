// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) // time of the intent; the last attempt is 10 s later
	at := func(d time.Duration) string { return discordclient.SnowflakeAt(t0.Add(d)) }
	second := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Second) }
	fits := func(id string) *discordclient.Channel {
		return &discordclient.Channel{ID: id, Name: "tokyo-alerts", ParentID: "7"}
	}
	entry := func(target, reason string) discordclient.AuditEntry {
		return discordclient.AuditEntry{Action: discordgo.AuditLogActionChannelCreate, TargetID: target, Reason: reason}
	}
	ours, other := at(5*time.Second), at(6*time.Second)
	formerBot := entry(ours, "uid")
	formerBot.UserID = "8"
	for name, c := range map[string]struct {
		now, listed int // seconds after the intent
		logAge      int // seconds since the audit log was read
		channels    []*discordclient.Channel
		audit       []discordclient.AuditEntry
		claimed     string
		proofOnly   bool
		auditDenied bool
		gone        string // an id that Discord does not know any more
		want        Outcome
		id          string
		proof       Proof
	}{
		"nothing fits, too early":                                    {now: 12, listed: 12, want: Unsure},
		"nothing fits, and no channel can appear any more":           {now: 30, listed: 30, want: Absent},
		"nothing fits, but the list was read too early":              {now: 30, listed: 12, want: Unsure},
		"nothing fits, but the log was read too early":               {now: 30, logAge: 10, listed: 30, want: Unsure},
		"one fits, and the audit log proves it at once":              {now: 11, listed: 11, channels: []*discordclient.Channel{fits(ours)}, audit: []discordclient.AuditEntry{entry(ours, "uid")}, want: Found, id: ours, proof: ProofAuditLog},
		"proved, though renamed and moved by hand":                   {now: 11, listed: 11, channels: []*discordclient.Channel{{ID: ours, Name: "renamed"}}, audit: []discordclient.AuditEntry{entry(ours, "uid")}, want: Found, id: ours, proof: ProofAuditLog},
		"the audit log proves two, and the older one counts":         {now: 11, listed: 11, channels: []*discordclient.Channel{fits(other), fits(ours)}, audit: []discordclient.AuditEntry{entry(other, "uid"), entry(ours, "uid")}, want: Found, id: ours, proof: ProofAuditLog},
		"proved, not listed yet":                                     {now: 11, listed: 4, audit: []discordclient.AuditEntry{entry(ours, "uid")}, want: Unsure},
		"proved, deleted since":                                      {now: 40, listed: 40, audit: []discordclient.AuditEntry{entry(ours, "uid")}, gone: ours, want: Absent},
		"proved, neither listed nor known to be deleted":             {now: 40, listed: 40, audit: []discordclient.AuditEntry{entry(ours, "uid")}, want: Unsure},
		"one fits, the audit log may be late":                        {now: 11, listed: 11, channels: []*discordclient.Channel{fits(ours)}, want: Unsure},
		"one fits, the audit log never has it":                       {now: 80, listed: 30, channels: []*discordclient.Channel{fits(ours)}, want: Found, id: ours, proof: ProofMatch},
		"one fits, Discord's clock may be behind":                    {now: 79, listed: 79, channels: []*discordclient.Channel{fits(ours)}, want: Unsure},
		"one fits, and the bot may not view the log":                 {now: 30, listed: 30, channels: []*discordclient.Channel{fits(ours)}, auditDenied: true, want: Found, id: ours, proof: ProofMatch},
		"one fits, but was created for another reason":               {now: 30, listed: 30, channels: []*discordclient.Channel{fits(other)}, audit: []discordclient.AuditEntry{entry(other, "uid2")}, want: Absent},
		"one fits, but belongs to another object":                    {now: 30, listed: 30, channels: []*discordclient.Channel{fits(other)}, claimed: other, want: Absent},
		"one fits, and was made a moment ago":                        {now: 30, listed: 30, channels: []*discordclient.Channel{fits(at(29 * time.Second))}, want: Unsure},
		"made a moment ago, and never logged":                        {now: 104, listed: 45, channels: []*discordclient.Channel{fits(at(29 * time.Second))}, want: Found, id: at(29 * time.Second), proof: ProofMatch},
		"made too shortly before the log was read":                   {now: 104, logAge: 10, listed: 45, channels: []*discordclient.Channel{fits(at(29 * time.Second))}, want: Unsure},
		"one fits, and the former bot created it":                    {now: 80, listed: 30, channels: []*discordclient.Channel{fits(ours)}, audit: []discordclient.AuditEntry{formerBot}, want: Found, id: ours, proof: ProofMatch},
		"only proof counts: the former bot created it":               {proofOnly: true, now: 80, listed: 30, channels: []*discordclient.Channel{fits(ours)}, audit: []discordclient.AuditEntry{formerBot}, want: Absent},
		"two fit, one was created for another reason":                {now: 80, listed: 30, channels: []*discordclient.Channel{fits(ours), fits(other)}, audit: []discordclient.AuditEntry{entry(other, "uid2")}, want: Found, id: ours, proof: ProofMatch},
		"two fit, nothing shows which":                               {now: 30, listed: 30, channels: []*discordclient.Channel{fits(ours), fits(other)}, want: Unsure},
		"older than the intent":                                      {now: 30, listed: 30, channels: []*discordclient.Channel{fits(at(-time.Hour))}, want: Absent},
		"older than the intent, within the allowed clock difference": {now: 80, listed: 30, channels: []*discordclient.Channel{fits(at(-time.Second))}, want: Found, id: at(-time.Second), proof: ProofMatch},
		"made by hand, long after the last possible create":          {now: 300, listed: 300, channels: []*discordclient.Channel{fits(at(200 * time.Second))}, want: Absent},
		"only proof counts: one fits, the log proves it":             {proofOnly: true, now: 11, listed: 11, channels: []*discordclient.Channel{fits(ours)}, audit: []discordclient.AuditEntry{entry(ours, "uid")}, want: Found, id: ours, proof: ProofAuditLog},
		"only proof counts: one fits":                                {proofOnly: true, now: 30, listed: 30, channels: []*discordclient.Channel{fits(ours)}, want: Absent},
		"only proof counts: two fit":                                 {proofOnly: true, now: 30, listed: 30, channels: []*discordclient.Channel{fits(ours), fits(other)}, want: Absent},
		"only proof counts: one fits, too early":                     {proofOnly: true, now: 11, listed: 11, channels: []*discordclient.Channel{fits(ours)}, want: Unsure},
		"only proof counts: the log was read too early":              {proofOnly: true, now: 30, logAge: 10, listed: 30, channels: []*discordclient.Channel{fits(ours)}, want: Unsure},
		"only proof counts: one fits, no log":                        {proofOnly: true, auditDenied: true, now: 30, listed: 30, channels: []*discordclient.Channel{fits(ours)}, want: Unproven},
		"only proof counts: none fits, no log":                       {proofOnly: true, auditDenied: true, now: 30, listed: 30, want: Absent},
		"another type":                                               {now: 30, listed: 30, channels: []*discordclient.Channel{{ID: ours, Type: discordgo.ChannelTypeGuildVoice, Name: "tokyo-alerts", ParentID: "7"}}, want: Absent},
		"another category":                                           {now: 30, listed: 30, channels: []*discordclient.Channel{{ID: ours, Name: "tokyo-alerts"}}, want: Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := Intent{
				GuildID: "1", ParentID: "7", Name: "Tokyo Alerts", Reason: "uid", NotBefore: t0, LastAttempt: second(10),
				ProofOnly: c.proofOnly,
				Claimed:   func(id string) bool { return id == c.claimed }, Now: func() time.Time { return second(c.now) },
			}.withDefaults()
			got := decide(in, evidence{
				channels: c.channels, listed: second(c.listed), audit: c.audit, audited: second(c.now - c.logAge),
				auditDenied: c.auditDenied, self: "9", gone: map[string]bool{c.gone: true},
			})
			want := Result{Outcome: c.want, ID: c.id, Proof: c.proof, Why: got.Why, After: got.After}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", got.Why, diff)
			}
			if (got.Outcome == Unsure || got.Outcome == Unproven) != (got.After > 0) || got.Why == "" {
				t.Errorf("look again after %v because %q", got.After, got.Why)
			}
		})
	}
}

// endless answers like a guild with more audit log entries than one reading covers.
func endless(req *http.Request) (*http.Response, error) {
	body := any([]discordclient.Channel{})
	if q := req.URL.Query(); strings.HasSuffix(req.URL.Path, "/audit-logs") {
		limit, err := strconv.Atoi(q.Get("limit"))
		if err != nil {
			return nil, err
		}
		page := make([]discordclient.AuditEntry, limit)
		for i := range page {
			at := discordclient.CreatedAt(q.Get("after")).Add(time.Duration(i+1) * time.Millisecond)
			page[i] = discordclient.AuditEntry{
				ID: discordclient.SnowflakeAt(at), Action: discordgo.AuditLogActionChannelCreate, TargetID: "1", Reason: "other",
			}
		}
		body = map[string]any{"audit_log_entries": page}
	} else if strings.HasSuffix(req.URL.Path, "/users/@me") {
		body = discordclient.User{ID: "2"}
	}
	raw, err := json.Marshal(body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(raw))}, err
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestALogThatIsTooLongDoesNotProveAbsence(t *testing.T) {
	t.Parallel()
	c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{
		Token: discordclient.NewSecret("token"), Transport: roundTrip(endless),
	}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Hour)
	in := Intent{GuildID: "1", Name: "a", Reason: "uid", NotBefore: began, LastAttempt: began}
	got, err := Channel(t.Context(), c, in)
	if err != nil || got.Outcome != Unsure || got.After <= 0 {
		t.Errorf("%+v, %v; want it unsure", got, err)
	}
}
