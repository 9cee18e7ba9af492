// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/metrics"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/test/discordtest"
)

const all = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermViewAuditLog

type rig struct {
	*guildtest.Guild
	client    *guildcache.Client
	clock     *clocktesting.FakePassiveClock
	resources *Resources
	claims    map[string][]claim
	broken    error // error of reading the claims
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Guild: guildtest.New(t, all), clock: clocktesting.NewFakePassiveClock(time.Now()), claims: map[string][]claim{}}
	r.client = r.Client(t)
	r.resources = newResources(r.clock, func(id string) ([]claim, error) { return r.claims[id], r.broken })
	r.resources.Records.Of("another") // the first call of Of sets the start of the process
	r.resources.Records.Finalized("uid")
	return r
}

var aChannel = Kind{
	Name: "DiscordChannel", Noun: "channel", ByID: "id",
	Title: func(name string) string { return "#" + name }, Calls: resource.Channels,
	List: func() client.ObjectList { return &v1alpha1.DiscordChannelList{} },
	Identity: func(o client.Object) Identity {
		c := o.(*v1alpha1.DiscordChannel)
		return Identity{Name: c.Spec.Name, StatusID: c.Status.ChannelID, Adopt: c.Spec.Adopt, Matched: c.Status.Matched, Adopted: c.Status.Adopted,
			Observed: status.Observed(c), Released: c.Status.Observed}
	},
}

func newResources(clock clock.PassiveClock, claims func(id string) ([]claim, error)) *Resources {
	return resourcesOf(aChannel, clock, claims)
}

func resourcesOf(kind Kind, clock clock.PassiveClock, claims func(id string) ([]claim, error)) *Resources {
	counts := metrics.New(prometheus.NewRegistry(), nil, nil)
	recorder := &status.Recorder{Kind: kind.Name, Events: noEvents{}, Metrics: counts, Clock: clock}
	return &Resources{
		Kind: kind, Cache: objects{claims: claims}, Status: recorder, Records: NewRecords(clock, recovery.DefaultPropagation),
	}
}

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

type objects struct {
	client.Reader
	claims func(id string) ([]claim, error)
}

func (o objects) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	id := ""
	if selector := (&client.ListOptions{}).ApplyOptions(options).FieldSelector; selector != nil {
		id, _ = selector.RequiresExactMatch("id")
	}
	claims, err := o.claims(id)
	for _, c := range claims {
		object := metav1.ObjectMeta{
			Namespace: "ns", Name: c.name.Name, UID: c.uid, CreationTimestamp: metav1.NewTime(c.created),
		}
		if c.managed {
			object.Finalizers = []string{v1alpha1.CleanupFinalizer}
		}
		if c.deleted {
			object.DeletionTimestamp = &metav1.Time{Time: c.created}
		}
		has := ""
		if c.inStatus {
			has = id
		}
		switch list := list.(type) {
		case *v1alpha1.DiscordRoleList:
			list.Items = append(list.Items,
				v1alpha1.DiscordRole{ObjectMeta: object, Status: v1alpha1.DiscordRoleStatus{RoleID: has}})
		case *v1alpha1.DiscordChannelList:
			list.Items = append(list.Items,
				v1alpha1.DiscordChannel{ObjectMeta: object, Status: v1alpha1.DiscordChannelStatus{ChannelID: has}})
		}
	}
	return err
}

func (r *rig) later(d time.Duration) { r.clock.SetTime(r.clock.Now().Add(d)) }

func (r *rig) lookup(change ...func(*Lookup)) Lookup {
	l := Lookup{
		Object: &v1alpha1.DiscordChannel{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alerts", UID: "uid", CreationTimestamp: metav1.Now()},
			Spec:       v1alpha1.DiscordChannelSpec{Name: "alerts"},
		},
		GuildID: r.ID, Types: []discordgo.ChannelType{discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews},
		ServerNamespace: "ns",
	}
	for _, c := range change {
		c(&l)
	}
	return l
}

func (r *rig) bind(t *testing.T, l Lookup) (Binding, error) {
	t.Helper()
	b, err := r.resources.Bind(t.Context(), r.client, l)
	b.Lookup, b.Identity = Lookup{}, Identity{}
	return b, err
}

