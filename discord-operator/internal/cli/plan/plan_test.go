// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/export"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

type rig struct {
	srv                                   *discordtest.Server
	bot                                   discordtest.Bot
	guild, category, alerts, chat, onCall string
	tokenFile                             string
}

const all = discordtest.PermManageChannels | discordtest.PermManageGuild | discordtest.PermViewAuditLog |
	discordtest.PermViewChannel | discordtest.PermSendMessages | discordtest.PermManageRoles | discordtest.PermManageWebhooks

func newRig(t *testing.T, granted discordtest.Permissions) *rig {
	t.Helper()
	r := &rig{
		srv:       discordtest.Run(t, discordtest.Options{Limits: discordtest.NoRateLimits()}),
		tokenFile: filepath.Join(t.TempDir(), "token"),
	}
	r.bot = r.srv.AddBot(discordtest.Bot{Name: "operator"})
	r.guild = r.srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"}).ID
	r.srv.AddMember(r.guild, r.bot.UserID, granted)
	r.category = r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "incidents", Type: discordtest.TypeCategory})
	r.alerts = r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "alerts", ParentID: r.category, Topic: "old"})
	r.chat = r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "general", Position: 1})
	r.onCall = r.srv.CreateRoleByHand(r.guild, discordtest.Role{Name: "On call"})
	if err := os.WriteFile(r.tokenFile, []byte(r.bot.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifests.yaml")
	text = os.Expand(text, func(name string) string {
		return map[string]string{
			"GUILD": r.guild, "CATEGORY": r.category, "ALERTS": r.alerts, "CHAT": r.chat, "ROLE": r.onCall,
		}[name]
	})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *rig) plan(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	r.srv.ResetRequests()
	var out, errOut bytes.Buffer
	err = Run(t.Context(), append([]string{
		"--discord-api-url=" + r.srv.APIURL(), "--server-id=" + r.guild, "--token-file=" + r.tokenFile,
	}, args...), &out, &errOut)
	printed := out.String() + errOut.String()
	if err != nil {
		printed += err.Error()
	}
	if strings.Contains(printed, r.bot.Token) {
		t.Error("the token is printed")
	}
	for _, request := range r.srv.Requests() {
		if request.Method != http.MethodGet {
			t.Errorf("%s was sent", request.Route)
		}
	}
	return out.String(), errOut.String(), err
}

func object(kind, name, spec string) string {
	return "---\napiVersion: discord.jutsu.com/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

const (
	inServer = "serverRef: {name: jujutsu}, "
	inGroup  = "groupRef: {name: incidents}, "
)

var (
	theServer  = object("DiscordServer", "jujutsu", `serverId: "$GUILD", tokenSecretRef: {name: discord-bot}`)
	theGroup   = object("DiscordGroup", "incidents", inServer+`name: incidents, adopt: {id: "$CATEGORY"}`)
	theChannel = object("DiscordChannel", "alerts", inGroup+`name: alerts, adopt: {id: "$ALERTS"}`)
	theRole    = object("DiscordRole", "on-call", inServer+`name: On call, adopt: {id: "$ROLE"}`)
)

var withIcon = object("DiscordServer", "jujutsu",
	`serverId: "$GUILD", tokenSecretRef: {name: discord-bot}, icon: {configMapKeyRef: {name: icon, key: a}}`)

func picture(shade uint8) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: icon}\nbinaryData: {a: " +
		base64.StdEncoding.EncodeToString(discordtest.PNG(2, 2, shade)) + "}\n"
}

func pictureHash(shade uint8) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(discordtest.PNG(2, 2, shade)))
}

var created = object("DiscordGroup", "team", inServer+"name: Team, permissionOverwrites: [{roleRef: {name: dev}, allow: [SendMessages]}]") +
	object("DiscordChannel", "dev", "groupRef: {name: team}, name: dev, topic: Hello, webhook: {name: ci}") +
	object("DiscordRole", "dev", inServer+"name: Dev, hoist: true")

func sharing(ceiling string) string {
	return object("DiscordServer", "jujutsu", `serverId: "$GUILD", tokenSecretRef: {name: b}, `+
		"allowedRoles: {namespaces: {from: All}, permissions: ["+ceiling+"]}")
}

