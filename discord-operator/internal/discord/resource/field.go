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

// Row describes a field that the operator manages.
type Row struct {
	Name, Wire string // name in the spec, and name in Discord's API
	Path       string // path in the spec; empty for a field that [Table.Fill] does not set
	Guard      bool   // whether the field decides who may view the resource; a refused field must not block it
	Limited    bool   // whether Discord limits the rate of the field's changes separately
}

// Rows describes all managed fields of a kind.
type Rows []Row

// Wires returns the API names of fields.
func (r Rows) Wires(fields []string) []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, r.row(f).Wire)
	}
	return names
}

// ByWire returns the fields with these API names. Several fields may share an API name.
func (r Rows) ByWire(fields []string, wires ...string) []string {
	return r.Select(fields, func(row Row) bool { return slices.Contains(wires, row.Wire) })
}

// Select returns the fields that a function accepts.
func (r Rows) Select(fields []string, accept func(Row) bool) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return !accept(r.row(f)) })
}

// Guards reports whether the fields include one that decides who may view the resource.
func (r Rows) Guards(fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return r.row(f).Guard })
}

// Guarded reports whether the kind has a field that decides who may view the resource.
func (r Rows) Guarded() bool { return slices.ContainsFunc(r, func(row Row) bool { return row.Guard }) }

func (r Rows) row(name string) Row {
	if i := slices.IndexFunc(r, func(row Row) bool { return row.Name == name }); i >= 0 {
		return r[i]
	}
	return Row{Name: name, Wire: name}
}

// Field relates a field of the spec S to the live resource L and to the PATCH request E.
type Field[S, L, E any] struct {
	Row
	differ    func(d *Differences, row *Field[S, L, E], s S, live *L, edit *E)
	remaining func(d *Differences, row *Field[S, L, E], asked *E, made *L, edit *E)
	fill      func(s *S, live *L) error
	has       func(live *L) bool // nil if every resource has the field
	text      Text
}

// Text formats a value for users. The snapshot has the names of channels and roles.
type Text func(value any, names *guildcache.Snapshot) string

// NewMember returns a field whose desired value is in the Go struct field at `at` of the spec. as
// converts this value to Discord's form and back.
func NewMember[S, L, E, M, T any](name, wire string, at func(*S) *M, as Form[M, T]) Field[S, L, E] {
	from := Member[L, T](cmp.Or(wire, name))
	return NewField[S, L, E](name, wire, func(s S) *T { return as.Value(*at(&s)) }).
		Filled(func(s *S, live *L) (err error) {
			*at(s), err = as.Member(*from(live))
			return err
		}).Format(as.Text)
}

// NewField returns a field. wire defaults to name. want returns nil for an unmanaged field.
func NewField[S, L, E, T any](name, wire string, want func(S) *T) Field[S, L, E] {
	return NewPartialField[S, L, E](name, wire, want, nil)
}

// NewPartialField returns a field that a create sets in part. An edit then sets the value that
// remaining returns, unless that value is nil.
func NewPartialField[S, L, E, T any](
	name, wire string, want func(S) *T, remaining func(asked T, made *L) *T,
) Field[S, L, E] {
	wire = cmp.Or(wire, name)
	from, to := Member[L, T](wire), Member[E, discordclient.Change[T]](wire)
	at := func(live *L, edit *E) (T, *discordclient.Change[T]) { return *from(live), to(edit) }
	f := NewFieldAt(name, want, at)
	f.Wire = wire
	f.remaining = func(d *Differences, row *Field[S, L, E], asked *E, made *L, edit *E) {
		want, ok := to(asked).Get()
		value := &want
		if ok && remaining != nil {
			value = remaining(want, made)
		}
		if ok {
			differ(d, name, row.text, value, *from(made), to(edit))
		}
	}
	return f
}

// NewFieldAt returns a field that a create never sets. at returns its live value and its change.
func NewFieldAt[S, L, E, T any](
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

// Member finds a member of S by its JSON name and its type M. It panics if there is none.
func Member[S, M any](name string) func(*S) *M {
	of, kind := reflect.TypeFor[S](), reflect.TypeFor[M]()
	for _, f := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && f.Type == kind {
			return func(s *S) *M { return reflect.ValueOf(s).Elem().FieldByIndex(f.Index).Addr().Interface().(*M) }
		}
	}
	panic(fmt.Sprintf("%s has no member %s of the type %s", of, name, kind)) // at start, when tables are made
}

// Filled adds fill, which sets the spec to the live value, or returns why it cannot.
func (f Field[S, L, E]) Filled(fill func(s *S, live *L) error) Field[S, L, E] {
	f.Path, f.fill = f.Name, fill
	return f
}

// Of limits the field to some resources. The specs of other resources lack the field.
func (f Field[S, L, E]) Of(has func(live *L) bool) Field[S, L, E] {
	if all := f.has; all != nil {
		f.has = func(live *L) bool { return all(live) && has(live) }
	} else {
		f.has = has
	}
	return f
}

// Format returns the field with text as its formatter.
func (f Field[S, L, E]) Format(text Text) Field[S, L, E] {
	f.text = text
	return f
}

// Guard marks the field as deciding who may view the resource.
func (f Field[S, L, E]) Guard() Field[S, L, E] {
	f.Row.Guard = true
	return f
}

// Limited marks the field as having a rate limit of its own on Discord.
func (f Field[S, L, E]) Limited() Field[S, L, E] {
	f.Row.Limited = true
	return f
}

// Table lists the fields of a kind in the order in which differences are reported.
type Table[S, L, E any] []Field[S, L, E]

// Rows returns the table without the functions of its fields.
func (t Table[S, L, E]) Rows() (rows Rows) {
	for _, f := range t {
		rows = append(rows, f.Row)
	}
	return rows
}

// In moves the fields below a member of the spec, and limits them to some resources.
func (t Table[S, L, E]) In(parent string, has func(live *L) bool) Table[S, L, E] {
	t = slices.Clone(t)
	for i, f := range t {
		if t[i] = f.Of(has); f.fill != nil {
			t[i].Path = parent + "." + f.Path
		}
	}
	return t
}

// Omission names a field that the spec cannot set to its live value, and the reason.
type Omission struct{ Path, Why string }

// Fill sets the fields of a spec to the values of a resource: the inverse of [Table.Differ].
func (t Table[S, L, E]) Fill(s *S, live *L) (omitted []Omission) {
	for _, f := range t {
		if f.fill == nil || f.has != nil && !f.has(live) {
			continue
		}
		if err := f.fill(s, live); err != nil {
			omitted = append(omitted, Omission{f.Path, err.Error()})
		}
	}
	return omitted
}

// Differ returns the differences between a spec and a resource, and the edit that removes them.
func (t Table[S, L, E]) Differ(s S, live *L, stored StoredForms) (edit E, d Differences) {
	d.Stored = stored
	for i := range t {
		t[i].differ(&d, &t[i], s, live, &edit)
	}
	return edit, d
}

// Remaining returns the edit for the requested values that the create has not set.
func (t Table[S, L, E]) Remaining(asked E, made *L, stored StoredForms) (edit E, fields []string) {
	d := Differences{Stored: stored}
	for i := range t {
		t[i].remaining(&d, &t[i], &asked, made, &edit)
	}
	return edit, d.Fields
}

// Overwrites returns the field of permission overwrites. want returns them and the live channel.
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
	return NewPartialField[S, discordclient.Channel, discordclient.ChannelEdit](
		"permissionOverwrites", "permission_overwrites", func(s S) *list { return differing(want(s)) }, differing).Guard()
}
