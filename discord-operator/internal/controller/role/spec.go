// SPDX-License-Identifier: Apache-2.0

package role

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
)

// SpecOf exports a live role without server, position and members.
func SpecOf(live *discordclient.Role) (v1alpha1.DiscordRoleSpec, []resource.Omission) {
	var d desired
	omitted := fields.Fill(&d, live)
	return d.spec, omitted
}

func fillName(d *desired, live *discordclient.Role) error {
	d.spec.Name = live.Name
	return nil
}

func fillColors(d *desired, live *discordclient.Role) error {
	d.spec.Color = new(discordclient.FormatColor(live.Colors.Primary))
	if second := live.Colors.Secondary; second != nil {
		d.spec.SecondaryColor = new(discordclient.FormatColor(*second))
	}
	if third := live.Colors.Tertiary; third != nil {
		d.spec.TertiaryColor = new(discordclient.FormatColor(*third))
	}
	return nil
}

// fillPermissions omits permission bits without a documented name: a spec cannot name them.
func fillPermissions(d *desired, live *discordclient.Role) error {
	d.spec.Permissions = append([]v1alpha1.Permission{}, overwrites.Permissions(live.Permissions)...)
	return nil
}
