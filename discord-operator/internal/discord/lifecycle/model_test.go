// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/test/discordtest"
)

// Users and the operator create and delete resources, most of them with the name modelName. Calls
// fail, and the operator is killed at any moment. Time is fake (testing/synctest), and only rapid's
// draws are random.
const (
	modelName = "alerts"
	enough    = 24 // number of reconciles, half a minute apart, that finish all work
	// An entry of the audit log is visible after auditDelay, or up to auditJitter later.
	auditDelay, auditJitter = 500 * time.Millisecond, 5 * time.Second
)

type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (response *http.Response, err error) {
	defer func() {
		if recover() != nil { // http.ErrAbortHandler
			response, err = nil, io.ErrUnexpectedEOF
		}
	}()
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // a failure after this may have reached Discord
	}
	answer := httptest.NewRecorder()
	t.handler.ServeHTTP(answer, r)
	return answer.Result(), nil
}

type thing struct {
	uid       types.UID
	created   time.Time
	name      string // name of its resource on Discord
	finalized bool
	statusID  string
	deleted   bool
}

// endless replaces rapid's context, which is outside the synctest bubble.
var endless = context.Background()

type subject struct {
	kind    Kind
	types   []discordgo.ChannelType
	created discordgo.AuditLogAction
	routes  []string // routes to fail; "" for all
	object  func(meta metav1.ObjectMeta, o *thing) status.Object
	create  func(name string) resource.Create
	// live lists existing resources. makeOne and deleteOne act as a user; makeOne uses modelName.
	live      func(g discordtest.Guild) []string
	makeOne   func(d *discordtest.Server, guild string) (id string)
	deleteOne func(d *discordtest.Server, guild, id string)
}

var someChannels = subject{
	kind: aChannel, types: []discordgo.ChannelType{discordgo.ChannelTypeGuildText}, created: discordgo.AuditLogActionChannelCreate,
	routes: []string{
		"POST /guilds/{guild_id}/channels", "POST /guilds/{guild_id}/channels", "GET /guilds/{guild_id}/audit-logs", "GET /channels/{channel_id}", "DELETE /channels/{channel_id}", "",
	},
	object: func(meta metav1.ObjectMeta, o *thing) status.Object {
		return &v1alpha1.DiscordChannel{ObjectMeta: meta,
			Spec: v1alpha1.DiscordChannelSpec{Name: o.name}, Status: v1alpha1.DiscordChannelStatus{ChannelID: o.statusID}}
	},
	create: func(name string) resource.Create {
		return &resource.ChannelCreate{ChannelCreate: discordclient.ChannelCreate{Name: name}}
	},
	live: func(g discordtest.Guild) (ids []string) {
		for _, c := range g.Channels {
			ids = append(ids, c.ID)
		}
		return ids
	},
	makeOne: func(d *discordtest.Server, guild string) string {
		return d.CreateChannelByHand(guild, discordtest.Channel{Name: modelName})
	},
	deleteOne: func(d *discordtest.Server, _, id string) { d.DeleteChannelByHand(id) },
}

var someRoles = subject{
	kind: Kind{
		Name: "DiscordRole", Noun: "role", Calls: resource.Roles, FromBottom: true, ByID: "id",
		List: func() client.ObjectList { return &v1alpha1.DiscordRoleList{} },
		Identity: func(o client.Object) Identity {
			role := o.(*v1alpha1.DiscordRole)
			return Identity{Name: role.Spec.Name, StatusID: role.Status.RoleID}
		},
	},
	created: discordgo.AuditLogActionRoleCreate,
	routes: []string{
		"POST /guilds/{guild_id}/roles", "POST /guilds/{guild_id}/roles", "GET /guilds/{guild_id}/audit-logs", "GET /guilds/{guild_id}/roles/{role_id}", "DELETE /guilds/{guild_id}/roles/{role_id}", "",
	},
	object: func(meta metav1.ObjectMeta, o *thing) status.Object {
		return &v1alpha1.DiscordRole{ObjectMeta: meta,
			Spec: v1alpha1.DiscordRoleSpec{Name: o.name}, Status: v1alpha1.DiscordRoleStatus{RoleID: o.statusID}}
	},
	create: func(name string) resource.Create {
		return &resource.RoleCreate{RoleCreate: discordclient.RoleCreate{Name: name}}
	},
	live: func(g discordtest.Guild) (ids []string) {
		for _, role := range g.Roles {
			ids = append(ids, role.ID)
		}
		return ids
	},
	makeOne: func(d *discordtest.Server, guild string) string {
		return d.CreateRoleByHand(guild, discordtest.Role{Name: modelName})
	},
	deleteOne: func(d *discordtest.Server, guild, id string) { d.DeleteRole(guild, id) },
}