func guest(name, spec string) string {
	return strings.Replace(object("DiscordRole", name, "serverRef: {name: jujutsu, namespace: default}, "+spec),
		"{name: "+name+"}", "{name: "+name+", namespace: other}", 1)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	r.srv.CreateRoleByHand(r.guild, discordtest.Role{Name: "Low"})
	r.srv.EditRoleByHand(r.guild, r.onCall, func(role *discordtest.Role) { role.Permissions = discordtest.PermViewChannel })
	yuji := r.srv.AddUser("Yuji")
	r.srv.AddMember(r.guild, yuji, 0)
	r.srv.EditGuildByHand(r.guild, func(g *discordtest.Guild) { g.Icon = "12345" })
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "news", Position: 2}) // below "general"
	above := object("DiscordChannel", "news", inServer+"name: news, position: 1")
	for name, c := range map[string]struct {
		is, was string
		want    []string // all lines except the summary
		problem bool
		same    bool // whether the plan has no change
	}{
		"in sync":                     {is: theServer + theGroup + theChannel + theRole},
		"finds a channel by its name": {is: theServer + object("DiscordChannel", "chat", inServer+"name: general")},
		"changes": {is: theServer + theGroup +
			object("DiscordChannel", "alerts", inServer+`name: alarms, topic: new, slowmode: 30s, adopt: {id: "$ALERTS"}, webhook: {name: ci}`) +
			object("DiscordRole", "on-call", inServer+`name: On call, color: "#E67E22", members: ["`+yuji+`"], adopt: {id: "$ROLE"}`),
			want: []string{
				"~ DiscordRole default/on-call", "    color: #000000 -> #E67E22", "    members: give to user " + yuji,
				"~ DiscordChannel default/alerts", `    name: "alerts" -> "alarms"`, `    topic: "old" -> "new"`,
				"    slowmode: 0s -> 30s", `    group: "incidents" -> none`, `    create webhook "ci"`,
			}},
		"a whole new team": {is: theServer + created, want: []string{
			"+ DiscordRole default/dev", `    name: "Dev"`, "    hoist: true",
			"+ DiscordGroup default/team", `    name: "Team"`,
			`    permissionOverwrites of role "Dev": allow SendMessages, deny none`,
			"+ DiscordChannel default/dev", `    name: "dev"`, `    topic: "Hello"`, `    group: "Team"`, `    create webhook "ci"`,
		}},
		"a new channel with a user limit": {is: theServer + object("DiscordChannel", "lounge", inServer+"name: Lounge, type: Voice, voice: {userLimit: 5}"),
			want: []string{"+ DiscordChannel default/lounge", "    type: Voice", `    name: "Lounge"`, "    userLimit: 5"}},
		"positions that need no move": {is: theServer +
			object("DiscordChannel", "chat", inServer+`name: general, position: 2, adopt: {id: "$CHAT"}`) +
			object("DiscordChannel", "top", inServer+`name: top, position: 1`) +
			object("DiscordChannel", "out", inServer+`name: alerts, position: 0, adopt: {id: "$ALERTS"}`),
			want: []string{
				"~ DiscordChannel default/out", `    group: "incidents" -> none`, "+ DiscordChannel default/top", `    name: "top"`,
			}},
		"the position of an observed channel moves no other channel": {is: theServer + above +
			object("DiscordChannel", "chat", inServer+"name: general, position: 9, managementPolicy: Observe"), same: true,
			want: []string{"o DiscordChannel default/chat (observed)", `    move below "news"`}},
		"the position of a paused channel moves no other channel": {is: theServer + above +
			strings.Replace(object("DiscordChannel", "chat", inServer+"name: general, position: 9"),
				"metadata: {", `metadata: {annotations: {discord.jutsu.com/paused: "true"}, `, 1)},
		"deletes a removed channel, keeps an adopted one": {is: theServer + theGroup, was: theServer + theGroup + theChannel +
			object("DiscordChannel", "chat", inServer+"name: general") + object("DiscordRole", "on-call", inServer+"name: On call"),
			want: []string{"- DiscordRole default/on-call", "- DiscordChannel default/chat"}},
		"renames": {is: theServer + object("DiscordChannel", "chat", inServer+"name: talk"),
			was:  theServer + object("DiscordChannel", "chat", inServer+"name: general"),
			want: []string{"~ DiscordChannel default/chat", `    name: "general" -> "talk"`}},
		"creates a channel that --before lacks, although Discord has a channel of that name": {is: theServer + object("DiscordChannel", "chat", inServer+"name: general"),
			was: theServer, want: []string{"+ DiscordChannel default/chat", `    name: "general"`}},
		"finds a channel by the id in the status": {
			is: theServer + "---\napiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimPrefix(
				object("DiscordChannel", "chat", inServer+"name: talk")+`status: {channelId: "$CHAT"}`, "---\n"), "\n", "\n  "),
			want: []string{"~ DiscordChannel default/chat", `    name: "general" -> "talk"`}},
		"observed objects": {is: object("DiscordServer", "jujutsu", `serverId: "$GUILD", tokenSecretRef: {name: b}, name: Renamed, managementPolicy: Observe`) +
			object("DiscordChannel", "chat", inServer+"name: general, topic: x, managementPolicy: Observe"), same: true,
			want: []string{"o DiscordServer default/jujutsu (observed)", `    name: "Jujutsu High" -> "Renamed"`,
				"o DiscordChannel default/chat (observed)", `    topic: "" -> "x"`}},
		"a channel that one object manages and another observes": {is: theServer + object("DiscordChannel", "chat", inServer+`name: talk, adopt: {id: "$CHAT"}`) +
			object("DiscordChannel", "watch", inServer+`name: general, topic: x, adopt: {id: "$CHAT"}, managementPolicy: Observe`),
			want: []string{"~ DiscordChannel default/chat", `    name: "general" -> "talk"`,
				"o DiscordChannel default/watch (observed)", `    topic: "" -> "x"`}},
		"nothing to observe": {is: theServer + object("DiscordGroup", "g", inServer+"name: g, managementPolicy: Observe"), problem: true,
			want: []string{"o DiscordGroup default/g (observed)", "    create", "  ! NothingToObserve: ..."}},
		"a server's settings": {is: object("DiscordServer", "jujutsu", `serverId: "$GUILD", tokenSecretRef: {name: b}, `+
			"name: Renamed, systemChannelRef: {name: chat}") + object("DiscordChannel", "chat", inServer+"name: general"),
			want: []string{"~ DiscordServer default/jujutsu", `    name: "Jujutsu High" -> "Renamed"`,
				`    systemChannelRef: none -> "general"`}},
		"a new icon": {is: withIcon + picture(1), want: []string{
			"~ DiscordServer default/jujutsu", "    icon: 12345 -> " + pictureHash(1)}},
		"an applied icon":                         {is: withIcon + picture(1), was: withIcon + picture(1)},
		"an icon whose ConfigMap has no manifest": {is: withIcon},
		"an icon that the status names":           {is: withIcon + `status: {icon: {sourceHash: "` + pictureHash(1) + `", discordHash: "12345"}}` + "\n" + picture(1)},
		"a changed icon": {is: withIcon + picture(2), was: withIcon + picture(1), want: []string{
			"~ DiscordServer default/jujutsu", "    icon: " + pictureHash(1) + " -> " + pictureHash(2)}},
		"an invalid icon": {is: withIcon + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: icon}\ndata: {a: text}\n",
			problem: true, want: []string{"! DiscordServer default/jujutsu", "  ! IconUnusable: ..."}},
		"a community, the bot lacks Administrator": {is: object("DiscordServer", "jujutsu", `serverId: "$GUILD", tokenSecretRef: {name: b}, community: Enabled, `+
			"rulesChannelRef: {name: chat}, publicUpdatesChannelRef: {name: chat}") + object("DiscordChannel", "chat", inServer+"name: general"),
			problem: true, want: []string{"~ DiscordServer default/jujutsu", "    verificationLevel: None -> Low",
				"    explicitContentFilter: Disabled -> AllMembers", `    rulesChannelRef: none -> "general"`,
				`    publicUpdatesChannelRef: none -> "general"`, "    community: none -> Enabled", "  ! MissingPermissions: ..."}},
		"a channel without a manifest of its server": {is: object("DiscordChannel", "chat", inServer+"name: general, topic: x"),
			want: []string{"~ DiscordChannel default/chat", `    topic: "" -> "x"`}},
		"objects of another server": {is: object("DiscordServer", "other", `serverId: "1234567", tokenSecretRef: {name: b}`) +
			object("DiscordChannel", "chat", "serverRef: {name: other}, name: general, topic: x")},
		"problems": {is: theServer + theChannel + object("DiscordChannel", "again", inServer+`name: a, adopt: {id: "$ALERTS"}`) +
			object("DiscordChannel", "gone", inServer+`name: a, adopt: {id: "1234567"}`), problem: true, want: []string{
			"~ DiscordChannel default/again", `    name: "alerts" -> "a"`, `    group: "incidents" -> none`,
			"! DiscordChannel default/alerts", "  ! WaitingForGroup: ...", "! DiscordChannel default/gone", "  ! AdoptNotFound: ...",
		}},
		"a channel in a namespace that is not allowed": {is: theServer + "---\napiVersion: discord.jutsu.com/v1alpha1\nkind: DiscordChannel\n" +
			"metadata: {name: a, namespace: other}\nspec: {name: a, serverRef: {name: jujutsu, namespace: default}}\n",
			problem: true, want: []string{"! DiscordChannel other/a", "  ! NotAllowed: ..."}},
		"a role of another namespace": {is: sharing("SendMessages") + guest("a", "name: A, permissions: [SendMessages]"),
			want: []string{"+ DiscordRole other/a", `    name: "A"`, "    permissions: SendMessages"}},
		"an observed role above the ceiling": {is: sharing("SendMessages") + guest("a", "name: On call, managementPolicy: Observe"),
			want: []string{"~ DiscordRole other/a", "    permissions: ViewChannel -> none", "    move below the roles of the server"}},
		"a paused role above the ceiling": {is: sharing("SendMessages") + strings.Replace(guest("a", "name: On call"),
			"namespace: other}", `namespace: other, annotations: {discord.jutsu.com/paused: "true"}}`, 1),
			want: []string{"~ DiscordRole other/a", "    permissions: ViewChannel -> none", "    move below the roles of the server"}},
		"a role above the ceiling": {is: sharing("Administrator") + guest("a", "name: A, permissions: [SendMessages]"),
			problem: true, want: []string{"+ DiscordRole other/a", `    name: "A"`, "    permissions: SendMessages", "  ! NotAllowed: ..."}},
		"a role of another namespace, only channels are allowed": {is: object("DiscordServer", "jujutsu",
			`serverId: "$GUILD", tokenSecretRef: {name: b}, allowedNamespaces: {from: All}`) + guest("a", "name: A"),
			problem: true, want: []string{"! DiscordRole other/a", "  ! NotAllowed: ..."}},
		"another namespace's role with spec.adopt": {is: sharing("SendMessages") + guest("a", `name: A, adopt: {id: "$ROLE"}`),
			problem: true, want: []string{"! DiscordRole other/a", "  ! NotAllowed: ..."}},
		"another namespace's role exceeds the ceiling and is too high": {
			is:   sharing("SendMessages") + guest("a", "name: On call") + object("DiscordRole", "own", inServer+"name: Low"),
			want: []string{"~ DiscordRole other/a", "    permissions: ViewChannel -> none", "    move below the roles of the server"}},
		"another namespace's role with policy Retain": {is: sharing("SendMessages") + guest("a", "name: A, deletionPolicy: Retain"),
			problem: true, want: []string{"+ DiscordRole other/a", `    name: "A"`, "  ! NotAllowed: ..."}},
		"another namespace's removed role with policy Retain": {is: sharing("ViewChannel"), was: sharing("ViewChannel") + guest("a", "name: On call, deletionPolicy: Retain"),
			problem: true, want: []string{"! DiscordRole other/a", "  ! NotAllowed: ..."}},
		"another namespace's role without a manifest of its server": {is: guest("a", "name: A, permissions: [BanMembers]"), problem: true,
			want: []string{"+ DiscordRole other/a", `    name: "A"`, "    permissions: BanMembers", "  ! MissingPermissions: ..."}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"-f", r.file(t, c.is)}
			if c.was != "" {
				args = append(args, "--before", r.file(t, c.was))
			}
			stdout, stderr, err := r.plan(t, args...)
			lines := strings.Split(regexp.MustCompile(`(?m)^(  ! \w+: ).*$`).ReplaceAllString(strings.TrimSpace(stdout), "$1..."), "\n")
			switch {
			case c.problem && (err == nil || errors.Is(err, ErrDiffers)),
				!c.problem && !c.same && len(c.want) > 0 && !errors.Is(err, ErrDiffers),
				(c.same || len(c.want) == 0) && err != nil:
				t.Errorf("it ends with %v", err)
			}
			if len(c.want) == 0 {
				c.want, lines = []string{"No changes: an apply would change nothing on Discord."}, append(lines, "", "")
			}
			if diff := cmp.Diff(c.want, lines[:len(lines)-2]); diff != "" {
				t.Errorf("%s%s%s", diff, stdout, stderr)
			}
		})
	}
}

