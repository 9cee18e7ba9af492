// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"jutsu.com/operators/test/internal/kubectl"
)

type check struct {
	fails bool
	// endless is true if the command runs until the test stops it.
	endless bool
	// lags permits the test to repeat the command until it prints the expected output.
	lags   bool
	prints string
	// then is a command that the test repeats until its output matches shows.
	then, shows string
}

var wide = "kubectl get dojos -o wide"

// onDiscordNow returns a command that reads a channel from Discord. TestHints sets the environment
// variables API and ADMIN_TOKEN_FILE of the command.
func onDiscordNow(channel string) string {
	return `curl -sS -H "Authorization: Bot $(cat $ADMIN_TOKEN_FILE)" -A "DiscordBot (test, 1)" ` +
		"$API/channels/$(kubectl get discordchannel " + channel + " -o jsonpath='{.status.channelId}')"
}

func messagesOf(team, dojo string) string {
	return `curl -sS -H "Authorization: Bot $(cat $ADMIN_TOKEN_FILE)" -A "DiscordBot (test, 1)" ` +
		"$API/channels/$(kubectl -n " + team + " get dojo " + dojo + " -o jsonpath='{.status.alerts.channelId}')/messages"
}

const notAllowed = "kubectl get discordchannels --all-namespaces | grep -c NotAllowed"