type machine struct {
	subject
	discord *discordtest.Server
	guild   string
	bot     discordtest.Bot
	things  map[string]*thing // keyed by name; without objects whose deletion has ended
	gone    map[types.UID]bool
	byHand  map[string]bool // ids of the resources that users have made
	uids    int

	// client and resources are the memory of a process.
	client    *guildcache.Client
	resources *Resources
}

func newMachine(t *rapid.T, of subject) *machine {
	<-time.After(30 * 365 * 24 * time.Hour) // a bubble begins in the year 2000, before Discord's first id
	skew := time.Duration(rapid.SampledFrom([]int{0, 0, 1, -1, 10, -10}).Draw(t, "skew in minutes")) * time.Minute
	m := &machine{
		subject: of,
		things:  map[string]*thing{}, gone: map[types.UID]bool{}, byHand: map[string]bool{},
		discord: discordtest.New(discordtest.Options{
			PublicURL: "http://discord.test", Clock: time.Now().Add(-skew), Limits: discordtest.NoRateLimits(),
			AuditDelay: auditDelay, AuditJitter: auditJitter, Seed: rapid.Uint64().Draw(t, "seed of Discord"),
		}),
	}
	m.discord.Weaken(discordtest.Weakness{Stale: 0.3, Missing: 0.2, Unauthorized: 0.02, Forbidden: 0.05, ServerErrors: 0.02})
	m.guild, m.bot = m.discord.AddGuild(discordtest.GuildSpec{}).ID, m.discord.AddBot(discordtest.Bot{})
	m.discord.AddMember(m.guild, m.bot.UserID, all|discordtest.PermManageRoles)
	m.restart()
	return m
}

func (m *machine) restart() {
	m.connect()
	m.resources = resourcesOf(m.kind, clock.RealClock{}, m.claims)
	_ = m.client.Refresh(endless, m.guild) // a failure only leaves the guild unknown
}

func (m *machine) connect() {
	client, err := guildcache.New(guildcache.Options{Options: discordclient.Options{
		Token: discordclient.NewSecret(m.bot.Token), APIURL: m.discord.APIURL(), Transport: inProcess{m.discord},
	}})
	if err != nil {
		panic(err)
	}
	m.client = client
}

func (m *machine) claims(id string) (claims []claim, err error) {
	for name, o := range m.things {
		if o.statusID == id {
			claims = append(claims, claim{name: types.NamespacedName{Namespace: "ns", Name: name}, uid: o.uid, created: o.created, inStatus: true})
		}
	}
	return claims, nil
}

func (m *machine) lookup(name string, o *thing) Lookup {
	object := m.object(metav1.ObjectMeta{Namespace: "ns", Name: name, UID: o.uid, CreationTimestamp: metav1.NewTime(o.created)}, o)
	if o.finalized {
		finalized(&Lookup{Object: object})
	}
	return Lookup{Object: object, GuildID: m.guild, Types: m.types, ServerNamespace: object.GetNamespace()}
}

