// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/manager/fairqueue"
	"jutsu.com/operators/test/discordtest"
)

func TestCallQueue(t *testing.T) {
	t.Parallel()
	discord := discordtest.Run(t, discordtest.Options{Limits: discordtest.NoRateLimits()})
	bot := discord.AddBot(discordtest.Bot{})
	api, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret(bot.Token), APIURL: discord.APIURL(), GlobalPerSecond: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	queue := fairqueue.New("calls", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	var calls CallQueue
	if err := calls.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	channel := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "held-back", UID: "1"}}
	ctx := calls.Caller(t.Context(), channel, 1)
	held := func() *discordclient.RateLimited {
		_, err := api.CurrentApplication(ctx)
		limited, _ := errors.AsType[*discordclient.RateLimited](err)
		if err != nil && limited == nil {
			t.Fatal(err)
		}
		return limited
	}
	var limited *discordclient.RateLimited
	for range 100 { // the sixth call within a second must wait; a busy machine may need more calls
		if limited = held(); limited != nil {
			break
		}
	}
	if limited == nil || !limited.Queued() {
		t.Fatalf("one call too many in a second is answered with %v, want a place in the call queue", limited)
	}
	queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "waiting"}})
	back := func(context.Context) (bool, error) { return queue.Len() == 2, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, back); err != nil {
		t.Fatal("the object does not come back, which takes a second on a machine that is not busy")
	}
	if first, _ := queue.Get(); first.NamespacedName != client.ObjectKeyFromObject(channel) {
		t.Errorf("%s comes first, want the object that was held back", first)
	}
	if again := held(); again != nil {
		t.Errorf("after it is notified it is held back again: %v", again)
	}
}