// A key is the beginning of a command, with "..." for any text. The longest matching key applies.
var checks = map[string]check{
	"kubectl get dojos,discordchannels,discordgroups,discordservers --all-namespaces": {
		prints: `(?s)team-a +dojo\S+/nagoya-jujutsu-high +True +Reconciled +1/1.*` +
			`team-b +dojo\S+/osaka-jujutsu-high +True +Reconciled +1/1.*` +
			`team-a +discordchannel\S+/nagoya-jujutsu-high-alerts +True +Reconciled +\d+ +company +alerts.*` +
			`team-b +discordchannel\S+/osaka-jujutsu-high-alerts +True +Reconciled +\d+ +company +alerts.*` +
			`platform +discordserver\S+/company`},
	"kubectl -n platform get discordserver company -o wide": {lags: true,
		prints: `NAMESPACES(?s:.*)company .*The company .* 3 `},
	`curl -sS -H "Content-Type: application/json" -d '{"content":"An alert of team-a"`: {
		prints: `"content":"An alert of team-a"`,
		then:   messagesOf("team-a", "nagoya-jujutsu-high"), shows: `An alert of team-a`},
	`curl -sS -H "Content-Type: application/json" -d '{"content":"An alert of team-b"`: {
		prints: `"content":"An alert of team-b"`,
		then: messagesOf("team-a", "nagoya-jujutsu-high") + " | grep -c team-b; " +
			messagesOf("team-b", "osaka-jujutsu-high"), shows: `(?s)^0\n.*An alert of team-b`},
	`kubectl -n platform patch discordgroup alerts --type=merge -p '{"spec":{"allowedNamespaces":{"from":"Same"`: {
		prints: `patched`, then: notAllowed + "; " + messagesOf("team-b", "osaka-jujutsu-high"),
		shows: `(?s)^2\n.*An alert of team-b`},
	`kubectl -n platform patch discordgroup alerts --type=merge -p '{"spec":{"allowedNamespaces":{"from":"All"`: {
		prints: `patched`, then: notAllowed + "; kubectl get dojos --all-namespaces -o wide",
		shows: `(?s)^0\n.*nagoya-jujutsu-high +True +Reconciled +1/1 .*osaka-jujutsu-high +True +Reconciled +1/1 `},
	"echo ... | kubectl -n team-a create": {fails: true,
		prints: `exceeded quota: jutsu, requested: count/discordservers.discord.jutsu.com=1`},
	"kubectl get all,secrets": {
		prints: `(?s)dojo\.core\.jutsu\.com/kyoto-jujutsu-high.*secret/tokyo-jujutsu-high-credentials`},
	"kubectl describe dojo":             {prints: `Account Id: +Masamichi Yaga`},
	"kubectl get dojos -o wide --watch": {endless: true, prints: `kyoto-jujutsu-high +True +Reconciled +1/1`},

	"kubectl scale dojo tokyo-jujutsu-high --replicas=5": {prints: `scaled`, then: wide,
		shows: `tokyo-jujutsu-high +True +Reconciled +5/5 `},
	"kubectl scale dojo kyoto-jujutsu-high --replicas=0": {prints: `scaled`, then: wide,
		shows: `kyoto-jujutsu-high +True +Reconciled +0/0 `},

	`kubectl patch secret dojo-app -p '{"stringData":{"password"`: {
		prints: `patched`,
		then:   "kubectl get secret tokyo-jujutsu-high-credentials -o jsonpath='{.data.DB_PASS}' | base64 -d",
		shows:  `^rotated$`,
	},
	"kubectl rollout status": {prints: `successfully rolled out`, then: wide,
		shows: `tokyo-jujutsu-high +True +Reconciled +5/5 .* 5 `},
	"kubectl set image": {
		prints: `image updated`,
		then:   "kubectl get deployment tokyo-jujutsu-high -o jsonpath='{..image}'", shows: `^danijelradakovic/dojo:`,
	},
	"kubectl delete service,secret": {
		prints: `service "tokyo-jujutsu-high" deleted`,
		then:   "kubectl get service/tokyo-jujutsu-high secret/tokyo-jujutsu-high-credentials",
		shows:  `(?s)service/tokyo.*secret/tokyo`,
	},
	`kubectl patch secret dojo-app --type=json`: {prints: `patched`,
		then: wide, shows: `tokyo-jujutsu-high .*CredentialsIncomplete`},
	`kubectl patch secret dojo-app -p '{"stringData":{"host"`: {prints: `patched`,
		then: wide, shows: `tokyo-jujutsu-high +True +Reconciled +5/5 `},
	`kubectl patch dojo kyoto-jujutsu-high --type=merge -p '{"spec":{"title"`: {fails: true,
		prints: `spec\.title: Invalid value.*must not be blank`},
	`kubectl patch dojo kyoto-jujutsu-high --type=merge -p '{"spec":{"database":"Mongo"`: {prints: `patched`,
		then: wide, shows: `kyoto-jujutsu-high .*CredentialsIncomplete`},
	`kubectl patch dojo kyoto-jujutsu-high --type=merge -p '{"spec":{"database":"Postgres"`: {prints: `patched`,
		then: wide, shows: `kyoto-jujutsu-high .*Reconciled`},

	"kubectl events":                    {lags: true, prints: `(?s)Ready.*CredentialsRotated.*CredentialsIncomplete`},
	"tail ...dojo-operator.log":         {prints: `controllerKind`},
	"kubectl create clusterrolebinding": {prints: `created`},
	"curl -sk ... | grep ^dojo_": {lags: true,
		prints: `dojo_replicas_ready\{dojo="tokyo-jujutsu-high",namespace="default"\} 5`},

	"kubectl get discord": {
		prints: `(?s)tokyo-alerts +True +Reconciled +\d+ +jujutsu +alerts.*` +
			`Staff room.*jujutsu +True +Reconciled +\d+ +Jujutsu High`,
	},
	"kubectl describe discordchannel":              {prints: `Topic: +What is wrong at Tokyo`},
	`curl -sS -H "Content-Type: application/json"`: {prints: `"content":"Tokyo is on fire"`},
	`kubectl patch discordchannel kyoto-alerts --type=merge -p '{"spec":{"topic"`: {
		prints: `patched`, then: onDiscordNow("kyoto-alerts"), shows: `"topic":"All is well at Kyoto`,
	},
	`kubectl patch discordchannel kyoto-alerts --type=merge -p '{"spec":{"groupRef"`: {
		prints: `patched`,
		then: onDiscordNow("kyoto-alerts") +
			" | grep -c $(kubectl get discordgroup staff -o jsonpath='{.status.groupId}')", shows: `^1\n$`,
	},
	"curl -sS -X PATCH": {
		prints: `"topic":"nonsense"`,
		then:   onDiscordNow("tokyo-alerts") + "; kubectl events --for=discordchannel/tokyo-alerts",
		shows:  `(?s)"topic":"What is wrong.*DriftCorrected.*Corrected drift on Discord: topic`,
	},
	"curl -sS -X DELETE": {
		prints: `"name":"principals"`,
		then:   onDiscordNow("principals") + "; kubectl events --for=discordchannel/principals",
		shows:  `(?s)"name":"principals".*Recreated.*deleted the channel .*created it again`,
	},
	// Three groups, seven channels, and two channels that are created again after a deletion.
	"curl -s http": {prints: `"POST /guilds/\{guild_id\}/channels":12`},
	`kubectl patch discordchannel kyoto-alerts --type=merge -p '{"spec":{"name"`: {fails: true,
		prints: `spec\.name: Invalid value.*write "kyoto-alerts"`},
	"...kubectl-discord export": {
		prints: `(?s)kind: DiscordServer.*kind: DiscordGroup.*secretName: tokyo-alerts-webhook`},
	"kubectl events --for=discordchannel/tokyo-alerts":  {lags: true, prints: `Created`},
	"tail ...discord-operator.log":                      {prints: `controllerKind`},
	"kubectl create clusterrolebinding discord-metrics": {prints: `created`},
	`curl -sk ... | grep ^discord_`: {lags: true,
		prints: `discord_drift_corrections_total\{field="topic",kind="DiscordChannel",namespace="default"\} 1`},
	"kubectl delete discordchannel": {prints: `deleted`,
		then: "kubectl get discordchannel kyoto-alerts 2>&1", shows: `not found`},

	"kubectl get clusters.postgresql.cnpg.io": {
		prints: `(?s)cluster\.postgresql\.cnpg\.io/sendai-jujutsu-high-db.*` +
			`database\.postgresql\.cnpg\.io/sendai-jujutsu-high-db`},
	"kubectl annotate dojo": {
		prints: `annotated`,
		then:   "kubectl events --for=dojo/sendai-jujutsu-high; " + wide,
		shows:  `(?s)CredentialsRotated.*sendai-jujutsu-high +True +Reconciled +1/1 `,
	},
	`kubectl patch dojo sendai-jujutsu-high`: {
		prints: `patched`,
		then: "kubectl get clusters.postgresql.cnpg.io sendai-jujutsu-high-db -o jsonpath='{.status.readyInstances}'; " +
			wide,
		shows: `(?s)^2.*sendai-jujutsu-high +True +Reconciled +1/1 `,
	},
	"kubectl get dojo sendai-jujutsu-high -o": {prints: `"channelId":"\d+".*"channelName":"sendai-jujutsu-high-alerts"`},
	"kubectl describe discordchannels,": {
		prints: `(?si)name: +sendai-jujutsu-high-alerts.*alert: +DojoDown.*` +
			`api URL:\s+key: +url\s+name: +sendai-jujutsu-high-alertmanager`},
	"kubectl delete dojo sendai-jujutsu-high": {prints: `deleted`,
		then: "kubectl get database,secret sendai-jujutsu-high-db", shows: `(?s)database.*secret/sendai`},
	"kubectl apply -f ": {prints: `created`, then: wide,
		shows: `sendai-jujutsu-high +True +Reconciled +1/1 `},
	"kubectl delete dojo kyoto": {prints: `deleted`,
		then: "kubectl get all,secrets -l app.kubernetes.io/instance=kyoto-jujutsu-high 2>&1", shows: `^No resources found`},
}