func (r *rig) make(t *testing.T, name, reason string) *discordclient.Channel {
	t.Helper()
	ch, err := r.client.CreateChannel(t.Context(), r.ID, discordclient.ChannelCreate{Name: name}, reason)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func (r *rig) hide(t *testing.T, id string) {
	t.Helper()
	events := r.client.Subscribe(t.Context())
	r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) {
		c.Overwrites = []discordtest.Overwrite{{ID: r.ID, Deny: discordtest.PermViewChannel}}
	})
	for timeout := time.After(10 * time.Second); !r.client.Guild(r.ID).Snapshot().Hidden(id); {
		select {
		case <-events:
		case <-timeout:
			t.Fatal("the view does not show that the channel is hidden")
		}
	}
}

func stored(id string) func(*Lookup) {
	return func(l *Lookup) { l.Object.(*v1alpha1.DiscordChannel).Status.ChannelID = id }
}

func adopts(id string) func(*Lookup) {
	return func(l *Lookup) { l.Object.(*v1alpha1.DiscordChannel).Spec.Adopt = &v1alpha1.Adoption{ID: id} }
}

func noAdoption(l *Lookup) { l.NoAdoption = conditions.Degraded(v1alpha1.ReasonNotAllowed, "no") }

func foreign(l *Lookup) { l.ServerNamespace = "platform" }

