// SPDX-License-Identifier: Apache-2.0

package bot_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

type secrets struct {
	client.Reader
	version, token string
	annotations    map[string]string
}

func (s *secrets) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		o.ResourceVersion = s.version
	case *corev1.Secret:
		o.Data, o.Annotations = map[string][]byte{"token": []byte(s.token)}, s.annotations
	case *v1alpha1.DiscordServer:
		o.Namespace, o.Name = "ns", "a"
		o.Spec.ServerID, o.Spec.TokenSecretRef.Name, o.Spec.TokenSecretRef.Key = "123456", "bot", "token"
	default:
		return errors.New("another kind")
	}
	return nil
}

func TestAGuildIsForgottenWithItsLastServer(t *testing.T) {
	t.Parallel()
	discord := httptest.NewServer(http.NotFoundHandler())
	defer discord.Close()
	secret := &secrets{version: "1", token: "a.bot.token"}
	bots := bot.New(t.Context(), secret, secret, bot.Config{APIURL: discord.URL, Resync: time.Hour})
	about := func(server, guild string) func() int {
		t.Helper()
		o := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: server}}
		o.Spec.TokenSecretRef.Name, o.Spec.TokenSecretRef.Key = "bot", "token"
		s, err := bots.Of(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		bots.Follow(client.ObjectKeyFromObject(o), guild)
		s.Guild(guild)
		return func() int { return s.Stats().Guilds }
	}
	release := func(server string) { bots.Release(types.NamespacedName{Namespace: "ns", Name: server}) }
	about("a", "1")
	about("b", "1")
	guilds := about("c", "2")
	want := func(when string, n int) {
		t.Helper()
		if got := guilds(); got != n {
			t.Errorf("%s the bot reads %d guilds, want %d", when, got, n)
		}
	}
	want("at first", 2)
	release("a")
	want("after one of its two servers", 2)
	release("b")
	want("after the other one", 1)
	about("c", "3")
	want("when a server is about another guild", 1)
	about("d", "4")
	secret.version, secret.token = "2", "another.bot.token"
	about("d", "4")
	want("when a server has got another bot", 1)
}

type refusing struct {
	t      *testing.T
	calls  atomic.Int32
	clock  *clocktesting.FakePassiveClock
	secret *secrets
	bots   *bot.Bots
}

