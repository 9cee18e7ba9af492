// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"jutsu.com/operators/test/environment"
)

func discordHints(f facts) []hint {
	all := []hint{
		{"List the objects on Discord, and describe one of them:", []string{
			"kubectl get discord",
			"kubectl describe discordchannel tokyo-alerts",
		}},
		{"Post into a channel through its webhook, whose URL is in a Secret:", []string{
			`curl -sS -H "Content-Type: application/json" -d '{"content":"Tokyo is on fire"}' ` +
				`"$(kubectl get secret tokyo-alerts-webhook -o jsonpath='{.data.url}' | base64 -d)?wait=true"`,
		}},
		{"Write a topic, and move a channel to another group:", []string{
			`kubectl patch discordchannel kyoto-alerts --type=merge -p '{"spec":{"topic":"All is well at Kyoto"}}'`,
			`kubectl patch discordchannel kyoto-alerts --type=merge -p '{"spec":{"groupRef":{"name":"staff"}}}'`,
		}},
	}
	all = append(all, byHand(f.server)...)
	return append(all, []hint{
		{"Request a name that Discord would silently change; the API server refuses it, and proposes a valid name:", []string{
			`kubectl patch discordchannel kyoto-alerts --type=merge -p '{"spec":{"name":"Kyoto Alerts!"}}'`,
		}},
		{"Export everything on Discord as manifests:", []string{exportCommand(f)}},
		{"Read the operator's events, its log and its metrics:", []string{
			"kubectl events --for=discordchannel/tokyo-alerts",
			"tail " + f.discord.Log(),
			grantMetrics("discord-metrics", "discord-operator"),
			`curl -sk -H "Authorization: Bearer $(kubectl create token default)" ` + f.discord.MetricsURL() +
				" | grep ^discord_",
		}},
		{"Delete a channel; it is deleted on Discord, too:", []string{
			"kubectl delete discordchannel kyoto-alerts",
		}},
	}...)
}

// The page of the simulated Discord has no controls, so byHand uses a bot with all permissions.
func byHand(d discordFacts) []hint {
	if d.page == "" {
		return []hint{{"Rename or delete one of the channels in Discord itself; the drift is corrected within a second.",
			nil}}
	}
	as := func(method, path, more string) string {
		return fmt.Sprintf(`curl -sS -X %s -H "Authorization: Bot $(cat %s)" -A "DiscordBot (by hand, 1)" %s%s%s`, method,
			d.adminTokenFile, more, d.apiURL, path)
	}
	channel := func(name string) string {
		return "/channels/$(kubectl get discordchannel " + name + " -o jsonpath='{.status.channelId}')"
	}
	return []hint{
		{"Change the topic of a channel on Discord by hand, and delete another channel there (watch " + d.page +
			"); the operator corrects both within a second:", []string{
			as("PATCH", channel("tokyo-alerts"), `-H "Content-Type: application/json" -d '{"topic":"nonsense"}' `),
			as("DELETE", channel("principals"), ""),
		}},
		{"Count the calls that Discord has received; while nothing changes, the operator makes some only once an hour:",
			[]string{"curl -s " + d.page + "/calls"}},
	}
}

func exportCommand(f facts) string {
	binary, _ := environment.Discord.Binary() // discord-operator is running, so its binary exists
	plugin := filepath.Join(filepath.Dir(binary), "kubectl-discord")
	command := fmt.Sprintf("%s export --server-id=%s --token-file=%s", plugin, f.server.serverID, f.server.tokenFile)
	if f.server.apiURL != "" {
		command += " --discord-api-url=" + f.server.apiURL
	}
	return command
}