func paused(l *Lookup) { l.Object.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"}) }

func (r *rig) forbidLog(t *testing.T) {
	t.Helper()
	events := r.client.Subscribe(t.Context())
	r.Discord.SetPermissions(r.ID, r.Bot.UserID, discordtest.PermViewChannel|discordtest.PermManageChannels)
	allowed := func() bool {
		have, _ := r.client.Guild(r.ID).Snapshot().BotPermissions()
		return have.Has(permissions.ViewAuditLog)
	}
	for timeout := time.After(10 * time.Second); allowed(); {
		select {
		case <-events:
		case <-timeout:
			t.Fatal("the view does not show that the bot may not view the audit log")
		}
	}
}

func matched(l *Lookup) { l.Object.(*v1alpha1.DiscordChannel).Status.Matched = true }

func finalized(l *Lookup) { controllerutil.AddFinalizer(l.Object, v1alpha1.CleanupFinalizer) }

func reasonOf(err error) string {
	if issue, ok := errors.AsType[*conditions.Issue](err); ok {
		return issue.Reason
	}
	return ""
}

func TestBind(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		scene  func(*testing.T, *rig) (Lookup, string)
		found  Binding // without Live
		reason string
	}{
		"no finalizer": {scene: func(_ *testing.T, r *rig) (Lookup, string) { return r.lookup(), "" }, found: Binding{Absent: true}},
		"no finalizer, but a channel with the desired name": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.make(t, "alerts", "by a user")
			return r.lookup(), ""
		}, found: Binding{Absent: true}},
		"an id in the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "renamed", "").ID
			return r.lookup(finalized, stored(id)), id
		}},
		"an id in the records, not yet in the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			r.resources.Records.Bound("uid", id)
			return r.lookup(finalized), id
		}},
		"spec.adopt": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.lookup(adopts(id)), id
		}, found: Binding{Adopted: true}},
		"spec.adopt, and its id in the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.lookup(finalized, adopts(id), stored(id)), id
		}},
		"an id in the status, matched without proof": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			return r.lookup(finalized, stored(id), matched), id
		}, found: Binding{Guessed: true}},
		"matched without proof, and later named in spec.adopt": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			return r.lookup(finalized, stored(id), matched, adopts(id)), id
		}},
		"matched without proof, not yet in the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.Discord.Faults().LoseAudit(1)
			id := r.make(t, "alerts", "").ID
			r.later(2 * time.Minute)
			if first, err := r.bind(t, r.lookup(finalized)); err != nil || !first.Guessed || !first.Recovered {
				t.Errorf("%+v, %v", first, err)
			}
			return r.lookup(finalized), id
		}, found: Binding{Guessed: true}},
		"spec.adopt, adopted by a reconcile that could not write the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			if first, err := r.bind(t, r.lookup(adopts(id))); err != nil || !first.Adopted {
				t.Errorf("%+v, %v", first, err)
			}
			return r.lookup(finalized, adopts(id)), id
		}, found: Binding{Adopted: true}},
		"spec.adopt, adopted before a pause, not yet in the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			for _, l := range []Lookup{r.lookup(adopts(id)), r.lookup(finalized, adopts(id), paused)} {
				if _, err := r.bind(t, l); err != nil {
					t.Error(err)
				}
			}
			return r.lookup(finalized, adopts(id)), id
		}, found: Binding{Adopted: true}},
		"created, not yet in the status, and later named in spec.adopt": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			r.resources.Records.Bound("uid", id)
			return r.lookup(finalized, adopts(id)), id
		}},
		"spec.adopt names a missing channel": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			return r.lookup(adopts("123456")), ""
		}, reason: v1alpha1.ReasonAdoptNotFound},
		"spec.adopt names a channel of another type": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.lookup(adopts(id), func(l *Lookup) { l.Types = []discordgo.ChannelType{discordgo.ChannelTypeGuildCategory} }), ""
		}, reason: v1alpha1.ReasonAdoptMismatch},
		"spec.adopt names a channel in another object's status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []claim{{uid: "uid"}, {uid: "other", inStatus: true}}
			return r.lookup(adopts(id)), ""
		}, reason: v1alpha1.ReasonConflict},
		"spec.adopt names a channel, and so does a younger object's spec.adopt": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []claim{{uid: "uid", created: time.Unix(1, 0)}, {uid: "other", created: time.Unix(2, 0)}}
			return r.lookup(adopts(id)), id
		}, found: Binding{Adopted: true, ClaimedBy: "ns/", ClaimedHere: true}},
		"spec.adopt names a channel that the spec.adopt of an object under deletion names": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []claim{{uid: "uid", created: time.Unix(1, 0)}, {uid: "other", created: time.Unix(2, 0), deleted: true}}
			return r.lookup(adopts(id)), id
		}, found: Binding{Adopted: true}},
		"spec.adopt names a channel in the status of an object under deletion": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []claim{{uid: "uid"}, {uid: "other", created: time.Unix(2, 0), inStatus: true, deleted: true, managed: true}}
			return r.lookup(adopts(id)), ""
		}, reason: v1alpha1.ReasonConflict},
		"spec.adopt names a channel in the status of an object whose deletion has ended": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []claim{{uid: "uid"}, {uid: "other", created: time.Unix(2, 0), inStatus: true, deleted: true}}
			return r.lookup(adopts(id)), id
		}, found: Binding{Adopted: true}},
		"adoption is not allowed": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			return r.lookup(adopts(r.make(t, "old", "").ID), noAdoption), ""
		}, reason: v1alpha1.ReasonNotAllowed},
		"adoption of a missing channel is not allowed": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			return r.lookup(adopts("123456"), noAdoption), ""
		}, reason: v1alpha1.ReasonNotAllowed},
		"adopted before adoption was forbidden": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.lookup(finalized, adopts(id), stored(id), noAdoption), id
		}},
		"spec.adopt names a channel that this process has created for another object": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "new", "").ID
			r.resources.Records.Bound("other", id)
			r.claims[id], r.claims[""] = []claim{{uid: "uid"}}, []claim{{uid: "uid"}, {uid: "other"}}
			return r.lookup(adopts(id)), ""
		}, reason: v1alpha1.ReasonRateLimited},
		"spec.adopt names a channel that this process has created for an object that no longer exists": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "new", "").ID
			r.resources.Records.Bound("other", id)
			r.claims[""] = []claim{{uid: "uid"}}
			return r.lookup(adopts(id)), id
		}, found: Binding{Adopted: true}},
		"spec.adopt names a channel that this process has created for an object whose deletion has ended": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "new", "").ID
			r.resources.Records.Bound("other", id)
			r.claims[id], r.claims[""] = []claim{{uid: "uid"}}, []claim{{uid: "uid"}, {uid: "other", created: time.Unix(2, 0), deleted: true}}
			return r.lookup(adopts(id)), id
		}, found: Binding{Adopted: true}},
		"deleted on Discord, confirmed by a second 404": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			r.resources.Records.Bound("uid", "123456")
			l := r.lookup(finalized, stored("123456"))
			if _, err := r.bind(t, l); !isTransient(err) {
				t.Errorf("after one 404, the channel counts as deleted: %v", err)
			}
			r.later(goneDelay)
			return l, ""
		}, found: Binding{Absent: true}},
		"deleted on Discord, reported by the Gateway": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			r.resources.Records.Bound("uid", id)
			r.Discord.DeleteChannelByHand(id)
			for !r.client.Guild(r.ID).Deleted(id) {
				<-time.After(time.Millisecond)
			}
			return r.lookup(finalized, stored(id)), ""
		}, found: Binding{Absent: true}},
		"a create of another process may still be under way": {scene: func(_ *testing.T, r *rig) (Lookup, string) { return r.lookup(finalized), "" }, reason: v1alpha1.ReasonCreatePending},
		"an interrupted create has no result": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			r.later(time.Minute)
			return r.lookup(finalized), ""
		}, found: Binding{Absent: true}},
		"another process has just stored the finalizer": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			r.resources.Records.Forget("uid")
			r.later(time.Minute)
			return r.lookup(finalized), ""
		}, reason: v1alpha1.ReasonCreatePending},
		"an interrupted create has a result in the audit log": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			return r.lookup(finalized), r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID
		}, found: Binding{Recovered: true}},
		"a create of this process is interrupted, and a user removes the finalizer": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.resources.Records.Unknown("uid")
			return r.lookup(), r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID
		}, found: Binding{Recovered: true}},
		"an interrupted create has a hidden result": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.hide(t, r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID)
			r.later(time.Minute)
			return r.lookup(finalized), ""
		}, reason: v1alpha1.ReasonHiddenFromBot},
		"an id in the status, of a hidden channel": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			r.hide(t, id)
			return r.lookup(finalized, stored(id)), ""
		}, reason: v1alpha1.ReasonHiddenFromBot},
		"spec.adopt names a hidden channel": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.hide(t, id)
			return r.lookup(adopts(id)), ""
		}, reason: v1alpha1.ReasonHiddenFromBot},
		"ignores a channel with the desired name that another create made": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.make(t, "alerts", "by hand")
			r.later(time.Minute)
			return r.lookup(finalized), ""
		}, found: Binding{Absent: true}},
		"an object of another namespace does not bind a match that lacks proof": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.Discord.Faults().LoseAudit(1)
			r.make(t, "alerts", "")
			r.later(time.Minute)
			return r.lookup(finalized, foreign), ""
		}, found: Binding{Absent: true}},
		"an object of another namespace binds a match with proof": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			return r.lookup(finalized, foreign), r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID
		}, found: Binding{Recovered: true}},
		"an object of another namespace finds a match but cannot read the audit log": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.make(t, "alerts", "DiscordChannel uid ns/alerts")
			r.forbidLog(t)
			r.later(time.Minute)
			return r.lookup(finalized, foreign), ""
		}, reason: v1alpha1.ReasonCreateUnproven},
		"an object of another namespace finds no match and cannot read the audit log": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.forbidLog(t)
			r.later(time.Minute)
			return r.lookup(finalized, foreign), ""
		}, found: Binding{Absent: true}},
		"a paused object does not bind a match that lacks proof": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.Discord.Faults().LoseAudit(1)
			r.make(t, "alerts", "")
			r.later(2 * time.Minute)
			return r.lookup(finalized, paused), ""
		}, reason: v1alpha1.ReasonPaused},
		"ignores a channel that is younger than all possible creates": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.resources.Records.foreign["uid"] = r.clock.Now().Add(-time.Hour) // no create since this time
			r.Discord.Faults().LoseAudit(1)
			r.make(t, "alerts", "")
			r.later(time.Minute)
			return r.lookup(finalized, func(l *Lookup) {
				l.Object.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-2 * time.Hour)))
			}), ""
		}, found: Binding{Absent: true}},
		"ignores a channel of another object": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.resources.Records.Bound("other", r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID)
			r.later(time.Minute)
			return r.lookup(finalized), ""
		}, found: Binding{Absent: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s, want := c.scene(t, r)
			got, err := r.bind(t, s)
			if reasonOf(err) != c.reason || c.reason == "" && err != nil {
				t.Fatalf("got the error %v, want one with the reason %q", err, c.reason)
			}
			got.HiddenID = ""
			id := ""
			if got.Live != nil {
				id, got.Live = got.Live.GetID(), nil
			}
			if diff := cmp.Diff(c.found, got); diff != "" || id != want {
				t.Errorf("channel %q, want %q; %s", id, want, diff)
			}
		})
	}
}

