package external

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/guildtest"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const all = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermViewAuditLog

// rig is a finder with a guild to look in, and a client that counts what it is asked.
type rig struct {
	*guildtest.Guild
	client *guildcache.Client
	clock  *clocktesting.FakePassiveClock
	finder *Finder
	claims map[string][]Claim
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Guild: guildtest.New(t, all), clock: clocktesting.NewFakePassiveClock(time.Now()), claims: map[string][]Claim{}}
	r.client = r.Client(t)
	r.finder = &Finder{Records: NewRecords(r.clock), Settle: 10 * time.Second, Now: r.clock.Now}
	r.finder.Records.Entry("somebody") // the process has begun
	return r
}

// later lets time pass for the finder.
func (r *rig) later(d time.Duration) { r.clock.SetTime(r.clock.Now().Add(d)) }

func (r *rig) sought(change ...func(*Lookup)) Lookup {
	s := Lookup{
		Name: types.NamespacedName{Namespace: "ns", Name: "alerts"}, UID: "uid", Created: time.Now(), GuildID: r.ID, DiscordName: "alerts",
		Types: []discordgo.ChannelType{discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews}, Reason: "DiscordChannel uid ns/alerts",
		Claims: func(id string) ([]Claim, error) { return r.claims[id], nil },
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func (r *rig) locate(t *testing.T, s Lookup) (Binding, error) {
	t.Helper()
	return r.finder.Locate(t.Context(), r.client, r.client.Guild(r.ID).Snapshot(), s)
}

// make creates a channel with the client, so that its view shows it.
func (r *rig) make(t *testing.T, name, reason string) *discordclient.Channel {
	t.Helper()
	ch, err := r.client.CreateChannel(t.Context(), r.ID, discordclient.ChannelCreate{Name: name}, reason)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func intended(s *Lookup) { s.Intended = true }

func reasonOf(err error) string {
	if issue, ok := errors.AsType[*conditions.Issue](err); ok {
		return issue.Reason
	}
	return ""
}

func TestLocate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		// scene prepares the guild and returns what is sought, and the id that is expected.
		scene  func(*testing.T, *rig) (Lookup, string)
		found  Binding // without the channel
		reason string
	}{
		"never intended": {scene: func(_ *testing.T, r *rig) (Lookup, string) { return r.sought(), "" }, found: Binding{Create: true}},
		"never intended, and one of that name is there": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.make(t, "alerts", "by somebody")
			return r.sought(), ""
		}, found: Binding{Create: true}},
		"by the status": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "renamed", "").ID
			return r.sought(intended, func(s *Lookup) { s.StatusID = id }), id
		}},
		"by what this process made, before the status shows it": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "alerts", "").ID
			r.finder.Records.Is("uid", id)
			return r.sought(intended), id
		}},
		"adopted": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.sought(func(s *Lookup) { s.AdoptID = id }), id
		}, found: Binding{Adopted: true}},
		"adopted, and the status shows it": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.sought(intended, func(s *Lookup) { s.AdoptID, s.StatusID = id, id }), id
		}},
		"adopted what is not there": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			return r.sought(func(s *Lookup) { s.AdoptID = "123456" }), ""
		}, reason: v1alpha1.ReasonAdoptNotFound},
		"adopted what is of another kind": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			return r.sought(func(s *Lookup) { s.AdoptID, s.Types = id, []discordgo.ChannelType{discordgo.ChannelTypeGuildCategory} }), ""
		}, reason: v1alpha1.ReasonAdoptMismatch},
		"adopted what another one has": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []Claim{{UID: "uid"}, {UID: "other", Holds: true}}
			return r.sought(func(s *Lookup) { s.AdoptID = id }), ""
		}, reason: v1alpha1.ReasonConflict},
		"adopted what another one wants, later": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			id := r.make(t, "old", "").ID
			r.claims[id] = []Claim{{UID: "uid", Created: time.Unix(1, 0)}, {UID: "other", Created: time.Unix(2, 0)}}
			return r.sought(func(s *Lookup) { s.AdoptID = id }), id
		}, found: Binding{Adopted: true}},
		"deleted on Discord, and this process knows that nothing else exists": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			r.finder.Records.Is("uid", "123456")
			return r.sought(intended, func(s *Lookup) { s.StatusID = "123456" }), ""
		}, found: Binding{Create: true}},
		"a create may be under way": {scene: func(_ *testing.T, r *rig) (Lookup, string) { return r.sought(intended), "" }, reason: v1alpha1.ReasonCreatePending},
		"a create has left nothing": {scene: func(_ *testing.T, r *rig) (Lookup, string) {
			r.later(time.Minute)
			return r.sought(intended), ""
		}, found: Binding{Create: true}},
		"a create has left a channel, says the audit log": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			return r.sought(intended), r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID
		}, found: Binding{Recovered: true}},
		"what others have made under the same name is left alone": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.make(t, "alerts", "by hand")
			r.later(time.Minute)
			return r.sought(intended), ""
		}, found: Binding{Create: true}},
		"what another object has made is left alone": {scene: func(t *testing.T, r *rig) (Lookup, string) {
			r.finder.Records.Is("other", r.make(t, "alerts", "DiscordChannel uid ns/alerts").ID)
			r.later(time.Minute)
			return r.sought(intended), ""
		}, found: Binding{Create: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s, want := c.scene(t, r)
			got, err := r.locate(t, s)
			if reasonOf(err) != c.reason || c.reason == "" && err != nil {
				t.Fatalf("got the error %v, want one with the reason %q", err, c.reason)
			}
			id := ""
			if got.Channel != nil {
				id, got.Channel = got.Channel.ID, nil
			}
			if diff := cmp.Diff(c.found, got); diff != "" || id != want {
				t.Errorf("channel %q, want %q; %s", id, want, diff)
			}
		})
	}
}

