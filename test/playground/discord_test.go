// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/discordtest"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var o unstructured.Unstructured
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return &o
}

func TestWithBot(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		server = "{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordServer, metadata: {name: a}, " +
			"spec: {tokenSecretRef: {name: bot}, " +
			"serverId: '17', name: A school, deletionPolicy: Delete, systemChannelRef: {name: welcome}}}"
		secret = "{apiVersion: v1, kind: Secret, metadata: {name: bot}, data: {token: eA==}, " +
			"stringData: {token: placeholder}}"
		other  = "{apiVersion: v1, kind: Secret, metadata: {name: dojo-app}, stringData: {password: x}}"
		filled = "{apiVersion: v1, kind: Secret, metadata: {name: bot}, stringData: {token: secret}}"
		// This Secret has the name that server refers to, but another namespace.
		elsewhere = "{apiVersion: v1, kind: Secret, metadata: {name: bot, namespace: b}, stringData: {token: placeholder}}"
		tenants   = "{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordServer, metadata: {name: a, namespace: b}, " +
			"spec: {tokenSecretRef: {name: bot}, serverId: '19'}}"
	)
	for name, test := range map[string]struct {
		objects, want []string
		serverID, err string
	}{
		"a simulated Discord keeps the server's spec": {objects: []string{secret, server, other},
			want: []string{filled, server, other}},
		"for a real Discord, the server's spec loses its settings": {
			objects: []string{other, server, secret}, serverID: "18",
			want: []string{other, "{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordServer, metadata: {name: a}, " +
				"spec: {tokenSecretRef: {name: bot}, serverId: '18', deletionPolicy: Retain}}", filled},
		},
		"the Secret is missing": {objects: []string{server, other}, err: "lack the Secret"},
		"a Secret of the same name in another namespace": {objects: []string{secret, server, elsewhere}, want: []string{filled, server,
			elsewhere}},
		"two servers, each with its Secret": {
			objects: []string{secret, server, elsewhere, tenants},
			want:    []string{filled, server, strings.Replace(elsewhere, "placeholder", "secret", 1), tenants},
		},
		"the Secret is only in another namespace": {objects: []string{server, elsewhere}, err: "lack the Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects, want []*unstructured.Unstructured
			for _, text := range test.objects {
				objects = append(objects, object(t, text))
			}
			for _, text := range test.want {
				want = append(want, object(t, text))
			}
			got, err := withBot(objects, bot{tokenFile: token, serverID: test.serverID})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(object(t, test.objects[0]), objects[0]); diff != "" {
				t.Errorf("withBot has changed its arguments:\n%s", diff)
			}
		})
	}
}