// The status of a paused object never shows a channel that only the records name, so an object that
// adopts this channel must not wait for the status.
func TestAdoptionBesideAPausedObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first  []func(*Lookup) // the paused object's former reconciles
		reason string
	}{
		"the paused object has adopted nothing": {},
		"the paused object adopted the channel before the pause": {
			first: []func(*Lookup){func(*Lookup) {}}, reason: v1alpha1.ReasonConflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			id := r.make(t, "old", "").ID
			elsewhere := func(l *Lookup) { l.Object.SetUID("other"); l.Object.SetNamespace("elsewhere") }
			held := r.lookup(adopts(id), elsewhere, paused)
			mine := r.lookup(adopts(id))
			r.resources.Cache = channels{items: []v1alpha1.DiscordChannel{
				*held.Object.(*v1alpha1.DiscordChannel), *mine.Object.(*v1alpha1.DiscordChannel),
			}}
			for _, change := range append(c.first, paused) {
				if _, err := r.bind(t, r.lookup(adopts(id), elsewhere, change)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := r.bind(t, mine)
			if reasonOf(err) != c.reason || (got.Live != nil) != (c.reason == "") {
				t.Fatalf("%+v, %v, want the reason %q", got, err, c.reason)
			}
			issue, _ := errors.AsType[*conditions.Issue](err)
			if issue != nil && (issue.RequeueAfter == 0 || strings.Contains(issue.Message, "elsewhere")) {
				t.Errorf("%+v", issue)
			}
		})
	}
}

