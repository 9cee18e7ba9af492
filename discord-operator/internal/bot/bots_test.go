// SPDX-License-Identifier: Apache-2.0

package bot_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
)

// secrets are a namespace with one Secret of any name, whose version a test may change together
// with its token.
type secrets struct {
	client.Reader
	version, token string
}

func (s *secrets) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		o.ResourceVersion = s.version
	case *corev1.Secret:
		o.Data = map[string][]byte{"token": []byte(s.token)}
	default:
		return errors.New("not a Secret")
	}
	return nil
}

// A guild is read for as long as a server of the bot is about it, and no longer.
func TestAGuildIsForgottenWithItsLastServer(t *testing.T) {
	t.Parallel()
	discord := httptest.NewServer(http.NotFoundHandler())
	defer discord.Close()
	secret := &secrets{version: "1", token: "token"}
	bots := bot.New(t.Context(), secret, secret, bot.Config{APIURL: discord.URL, Resync: time.Hour})
	// about has a server read a guild, as a reconciler does, and returns how many guilds its bot
	// reads.
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
	secret.version, secret.token = "2", "another"
	about("d", "4")
	want("when a server has got another bot", 1)
}
