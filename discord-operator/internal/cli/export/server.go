// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"
	"maps"

	"jutsu.com/operators/apis/discord/v1alpha1"
	controller "jutsu.com/operators/discord-operator/internal/controller/server"
	"jutsu.com/operators/libs/discordclient"
)

func (e *exporter) serverEntry() entry {
	g := e.guild
	result := entry{kind: kindServer, name: e.o.name, about: fmt.Sprintf("Server %q", g.Name)}
	notes := &result.notes
	objects := maps.Clone(e.names)
	maps.DeleteFunc(objects, func(id, _ string) bool { return e.disabled[id] })
	spec, omitted := controller.SpecOf(g, objects)
	notes.omitAll(omitted)
	spec.TokenSecretRef = v1alpha1.TokenSecretReference{Name: e.o.tokenSecret}
	spec.ServerID = cmp.Or(e.o.copyTo, g.ID)
	spec.DeletionPolicy = v1alpha1.DeletionPolicyRetain
	if g.Icon != "" {
		notes.omit("icon", "Discord's API has only its hash, "+g.Icon+"; the picture is at "+
			iconURL(e.bot.webURL, g.ID, g.Icon))
	}
	if missing := e.bot.permissions.Missing(discordclient.PermissionsOverwrites); missing != 0 {
		notes.add("The bot lacks %s, so the operator cannot manage some of the objects below. "+
			"A user who may manage the server can grant the missing permissions: %s",
			missing, discordclient.InviteURL(e.bot.webURL, e.bot.applicationID,
				discordclient.PermissionsOverwrites|e.bot.permissions, g.ID))
	}
	if e.webhooksUnread {
		notes.add("The bot may not see webhooks (it lacks ManageWebhooks), so the manifests have none.")
	}
	if e.hiddenUnread {
		notes.add("Discord's Gateway could not be reached, " +
			"so the output does not name the channels that the bot may not view.")
	}
	result.spec = spec
	e.fit(&result, controller.Rows)
	return result
}

// iconURL returns the URL of a server's icon. Source of the format:
// https://discord.com/developers/docs/reference#image-formatting.
func iconURL(webURL, guildID, hash string) string {
	base := webURL
	if base == discordURL {
		base = "https://cdn.discordapp.com"
	}
	return base + "/icons/" + guildID + "/" + hash + ".png"
}

const discordURL = "https://discord.com"
