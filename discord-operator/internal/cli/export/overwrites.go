// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

const maxOverwrites = 100 // limit of the CustomResourceDefinitions

// overwrites returns the permissionOverwrites of a channel. If the schema cannot express them or
// the operator would change them, an export omits them (nil), and a copy comments out the manifest
// (disabled).
func (e *exporter) overwrites(
	notes *notes, c *discordclient.Channel, needed permissions.Bits,
) (list []v1alpha1.PermissionOverwrite, disabled bool) {
	list, why := e.inSpec(notes, c)
	switch denied := e.denied(c, needed); {
	case why != "" && e.o.copyTo != "":
		notes.disable(fmt.Sprintf("its permissionOverwrites cannot be copied: %s. Without overwrites, the copy would be "+
			"open to more users than the original. Correct the overwrites on Discord, and run the command again. Or, in this "+
			"manifest, put your own overwrites in place of the overwrite that denies ViewChannel to @everyone, and uncomment "+
			"the manifest.", why))
		return []v1alpha1.PermissionOverwrite{{Role: everyone, Deny: overwrites.Permissions(permissions.ViewChannel)}}, true
	case why != "":
		notes.omit("permissionOverwrites", why)
		return nil, false
	case denied != 0 && e.o.copyTo != "":
		notes.disable(fmt.Sprintf("the bot lacks permissions here that this manifest would grant the bot in the copy: %s. "+
			"If you want that, uncomment the manifest.", denied))
		return list, true
	case denied != 0:
		fragment, _ := toYAML(map[string]any{"permissionOverwrites": list}) // plain data always encodes
		notes.fragment(fmt.Sprintf("permissionOverwrites is left out, so that it stays as it is: "+
			"the bot has no access here (it lacks %s), and the operator would give the bot access. If you want that, "+
			"copy permissionOverwrites from the comment of this manifest into its spec.", denied),
			string(fragment))
		return nil, false
	}
	return list, false
}

func (e *exporter) inSpec(notes *notes, c *discordclient.Channel) (list []v1alpha1.PermissionOverwrite, why string) {
	list = make([]v1alpha1.PermissionOverwrite, 0, len(c.Overwrites))
	for _, o := range c.Overwrites {
		if why := e.unwritable(o); why != "" {
			return nil, why
		}
		list = append(list, e.overwrite(o))
		kept := "the operator keeps them as they are"
		if e.o.copyTo != "" {
			kept = "the copy does not have them"
			if unnamed := o.Deny &^ permissions.All; unnamed != 0 {
				return nil, fmt.Sprintf("the overwrite for %s %s denies permissions that Discord has not documented (%s), which "+
					"no spec can name", kindOf(o), o.ID, unnamed)
			}
		}
		if unnamed := (o.Allow | o.Deny) &^ permissions.All; unnamed != 0 {
			notes.add("The overwrite for %s %s has permissions that Discord has not documented (%s). "+
				"A spec cannot name them; %s.", kindOf(o), o.ID, unnamed, kept)
		}
	}
	if len(list) > maxOverwrites {
		return nil, fmt.Sprintf("there are %d overwrites, and the schema allows %d", len(list), maxOverwrites)
	}
	return list, ""
}

func (e *exporter) overwrite(o discordclient.Overwrite) v1alpha1.PermissionOverwrite {
	result := v1alpha1.PermissionOverwrite{Allow: overwrites.Permissions(o.Allow), Deny: overwrites.Permissions(o.Deny)}
	switch object, ok := e.roles[o.ID]; {
	case o.Type == discordgo.PermissionOverwriteTypeMember:
		result.User = o.ID
	case ok:
		result.RoleRef = &v1alpha1.RoleReference{Name: object}
	default:
		result.Role = e.role(o.ID)
	}
	return result
}

func (e *exporter) role(id string) string {
	if id == e.guild.ID {
		return everyone
	}
	of := slices.IndexFunc(e.guild.Roles, func(r discordclient.Role) bool { return r.ID == id })
	name := e.guild.Roles[of].Name // unwritable has checked that the role exists
	other := func(r discordclient.Role) bool { return r.ID != id && r.Name == name || r.ID == name }
	if name == everyone || name == "" || length(name) > discordclient.MaxNameLength ||
		slices.ContainsFunc(e.guild.Roles, other) {
		return id
	}
	return name
}

const everyone = "@everyone"

func (e *exporter) unwritable(o discordclient.Overwrite) string {
	switch {
	case o.Type != discordgo.PermissionOverwriteTypeRole && o.Type != discordgo.PermissionOverwriteTypeMember:
		return fmt.Sprintf("an overwrite is for something that is neither a role nor a user (%s)", o.ID)
	case o.Type == discordgo.PermissionOverwriteTypeRole &&
		!slices.ContainsFunc(e.guild.Roles, func(r discordclient.Role) bool { return r.ID == o.ID }):
		return fmt.Sprintf("an overwrite is for a role that the server does not have (id %s). Remove the overwrite on "+
			"Discord, and run the command again", o.ID)
	case o.Type == discordgo.PermissionOverwriteTypeMember && !cli.IsID(o.ID):
		return fmt.Sprintf("an overwrite is for a user with the id %q, which the schema does not allow", o.ID)
	case o.Allow&o.Deny&permissions.All != 0:
		return fmt.Sprintf("the overwrite for %s %s both allows and denies %s. Correct the overwrite on Discord, and run "+
			"the command again", kindOf(o), o.ID, o.Allow&o.Deny)
	}
	return ""
}

func kindOf(o discordclient.Overwrite) string {
	if o.Type == discordgo.PermissionOverwriteTypeMember {
		return "user"
	}
	return "role"
}

func (e *exporter) denied(c *discordclient.Channel, needed permissions.Bits) permissions.Bits {
	here := permissions.In(e.bot.permissions, e.guild.ID, e.bot.userID, e.bot.roles, c.Overwrites)
	return here.Missing(needed) & e.bot.permissions
}