// Objects of other namespaces must not add a permission to a link that a user may follow.
func TestLinksIgnoreOtherNamespaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.PermViewChannel|discordtest.PermManageChannels)
	guestChannel := strings.Replace(object("DiscordChannel", "a", "serverRef: {name: jujutsu, namespace: default}, name: a, "+
		`permissionOverwrites: [{role: "@everyone", deny: [BanMembers]}]`), "{name: a}", "{name: a, namespace: other}", 1)
	for name, c := range map[string]struct {
		manifests string
		want      []bool // for each link, whether it asks for BanMembers
	}{
		"the server's own role":    {theServer + object("DiscordRole", "a", inServer+"name: A, permissions: [BanMembers]"), []bool{false, true}},
		"another namespace's role": {sharing("BanMembers") + guest("a", "name: A, permissions: [BanMembers]"), []bool{false}},
		"another namespace's channel": {object("DiscordServer", "jujutsu",
			`serverId: "$GUILD", tokenSecretRef: {name: b}, allowedNamespaces: {from: All}`) + guestChannel, []bool{false}},
		"another namespace's role, if the manifests lack the DiscordServer": {guest("a", "name: A, permissions: [BanMembers]"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, _, err := r.plan(t, "-f", r.file(t, c.manifests))
			var got []bool
			for _, link := range regexp.MustCompile(`&permissions=(\d+)`).FindAllStringSubmatch(stdout, -1) {
				asked, _ := strconv.ParseUint(link[1], 10, 64)
				got = append(got, asked&discordgo.PermissionBanMembers != 0)
			}
			if err == nil || !strings.Contains(stdout, "BanMembers") || !slices.Equal(got, c.want) {
				t.Errorf("the links ask for BanMembers: %v, want %v; %v\n%s", got, c.want, err, stdout)
			}
		})
	}
}

