// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// What Discord's answers to creates and edits say. It may store a text in another form, and has been
// seen to answer an edit with success that it does not apply: to ask for either again and again
// would change nothing.

// notAppliedRetry is when a change is asked for again that Discord has not applied, should neither
// the spec nor the resource change.
const notAppliedRetry = 10 * time.Minute

// wire are Discord's own names of the fields of a spec that are edited, where they differ.
var wire = map[string]string{
	"slowmode": "rate_limit_per_user", "defaultAutoArchive": "default_auto_archive_duration", "group": "parent_id",
	"permissionOverwrites": "permission_overwrites", "color": "colors",
	"userLimit": "user_limit", "region": "rtc_region", "videoQuality": "video_quality_mode",
	"tags": "available_tags", "requireTag": "flags", "hideMediaDownload": "flags",
	"defaultReaction": "default_reaction_emoji", "sortOrder": "default_sort_order", "layout": "default_forum_layout",
	"threadSlowmode":    "default_thread_rate_limit_per_user",
	"verificationLevel": "verification_level", "defaultNotifications": "default_message_notifications",
	"explicitContentFilter": "explicit_content_filter", "preferredLocale": "preferred_locale",
	"afkChannelId": "afk_channel_id", "afkTimeout": "afk_timeout", "systemChannelRef": "system_channel_id",
	"systemChannelFlags": "system_channel_flags", "afkChannelRef": "afk_channel_id",
	"rulesChannelRef": "rules_channel_id", "publicUpdatesChannelRef": "public_updates_channel_id",
}

// Stored is what Discord has stored otherwise than it was asked for, by the field of the spec.
type Stored map[string]storedValue

// storedValue is one of them: what was asked for and what is stored, both in JSON.
type storedValue struct {
	asked, stored string
	// ignored says that the change was not applied, and not that a text is stored in another form.
	ignored bool
	// features are those that the guild had when it was asked for; empty of what is no guild.
	features string
	// at is when it was asked for, and generation that of the object which did.
	at         time.Time
	generation int64
}

// With leaves out what a guild with other features has not applied: some settings are those of community
// servers alone.
func (s Stored) With(features []string) Stored {
	maps.DeleteFunc(s, func(_ string, v storedValue) bool {
		return v.ignored && v.features != "" && v.features != text(features)
	})
	return s
}

// Differences are how a resource differs from its spec. What the spec leaves out is not compared.
type Differences struct {
	// Stored is what Discord has stored otherwise than it was asked for.
	Stored Stored
	// Fields are those that an edit changes, Ignored those whose change Discord has not applied.
	Fields, Ignored []string
	// Changes are what the edit does to the Fields.
	Changes []Change
}

// Differ compares a setting with what a spec asks for, nil for nothing; the edit corrects a
// difference, unless Discord is known to store it so.
func Differ[T any](d *Differences, field string, want *T, live T, edit *discordclient.Change[T]) {
	if want == nil || text(*want) == text(live) {
		return
	}
	switch known, ok := d.Stored[field]; {
	case !ok || known.asked != text(*want) || known.stored != text(live):
		d.Fields, *edit = append(d.Fields, field), discordclient.Set(*want)
		d.Changes = append(d.Changes, Change{Field: field, From: live, To: *want})
	case known.ignored:
		d.Ignored = append(d.Ignored, field)
	}
}

// DifferFlags is Differ for the flags of a channel, each of which is a field of the spec.
func DifferFlags(d *Differences, want, live int, edit *discordclient.Change[int]) {
	fields := map[string]int{
		"requireTag": discordclient.FlagRequireTag, "hideMediaDownload": discordclient.FlagHideMediaDownload,
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if (want^live)&fields[field] != 0 {
			Differ(d, field, &want, live, edit)
		}
	}
}

// Issue is what keeps the resource from matching its spec; nil for nothing.
func (d *Differences) Issue() *conditions.Issue {
	if len(d.Ignored) == 0 {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotApplied,
		"Discord has accepted a change of %s and has not applied it. Change the spec to what Discord shows, or leave it "+
			"out. The change is retried every %.0f minutes.", strings.Join(d.Ignored, ", "), notAppliedRetry.Minutes(),
	).After(notAppliedRetry)
}

// NotApplied is the error that Discord has not applied a change of some fields; nil for none.
func NotApplied(fields []string) error {
	if issue := (&Differences{Ignored: fields}).Issue(); issue != nil {
		return issue
	}
	return nil
}

// Stored returns what Discord has stored otherwise than the object asked for. What it has not applied
// is asked for again after a while, and for a new spec.
func (r *Records) Stored(o client.Object) Stored {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := maps.Clone(r.stored[o.GetUID()])
	maps.DeleteFunc(stored, func(_ string, v storedValue) bool {
		return v.ignored && (v.generation != o.GetGeneration() || r.clock.Since(v.at) >= notAppliedRetry)
	})
	return stored
}

// Answered records what an answer says of the fields that were asked for. It returns those that have
// changed, and those that Discord has not applied.
func (r *Records) Answered(o client.Object, fields []string, asked, before, after any) (changed, ignored []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := maps.Clone(r.stored[o.GetUID()])
	if stored == nil {
		stored = Stored{}
	}
	want, was, is := values(asked), values(before), values(after)
	for _, field := range fields {
		key := cmp.Or(wire[field], field)
		if want[key] == "" {
			continue
		}
		v := storedValue{asked: want[key], stored: is[key], features: was["features"], at: r.clock.Now(),
			generation: o.GetGeneration()}
		v.ignored = v.stored == was[key] && !alike(v.asked, v.stored)
		if delete(stored, field); v.asked != v.stored {
			stored[field] = v
		}
		switch {
		case v.ignored:
			ignored = append(ignored, field)
		case v.stored != was[key]:
			changed = append(changed, field)
		}
	}
	r.stored[o.GetUID()] = stored
	return changed, ignored
}

// values are the fields of something that Discord takes or answers, by its own names for them.
func values(v any) map[string]string {
	var fields map[string]json.RawMessage
	raw, _ := json.Marshal(v) // of our own types, which can be marshalled
	_ = json.Unmarshal(raw, &fields)
	all := make(map[string]string, len(fields))
	for key, value := range fields {
		all[key] = text(value)
	}
	return all
}

// text is a value in JSON; no text, no id and no list are all null.
func text(v any) string {
	raw, _ := json.Marshal(v)
	if s := string(raw); s != `""` && s != "[]" {
		return s
	}
	return "null"
}

// alike reports whether two texts differ in white space, punctuation and case alone, as where
// Discord has normalised one.
func alike(a, b string) bool {
	letters := func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}
	return strings.HasPrefix(a, `"`) && strings.Map(letters, a) == strings.Map(letters, b)
}