// Looking for what is known costs nothing.
func TestLocateMakesNoCallForWhatIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.make(t, "alerts", "").ID
	before := len(r.Discord.Requests())
	for _, s := range []Lookup{r.sought(), r.sought(intended, func(s *Lookup) { s.StatusID = id }), r.sought(intended)} {
		if _, err := r.locate(t, s); err != nil {
			t.Error(err)
		}
	}
	if calls := r.Discord.Requests()[before:]; len(calls) > 0 {
		t.Errorf("%d calls, the first is %s", len(calls), calls[0].Route)
	}
}

// Where the audit log does not tell whose a channel is, two objects of the same name may look at the same moment: only one takes it.
func TestTwoThatLookAtOnceDoNotTakeTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Discord.Faults().LoseAudit(1)
	made := r.make(t, "alerts", "DiscordChannel uid ns/alerts")
	r.later(time.Minute)
	r.finder.Records.Claim("other", made.ID) // after this pass has decided, and before it takes what it has found
	if got, err := r.finder.take(r.sought(intended), made, Binding{Channel: made, Recovered: true}); !issues.IsBrief(err) || got.Channel != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if holder := r.finder.Records.Holder(made.ID); holder != "other" {
		t.Errorf("held by %q", holder)
	}
	if got, err := r.locate(t, r.sought(intended)); err != nil || !got.Create {
		t.Errorf("then one is to be created: %+v, %v", got, err)
	}
}

func TestAClaimThatCannotBeReadCreatesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.make(t, "alerts", "DiscordChannel uid ns/alerts")
	broken := errors.New("the cache is broken")
	got, err := r.locate(t, r.sought(intended, func(s *Lookup) { s.Claims = func(string) ([]Claim, error) { return nil, broken } }))
	if !errors.Is(err, broken) || got.Create || got.Channel != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.sought(intended)
	in := discordclient.ChannelCreate{Name: "alerts"}
	create := func(way discordtest.Action) error {
		remove := r.Discord.Faults().Add(discordtest.Fault{Route: "POST /guilds/{guild_id}/channels", Action: way})
		defer remove()
		_, err := r.finder.Create(t.Context(), r.client, s, in)
		return err
	}

	if err := create(discordtest.FailBefore(404)); err == nil || !r.finder.Records.Entry("uid").Known {
		t.Errorf("what was refused is in doubt: %v", err)
	}
	if err := create(discordtest.DropAfter()); reasonOf(err) != v1alpha1.ReasonCreatePending || r.finder.Records.Entry("uid").Known {
		t.Errorf("a lost answer is not in doubt: %v", err)
	}
	r.later(time.Minute)
	var found Binding
	for range 50 { // the view may lag behind the list that names it
		var err error
		if found, err = r.locate(t, s); !issues.IsBrief(err) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if !found.Recovered || found.Channel.Name != "alerts" {
		t.Fatalf("%+v", found)
	}
	if named := slices.DeleteFunc(r.Discord.Guild(r.ID).Channels, func(c discordtest.Channel) bool { return c.Name != "alerts" }); len(named) != 1 {
		t.Errorf("there are %d channels", len(named))
	}

	ch, err := r.finder.Create(context.Background(), r.client, r.sought(func(s *Lookup) { s.UID = "new" }), in)
	if err != nil || r.finder.Records.Holder(ch.ID) != "new" {
		t.Errorf("%v, held by %s", err, r.finder.Records.Holder(ch.ID))
	}
}