func TestBindMakesNoCallForKnownChannels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.make(t, "alerts", "").ID
	before := len(r.Discord.Requests())
	for _, s := range []Lookup{r.lookup(), r.lookup(finalized, stored(id)), r.lookup(finalized)} {
		if _, err := r.bind(t, s); err != nil {
			t.Error(err)
		}
	}
	if calls := r.Discord.Requests()[before:]; len(calls) > 0 {
		t.Errorf("%d calls, the first is %s", len(calls), calls[0].Route)
	}
}

func TestRefusedChannelIsSeldomAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const route = "GET /channels/{channel_id}"
	r.Discord.Faults().Add(discordtest.Fault{Route: route, Action: discordtest.Action{
		Status: http.StatusForbidden, Body: `{"message": "Missing Access", "code": 50001}`,
	}})
	l := r.lookup(finalized, stored("123456"))
	for minute := range 240 {
		for range 10 {
			if _, err := r.bind(t, l); reasonOf(err) != v1alpha1.ReasonHiddenFromBot {
				t.Fatal(err)
			}
		}
		if n := r.Discord.RequestCounts()[route]; minute == 0 && n != 1 || n > 12 {
			t.Fatalf("%d calls within %d minutes", n, minute+1)
		}
		r.later(time.Minute)
	}
}

func isTransient(err error) bool {
	issue, ok := errors.AsType[*conditions.Issue](err)
	return ok && issues.IsTransient(issue)
}

func TestConcurrentSearchesBindOneChannelOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Discord.Faults().LoseAudit(1)
	made := r.make(t, "alerts", "DiscordChannel uid ns/alerts")
	r.later(time.Minute)
	r.resources.Records.Claim("other", made.ID) // between this object's search and its claim
	got, err := r.resources.take(t.Context(), Binding{Lookup: r.lookup(finalized), Recovered: true}, made)
	if !isTransient(err) || got.Live != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if holder := r.resources.Records.Holder(made.ID); holder != "other" {
		t.Errorf("held by %q", holder)
	}
	if got, err := r.bind(t, r.lookup(finalized)); err != nil || !got.Absent {
		t.Errorf("the next search should find no channel: %+v, %v", got, err)
	}
}