func (m *machine) reconcile(name string, stop int) (unchanged bool) {
	if m.client.Err() != nil {
		m.connect()
	}
	o := m.things[name]
	view := m.client.Guild(m.guild)
	if err := m.client.Refresh(endless, m.guild); err != nil && view.Snapshot().Presence != guildcache.PresencePresent {
		return false // nothing can be decided while the guild is unknown
	}
	if o.deleted {
		return m.delete(name)
	}
	found, err := m.resources.Bind(endless, m.client, m.lookup(name, o))
	if err != nil || stop == 0 {
		return false
	}
	if found.Absent {
		if !o.finalized {
			o.finalized = true
			if stop == 1 {
				return false
			}
		}
		var results Results
		b := Binding{Lookup: m.lookup(name, o), Identity: found.Identity}
		err = m.resources.create(endless, m.client, b, m.create(o.name), &results)
		if err != nil || stop == 2 {
			return false
		}
		found.Live = results.Live
	}
	o.finalized = true
	unchanged = o.statusID == found.Live.GetID()
	o.statusID = found.Live.GetID()
	return unchanged
}

func (m *machine) delete(name string) bool {
	o := m.things[name]
	l := m.lookup(name, o)
	found, err := m.resources.BindDeleted(endless, m.client, l)
	if err != nil {
		return false
	}
	err = m.kind.PlanDeletion(false, found, nil).Delete.send(endless, m.client, Reason(m.kind.Name, l.Object))
	if err != nil && discordclient.ClassOf(err) != discordclient.ClassGone {
		return false
	}
	m.resources.Records.Forget(o.uid)
	delete(m.things, name)
	m.gone[o.uid] = true
	return true
}

func (m *machine) origins() map[types.UID][]string {
	guild, made := m.discord.Guild(m.guild), map[types.UID][]string{}
	for _, e := range guild.Audit {
		if e.Action == int(m.created) && e.UserID == m.bot.UserID && m.exists(e.TargetID) {
			uid := types.UID(strings.Fields(e.Reason)[1])
			made[uid] = append(made[uid], e.TargetID)
		}
	}
	return made
}

func (m *machine) Check(t *rapid.T) {
	for uid, ids := range m.origins() {
		if len(ids) > 1 {
			t.Fatalf("%s has %v", uid, ids)
		}
		if m.gone[uid] {
			t.Fatalf("%s was deleted, but its resources %v remain", uid, ids)
		}
	}
	holders := map[string]string{}
	for name, o := range m.things {
		if o.statusID == "" {
			continue
		}
		if m.byHand[o.statusID] {
			t.Fatalf("%s has bound %s, which a user created", name, o.statusID)
		}
		if other := holders[o.statusID]; other != "" {
			t.Fatalf("%s and %s both have %s", name, other, o.statusID)
		}
		holders[o.statusID] = name
	}
	for id := range m.byHand {
		if !m.exists(id) {
			t.Fatalf("%s, which a user created, was deleted", id)
		}
	}
}

func (m *machine) exists(id string) bool {
	return slices.Contains(m.live(m.discord.Guild(m.guild)), id)
}

func (m *machine) any(t *rapid.T) string {
	if len(m.things) == 0 {
		t.Skip("no objects")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.things))).Draw(t, "object")
}

func (m *machine) Apply(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "new object")
	if m.things[name] != nil {
		t.Skip("it exists")
	}
	m.uids++
	title := modelName
	if name == "c" {
		title = "deploys"
	}
	// The API server truncates creation times to seconds.
	m.things[name] = &thing{uid: types.UID(fmt.Sprintf("uid-%d", m.uids)), created: time.Now().Truncate(time.Second), name: title}
}

func (m *machine) Delete(t *rapid.T) { m.things[m.any(t)].deleted = true }

func (m *machine) Reconcile(t *rapid.T) {
	stop := rapid.SampledFrom([]int{9, 9, 9, 2, 1}).Draw(t, "killed after")
	m.reconcile(m.any(t), stop)
	if stop < 9 {
		m.restart()
	}
}

func (m *machine) Kill(*rapid.T) { m.restart() }

func (m *machine) Wait(t *rapid.T) {
	<-time.After(time.Duration(rapid.SampledFrom([]int{100, 600, 3000, 16000}).Draw(t, "ms")) * time.Millisecond)
}