func TestPlanOfAnExport(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	r.srv.CreateRoleByHand(r.guild, discordtest.Role{Name: "Sensei", Color: 7, Permissions: discordtest.PermViewChannel})
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "private", Overwrites: []discordtest.Overwrite{
		{ID: r.guild, Deny: discordtest.PermSendMessages}, {ID: r.onCall, Allow: discordtest.PermSendMessages},
	}})
	stdout, stderr, err := r.plan(t, "-f", r.exported(t))
	if err != nil || !strings.HasPrefix(stdout, "No changes") || stderr != "" {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
}

// The plan of a server's own export is empty. The plan of a copy creates everything.
func TestPlanOfRandomServers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, guildtest.Needed)
			if err := guildtest.Populate(t.Context(), r.srv, r.guild, r.bot, seed); err != nil {
				t.Fatal(err)
			}
			before := guildtest.Portrait(r.srv.Guild(r.guild))
			stdout, stderr, err := r.plan(t, "-f", r.exported(t))
			if err != nil || !strings.HasPrefix(stdout, "No changes") || stderr != "" {
				t.Errorf("%v\n%s%s", err, stdout, stderr)
			}
			empty := r.srv.AddGuild(discordtest.GuildSpec{}).ID
			r.srv.AddMember(empty, r.bot.UserID, guildtest.Needed)
			guildtest.Community(r.srv, empty)
			stdout, stderr, err = r.plan(t, "-f", r.exported(t, "--copy-to="+empty), "--server-id="+empty)
			if problems := !strings.Contains(stdout, "To create: "); err != nil && !errors.Is(err, ErrDiffers) || problems {
				t.Errorf("%v\n%s%s", err, stdout, stderr)
			}
			if diff := cmp.Diff(before, guildtest.Portrait(r.srv.Guild(r.guild))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (r *rig) exported(t *testing.T, args ...string) string {
	t.Helper()
	var manifests, notes bytes.Buffer
	err := export.Run(t.Context(), append([]string{
		"--discord-api-url=" + r.srv.APIURL(), "--server-id=" + r.guild, "--token-file=" + r.tokenFile,
	}, args...), &manifests, &notes)
	if err != nil || strings.Contains(manifests.String(), "NOTE") {
		t.Fatalf("%v: %s", err, notes.String())
	}
	return r.file(t, strings.ReplaceAll(manifests.String(), "$", "$$"))
}

func (r *rig) createWebhook(t *testing.T, channelID, name string) (id string) {
	t.Helper()
	api, err := cli.NewClient(discordclient.Options{Token: discordclient.NewSecret(r.bot.Token), APIURL: r.srv.APIURL()})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := api.CreateWebhook(t.Context(), channelID, name, "test")
	if err != nil {
		t.Fatal(err)
	}
	return hook.ID
}

// A plan shows the deletion of a webhook, because the webhook's URL then stops working.
func TestPlanOfRemovedWebhooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	inChat, inAlerts := r.createWebhook(t, r.chat, "ci"), r.createWebhook(t, r.alerts, "ci")
	r.srv.CreateWebhookByHand(r.chat, "by hand")
	chat := func(spec string) string {
		return theServer + object("DiscordChannel", "chat", inServer+"name: general"+spec)
	}
	adopted := func(spec string) string {
		return theServer + theGroup + object("DiscordChannel", "alerts", inGroup+`name: alerts, adopt: {id: "$ALERTS"}`+spec)
	}
	alerts := adopted(", webhook: {name: ci}")
	const ifYounger = " (only if it is younger than the object)"
	inStatus := func(id, created string) string {
		return strings.Replace(chat(""), "metadata: {name: chat}", `metadata: {name: chat, creationTimestamp: "`+created+`"}`, 1) +
			`status: {channelId: "$CHAT", webhook: {id: "` + id + `"}}` + "\n"
	}
	for name, c := range map[string]struct{ is, was, want string }{
		"the spec drops the webhook":                       {chat(""), chat(", webhook: {name: ci}"), "delete webhook " + inChat},
		"the manifests drop an adopted channel":            {theServer + theGroup, alerts, "delete webhook " + inAlerts + ifYounger},
		"the spec drops the webhook of an adopted channel": {adopted(""), alerts, "delete webhook " + inAlerts + ifYounger},
		"--before says when the object of an adopted channel was created": {adopted(""), strings.Replace(alerts, "metadata: {name: alerts}",
			`metadata: {name: alerts, creationTimestamp: "2020-01-01T00:00:00Z"}`, 1), "delete webhook " + inAlerts + "\n"},
		"the spec renames the webhook":           {chat(", webhook: {name: cd}"), chat(", webhook: {name: ci}"), `webhook.name: "ci" -> "cd"`},
		"a user created the webhook":             {chat(""), chat(`, webhook: {name: by hand}`), ""},
		"the status names the webhook":           {inStatus(inChat, "2020-01-01T00:00:00Z"), "", "delete webhook " + inChat},
		"a status in --before names the webhook": {chat(""), inStatus(inChat, "2020-01-01T00:00:00Z"), "delete webhook " + inChat},
		"the webhook is older than the object":   {chat(""), inStatus(inChat, "2100-01-01T00:00:00Z"), ""},
		"the spec keeps the webhook":             {chat(", webhook: {name: ci}"), chat(", webhook: {name: ci}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"-f", r.file(t, c.is)}
			if c.was != "" {
				args = append(args, "--before", r.file(t, c.was))
			}
			stdout, _, err := r.plan(t, args...)
			if errors.Is(err, ErrDiffers) != (c.want != "") || !strings.Contains(stdout, c.want) || strings.Count(stdout, "webhook") != min(len(c.want), 1) {
				t.Errorf("%v\n%s, want %q", err, stdout, c.want)
			}
		})
	}
}

