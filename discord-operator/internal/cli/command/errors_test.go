// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/plan"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	nowhere := kubectltest.Kubeconfig(t, "http://127.0.0.1:1", "platform")
	root := runWith(t.Context(), nowhere, "")
	expectGolden(t, "help", root.String())
	c := newSession(kubectl.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Env: func(string) string { return "" }})
	for _, command := range c.newRoot().Commands() {
		name := command.Name()
		if name == "help" || name == "completion" {
			continue
		}
		if !strings.Contains(root.out, "  "+name+" ") {
			t.Errorf("the help does not list %s", name)
		}
		got := runWith(t.Context(), nowhere, "", name, "--help")
		if got.code != 0 || got.err != "" || !strings.Contains(got.out, "kubectl discord "+name) {
			t.Errorf("%s --help: %s", name, got)
		}
	}
	if got := runWith(t.Context(), nowhere, "", "version"); got.out != "kubectl-discord v1.2.3\n" {
		t.Error(got)
	}
}

// Wrong use prints one line, sends no request, and exits with code 2.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	nowhere := kubectltest.Kubeconfig(t, "http://127.0.0.1:1", "platform")
	for args, problem := range map[string]string{
		"exprt":                          `there is no command "exprt"; did you mean export?`,
		"nonsense":                       `there is no command "nonsense"; see kubectl discord --help`,
		"status":                         "the name of a DiscordServer is missing: kubectl discord status SERVER",
		"status a b":                     `unexpected argument "b": kubectl discord status SERVER`,
		"status a -w -o json":            "--watch and --output exclude each other",
		"status a -o table":              "must be json or yaml; see kubectl discord status --help",
		"invite":                         "the name of a DiscordServer is missing: kubectl discord invite SERVER",
		"check-token":                    "name a DiscordServer, or set --token-file: kubectl discord check-token [SERVER]",
		"check-token a b":                `unexpected argument "b": kubectl discord check-token [SERVER]`,
		"adopt":                          "the name of a DiscordServer is missing: kubectl discord adopt SERVER ID",
		"adopt a":                        "the id of a channel, category or role is missing: kubectl discord adopt SERVER ID",
		"adopt a general":                `"general" is no id of Discord: an id has 6 to 20 digits`,
		"adopt a 1234567 --name A":       `--name is "A": `,
		"undelete":                       "the type is missing: kubectl discord undelete TYPE NAME",
		"undelete thread a":              `"thread" is no type: say server, group, channel or role`,
		"undelete channel":               "the name of the object is missing: kubectl discord undelete TYPE NAME",
		"undelete channel a --timeout x": `invalid argument "x" for "--timeout" flag`,
		"export":                         "export: --server-id is missing",
		"plan":                           "plan: -f is missing",
		"plan -n x":                      "flag provided but not defined: -n",
	} {
		got := runWith(t.Context(), nowhere, "", strings.Fields(args)...)
		if got.code != 2 || !strings.Contains(got.err, problem) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%s: %s, want %q", args, got, problem)
		}
	}
}

var cases = []string{"status company", "invite company", "check-token company", "adopt company 1234567", "undelete channel alerts"}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	s := company().in(t)
	for _, args := range cases {
		fields := strings.Fields(args)
		i := slices.IndexFunc(fields, func(f string) bool { return f == "company" || f == "alerts" })
		fields[i] = "another"
		want := `there is no DiscordServer "another" in the namespace platform; existing names: company` + "\n"
		if fields[0] == "undelete" {
			want = `there is no DiscordChannel "another" in the namespace platform; its deletion is complete, or it never existed. ` +
				"If Discord still has the channel, category or role, print a manifest that adopts it: kubectl discord adopt SERVER ID -n NAMESPACE\n"
		}
		if got := run(t, s, "", fields...); got.code != 1 || got.err != "kubectl discord: "+want || got.out != "" {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestUnreachableCluster(t *testing.T) {
	t.Parallel()
	nowhere := kubectltest.Kubeconfig(t, "http://127.0.0.1:1", "platform")
	for _, args := range cases {
		const want = "kubectl discord: the API server http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused\n"
		if got := runWith(t.Context(), nowhere, "", strings.Fields(args)...); got.code != 1 || got.err != want || got.out != "" {
			t.Errorf("%s: %s", args, got)
		}
	}
}

func TestMissingKinds(t *testing.T) {
	t.Parallel()
	s := company().in(t)
	s.Uninstall(kinds.Server.Resource(), kinds.Channel.Resource())
	for _, args := range cases {
		got := run(t, s, "", strings.Fields(args)...)
		if got.code != 1 || !strings.Contains(got.err, "does not serve a kind that this command needs") || !strings.Contains(got.err, "docs/do/install.md") {
			t.Errorf("%s: %s", args, got)
		}
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	const servers, channels = "discordservers.discord.jutsu.com", "discordchannels.discord.jutsu.com"
	for name, c := range map[string]struct{ deny, args, problem string }{
		"status":                  {"get " + servers, "status company", "you (yuji) may not get " + servers + " in the namespace platform. Ask an administrator for a RoleBinding to the ClusterRole discord-view"},
		"invite":                  {"get " + servers, "invite company", "may not get " + servers},
		"check-token":             {"get " + servers, "check-token company", "may not get " + servers},
		"check-token, the Secret": {"get secrets", "check-token company", "you (yuji) may not get secrets in the namespace platform."},
		"adopt":                   {"get secrets", "adopt company 1234567", "may not get secrets in the namespace platform."},
		"undelete":                {"get " + channels, "undelete channel tokyo-alerts -n team-a", "may not get " + channels + " in the namespace team-a. Ask an administrator for a RoleBinding to the ClusterRole discord-view"},
		"undelete, patch":         {"patch " + channels, "undelete channel tokyo-alerts -n team-a -y", "in the namespace team-a that you lack: patch " + channels},
		"undelete, create":        {"create " + channels, "undelete channel tokyo-alerts -n team-a -y", "in the namespace team-a that you lack: create " + channels},
		"undelete, the server of another namespace": {"get " + servers, "undelete channel tokyo-alerts -n team-a -y",
			"may not get " + servers + " in the namespace platform"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := company(deleted).in(t)
			s.Deny(c.deny)
			got := run(t, s, "", strings.Fields(c.args)...)
			if got.code != 1 || !strings.Contains(got.err, c.problem) || len(s.Writes()) > 0 {
				t.Errorf("%s, want %q; it has written %v", got, c.problem, s.Writes())
			}
		})
	}
}

func TestInviteBeforeTheBotIsKnown(t *testing.T) {
	t.Parallel()
	got := run(t, company(func(s *school) { s.server.Status.InviteURL = "" }).in(t), "", "invite", "company")
	if got.code != 1 || !strings.Contains(got.err, "the bot of the DiscordServer company yet, so there is no link. To see why: kubectl discord status company -n platform") {
		t.Error(got)
	}
}

func TestPlanExitCode(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{0: nil, 1: io.ErrUnexpectedEOF, 3: fmt.Errorf("plan: %w", plan.ErrDiffers)} {
		if got := kubectl.ExitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
	if !errors.Is(plan.ErrDiffers, kubectl.ErrIll) {
		t.Error("a plan with changes would print an error")
	}
}
