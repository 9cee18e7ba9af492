// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Change is what becomes of one field of a resource.
type Change struct {
	Field string
	// From is as it is, To as the spec asks for.
	From, To any
}

// Action is what carrying out a plan does to a resource.
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

// Differences are what carrying out the plan of a resource would change in a state of a guild. The names of
// channels and roles are those in another one, which may have more of them.
func (p *Plan) Differences(kind Kind, b Binding, snap, names *guildcache.Snapshot) (all []Difference) {
	if p.Create != nil || p.CreateRole != nil || b.Absent {
		return append([]Difference{{Action: ActionCreate}}, Creates(p.Changes, names)...)
	}
	all = Changes(p.Changes, names)
	moved := func(c Change) bool { return c.Field == "group" } // its place is another one then
	live := b.live()
	if live == nil || slices.ContainsFunc(p.Changes, moved) {
		return all
	}
	if p.Low != nil && !p.Low.Holds(snap, live.id) {
		return append(all, Difference{Action: ActionMove, To: "below the roles of the server"})
	}
	if p.Position == nil {
		return all
	}
	if to := kind.move(snap, *p.Position, live); to != "" {
		all = append(all, Difference{Action: ActionMove, To: to})
	}
	return all
}

// Changes are changes of a resource for users to read.
func Changes(changes []Change, snap *guildcache.Snapshot) (all []Difference) {
	for _, c := range changes {
		if to, ok := c.To.([]discordclient.Overwrite); ok {
			from, _ := c.From.([]discordclient.Overwrite)
			all = append(all, overwriteChanges(c.Field, from, to, snap)...)
			continue
		}
		from, to := shown(c.Field, c.From, snap), shown(c.Field, c.To, snap)
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
			Action: ActionChange, Field: field + " of " + whose(both[id], snap),
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

// whose is the role or user of an overwrite.
func whose(o discordclient.Overwrite, snap *guildcache.Snapshot) string {
	if o.Type == discordgo.PermissionOverwriteTypeMember {
		return "user " + o.ID
	}
	if role, ok := snap.Role(o.ID); ok {
		return "role " + quoted(role.Name)
	}
	return "role " + o.ID
}

func overwriteText(o discordclient.Overwrite, exists bool) string {
	if !exists {
		return none
	}
	return "allow " + bitsText(o.Allow) + ", deny " + bitsText(o.Deny)
}

// none is what is not there.
const none = "none"

// shown is a value for users to read. Numbers of Discord's are shown in the words of the spec.
func shown(field string, value any, snap *guildcache.Snapshot) string {
	switch v := value.(type) {
	case v1alpha1.Community:
		return textOf(field, string(v), snap)
	case string:
		return textOf(field, v, snap)
	case int:
		return numberOf(field, v)
	case discordgo.ChannelType:
		return (&discordclient.Channel{Type: v}).TypeName()
	case permissions.Bits:
		return bitsText(v)
	case discordclient.RoleColors:
		return colorsText(v)
	case *int: // the sort order alone may be none
		if v == nil {
			return numberOf(field, resource.NoSortOrder)
		}
		return numberOf(field, *v)
	case *discordclient.Emoji:
		if v == nil {
			return none
		}
		return v.String()
	case []discordclient.Tag:
		return tagsText(v)
	case nil:
		return none
	}
	return cut(text(value))
}

// textOf is a text; of an id it is the name of the channel. Hashes and words are no texts.
func textOf(field, v string, snap *guildcache.Snapshot) string {
	switch field {
	case "icon", "community", "group", "afkChannelId", "afkChannelRef", "systemChannelRef", "rulesChannelRef",
		"publicUpdatesChannelRef":
		if v == "" {
			return none
		}
		if ch, ok := snap.Channel(v); ok {
			return quoted(ch.Name)
		}
		return v
	}
	return quoted(v)
}

func numberOf(field string, v int) string {
	switch field {
	case "slowmode", "threadSlowmode":
		return (time.Duration(v) * time.Second).String()
	case "defaultAutoArchive":
		return word(resource.AutoArchives, v)
	case "sortOrder":
		return word(resource.SortOrders, v)
	case "layout":
		return word(resource.ForumLayouts, v)
	case "requireTag":
		return strconv.FormatBool(v&discordclient.FlagRequireTag != 0)
	case "hideMediaDownload":
		return strconv.FormatBool(v&discordclient.FlagHideMediaDownload != 0)
	case "videoQuality":
		return word(resource.VideoQualities, v)
	case "systemChannelFlags":
		var words []string
		for _, word := range resource.SystemChannelFlags.Words(v) {
			words = append(words, string(word))
		}
		return cmp.Or(strings.Join(words, ", "), none)
	case "verificationLevel":
		return word(resource.VerificationLevels, v)
	case "defaultNotifications":
		return word(resource.DefaultNotifications, v)
	case "explicitContentFilter":
		return word(resource.ExplicitContentFilters, v)
	case "afkTimeout":
		return word(resource.AFKTimeouts, v)
	}
	return strconv.Itoa(v)
}

func word[T ~string](names resource.Names[T], number int) string {
	return cmp.Or(string(names[number]), strconv.Itoa(number))
}

func bitsText(bits permissions.Bits) string { return cmp.Or(bits.String(), none) }

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
	return cut(cmp.Or(strings.Join(all, ", "), none))
}

// quoted is a text of Discord's or of a spec, in one line and no longer than fits.
func quoted(s string) string { return strconv.Quote(cut(s)) }

// maxShown is how many characters of a value are shown.
const maxShown = 80

func cut(s string) string {
	if runes := []rune(s); len(runes) > maxShown {
		return string(runes[:maxShown-3]) + "..."
	}
	return s
}

// move is the place to which a resource would be moved, in words; empty where it is in its place, or
// another one is to move.
func (k *Kind) move(snap *guildcache.Snapshot, position Position, live *onDiscord) string {
	ranks := maps.Clone(position.Ranks)
	ranks[live.id] = position.Rank
	if live.channel == nil {
		ranks = belowBot(snap, ranks)
	}
	siblings := k.siblings(snap, live)
	moved := func(m discordclient.Move) bool { return m.ID == live.id }
	if !slices.ContainsFunc(order.Moves(siblings, ranks), moved) {
		return ""
	}
	sorted := order.Sorted(siblings, ranks)
	i := slices.IndexFunc(sorted, func(s order.Sibling) bool { return s.ID == live.id })
	name := func(i int) string { return quoted(k.find(snap, sorted[i].ID).name) }
	switch {
	case k.Roles && i > 0:
		return "above " + name(i-1)
	case k.Roles:
		return "below " + name(i+1)
	case i > 0:
		return "below " + name(i-1)
	default:
		return "above " + name(i+1)
	}
}