// If the bot may not list webhooks, the plan reports a problem of the adopted channel.
func TestPlanOfUnreadableWebhooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, all&^discordtest.PermManageWebhooks)
	with := theServer + theGroup + object("DiscordChannel", "alerts", inGroup+`name: alerts, adopt: {id: "$ALERTS"}, webhook: {name: ci}`)
	for name, is := range map[string]string{"the manifests drop the channel": theServer + theGroup, "the manifests keep the channel": theServer + theGroup + theChannel} {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := r.plan(t, "-f", r.file(t, is), "--before", r.file(t, with))
			if err == nil || errors.Is(err, ErrDiffers) || !strings.Contains(stdout, "! DiscordChannel default/alerts") {
				t.Errorf("%v\n%s", err, stdout)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	stdout, _, err := r.plan(t, "-f", r.file(t, theServer+object("DiscordChannel", "chat", inServer+"name: general, topic: x")), "-o", "json")
	if !errors.Is(err, ErrDiffers) {
		t.Error(err)
	}
	var got Report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary != (Summary{Change: 1}) || len(got.Objects) != 1 || got.Objects[0].Differences[0].To != `"x"` {
		t.Errorf("%s", stdout)
	}
}

func TestPlanWithoutPermissions(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.PermViewChannel)
	stdout, _, err := r.plan(t, "-f", r.file(t, object("DiscordChannel", "chat", inServer+"name: general, topic: x")))
	if err == nil || errors.Is(err, ErrDiffers) || !strings.Contains(stdout, "MissingPermissions") ||
		!strings.Contains(stdout, `topic: "" -> "x"`) {
		t.Errorf("%v\n%s", err, stdout)
	}
}