func TestHints(t *testing.T) {
	kubectl.OnPath(t)
	for _, program := range []string{"bash", "curl", "base64", "grep"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the playground proposes commands with %s, which is not installed here: %v", program, err)
		}
	}
	g := NewWithT(t)
	p := startPlayground(t)
	g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say(upAndReady))
	p.expectShortEnd(g)
	t.Setenv("KUBECONFIG", p.kubeconfig())
	takeTour(t, g)

	hints := p.hints(t)
	admin := regexp.MustCompile(`cat (\S+)\)" .* (http://\S+)/channels/`).FindStringSubmatch(hints)
	g.Expect(admin).NotTo(BeNil(), "a hint should use the administrator's token")
	t.Setenv("ADMIN_TOKEN_FILE", admin[1])
	t.Setenv("API", admin[2])

	untried := maps.Clone(checks)
	for _, command := range commandsOf(hints) {
		if kubeconfig, ok := strings.CutPrefix(command, "export KUBECONFIG="); ok {
			g.Expect(kubeconfig).To(Equal(p.kubeconfig()))
			continue
		}
		beginning := checkFor(command)
		if beginning == "" {
			t.Errorf("nothing checks the hint: %s", command)
			continue
		}
		delete(untried, beginning)
		try(t, g, command, checks[beginning])
	}
	g.Expect(untried).To(BeEmpty(), "every check should belong to a hint")
	// Without a logger, controller-runtime writes a warning to stderr after half a minute.
	g.Expect(string(p.Err.Contents())).To(BeEmpty())
}

