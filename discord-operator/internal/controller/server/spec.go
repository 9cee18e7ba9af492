// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"errors"
	"fmt"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
)

// Rows describes the fields of servers.
var Rows = fields.Rows()

// SpecOf exports a live guild without its icon. objects has DiscordChannel names by channel id.
func SpecOf(live discordclient.Guild, objects map[string]string) (v1alpha1.DiscordServerSpec, []resource.Omission) {
	d := desired{objects: objects}
	omitted := fields.Fill(&d, &guild{Guild: live})
	return d.DiscordServerSpec, omitted
}

func (d *desired) refer(ref **v1alpha1.ChannelReference, id string) error {
	if id == "" {
		return nil
	}
	name, ok := d.objects[id]
	if !ok {
		return fmt.Errorf("this export has no DiscordChannel for the channel %s", id)
	}
	*ref = &v1alpha1.ChannelReference{Name: name}
	return nil
}

func fillLevel(d *desired, g *guild) (err error) {
	d.VerificationLevel, err = resource.VerificationLevels.Of(g.VerificationLevel)
	return err
}

func fillFilter(d *desired, g *guild) (err error) {
	d.ExplicitContentFilter, err = resource.ExplicitContentFilters.Of(g.ExplicitContentFilter)
	return err
}

// fillNoAFKChannel leaves an existing AFK channel to afkChannelRef.
func fillNoAFKChannel(d *desired, g *guild) error {
	if g.AFKChannelID == "" {
		d.AFKChannelID = new("")
	}
	return nil
}

func fillSystemFlags(d *desired, g *guild) error {
	flags := resource.SystemChannelFlags.Words(g.SystemChannelFlags)
	d.SystemChannelFlags = append([]v1alpha1.SystemChannelFlag{}, flags...)
	return nil
}

func fillCommunity(d *desired, g *guild) error {
	if !g.IsCommunity() {
		return nil
	}
	filter := cmp.Or(d.ExplicitContentFilter, v1alpha1.ExplicitContentFilterAllMembers)
	if d.RulesChannelRef == nil || d.PublicUpdatesChannelRef == nil ||
		d.VerificationLevel == v1alpha1.VerificationLevelNone || filter != v1alpha1.ExplicitContentFilterAllMembers {
		return errors.New("spec.community requires rulesChannelRef and publicUpdatesChannelRef. It excludes the " +
			"verificationLevel None and each explicitContentFilter except AllMembers")
	}
	d.Community = v1alpha1.CommunityEnabled
	return nil
}
