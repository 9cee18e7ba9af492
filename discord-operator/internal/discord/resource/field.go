// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Row names a field.
type Row struct {
	// Name is the field's in a spec, Wire Discord's.
	Name, Wire string
	// Guard marks the field that says who may view the resource. No other field keeps it from being sent.
	Guard bool
	// Limited marks a field that has a rate limit of its own.
	Limited bool
}

// Rows name the fields of a kind.
type Rows []Row

// Wires returns Discord's names of fields.
func (r Rows) Wires(fields []string) []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, r.row(f).Wire)
	}
	return names
}

// Named returns the fields that Discord knows by some names. Several may have one.
func (r Rows) Named(fields []string, wires ...string) []string {
	return r.Select(fields, func(row Row) bool { return slices.Contains(wires, row.Wire) })
}

// Select returns the fields whose rows a function accepts.
func (r Rows) Select(fields []string, accept func(Row) bool) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return !accept(r.row(f)) })
}

// Guards reports whether one of the fields is the guard.
func (r Rows) Guards(fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return r.row(f).Guard })
}

// Guarded reports whether the kind has a guard.
func (r Rows) Guarded() bool { return slices.ContainsFunc(r, func(row Row) bool { return row.Guard }) }

func (r Rows) row(name string) Row {
	if i := slices.IndexFunc(r, func(row Row) bool { return row.Name == name }); i >= 0 {
		return r[i]
	}
	return Row{Name: name, Wire: name}
}

// Field is one field of a kind. It reads the spec from S, the live value from the resource L, and writes the edit E.
type Field[S, L, E any] struct {
	Row
	differ    func(d *Differences, row *Field[S, L, E], s S, live *L, edit *E)
	remaining func(d *Differences, row *Field[S, L, E], asked *E, made *L, edit *E)
	text      Text
}

// Text writes a value of a field for users. The state of the guild names channels and roles.
type Text func(value any, names *guildcache.Snapshot) string

// Of returns the row of a field that resource and edit have under Discord's name, wire; without wire, it is the name.
// want returns the desired value; nil where the spec leaves the field out.
func Of[S, L, E, T any](name, wire string, want func(S) *T) Field[S, L, E] {
	return OfPart[S, L, E](name, wire, want, nil)
}

// OfPart is Of for a field that a create sets in part. remaining returns the value that an edit sets after the create;
// nil for none.
func OfPart[S, L, E, T any](
	name, wire string, want func(S) *T, remaining func(asked T, made *L) *T,
) Field[S, L, E] {
	wire = cmp.Or(wire, name)
	from, to := member[L, T](wire), member[E, discordclient.Change[T]](wire)
	at := func(live *L, edit *E) (T, *discordclient.Change[T]) { return *from(live), to(edit) }
	f := At(name, want, at)
	f.Wire = wire
	f.remaining = func(d *Differences, row *Field[S, L, E], asked *E, made *L, edit *E) {
		want, ok := to(asked).Get()
		left := &want
		if ok && remaining != nil {
			left = remaining(want, made)
		}
		if ok {
			differ(d, name, row.text, left, *from(made), to(edit))
		}
	}
	return f
}

// At returns the row of a field that has the same name on Discord and is never part of a create: at returns its live
// value and its place in an edit.
func At[S, L, E, T any](
	name string, want func(S) *T, at func(*L, *E) (T, *discordclient.Change[T]),
) Field[S, L, E] {
	return Field[S, L, E]{
		Row: Row{Name: name, Wire: name},
		differ: func(d *Differences, row *Field[S, L, E], s S, live *L, edit *E) {
			value, to := at(live, edit)
			differ(d, name, row.text, want(s), value, to)
		},
		remaining: func(*Differences, *Field[S, L, E], *E, *L, *E) {},
	}
}

// member returns the access to the member of a struct that has a name in JSON and a type.
func member[S, M any](name string) func(*S) *M {
	of, kind := reflect.TypeFor[S](), reflect.TypeFor[M]()
	for _, f := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && f.Type == kind {
			return func(s *S) *M { return reflect.ValueOf(s).Elem().FieldByIndex(f.Index).Addr().Interface().(*M) }
		}
	}
	panic(fmt.Sprintf("%s has no member %s of the type %s", of, name, kind)) // when the table is made
}

// Words returns the field with a text of its own.
func (f Field[S, L, E]) Words(text Text) Field[S, L, E] {
	f.text = text
	return f
}

// Guard returns the field as the guard of its kind.
func (f Field[S, L, E]) Guard() Field[S, L, E] {
	f.Row.Guard = true
	return f
}

// Limited returns the field as one with a rate limit of its own.
func (f Field[S, L, E]) Limited() Field[S, L, E] {
	f.Row.Limited = true
	return f
}

// Table lists the fields of a kind, in the order in which differences name them.
type Table[S, L, E any] []Field[S, L, E]

// Rows returns the names of the fields.
func (t Table[S, L, E]) Rows() (rows Rows) {
	for _, f := range t {
		rows = append(rows, f.Row)
	}
	return rows
}

// Differ returns the edit that makes a resource match its spec, and how the two differ.
func (t Table[S, L, E]) Differ(s S, live *L, stored StoredForms) (edit E, d Differences) {
	d.Stored = stored
	for i := range t {
		t[i].differ(&d, &t[i], s, live, &edit)
	}
	return edit, d
}

// Remaining returns the edit of what a create has not done, and its fields: asked has what the create asked for.
func (t Table[S, L, E]) Remaining(asked E, made *L, stored StoredForms) (edit E, fields []string) {
	d := Differences{Stored: stored}
	for i := range t {
		t[i].remaining(&d, &t[i], &asked, made, &edit)
	}
	return edit, d.Fields
}

// Overwrites returns the row of the permission overwrites of a channel or category. want returns the desired ones,
// nil for unmanaged, and the live channel.
func Overwrites[S any](
	want func(S) ([]discordclient.Overwrite, *discordclient.Channel),
) Field[S, discordclient.Channel, discordclient.ChannelEdit] {
	type list = []discordclient.Overwrite
	differing := func(want list, live *discordclient.Channel) *list {
		if want == nil || overwrites.Same(live.Overwrites, want) {
			return nil
		}
		return &want
	}
	return OfPart[S, discordclient.Channel, discordclient.ChannelEdit]("permissionOverwrites", "permission_overwrites",
		func(s S) *list { return differing(want(s)) }, differing).Guard()
}
