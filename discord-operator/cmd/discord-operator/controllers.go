// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller"
	"jutsu.com/operators/discord-operator/internal/controller/channel"
	"jutsu.com/operators/discord-operator/internal/controller/group"
	"jutsu.com/operators/discord-operator/internal/controller/role"
	"jutsu.com/operators/discord-operator/internal/controller/server"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	operatormetrics "jutsu.com/operators/discord-operator/internal/kube/metrics"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/manager"
)

func addControllers(ctx context.Context, mgr *manager.Manager, o *options) error {
	if err := index.Add(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	counts := operatormetrics.New(metrics.Registry, mgr.GetCache(), mgr.Elected())
	calls := guildcache.NewMetrics()
	metrics.Registry.MustRegister(calls)
	grants := grant.NewReader(mgr.GetClient(), o.manager.Namespaces, o.selectors)
	bots := bot.New(ctx, grants.Objects, mgr.GetAPIReader(), bot.Config{
		APIURL: o.apiURL, PerSecond: o.perSecond, Resync: o.resync, Metrics: calls, Log: ctrl.Log.WithName("discord"),
		ResyncLive: o.resyncLive, EventTimeout: o.eventTimeout, Guard: mgr.Fence.Check,
	})
	var now clock.RealClock
	applier := apply.New(mgr.GetClient(), webhook.FieldOwner, apply.Reasons{
		Refused: v1alpha1.ReasonRefused, NamespaceTerminating: v1alpha1.ReasonNamespaceTerminating,
		NameConflict: v1alpha1.ReasonNameConflict,
	}, now)
	recorder := func(kind string) *status.Recorder {
		return &status.Recorder{
			Kind: kind, Client: mgr.GetClient(), Events: mgr.GetEventRecorder("discord-operator"),
			Expectations: applier.Expectations, Metrics: counts, Clock: now, Resync: o.resync, UnverifiedPeriod: o.unverified,
		}
	}
	records := func() *lifecycle.Records { return lifecycle.NewRecords(now, o.recoveryWait) }
	resources := func(kind lifecycle.Kind) *lifecycle.Resources {
		return &lifecycle.Resources{
			Kind: kind, Cache: mgr.GetClient(), Status: recorder(kind.Name), Records: records(),
		}
	}
	channels, roles := resources(channel.Kind), resources(role.Kind)
	names := &lifecycle.RoleNames{Cache: mgr.GetClient(), Records: roles.Records, Clock: now}
	webhooks := &webhook.Webhooks{
		Client: mgr.GetClient(), Applier: applier, Records: records(), Status: channels.Status,
	}
	of := func(kind *lifecycle.Resources) controller.Controller {
		return controller.Controller{Client: mgr.GetClient(), Grants: grants, Bots: bots, Resources: kind}
	}
	for kind, reconciler := range map[string]interface {
		SetupWithManager(mgr ctrl.Manager, workers int) error
	}{
		server.Kind: &server.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Grants: grants, Bots: bots, Records: records(),
			Status: recorder(server.Kind),
		},
		group.Kind.Name: &group.Reconciler{Controller: of(resources(group.Kind)), RoleNames: names},
		channel.Kind.Name: &channel.Reconciler{
			Controller: of(channels), RoleNames: names, Webhooks: webhooks,
		},
		role.Kind.Name: &role.Reconciler{Controller: of(roles), Resync: o.resyncLive},
	} {
		if err := reconciler.SetupWithManager(mgr, o.workers); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", kind, err)
		}
	}
	return nil
}