// A rate limit delays a plan. An id that Discord refuses is a problem of the role; any other failed
// read of a member ends the command.
func TestPlanOfManyMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	var ids []string
	for i := range 60 {
		id := r.srv.AddUser("Yuji " + strconv.Itoa(i))
		r.srv.AddMember(r.guild, id, 0)
		r.srv.GiveRole(r.guild, id, r.onCall)
		ids = append(ids, strconv.Quote(id))
	}
	manifests := r.file(t, theServer+object("DiscordRole", "on-call", inServer+`name: On call, adopt: {id: "$ROLE"}, members: [`+strings.Join(ids, ", ")+"]"))
	if stdout, stderr, err := r.plan(t, "-f", manifests); err != nil || !strings.HasPrefix(stdout, "No changes") {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
	reads := 0
	r.srv.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/members/{user_id}", Action: discordtest.FailBefore(500),
		Match: func(discordtest.Request) bool { reads++; return reads > 10 }})
	if stdout, _, err := r.plan(t, "-f", manifests); err == nil || !strings.Contains(err.Error(), "HTTP 500") || stdout != "" {
		t.Errorf("%v\n%s", err, stdout)
	}
	r.srv.Faults().Clear()
	reads = 0
	afterOwn := func(discordtest.Request) bool { reads++; return reads > 1 } // the plan first reads the bot's own member
	r.srv.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/members/{user_id}", Match: afterOwn, Action: discordtest.Action{
		Status: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
		Body: `{"code":50035,"message":"Invalid Form Body","errors":{"user_id":{"_errors":[{"code":"NUMBER_TYPE_MAX","message":"too large"}]}}}`,
	}})
	if stdout, _, err := r.plan(t, "-f", manifests); err == nil || !strings.Contains(stdout, "DiscordRole default/on-call") {
		t.Errorf("an id that Discord refuses: %v\n%s", err, stdout)
	}
	r.srv.Faults().Clear()
	r.srv.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/members/{user_id}", Action: discordtest.Banned(0)})
	if stdout, _, err := r.plan(t, "-f", manifests); err == nil || !strings.Contains(err.Error(), "rate limited (blocked)") || stdout != "" {
		t.Errorf("a block by Cloudflare: %v\n%s", err, stdout)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	right := r.file(t, theServer)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no -f":                            {nil, "-f is missing"},
		"a missing file":                   {[]string{"-f", "/nowhere"}, "/nowhere"},
		"no manifest of discord.jutsu.com": {[]string{"-f", r.file(t, "kind: Secret\napiVersion: v1")}, "has no manifest of the API group discord.jutsu.com"},
		"not YAML":                         {[]string{"-f", r.file(t, "a: [")}, "manifests.yaml"},
		"an invalid object":                {[]string{"-f", r.file(t, object("DiscordGroup", "a", "name: A"))}, "DiscordGroup a: spec.serverRef: Required"},
		"the same object twice":            {[]string{"-f", r.file(t, theServer+theServer)}, "another manifest has the same kind, namespace and name"},
		"an immutable field": {[]string{"-f", r.file(t, theServer+object("DiscordGroup", "a", inServer+"name: A")), "--before",
			r.file(t, object("DiscordGroup", "a", "name: A, serverRef: {name: other}"))}, "serverRef cannot be changed"},
		"an unknown output format": {[]string{"-f", right, "-o", "xml"}, "-o is"},
		"a wrong server":           {[]string{"-f", right, "--server-id=1234567"}, "is not a member of server 1234567"},
		"a missing token file":     {[]string{"-f", right, "--token-file=/nowhere"}, "read the token"},
		"a wrong token":            {[]string{"-f", right, "--token-file=" + r.file(t, "not-a-token")}, "developer portal"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := r.plan(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func messages(t *testing.T, stdout string) map[string]string {
	t.Helper()
	var report Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	all := map[string]string{}
	for _, o := range report.Objects {
		var what strings.Builder
		for _, d := range o.Differences {
			if d.Action != "set" {
				what.WriteString(d.String() + "; ")
			}
		}
		for _, p := range o.Problems {
			what.WriteString(p.Reason + ": " + p.Message)
		}
		all[o.Name] = what.String()
	}
	return all
}

// A plan assumes that the operator deletes the resources of removed objects before it makes the
// other changes.
func TestPlanOfRemovals(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	full := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "full", Type: discordtest.TypeCategory})
	for i := range 50 {
		r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "x" + strconv.Itoa(i), ParentID: full})
	}
	const (
		overwrite = "permissionOverwrites: [{role: On call, allow: [SendMessages]}]"
		inFull    = "groupRef: {name: full}, "
	)
	fullGroup := object("DiscordGroup", "full", inServer+`name: full, adopt: {id: "`+full+`"}`)
	role := object("DiscordRole", "on-call", inServer+"name: On call")
	chat := object("DiscordChannel", "chat", inServer+"name: general, "+overwrite)
	paused := func(o string) string {
		return strings.Replace(o, "metadata: {", `metadata: {annotations: {discord.jutsu.com/paused: "true"}, `, 1)
	}
	settings := func(rules string) string {
		return object("DiscordServer", "jujutsu", `serverId: "$GUILD", tokenSecretRef: {name: b}, rulesChannelRef: {name: `+rules+`}`)
	}
	for range 2 {
		r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "twin"})
	}
	for name, c := range map[string]struct {
		is, was   string
		community bool
		want      map[string]string // the keys are object names, the values regular expressions
	}{
		"a role that an overwrite names": {was: role + chat, is: chat, want: map[string]string{
			"on-call": "^delete; $", "chat": "^RoleNotFound: "}},
		"a role that another object recreates": {was: role + chat, is: object("DiscordRole", "again", inServer+"name: On call") + chat,
			want: map[string]string{"on-call": "^delete; $", "again": "^create; $",
				"chat": `^permissionOverwrites of role "On call": none -> allow SendMessages, deny none; $`}},
		"a retained role": {was: strings.Replace(role, "On call", "On call, deletionPolicy: Retain", 1) + chat, is: chat,
			want: map[string]string{"chat": "^permissionOverwrites of role"}},
		"a channel that a user has renamed": {was: object("DiscordChannel", "chat", inServer+"name: lobby"), is: theServer,
			want: map[string]string{"chat": `^Unidentified: .*cannot identify its channel: .*"lobby"`}},
		"one of two channels with the same name": {was: object("DiscordChannel", "chat", inServer+"name: twin"), is: theServer,
			want: map[string]string{"chat": `^Unidentified: .*"twin"`}},
		"one of two channels with the same name, policy Retain": {is: theServer, want: map[string]string{},
			was: object("DiscordChannel", "chat", inServer+"name: twin, deletionPolicy: Retain")},
		"a channel that Discord no longer has": {is: theServer, want: map[string]string{},
			was: object("DiscordChannel", "chat", inServer+"name: lobby") + "status: {channelId: \"1234567\"}\n"},
		"a category that a user has renamed": {was: object("DiscordGroup", "incidents", inServer+"name: accidents"), is: theServer,
			want: map[string]string{"incidents": "^Unidentified: .*category"}},
		"a paused role": {was: paused(role) + chat, is: chat,
			want: map[string]string{"on-call": "^Paused: ", "chat": "^permissionOverwrites of role"}},
		"an observed role": {was: strings.Replace(role, "On call", "On call, managementPolicy: Observe", 1) + chat, is: chat,
			want: map[string]string{"chat": "^permissionOverwrites of role"}},
		"a new channel in a full category": {was: fullGroup, is: fullGroup + object("DiscordChannel", "new", inFull+"name: new"),
			want: map[string]string{"new": "^create; LimitReached: "}},
		"a channel of a full category, replaced by another": {was: fullGroup + object("DiscordChannel", "old", inFull+"name: x0"),
			is:   fullGroup + object("DiscordChannel", "new", inFull+"name: new"),
			want: map[string]string{"old": "^delete; $", "new": "^create; $"}},
		"a category that a channel leaves": {
			was:  object("DiscordGroup", "incidents", inServer+"name: incidents") + object("DiscordChannel", "alerts", inGroup+"name: alerts"),
			is:   object("DiscordChannel", "alerts", inServer+"name: alerts"),
			want: map[string]string{"incidents": "^delete; $", "alerts": `^group: "incidents" -> none; $`}},
		"a category with a channel": {
			was:  object("DiscordGroup", "incidents", inServer+"name: incidents") + object("DiscordChannel", "alerts", inGroup+"name: alerts"),
			is:   object("DiscordChannel", "alerts", inGroup+"name: alerts"),
			want: map[string]string{"incidents": "^WaitingForDependents: .*: alerts", "alerts": "^WaitingForGroup: "}},
		"a channel that another object adopts": {was: object("DiscordChannel", "chat", inServer+"name: general"),
			is: object("DiscordChannel", "talk", inServer+`name: general, adopt: {id: "$CHAT"}`), want: map[string]string{}},
		"the rules channel of a community": {community: true, was: object("DiscordChannel", "rules", inServer+"name: general"), is: theServer,
			want: map[string]string{"rules": "^DeletionFailed: .*Name another DiscordChannel in spec.rulesChannelRef of DiscordServer jujutsu"}},
		"the rules channel and the DiscordServer of a community": {community: true, was: theServer + object("DiscordChannel", "rules", inServer+"name: general"),
			is: object("DiscordServer", "other", `serverId: "1234567", tokenSecretRef: {name: b}`), want: map[string]string{
				"rules": "^DeletionFailed: .*Choose another channel for this purpose, or disable Community"}},
		"the rules channel, replaced by another": {community: true,
			was:  settings("rules") + object("DiscordChannel", "rules", inServer+"name: general"),
			is:   settings("new") + object("DiscordChannel", "new", inServer+"name: new"),
			want: map[string]string{"rules": "^delete; $", "new": "^create; $", "jujutsu": `^rulesChannelRef: "general" -> "new"; $`}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []*string{&c.is, &c.was} {
				if !strings.Contains(*text, "kind: DiscordServer") && !c.community {
					*text = theServer + *text
				}
			}
			r.srv.EditGuildByHand(r.guild, func(g *discordtest.Guild) {
				if g.Features, g.RulesChannelID = nil, ""; c.community {
					g.Features, g.RulesChannelID, g.PublicUpdatesChannelID = []string{"COMMUNITY"}, r.chat, r.alerts
				}
			})
			stdout, _, _ := r.plan(t, "-f", r.file(t, c.is), "--before", r.file(t, c.was), "-o", "json")
			got := messages(t, stdout)
			for object, what := range got {
				if want, ok := c.want[object]; !ok || !regexp.MustCompile(want).MatchString(what) {
					t.Errorf("%s: %s", object, what)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got %d objects, want %d", len(got), len(c.want))
			}
		})
	}
}