// A call that finds the channel between two 404s resets their count.
func TestFoundChannelResetsTheCountOf404s(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.make(t, "alerts", "").ID
	r.resources.missing.Begin(id, r.clock.Now()) // one 404
	if _, err := r.bind(t, r.lookup(finalized, stored(id))); err != nil {
		t.Fatal(err)
	}
	r.later(time.Hour)
	if since := r.resources.missing.Begin(id, r.clock.Now()); !since.Equal(r.clock.Now()) {
		t.Errorf("the next 404 counts as the second one since %s", since)
	}
}

func TestUnreadableClaimsCreateNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.make(t, "alerts", "DiscordChannel uid ns/alerts")
	r.broken = errors.New("the cache is broken")
	got, err := r.bind(t, r.lookup(finalized))
	if !errors.Is(err, r.broken) || got.Absent || got.Live != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.lookup(finalized)
	in := &resource.ChannelCreate{ChannelCreate: discordclient.ChannelCreate{Name: "alerts"}}
	create := func(way discordtest.Action) error {
		remove := r.Discord.Faults().Add(discordtest.Fault{Route: "POST /guilds/{guild_id}/channels", Action: way})
		defer remove()
		b := Binding{Lookup: l}
		return r.resources.create(t.Context(), r.client, b, in, &Results{})
	}

	if err := create(discordtest.FailBefore(404)); err == nil || !r.resources.Records.Of("uid").Known {
		t.Errorf("a refused create counts as uncertain: %v", err)
	}
	if err := create(discordtest.DropAfter()); reasonOf(err) != v1alpha1.ReasonCreatePending || r.resources.Records.Of("uid").Known {
		t.Errorf("a create with a lost response counts as certain: %v", err)
	}
	r.later(time.Minute)
	var found Binding
	for range 50 { // the view may lag behind the list that has the channel
		var err error
		if found, err = r.bind(t, l); !isTransient(err) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if !found.Recovered || found.Live.GetName() != "alerts" {
		t.Fatalf("%+v", found)
	}
	if named := slices.DeleteFunc(r.Discord.Guild(r.ID).Channels, func(c discordtest.Channel) bool { return c.Name != "alerts" }); len(named) != 1 {
		t.Errorf("there are %d channels", len(named))
	}

	var results Results
	other := r.lookup(func(l *Lookup) { l.Object.SetUID("new") })
	b := Binding{Lookup: other}
	err := r.resources.create(context.Background(), r.client, b, in, &results)
	if err != nil || r.resources.Records.Holder(results.Live.GetID()) != "new" {
		t.Errorf("%v, held by %s", err, r.resources.Records.Holder(results.Live.GetID()))
	}
}

func TestReadableAuditLogProvesACreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID
	r.forbidLog(t)
	r.later(time.Minute)
	l := r.lookup(finalized, foreign)
	if _, err := r.bind(t, l); reasonOf(err) != v1alpha1.ReasonCreateUnproven {
		t.Fatal(err)
	}
	r.Discord.SetPermissions(r.ID, r.Bot.UserID, all)
	r.later(time.Minute)
	var got Binding
	for range 500 { // until the view shows the permission
		var err error
		if got, err = r.bind(t, l); err == nil {
			break
		}
		<-time.After(10 * time.Millisecond)
		r.later(time.Minute)
	}
	if got.Live == nil || got.Live.GetID() != id || got.Guessed {
		t.Errorf("%+v", got)
	}
}

func TestClaimOfAnotherNamespaceTakesPrecedence(t *testing.T) {
	t.Parallel()
	type claimant struct {
		name string
		here bool
	}
	near, far := claimant{"ns/near", true}, claimant{"an object of another namespace", false}
	for _, all := range [][]claimant{{near, far}, {far, near}, {near, far, near}} {
		var b Binding
		for _, by := range all {
			b.Claim(by.name, by.here)
		}
		if b.ClaimedBy != far.name || b.ClaimedHere {
			t.Errorf("%v: claimed by %s, here: %v", all, b.ClaimedBy, b.ClaimedHere)
		}
	}
}
