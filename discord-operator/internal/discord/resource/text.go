// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Action says how a plan changes a resource.
type Action string

// The actions of a plan.
const (
	ActionCreate Action = "create" // a resource
	ActionSet    Action = "set"    // a field of a new resource
	ActionChange Action = "change" // a field of an existing resource
	ActionMove   Action = "move"   // among its siblings
	ActionDelete Action = "delete"
	ActionGive   Action = "give" // a role to a user
	ActionTake   Action = "take" // a role from a user
)

// Difference is one planned change, formatted for users.
type Difference struct {
	Action Action `json:"action"`
	Field  string `json:"field,omitempty"` // of the spec, for ActionSet and ActionChange
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

// String returns the difference in one line.
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

// Changes formats the changes of an existing resource for users.
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

// Creates formats the fields of a new resource for users.
func Creates(changes []Change, snap *guildcache.Snapshot) []Difference {
	all := Changes(changes, snap)
	for i := range all {
		all[i].Action, all[i].From = ActionSet, ""
	}
	return all
}

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
			Action: ActionChange, Field: field + " of " + targetText(both[id], snap),
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

func targetText(o discordclient.Overwrite, snap *guildcache.Snapshot) string {
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

const unset = "none"

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
		return harmless(v.String())
	case []discordclient.Tag:
		return tagsText(v)
	case nil:
		return unset
	}
	return shorten(inJSON(value))
}

// Plain formats a word, and the empty word as "none".
func Plain[T ~string](value any, _ *guildcache.Snapshot) string {
	return cmp.Or(harmless(string(value.(T))), unset)
}

// ChannelName formats a channel id: the name, the id if the channel is unknown, or "none".
func ChannelName(value any, snap *guildcache.Snapshot) string {
	id := value.(string)
	if ch, ok := snap.Channel(id); ok && id != "" {
		return Quoted(ch.Name)
	}
	return cmp.Or(id, unset)
}

func secondsText(value any, _ *guildcache.Snapshot) string {
	seconds := value.(int)
	return (time.Duration(seconds) * time.Second).String()
}

// Flag formats one bit of a number as a bool.
func Flag(bit int) Text {
	return func(value any, _ *guildcache.Snapshot) string { return strconv.FormatBool(value.(int)&bit != 0) }
}

// Word formats one of Discord's numbers as its word.
func (n Enum[T]) Word(value any, _ *guildcache.Snapshot) string {
	return cmp.Or(string(n[value.(int)]), strconv.Itoa(value.(int)))
}

// WordOrNull formats an optional number as its word. null is the number in n for Discord's null.
func (n Enum[T]) WordOrNull(null int) Text {
	return func(value any, snap *guildcache.Snapshot) string {
		if number := value.(*int); number != nil {
			return n.Word(*number, snap)
		}
		return n.Word(null, snap)
	}
}

// List formats bits as their words.
func (n Enum[T]) List(value any, _ *guildcache.Snapshot) string {
	var words []string
	for _, word := range n.Words(value.(int)) {
		words = append(words, string(word))
	}
	return cmp.Or(strings.Join(words, ", "), unset)
}

func bitsText(bits permissions.Bits) string { return cmp.Or(bits.String(), unset) }

func colorsText(c discordclient.RoleColors) string {
	all := []string{discordclient.FormatColor(c.Primary)}
	for _, next := range []*int{c.Secondary, c.Tertiary} {
		if next != nil {
			all = append(all, discordclient.FormatColor(*next))
		}
	}
	return strings.Join(all, " to ")
}

func tagsText(list []discordclient.Tag) string {
	all := make([]string, 0, len(list))
	for _, t := range list {
		words := []string{harmless(t.String()), Quoted(t.Name)}
		if t.Moderated {
			words = append(words, "(moderated)")
		}
		all = append(all, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	return shorten(cmp.Or(strings.Join(all, ", "), unset))
}

// harmless quotes a text with control characters, which a terminal could obey.
func harmless(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return Quoted(s)
	}
	return s
}

// Quoted shortens and quotes a text.
func Quoted(s string) string { return strconv.Quote(shorten(s)) }

const maxText = 80 // characters

func shorten(s string) string {
	if runes := []rune(s); len(runes) > maxText {
		return string(runes[:maxText-3]) + "..."
	}
	return s
}