var garbled = func() discordtest.Action {
	a := discordtest.Garbage()
	a.Effect = true
	return a
}()

func (m *machine) Fail(t *rapid.T) {
	way := rapid.SampledFrom([]discordtest.Action{
		discordtest.FailBefore(500), discordtest.FailAfter(500), discordtest.DropBefore(), discordtest.DropAfter(), garbled,
	}).Draw(t, "way")
	route := rapid.SampledFrom(m.routes).Draw(t, "route")
	m.discord.Faults().Add(discordtest.Fault{Route: route, Times: rapid.IntRange(1, 3).Draw(t, "times"), Action: way})
}

func (m *machine) HandMake(t *rapid.T) {
	if len(m.byHand) > 2 {
		t.Skip("enough")
	}
	m.byHand[m.makeOne(m.discord, m.guild)] = true
}

func (m *machine) HandDelete(t *rapid.T) {
	name := m.any(t)
	id := m.things[name].statusID
	if !m.exists(id) {
		t.Skip("it has none")
	}
	m.deleteOne(m.discord, m.guild, id)
}

func (m *machine) HandHide(t *rapid.T) {
	id := m.things[m.any(t)].statusID
	ch, there := m.discord.Channel(id)
	if !there {
		t.Skip("it has none")
	}
	m.discord.EditChannelByHand(id, func(c *discordtest.Channel) {
		c.Overwrites = nil
		if len(ch.Overwrites) == 0 {
			c.Overwrites = []discordtest.Overwrite{{ID: m.guild, Deny: discordtest.PermViewChannel}}
		}
	})
}

func (m *machine) Foreign(t *rapid.T) {
	m.discord.FillAuditLog(m.guild, rapid.IntRange(1, 150).Draw(t, "creates of another bot"))
}

func (m *machine) settle(t *rapid.T) {
	m.discord.Faults().Clear()
	m.discord.Weaken(discordtest.Weakness{})
	for _, c := range m.discord.Guild(m.guild).Channels {
		m.discord.EditChannelByHand(c.ID, func(c *discordtest.Channel) { c.Overwrites = nil })
	}
	for range enough {
		<-time.After(30 * time.Second)
		for _, name := range slices.Sorted(maps.Keys(m.things)) {
			m.reconcile(name, 9)
		}
		m.Check(t)
	}
	made := m.origins()
	for name, o := range m.things {
		if o.deleted {
			t.Fatalf("the deletion of %s does not end", name)
		}
		if got := made[o.uid]; !slices.Equal(got, []string{o.statusID}) {
			t.Fatalf("%s: the operator created %v, and the status has %q", name, got, o.statusID)
		}
		if before := m.calls(); !m.reconcile(name, 9) || m.calls()-before > 1 { // the test itself makes one call
			t.Fatalf("%s still causes calls or is not reconciled", name)
		}
	}
}

func (m *machine) calls() (all int) {
	for route, n := range m.discord.RequestCounts() {
		if route != "GET /guilds/{guild_id}" {
			all += n
		}
	}
	return all
}

// Each object ends with its own resource, whatever fails, and a deleted object leaves none.
func TestEveryObjectHasOneOfItsKind(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]subject{"channel": someChannels, "role": someRoles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(drawn *rapid.T) {
				inBubble(t, func() {
					m := newMachine(drawn, of)
					defer m.discord.Close()
					drawn.Repeat(rapid.StateMachineActions(m))
					m.settle(drawn)
				})
			})
		})
	}
}

// rapid ends a check by a panic, which inBubble repeats outside the synctest bubble.
func inBubble(t *testing.T, do func()) {
	var ended any
	synctest.Test(t, func(*testing.T) {
		defer func() { ended = recover() }()
		do()
	})
	// rapid distinguishes failures by the line of the panic, so invalid data needs a line of its own.
	if fmt.Sprintf("%T", ended) == "rapid.invalidData" {
		panic(ended)
	}
	if ended != nil {
		panic(ended)
	}
}
