// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Action names one effect of a plan on a resource.
type Action string

const (
	// ActionCreate creates it.
	ActionCreate Action = "create"
	// ActionSet is a field with which it is created.
	ActionSet Action = "set"
	// ActionChange changes a field of one that exists.
	ActionChange Action = "change"
	// ActionMove gives it another place among its siblings.
	ActionMove Action = "move"
	// ActionDelete deletes it.
	ActionDelete Action = "delete"
	// ActionGive gives a role to a user.
	ActionGive Action = "give"
	// ActionTake takes a role from a user.
	ActionTake Action = "take"
)

// Difference is one thing that carrying out a plan would change on Discord, for users to read.
type Difference struct {
	Action Action `json:"action"`
	// Field is that of the spec, for ActionSet and ActionChange.
	Field string `json:"field,omitempty"`
	// From is as it is, To as the spec asks for.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// String is the difference in one line.
func (d Difference) String() string {
	switch d.Action {
	case ActionSet:
		return d.Field + ": " + d.To
	case ActionChange:
		return d.Field + ": " + d.From + " -> " + d.To
	case ActionGive:
		return d.Field + ": give to " + d.To
	case ActionTake:
		return d.Field + ": take from " + d.From
	default:
		parts := []string{string(d.Action), d.Field, d.To}
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
	}
}

// Changes are changes of a resource for users to read.
func Changes(changes []Change, snap *guildcache.Snapshot) (all []Difference) {
	for _, c := range changes {
		if to, ok := c.To.([]discordclient.Overwrite); ok {
			from, _ := c.From.([]discordclient.Overwrite)
			all = append(all, overwriteChanges(c.Field, from, to, snap)...)
			continue
		}
		words := c.Text
		if words == nil || c.From == nil {
			words = textOf
		}
		from, to := words(c.From, snap), words(c.To, snap)
		all = append(all, Difference{Action: ActionChange, Field: c.Field, From: from, To: to})
	}
	return all
}

// Creates are the fields of a resource that is to be created, for users to read.
func Creates(changes []Change, snap *guildcache.Snapshot) []Difference {
	all := Changes(changes, snap)
	for i := range all {
		all[i].Action, all[i].From = ActionSet, ""
	}
	return all
}

// overwriteChanges has a difference for each role or user whose overwrite is another one.
func overwriteChanges(field string, from, to []discordclient.Overwrite, snap *guildcache.Snapshot) (all []Difference) {
	before, after := byID(from), byID(to)
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, id := range slices.SortedFunc(maps.Keys(both), discordclient.CompareIDs) {
		was, existed := before[id]
		is, stays := after[id]
		if existed && stays && was == is {
			continue
		}
		all = append(all, Difference{
			Action: ActionChange, Field: field + " of " + holder(both[id], snap),
			From: overwriteText(was, existed), To: overwriteText(is, stays),
		})
	}
	return all
}

func byID(list []discordclient.Overwrite) map[string]discordclient.Overwrite {
	all := map[string]discordclient.Overwrite{}
	for _, o := range list {
		all[o.ID] = o
	}
	return all
}

// holder is the role or user of an overwrite.
func holder(o discordclient.Overwrite, snap *guildcache.Snapshot) string {
	if o.Type == discordgo.PermissionOverwriteTypeMember {
		return "user " + o.ID
	}
	if role, ok := snap.Role(o.ID); ok {
		return "role " + Quoted(role.Name)
	}
	return "role " + o.ID
}

func overwriteText(o discordclient.Overwrite, exists bool) string {
	if !exists {
		return unset
	}
	return "allow " + bitsText(o.Allow) + ", deny " + bitsText(o.Deny)
}

// unset is the text of no value.
const unset = "none"

// textOf is the text of a value by its type.
func textOf(value any, _ *guildcache.Snapshot) string {
	switch v := value.(type) {
	case string:
		return Quoted(v)
	case int:
		return strconv.Itoa(v)
	case discordgo.ChannelType:
		return (&discordclient.Channel{Type: v}).TypeName()
	case permissions.Bits:
		return bitsText(v)
	case discordclient.RoleColors:
		return colorsText(v)
	case *discordclient.Emoji:
		if v == nil {
			return unset
		}
		return v.String()
	case []discordclient.Tag:
		return tagsText(v)
	case nil:
		return unset
	}
	return cut(inJSON(value))
}

// Plain is the text of a hash or a word; "none" of no text.
func Plain[T ~string](value any, _ *guildcache.Snapshot) string {
	return cmp.Or(string(value.(T)), unset)
}

// ChannelName is the name of the channel with an id, or the id of one that is not there; "none" of no id.
func ChannelName(value any, snap *guildcache.Snapshot) string {
	id := value.(string)
	if ch, ok := snap.Channel(id); ok && id != "" {
		return Quoted(ch.Name)
	}
	return cmp.Or(id, unset)
}

// Seconds is the text of a number of seconds.
func Seconds(value any, _ *guildcache.Snapshot) string {
	seconds := value.(int)
	return (time.Duration(seconds) * time.Second).String()
}

// Flag is the text of one bit of a number: whether it is set.
func Flag(bit int) Text {
	return func(value any, _ *guildcache.Snapshot) string { return strconv.FormatBool(value.(int)&bit != 0) }
}

// Word is the text of a number: the word that a spec has for it.
func (n Names[T]) Word(value any, _ *guildcache.Snapshot) string {
	return cmp.Or(string(n[value.(int)]), strconv.Itoa(value.(int)))
}

// WordOrNull is Word for a number that may be Discord's null.
func (n Names[T]) WordOrNull(null int) Text {
	return func(value any, snap *guildcache.Snapshot) string {
		if number := value.(*int); number != nil {
			return n.Word(*number, snap)
		}
		return n.Word(null, snap)
	}
}

// List is the text of bits: the words that a spec has for them.
func (n Names[T]) List(value any, _ *guildcache.Snapshot) string {
	var words []string
	for _, word := range n.Words(value.(int)) {
		words = append(words, string(word))
	}
	return cmp.Or(strings.Join(words, ", "), unset)
}

func bitsText(bits permissions.Bits) string { return cmp.Or(bits.String(), unset) }

// colorsText is a color, and the others of a gradient.
func colorsText(c discordclient.RoleColors) string {
	all := []string{discordclient.FormatColor(c.Primary)}
	for _, next := range []*int{c.Secondary, c.Tertiary} {
		if next != nil {
			all = append(all, discordclient.FormatColor(*next))
		}
	}
	return strings.Join(all, " to ")
}

// tagsText are tags by their names.
func tagsText(list []discordclient.Tag) string {
	all := make([]string, 0, len(list))
	for _, t := range list {
		words := []string{t.String(), t.Name}
		if t.Moderated {
			words = append(words, "(moderated)")
		}
		all = append(all, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	return cut(cmp.Or(strings.Join(all, ", "), unset))
}

// Quoted is a text of Discord's or of a spec, in one line and no longer than fits.
func Quoted(s string) string { return strconv.Quote(cut(s)) }

// maxShown limits the characters of a value that are shown.
const maxShown = 80

func cut(s string) string {
	if runes := []rune(s); len(runes) > maxShown {
		return string(runes[:maxShown-3]) + "..."
	}
	return s
}