// Users copy the last line, so the text after the table must be short.
func (p *playground) expectShortEnd(g *WithT) {
	_, end, found := strings.Cut(string(p.Out.Contents()), "All samples are Ready")
	g.Expect(found).To(BeTrue())
	lines := strings.Split(strings.TrimSuffix(end, "\n"), "\n")
	g.Expect(len(lines)).To(BeNumerically("<=", 15), end)
	g.Expect(end).To(And(ContainSubstring("Ctrl-C stops everything and cleans up."),
		ContainSubstring("docs/learn/tutorial.md"), ContainSubstring("hints.txt")))
	g.Expect(strings.Join(lines[len(lines)-3:], "\n")).To(MatchRegexp(
		`^    Page of Discord:  http://127\.0\.0\.1:\d+\n\n    export KUBECONFIG=/\S+$`))
	page := regexp.MustCompile(`http://\S+`).FindString(end)
	g.Expect(shell("curl -sS "+page, waitLimit)).To(ContainSubstring("<title>Simulated Discord</title>"))
}

func (p *playground) hints(t *testing.T) string {
	t.Helper()
	file := regexp.MustCompile(`Things to try: +(\S+)`).FindSubmatch(p.Out.Contents())
	if file == nil {
		t.Fatal("no file with things to try is named")
	}
	text, err := os.ReadFile(string(file[1]))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func commandsOf(text string) []string {
	var commands []string
	for _, match := range regexp.MustCompile(`(?m)^ {4}(\S.*)$`).FindAllStringSubmatch(text, -1) {
		commands = append(commands, match[1])
	}
	return commands
}

func checkFor(command string) string {
	fits := slices.DeleteFunc(slices.Collect(maps.Keys(checks)), func(beginning string) bool {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(beginning), `\.\.\.`, ".*")
		return !regexp.MustCompile(pattern).MatchString(command)
	})
	longest := ""
	for _, beginning := range fits {
		if len(beginning) > len(longest) {
			longest = beginning
		}
	}
	return longest
}

func try(t *testing.T, g *WithT, command string, c check) {
	t.Helper()
	t.Log("$", command)
	limit := waitLimit
	if c.endless {
		limit = 2 * time.Second // run doubles this limit each time it is called
	}
	var output string
	var err error
	run := func() string {
		output, err = shell(command, limit)
		if c.endless {
			limit *= 2
		}
		return output
	}
	if c.endless || c.lags {
		g.Eventually(run).WithTimeout(waitLimit).Should(MatchRegexp(c.prints), "the output of `%s`", command)
	} else {
		g.Expect(run()).To(MatchRegexp(c.prints), "the output of `%s`", command)
	}
	g.Expect(err != nil).To(Equal(c.fails || c.endless), "the exit status of `%s` (%v): %s", command, err, output)
	if c.then != "" {
		g.Eventually(func() string {
			output, _ := shell(c.then, limit)
			return output
		}).WithTimeout(waitLimit).WithPolling(200*time.Millisecond).Should(MatchRegexp(c.shows), "after `%s`", command)
	}
}

func shell(command string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", "set -o pipefail; "+command)
	bash.Env = os.Environ()
	bash.WaitDelay = time.Second // if the shell is killed, its kubectl may still run and keep the pipe open
	output, err := bash.CombinedOutput()
	return string(output), err
}
