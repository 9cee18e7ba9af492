package channel

import (
	"fmt"
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// What Discord allows. Source: https://discord.com/developers/docs/resources/channel, and for the webhooks the code 30007.
const (
	maxChannels = 500 // in a server, categories included
	maxChildren = 50  // in a category
	maxWebhooks = 15  // in a channel
)

const manage = permissions.ViewChannel | permissions.ManageChannels

// steps are what has to be done about a channel; a zero field is nothing to do.
type steps struct {
	create *discordclient.ChannelCreate
	edit   discordclient.ChannelEdit
	fields []string // that the edit changes
	hook   hookSteps
	// verdict keeps the channel from being as the spec says, whatever else is done.
	verdict error
}

// plan decides what has to be done. It does no I/O.
func plan(c *v1alpha1.DiscordChannel, seen *observed) steps {
	var s steps
	want, err := wanted(c, seen)
	switch {
	case err != nil:
		s.verdict = err
	case seen.Create:
		s.create, s.verdict = planCreate(c, seen, want)
	default:
		s.edit, s.fields = differences(c, seen, want)
		s.verdict = mayEdit(seen, s)
	}
	if s.verdict != nil {
		s.create, s.edit, s.fields = nil, discordclient.ChannelEdit{}, nil
	}
	if seen.Channel != nil || s.create != nil {
		s.hook = planWebhook(c, seen)
	}
	return s
}

// wanted returns the overwrites that the spec asks for; nil where it leaves them alone.
func wanted(c *v1alpha1.DiscordChannel, seen *observed) ([]discordclient.Overwrite, error) {
	if c.Spec.PermissionOverwrites == nil {
		return nil, nil
	}
	needed := manage
	if c.Spec.Webhook != nil {
		needed |= permissions.ManageWebhooks
	}
	return overwrites.Resolve(c.Spec.PermissionOverwrites, seen.Channel, seen.Snapshot, needed)
}

// planCreate describes the channel with everything that it shall have, so that a private one is private from its first moment.
func planCreate(c *v1alpha1.DiscordChannel, seen *observed, want []discordclient.Overwrite) (*discordclient.ChannelCreate, error) {
	if err := room(seen); err != nil {
		return nil, err
	}
	if err := lacking(seen, manage|mentioned(want), "which this channel requires"); err != nil {
		return nil, err
	}
	in := &discordclient.ChannelCreate{
		Name: c.Spec.Name, Type: kinds(c.Spec.Type)[0], ParentID: seen.parentID, Overwrites: want,
		DefaultAutoArchive: minutes[c.Spec.DefaultAutoArchive],
	}
	if in.Type == discordgo.ChannelTypeGuildNews && !news(seen) {
		return nil, noNews()
	}
	if c.Spec.Topic != nil {
		in.Topic = *c.Spec.Topic
	}
	if c.Spec.NSFW != nil {
		in.NSFW = *c.Spec.NSFW
	}
	if c.Spec.Slowmode != nil {
		in.Slowmode = int(c.Spec.Slowmode.Seconds())
	}
	if c.Spec.Position != nil {
		in.Position = order.First(textLike(seen.Snapshot, seen.parentID), seen.ranks, *c.Spec.Position)
	}
	return in, nil
}

// leftOver returns what a create has not done: Discord gives a channel that asks for no overwrites at all those of its category.
func leftOver(in *discordclient.ChannelCreate, made *discordclient.Channel) (edit discordclient.ChannelEdit, fields []string) {
	if in.Overwrites == nil || overwrites.Same(made.Overwrites, in.Overwrites) {
		return edit, nil
	}
	return discordclient.ChannelEdit{Overwrites: discordclient.Set(in.Overwrites)}, []string{"permissionOverwrites"}
}

// room says when Discord would refuse one more.
func room(seen *observed) error {
	if len(seen.Snapshot.Channels()) >= maxChannels {
		return issues.Full(fmt.Sprintf("The server has %d channels and categories, the most that Discord allows. Delete some.", maxChannels))
	}
	return roomInCategory(seen)
}

func roomInCategory(seen *observed) error {
	if seen.parentID != "" && len(seen.Snapshot.Children(seen.parentID)) >= maxChildren {
		return issues.Full(fmt.Sprintf("The category has %d channels, the most that Discord allows. Move or delete some.", maxChildren))
	}
	return nil
}

var minutes = map[v1alpha1.AutoArchive]int{
	v1alpha1.AutoArchiveOneHour: 60, v1alpha1.AutoArchiveOneDay: 1440, v1alpha1.AutoArchiveThreeDays: 4320, v1alpha1.AutoArchiveOneWeek: 10080,
}

// differences returns the edit that makes the settings of the spec true, and the names of the fields that it changes. What the spec leaves out
// is not looked at.
func differences(c *v1alpha1.DiscordChannel, seen *observed, want []discordclient.Overwrite) (edit discordclient.ChannelEdit, fields []string) {
	live, spec := seen.Channel, c.Spec
	differs := func(field string, yes bool) bool {
		if yes {
			fields = append(fields, field)
		}
		return yes
	}
	if differs("name", !discordclient.SameChannelName(live.Type, spec.Name, live.Name, seen.sought.StoredName)) {
		edit.Name = discordclient.Set(spec.Name)
	}
	if differs("type", spec.Type != "" && kinds(spec.Type)[0] != live.Type) {
		edit.Type = discordclient.Set(kinds(spec.Type)[0])
	}
	if differs("topic", spec.Topic != nil && *spec.Topic != live.Topic) {
		edit.Topic = orClear(*spec.Topic)
	}
	if differs("nsfw", spec.NSFW != nil && *spec.NSFW != live.NSFW) {
		edit.NSFW = discordclient.Set(*spec.NSFW)
	}
	if differs("slowmode", spec.Slowmode != nil && int(spec.Slowmode.Seconds()) != live.Slowmode) {
		edit.Slowmode = discordclient.Set(int(spec.Slowmode.Seconds()))
	}
	if differs("defaultAutoArchive", spec.DefaultAutoArchive != "" && minutes[spec.DefaultAutoArchive] != live.DefaultAutoArchive) {
		edit.DefaultAutoArchive = discordclient.Set(minutes[spec.DefaultAutoArchive])
	}
	if differs("group", seen.parentID != live.ParentID) {
		edit.ParentID = orClear(seen.parentID)
	}
	if differs("permissionOverwrites", spec.PermissionOverwrites != nil && !overwrites.Same(live.Overwrites, want)) {
		edit.Overwrites = discordclient.Set(want)
	}
	return edit, fields
}

func orClear(s string) discordclient.Change[string] {
	if s == "" {
		return discordclient.Clear[string]()
	}
	return discordclient.Set(s)
}

// mayEdit says what Discord would refuse, without asking it.
func mayEdit(seen *observed, s steps) error {
	if len(s.fields) == 0 {
		return nil
	}
	needed := manage
	if want, ok := s.edit.Overwrites.Get(); ok {
		needed |= permissions.ManageRoles
		if err := lacking(seen, overwrites.Changed(seen.Channel.Overwrites, want), "which the permission overwrites change"); err != nil {
			return err
		}
	}
	if here, exact := seen.Snapshot.BotPermissionsIn(seen.Channel); exact && here.Missing(needed) != 0 {
		return issues.Lacking(here.Missing(needed).Names(), "which it needs in this channel", "")
	}
	if to, ok := s.edit.Type.Get(); ok && to == discordgo.ChannelTypeGuildNews && !news(seen) {
		return noNews()
	}
	if !s.edit.ParentID.IsZero() {
		return roomInCategory(seen)
	}
	return nil
}

func lacking(seen *observed, needed permissions.Bits, forWhat string) error {
	have, exact := seen.Snapshot.BotPermissions()
	if !exact || have.Missing(needed) == 0 {
		return nil
	}
	return issues.Lacking(have.Missing(needed).Names(), forWhat, seen.Server.Status.InviteURL)
}

func mentioned(list []discordclient.Overwrite) permissions.Bits { return overwrites.Changed(nil, list) }

// news reports whether the server may have announcement channels.
func news(seen *observed) bool { return slices.Contains(seen.Snapshot.Guild.Features, "NEWS") }

func noNews() error {
	return conditions.Degraded(v1alpha1.ReasonAnnouncementsNotAllowed,
		"The server does not allow announcement channels. Enable Community in its settings on Discord, or set spec.type to Text.")
}

// textLike returns the text channels with a parent in the order in which Discord shows them; voice channels stand apart, below them.
func textLike(snap *guildcache.Snapshot, parentID string) []*discordclient.Channel {
	return slices.DeleteFunc(snap.Children(parentID), func(c *discordclient.Channel) bool {
		return c.Type == discordgo.ChannelTypeGuildVoice || c.Type == discordgo.ChannelTypeGuildStageVoice
	})
}