func TestByPolicy(t *testing.T) {
	const head = "{apiVersion: discord.jutsu.com/v1alpha1, kind: "
	for name, test := range map[string]struct {
		object        string
		deleted, kept []string
	}{
		"a server": {object: head + "DiscordServer, metadata: {name: a}, status: {serverId: '17'}}"},
		"a created channel": {object: head +
			"DiscordChannel, spec: {name: tokyo}, status: {channelId: '19', channelURL: 'https://x/19'}}",
			deleted: []string{"#tokyo (https://x/19)"}},
		"a created category": {object: head + "DiscordGroup, spec: {name: Alerts}, status: {groupId: '18'}}",
			deleted: []string{`category "Alerts"`}},
		"a channel that may exist on Discord": {object: head + "DiscordChannel, metadata: {finalizers: [x/y]}, spec: {name: tokyo}}",
			deleted: []string{"#tokyo"}},
		"a channel that was never created": {object: head + "DiscordChannel, spec: {name: tokyo}}"},
		"a channel with the policy Retain": {object: head +
			"DiscordChannel, spec: {name: tokyo, deletionPolicy: Retain}, status: {channelId: '19'}}",
			kept: []string{"#tokyo"}},
		"an adopted channel": {object: head +
			"DiscordChannel, spec: {name: tokyo, adopt: {id: '19'}}, status: {channelId: '19'}}", kept: []string{"#tokyo"}},
		"an adopted channel with the policy Delete": {object: head +
			"DiscordChannel, spec: {name: tokyo, adopt: {id: '19'}, deletionPolicy: Delete}, status: {channelId: '19'}}",
			kept: []string{"#tokyo"}},
	} {
		t.Run(name, func(t *testing.T) {
			deleted, kept := byPolicy([]unstructured.Unstructured{*object(t, test.object)})
			if diff := cmp.Diff(test.deleted, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.kept, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// usersDiscord is an existing Discord server, which outlives the playground.
type usersDiscord struct {
	srv   *discordtest.Server
	bot   discordtest.Bot
	guild string
	flags []string
}

func newUsersDiscord(t *testing.T) *usersDiscord {
	t.Helper()
	s := &usersDiscord{srv: discordtest.Run(t, discordtest.Options{})}
	s.bot = s.srv.AddBot(discordtest.Bot{Name: "operator"})
	s.guild = s.srv.AddGuild(discordtest.GuildSpec{Name: "A user's"}).ID
	s.srv.AddMember(s.guild, s.bot.UserID, discordtest.PermAdministrator)
	s.srv.CreateChannelByHand(s.guild, discordtest.Channel{Name: "welcome"})
	s.srv.CreateChannelByHand(s.guild, discordtest.Channel{Type: discordtest.TypeCategory, Name: "Alerts"})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(s.bot.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	s.flags = []string{"--discord-token-file=" + token, "--discord-server-id=" + s.guild,
		"--discord-api-url=" + s.srv.APIURL()}
	return s
}

// state omits the audit log, which every run changes.
func (s *usersDiscord) state() discordtest.Guild {
	g := s.srv.Guild(s.guild)
	g.Audit = nil
	return g
}

func TestRealDiscordOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newUsersDiscord(t)
	before := s.state()
	p := startPlayground(t, append(s.flags, "--once")...)
	g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(0))
	g.Expect(string(p.Out.Contents())).To(And(
		ContainSubstring("is on the REAL Discord"), ContainSubstring("All samples are Ready"),
		MatchRegexp(`Deleting what this run has created on Discord .*: `+
			`#kyoto-alerts \(http://127\.0\.0\.1:\d+/channels/\d+/\d+\), .*category "Staff room"`),
		Not(ContainSubstring(s.bot.Token)), Not(ContainSubstring("Retained on Discord")),
	))
	g.Expect(s.srv.RequestCounts()).To(And(
		HaveKeyWithValue("POST /guilds/{guild_id}/channels", 7), HaveKeyWithValue("DELETE /channels/{channel_id}", 7),
		Not(HaveKey("PATCH /guilds/{guild_id}")),
	), "five channels, one of them a Dojo's, and two categories come and go, and the server's settings stay")
	g.Expect(s.state()).To(Equal(before))
	p.expectNoTraces(g)
}

func TestRealDiscordKeepsAdoptedChannels(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newUsersDiscord(t)
	treasure := s.srv.CreateChannelByHand(s.guild, discordtest.Channel{Name: "treasure"})
	before := s.state()
	p := startPlayground(t, s.flags...)
	g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say(upAndReady))
	g.Expect(string(p.Out.Contents())).To(And(ContainSubstring("the REAL Discord"),
		MatchRegexp(`Page of Discord: +https://discord\.com/channels/`+s.guild+`\n`)))
	g.Expect(p.hints(t)).NotTo(ContainSubstring("admin.token"))

	adopting := object(t, `{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordChannel,
		metadata: {name: treasure, namespace: default}, spec: {serverRef: {name: jujutsu}, name: treasure,
			adopt: {id: '`+treasure+`'}, deletionPolicy: Delete}}`)
	admin := p.admin(t)
	g.Expect(admin.Create(t.Context(), adopting)).To(Succeed())
	g.Eventually(func() string {
		_ = admin.Get(t.Context(), client.ObjectKeyFromObject(adopting), adopting)
		return rowOf(adopting).ready
	}).WithTimeout(waitLimit).Should(Equal(string(metav1.ConditionTrue)))

	p.Interrupt()
	g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(0))
	g.Expect(string(p.Out.Contents())).To(MatchRegexp(`Retained on Discord, .*: #treasure \(http://127\.0\.0\.1:\d+/channels/\d+/\d+\)\.`))
	g.Expect(s.state()).To(Equal(before))
	p.expectNoTraces(g)
}

func TestRealDiscordReportsRemainingObjects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newUsersDiscord(t)
	p := startPlayground(t, s.flags...)
	g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say(upAndReady))
	s.srv.RemoveMember(s.guild, s.bot.UserID)
	p.Interrupt()
	g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(1))
	g.Expect(string(p.Err.Contents())).To(And(
		MatchRegexp(`LEFT ON DISCORD, delete it there by hand: .*#tokyo-alerts \(http://127\.0\.0\.1:\d+/channels/\d+/\d+\)`),
		ContainSubstring(`category "Alerts"`),
		ContainSubstring("DeletionFailed"),
	))
	g.Expect(string(p.Out.Contents())).NotTo(ContainSubstring("Everything is stopped"))
	p.expectNoTraces(g)
}

func TestRealDiscordRefusesTheToken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newUsersDiscord(t)
	if _, err := s.srv.RotateToken(s.bot.Token); err != nil {
		t.Fatal(err)
	}
	p := startPlayground(t, append(s.flags, "--once", "--timeout=30s")...)
	g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(1))
	g.Expect(string(p.Err.Contents())).
		To(And(ContainSubstring("AuthenticationFailed"), Not(ContainSubstring("LEFT ON DISCORD")),
			Not(ContainSubstring(s.bot.Token))))
	p.expectNoTraces(g)
}

func (p *playground) kubeconfig() string {
	_, after, _ := strings.Cut(string(p.Out.Contents()), "export KUBECONFIG=")
	kubeconfig, _, _ := strings.Cut(after, "\n")
	return kubeconfig
}

func (p *playground) admin(t *testing.T) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}