func newRefusing(t *testing.T) *refusing {
	r := &refusing{
		t: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0)),
		secret: &secrets{version: "0", token: "a.wrong.token"},
	}
	discord := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.calls.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"message":"401: Unauthorized","code":0}`))
	}))
	t.Cleanup(discord.Close)
	r.bots = bot.New(t.Context(), r.secret, r.secret, bot.Config{APIURL: discord.URL, Resync: time.Hour, Clock: r.clock})
	return r
}

func (r *refusing) reconcile() (issue *conditions.Issue) {
	r.t.Helper()
	for i := range 100 {
		o := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: strconv.Itoa(i)}}
		o.Spec.TokenSecretRef.Name, o.Spec.TokenSecretRef.Key = "bot", "token"
		found, err := r.bots.Of(r.t.Context(), o)
		if err == nil {
			_, err = found.Application(r.t.Context())
		}
		if discordclient.ClassOf(err) == discordclient.ClassBadToken {
			err = r.bots.Refused(o)
		}
		var ok bool
		if issue, ok = errors.AsType[*conditions.Issue](err); !ok || issue.Reason != v1alpha1.ReasonAuthenticationFailed {
			r.t.Fatalf("server %d: %v", i, err)
		}
	}
	return issue
}

// Each call with a refused token may lead to a ban of the IP address, which all tenants share.
func TestARefusedTokenIsSeldomTried(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	const most = 2 // calls per try: for the application and for the Gateway's address
	for try, want := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour, time.Hour} {
		for second := range 60 { // a user changes the Secret every second
			r.secret.version = fmt.Sprint(try, second)
			issue := r.reconcile()
			if left := want - time.Duration(second)*time.Second; issue.RequeueAfter != left {
				t.Fatalf("try %d: tried again after %s, want %s", try, issue.RequeueAfter, left)
			}
			r.clock.SetTime(r.clock.Now().Add(time.Second))
		}
		if calls := int(r.calls.Load()); calls > most*(try+1) {
			t.Errorf("%d calls after %d tries", calls, try+1)
		}
		r.clock.SetTime(r.clock.Now().Add(want - time.Minute))
	}
}

func TestMalformedTokenIsNotSent(t *testing.T) {
	t.Parallel()
	r := newRefusing(t)
	for _, text := range []string{"password", "a.b", "a.b.c.d", "two words.in.it", "https://discord.com/api/webhooks/1/x"} {
		r.secret.version, r.secret.token = text, text
		if issue := r.reconcile(); strings.Contains(issue.Message, text) {
			t.Errorf("the message shows the token: %s", issue.Message)
		}
	}
	if calls := r.calls.Load(); calls != 0 {
		t.Errorf("%d calls", calls)
	}
}

func TestATokenIsForTheGuildsOfItsSecret(t *testing.T) {
	t.Parallel()
	discord := httptest.NewServer(http.NotFoundHandler()) // a 401 would end the bot
	defer discord.Close()
	secret := &secrets{token: "a.bot.token"}
	bots := bot.New(t.Context(), secret, secret, bot.Config{APIURL: discord.URL, Resync: time.Hour})
	server := &v1alpha1.DiscordServer{}
	if err := secret.Get(t.Context(), types.NamespacedName{}, server); err != nil {
		t.Fatal(err)
	}
	const own, other = "123456", "234567"
	refused := func(err error, reason string) bool {
		issue, _ := errors.AsType[*conditions.Issue](err)
		return issue != nil && issue.Reason == reason
	}
	for version, c := range map[string]struct {
		allowed  *string // the annotation
		spec     string  // the server's spec.serverId
		of       bool    // whether the server may use the token
		toDelete bool    // whether the token may delete in another guild
	}{
		"any":                             {nil, own, true, true},
		"another":                         {new("345678"), own, false, false},
		"nothing":                         {new(""), own, false, false},
		"only its own":                    {new(own), own, true, false},
		"both":                            {new(own + ", " + other), own, true, true},
		"one, for a server without an id": {new(own), "", false, false},
	} {
		secret.version, secret.annotations, server.Spec.ServerID = version, map[string]string{}, c.spec
		if c.allowed != nil {
			secret.annotations[v1alpha1.AllowedServersAnnotation] = *c.allowed
		}
		if _, err := bots.Of(t.Context(), server); refused(err, v1alpha1.ReasonNotAllowed) == c.of {
			t.Errorf("allowed servers, %s: %v", version, err)
		}
		_, err := bots.GuildToDelete(t.Context(), client.ObjectKeyFromObject(server), other, "ns")
		if refused(err, v1alpha1.ReasonDeletionFailed) == c.toDelete {
			t.Errorf("allowed servers, %s: a deletion in another guild: %v", version, err)
		}
	}
	secret.version, secret.annotations = "again", map[string]string{v1alpha1.AllowedServersAnnotation: own}
	for guild, allowed := range map[string]bool{own: true, other: false} { // a new server may have the old one's name
		server.Spec.ServerID = guild
		if _, err := bots.Of(t.Context(), server); refused(err, v1alpha1.ReasonNotAllowed) == allowed {
			t.Errorf("a server for %s: %v", guild, err)
		}
	}
	secret.version, secret.token = "malformed", "" // the last used bot deletes, but only in allowed guilds
	for guild, allowed := range map[string]bool{own: true, other: false} {
		_, err := bots.GuildToDelete(t.Context(), client.ObjectKeyFromObject(server), guild, "ns")
		if refused(err, v1alpha1.ReasonDeletionFailed) == allowed {
			t.Errorf("without a token, deletion in %s: %v", guild, err)
		}
	}
}

// A namespace without a DiscordServer for the bot gets at most half of the bot's calls.
func TestANamespaceHasAShareOfAnothersBot(t *testing.T) {
	t.Parallel()
	var received atomic.Int32
	answer, arrived := make(chan struct{}), make(chan struct{}, 100)
	discord := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/users/@me") {
			http.NotFound(w, r)
			return
		}
		arrived <- struct{}{}
		if received.Add(1) > 1 { // the first response shows the limit of the route
			<-answer
		}
		_, _ = w.Write([]byte(`{"id":"1"}`))
	}))
	var calls sync.WaitGroup
	defer func() { // calls must end before the context does
		close(answer)
		calls.Wait()
		discord.Close()
	}()
	secret := &secrets{version: "1", token: "a.bot.token"}
	bots := bot.New(t.Context(), secret, secret, bot.Config{APIURL: discord.URL, Resync: time.Hour})
	serverIn := func(namespace string) *bot.Bot {
		t.Helper()
		o := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
		o.Spec.TokenSecretRef.Name, o.Spec.TokenSecretRef.Key = "bot", "token"
		found, err := bots.Of(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	shared := serverIn("owner")
	ask := func(namespace string) error {
		o := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
		_, err := shared.CurrentUser(bots.Caused(t.Context(), o))
		return err
	}
	sent := func(namespace string, n int32) {
		t.Helper()
		for range n {
			calls.Go(func() {
				if err := ask(namespace); err != nil {
					t.Errorf("a call of %s: %v", namespace, err)
				}
			})
		}
		for i := range n {
			select {
			case <-arrived:
			case <-time.After(10 * time.Second):
				t.Fatalf("Discord has received %d calls of %s, want %d", i, namespace, n)
			}
		}
	}
	held := func(namespace string) {
		t.Helper()
		limited, _ := errors.AsType[*discordclient.RateLimited](ask(namespace))
		if limited == nil || !limited.ExceedsShare() {
			t.Errorf("a call of %s gets %v, want the error ExceedsShare", namespace, limited)
		}
	}
	if err := ask("owner"); err != nil {
		t.Fatal(err)
	}
	<-arrived
	sent("tenant", 20) // the tenant's share is 25 calls, 5 of them only for creates and deletes
	held("tenant")
	sent("owner", 10)
	serverIn("tenant")
	sent("tenant", 5)
	bots.Release(types.NamespacedName{Namespace: "tenant", Name: "a"})
	held("tenant")
	sent("other", 2)
}
