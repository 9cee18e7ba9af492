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

// NotAppliedRetry is the delay before the operator requests an ignored change again.
const NotAppliedRetry = 10 * time.Minute

// StoredForms maps fields that Discord stores in another form, or ignores, to the stored values.
type StoredForms map[string]StoredForm

// StoredForm has the requested and the stored value, in JSON.
type StoredForm struct {
	Asked, Stored string
	Ignored       bool   // whether the change was not applied
	Features      string // features of the guild at that time; empty for other resources
	At            time.Time
	Generation    int64 // generation of the requesting object
}

// WithFeatures drops ignored changes if the guild's features, such as COMMUNITY, have changed.
func (s StoredForms) WithFeatures(features []string) StoredForms {
	maps.DeleteFunc(s, func(_ string, v StoredForm) bool {
		return v.Ignored && v.Features != "" && v.Features != inJSON(features)
	})
	return s
}

// Change is the change of one field.
type Change struct {
	Field    string
	From, To any
	Text     Text // formats From and To; nil selects the format for their type
}

// Differences compare a resource with its spec. They ignore fields that the spec leaves out.
type Differences struct {
	Stored          StoredForms
	Fields, Ignored []string // Fields need an edit; Discord has ignored changes of Ignored
	Changes         []Change // changes of the fields in Fields
}

// differ adds the field to d.Fields if it needs an edit, or to d.Ignored if Discord has ignored the
// same edit before.
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
		"Discord accepted a change of %s but did not apply it. Set the spec to the value that Discord shows, or remove "+
			"the field. The operator retries every %.0f minutes.", strings.Join(d.Ignored, ", "), NotAppliedRetry.Minutes(),
	).After(NotAppliedRetry)
}

// NotApplied returns the error that Discord has ignored changes of fields; nil for none.
func NotApplied(fields []string) error {
	if issue := (&Differences{Ignored: fields}).Issue(); issue != nil {
		return issue
	}
	return nil
}

// Answer has the result of [Rows.Compare].
type Answer struct {
	Asked            []string    // the fields that were sent
	Stored           StoredForms // the fields that Discord stores in another form
	Changed, Ignored []string    // compared with the state before the request
}

// Compare compares Discord's response with the requested fields and the state before the request.
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
		v.Ignored = v.Stored == was[key] && !sameLetters(v.Asked, v.Stored)
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

func values(v any) map[string]string {
	var fields map[string]json.RawMessage
	raw, _ := json.Marshal(v) // values of our own types always marshal
	_ = json.Unmarshal(raw, &fields)
	all := make(map[string]string, len(fields))
	for key, value := range fields {
		all[key] = inJSON(value)
	}
	return all
}

func inJSON(v any) string {
	raw, _ := json.Marshal(v)
	if s := string(raw); s != `""` && s != "[]" {
		return s
	}
	return "null"
}

// sameLetters compares only the letters and digits of JSON strings, without case, because Discord
// normalises white space, punctuation and case.
func sameLetters(a, b string) bool {
	letters := func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}
	return strings.HasPrefix(a, `"`) && strings.Map(letters, a) == strings.Map(letters, b)
}
