// SPDX-License-Identifier: Apache-2.0

// Package controller has the steps that the reconcilers of DiscordGroups, DiscordChannels and
// DiscordRoles share. To add a field to a spec, extend the API type, the structs of discordclient,
// the kind's table (package resource) and test/discordtest. To add a kind, write a package like
// role, and register its controller in cmd/discord-operator/controllers.go. For other resources
// than channels and roles, implement resource.Calls, Create and Edit.
package controller

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Controller has the dependencies that the reconcilers of groups, channels and roles share.
type Controller struct {
	Client    client.Client // reads from the cache
	Grants    *grant.Reader
	Bots      *bot.Bots // connections to Discord
	Resources *lifecycle.Resources
}

// Build returns a builder for the controller of a kind, with the watches that all kinds need.
func (c *Controller) Build(
	mgr ctrl.Manager, o client.Object, ofServer, ofNamespace handler.MapFunc, workers int,
) *builder.Builder {
	when, requests := builder.WithPredicates, handler.EnqueueRequestsFromMapFunc
	b := builder.ControllerManagedBy(mgr).
		Named(strings.ToLower(c.Resources.Kind.Name)).
		For(o, when(c.Resources.Status.Relevant())).
		Watches(o, &handler.EnqueueRequestForObject{}, when(c.Resources.Bound())).
		Watches(o, requests(c.Resources.Rivals), when(c.Resources.Released())).
		Watches(o, lifecycle.OnDelete(c.Resources.Records.Forget, c.Resources.Status.Forget)).
		Watches(&v1alpha1.DiscordServer{}, requests(ofServer), when(bot.ServerChanged)).
		WatchesRawSource(source.TypedChannel(c.Bots.Events(), c.Resources.OfEvent(ofServer))).
		WatchesRawSource(&c.Resources.Queue).
		WithOptions(lifecycle.Options(workers))
	if c.Grants.Labels {
		b = b.WatchesMetadata(&corev1.Namespace{}, requests(ofNamespace), when(predicate.LabelChangedPredicate{}))
	}
	return b
}

// Begin returns the context for Discord calls, and whether the cache has the operator's last write.
func (c *Controller) Begin(ctx context.Context, o status.Object) (context.Context, bool) {
	return c.Resources.Queue.Caller(c.Bots.Caused(ctx, o), o, 1), c.Resources.Status.Satisfied(o)
}

// Stale requeues an object after [Controller.Begin] has found an outdated cache.
var Stale = reconcile.Result{RequeueAfter: apply.StaleRetry}

// Issues returns the issues of an error.
func (c *Controller) Issues(err error) []conditions.Issue {
	return issues.Of(err, c.Resources.Status.Clock.Now())
}

// Deletable finds the resource to delete. If refused says that the server does not allow the
// object's namespace, and the object has no resource ([lifecycle.Resources.Owns]), it returns a
// Mismatch.
func (c *Controller) Deletable(
	ctx context.Context, o status.Object, name types.NamespacedName, serverID string, refused error,
	noRetention *conditions.Issue, lookup func(*bot.Guild) lifecycle.Lookup,
) (guild *bot.Guild, b lifecycle.Binding, err error) {
	b.NoRetention = noRetention
	if refused := grant.Refused(refused); refused != nil && !c.Resources.Owns(o) {
		b.Mismatch = refused
		return nil, b, nil
	}
	if guild, err = c.Bots.GuildToDelete(ctx, name, serverID, o.GetNamespace()); err != nil {
		return nil, b, err
	}
	l := lookup(guild)
	l.NoRetention = noRetention
	b, err = c.Resources.BindDeleted(ctx, guild.Bot.Client, l)
	return guild, b, err
}

// NoRetention says why a deleted object may not leave its resource on Discord; nil if it may.
func (c *Controller) NoRetention(
	ctx context.Context, o status.Object, server types.NamespacedName,
) (*conditions.Issue, error) {
	refused, err := c.Grants.RetentionRefused(ctx, server, o.GetNamespace(), c.Resources.Kind.Noun)
	if err != nil {
		return nil, err
	}
	return c.Resources.NoRetention(o, refused), nil
}

// Retained reports whether the resource of a deleted object stays on Discord.
func (c *Controller) Retained(o status.Object) bool { return c.Resources.Kind.Identity(o).Retained() }

// Delete carries out the planned deletion, and removes the create records of a deleted object.
func (c *Controller) Delete(
	ctx context.Context, o status.Object, guild *bot.Guild, plan lifecycle.Plan,
) lifecycle.Results {
	results := lifecycle.Delete(ctx, guild.OrNone(), c.Resources.Status, o, plan)
	if results.Deleted {
		c.Resources.Records.Forget(o.GetUID())
	}
	return results
}

// UpdateStatus writes a changed status, and returns when to reconcile again.
func (c *Controller) UpdateStatus(
	ctx context.Context, name string, before, after status.Object, results *lifecycle.Results, worst *conditions.Issue,
) (reconcile.Result, error) {
	return c.Resources.Status.Update(ctx, status.Report{
		Name: name, Before: before, After: after, Changed: results.Changed, Worst: worst, Stale: results.Stale,
	})
}
