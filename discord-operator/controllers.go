package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/channel"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/group"
	"jutsu.com/operators/discord-operator/internal/index"
	operatormetrics "jutsu.com/operators/discord-operator/internal/metrics"
	"jutsu.com/operators/discord-operator/internal/server"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// addControllers registers the three controllers, their shared parts, and the metrics.
func addControllers(ctx context.Context, mgr ctrl.Manager, o *options) error {
	if err := index.Add(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	counts, err := operatormetrics.New(metrics.Registry, mgr.GetCache(), mgr.Elected())
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	calls := guildcache.NewMetrics()
	if err := metrics.Registry.Register(calls); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	bots := bot.New(ctx, mgr.GetClient(), mgr.GetAPIReader(), bot.Config{
		APIURL: o.apiURL, Resync: o.resync, Metrics: calls, Log: ctrl.Log.WithName("discord"),
	})
	var now clock.RealClock
	applier := apply.New(mgr.GetClient(), channel.FieldOwner, apply.Reasons{
		Refused: v1alpha1.ReasonRefused, NamespaceTerminating: v1alpha1.ReasonNamespaceTerminating,
	}, now)
	recorder := func(kind string) *status.Recorder {
		return &status.Recorder{
			Kind: kind, Client: mgr.GetClient(), Events: mgr.GetEventRecorder("discord-operator"),
			Expectations: applier.Expectations, Metrics: counts,
		}
	}
	finder := func() *external.Finder {
		return &external.Finder{Records: external.NewRecords(now), Settle: o.recoveryWait, Now: time.Now}
	}
	for kind, controller := range map[string]interface {
		SetupWithManager(mgr ctrl.Manager, workers int) error
	}{
		server.Kind: &server.Reconciler{
			Client: mgr.GetClient(), Bots: bots, Records: external.NewRecords(now), Settle: o.recoveryWait,
			Status: recorder(server.Kind), Metrics: counts, Clock: now, Resync: o.resync,
		},
		group.Kind: &group.Reconciler{
			Client: mgr.GetClient(), Bots: bots, Finder: finder(),
			Status: recorder(group.Kind), Metrics: counts, Clock: now, Resync: o.resync,
		},
		channel.Kind: &channel.Reconciler{
			Client: mgr.GetClient(), Applier: applier, Bots: bots, Finder: finder(), Hooks: external.NewRecords(now),
			Status: recorder(channel.Kind), Metrics: counts, Clock: now, Resync: o.resync,
		},
	} {
		if err := controller.SetupWithManager(mgr, o.workers); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", kind, err)
		}
	}
	return nil
}
