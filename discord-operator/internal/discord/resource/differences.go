// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
	"unicode"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// NotAppliedRetry is when a change is asked for again that Discord has not applied, should neither
// the spec nor the resource change.
const NotAppliedRetry = 10 * time.Minute

// StoredForms has the fields of a spec that Discord stores otherwise than it was asked for. It may store a text in
// another form, and has been seen to answer an edit with success that it does not apply: to ask for either again
// and again would change nothing.
type StoredForms map[string]StoredForm

// StoredForm is a value that was asked for, and the one that Discord stores, both in JSON.
type StoredForm struct {
	Asked, Stored string
	// Ignored says that the change was not applied, and not that a text is stored in another form.
	Ignored bool
	// Features are the guild's at that time; empty where the resource is no guild.
	Features string
	// At is when it was asked for, and Generation that of the object which did.
	At         time.Time
	Generation int64
}

// With drops ignored changes of a guild that has other features now: Discord has some settings for community servers
// alone.
func (s StoredForms) With(features []string) StoredForms {
	maps.DeleteFunc(s, func(_ string, v StoredForm) bool {
		return v.Ignored && v.Features != "" && v.Features != inJSON(features)
	})
	return s
}

// Change is the change of one field of a resource.
type Change struct {
	Field string
	// From is as it is, To as the spec asks for.
	From, To any
	// Text writes both for users; nil for the text of their type.
	Text Text
}

// Differences compare a resource with its spec. Fields that the spec leaves out are not compared.
type Differences struct {
	// Stored has the values that Discord stores otherwise than it was asked for.
	Stored StoredForms
	// An edit changes Fields. Discord has not applied a change of Ignored.
	Fields, Ignored []string
	// Changes has the old and new values of Fields.
	Changes []Change
}

// differ compares a setting with what a spec asks for, nil for nothing; the edit corrects a
// difference, unless Discord is known to store it so.
func differ[T any](
	d *Differences, field string, words Text, want *T, live T, edit *discordclient.Change[T],
) {
	if want == nil || inJSON(*want) == inJSON(live) {
		return
	}
	switch known, ok := d.Stored[field]; {
	case !ok || known.Asked != inJSON(*want) || known.Stored != inJSON(live):
		d.Fields, *edit = append(d.Fields, field), discordclient.Set(*want)
		d.Changes = append(d.Changes, Change{Field: field, From: live, To: *want, Text: words})
	case known.Ignored:
		d.Ignored = append(d.Ignored, field)
	}
}

// Issue returns the issue of ignored changes; nil for none.
func (d *Differences) Issue() *conditions.Issue {
	if len(d.Ignored) == 0 {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotApplied,
		"Discord has accepted a change of %s and has not applied it. Change the spec to what Discord shows, or leave it "+
			"out. The change is retried every %.0f minutes.", strings.Join(d.Ignored, ", "), NotAppliedRetry.Minutes(),
	).After(NotAppliedRetry)
}

// NotApplied is the error that Discord has not applied a change of some fields; nil for none.
func NotApplied(fields []string) error {
	if issue := (&Differences{Ignored: fields}).Issue(); issue != nil {
		return issue
	}
	return nil
}

// Answer compares a response with the fields that were asked for.
type Answer struct {
	// Asked lists the fields that were sent; Stored has the values that Discord stores otherwise.
	Asked  []string
	Stored StoredForms
	// Changed have another value than before, Ignored were not applied.
	Changed, Ignored []string
}

// Compare compares a response with the fields that were asked for.
func (r Rows) Compare(fields []string, asked, before, after any) (a Answer) {
	want, was, is := values(asked), values(before), values(after)
	a.Stored = StoredForms{}
	for _, field := range fields {
		key := r.row(field).Wire
		if want[key] == "" {
			continue
		}
		a.Asked = append(a.Asked, field)
		v := StoredForm{Asked: want[key], Stored: is[key], Features: was["features"]}
		v.Ignored = v.Stored == was[key] && !alike(v.Asked, v.Stored)
		if v.Asked != v.Stored {
			a.Stored[field] = v
		}
		switch {
		case v.Ignored:
			a.Ignored = append(a.Ignored, field)
		case v.Stored != was[key]:
			a.Changed = append(a.Changed, field)
		}
	}
	return a
}

// values are the fields of something that Discord takes or answers, by its own names for them.
func values(v any) map[string]string {
	var fields map[string]json.RawMessage
	raw, _ := json.Marshal(v) // of our own types, which can be marshalled
	_ = json.Unmarshal(raw, &fields)
	all := make(map[string]string, len(fields))
	for key, value := range fields {
		all[key] = inJSON(value)
	}
	return all
}

// inJSON is a value in JSON; no text, no id and no list are all null.
func inJSON(v any) string {
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