// If several objects claim a channel, an object with the channel's id in its status keeps it.
func TestPlanOfAConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	has := strings.TrimSuffix(object("DiscordChannel", "has", inServer+"name: general"), "\n") + "\nstatus: {channelId: \"$CHAT\"}\n"
	wants := object("DiscordChannel", "a", inServer+`name: general, adopt: {id: "$CHAT"}`)
	elsewhere := strings.Replace(strings.Replace(wants, "{name: a}", "{name: a, namespace: other}", 1),
		"{name: jujutsu}", "{name: jujutsu, namespace: default}", 1)
	shared := object("DiscordServer", "jujutsu",
		`serverId: "$GUILD", tokenSecretRef: {name: b}, allowedNamespaces: {from: All}, allowAdoption: true`)
	for name, c := range map[string]struct{ is, want, not string }{
		"another object adopts the channel": {is: theServer + wants + has,
			want: "but DiscordChannel default/has manages this channel. Name another channel in spec.adopt. Or remove spec.adopt.*Observe"},
		"an object of another namespace adopts the channel": {is: shared + elsewhere + has, want: "but DiscordChannel default/has manages this channel", not: "Observe"},
		"another object's status has the same id": {is: theServer + has + strings.Replace(has, "{name: has}", "{name: a2}", 1),
			want: "Remove the status from the manifest of this object"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, _ := r.plan(t, "-f", r.file(t, c.is), "-o", "json")
			what := strings.Join(slices.Sorted(maps.Values(messages(t, stdout))), "")
			if !regexp.MustCompile("^Conflict: .*"+c.want).MatchString(what) || strings.Contains(what, "elete") ||
				c.not != "" && strings.Contains(what, c.not) {
				t.Errorf("%s", stdout)
			}
		})
	}
}

// The operator does not change an observed resource, so the plans of other objects use its live
// state.
func TestPlanOfObservers(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	stdout, _, _ := r.plan(t, "-o", "json", "-f", r.file(t, theServer+
		object("DiscordRole", "on-call", inServer+`name: Renamed, managementPolicy: Observe, adopt: {id: "$ROLE"}`)+
		object("DiscordRole", "new", inServer+`name: New, managementPolicy: Observe`)+
		object("DiscordChannel", "chat", inServer+"name: general, permissionOverwrites: [{role: Renamed, allow: [SendMessages]}]")+
		object("DiscordChannel", "talk", inServer+"name: talk, permissionOverwrites: [{role: New, allow: [SendMessages]}]")))
	got := messages(t, stdout)
	for _, name := range []string{"chat", "talk"} {
		if !strings.Contains(got[name], "RoleNotFound") {
			t.Errorf("%s: %s", name, got[name])
		}
	}
}
