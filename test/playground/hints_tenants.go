// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

func tenantHints(f facts) []hint {
	if f.server.page == "" { // a real Discord has only one server
		return nil
	}
	post := func(team, dojo string) string {
		return fmt.Sprintf(`curl -sS -H "Content-Type: application/json" -d '{"content":"An alert of %[1]s"}' `+
			`"$(kubectl -n %[1]s get secret %[2]s-alertmanager -o jsonpath='{.data.url}' | base64 -d)?wait=true"`, team, dojo)
	}
	share := func(from string) string {
		return "kubectl -n platform patch discordgroup alerts --type=merge -p " +
			`'{"spec":{"allowedNamespaces":{"from":"` + from + `"}}}'`
	}
	return []hint{
		{"Two teams share the company's Discord server. The platform alone has the bot's token:", []string{
			"kubectl get dojos,discordchannels,discordgroups,discordservers --all-namespaces",
			"kubectl -n platform get discordserver company -o wide",
		}},
		{"Post as each team's Alertmanager does; each alert shows in the team's own channel:", []string{
			post("team-a", "nagoya-jujutsu-high"),
			post("team-b", "osaka-jujutsu-high"),
		}},
		{"Take the grant back: nothing is deleted, and the teams' channels say what is not allowed. Then grant it again:",
			[]string{share("Same"), share("All")}},
		{"Exceed a team's share; the team's ResourceQuota allows no DiscordServer:", []string{
			`echo '{"apiVersion":"discord.jutsu.com/v1alpha1","kind":"DiscordServer","metadata":{"name":"own"},` +
				`"spec":{"tokenSecretRef":{"name":"bot"},"serverId":"` + f.server.serverID + `"}}' | kubectl -n team-a create -f -`,
		}},
	}
}
