// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

type world struct {
	servers  []*v1alpha1.DiscordServer
	groups   []*v1alpha1.DiscordGroup
	channels []*v1alpha1.DiscordChannel
	roles    []*v1alpha1.DiscordRole
	dojos    []*corev1api.Dojo

	secrets     []*corev1.Secret
	deployments []*appsv1.Deployment
	services    []*corev1.Service
	budgets     []*policyv1.PodDisruptionBudget
	custom      []*unstructured.Unstructured

	guests  *guests
	dragged map[string]bool
	data    *dataWorld
	abuse   *abuse

	guild discordtest.Guild
	botID string
	// userChannels and userRoles are the states after the last edit by a user.
	userChannels map[string]userChannel
	userRoles    map[string]discordtest.Role
	members      map[string][]string
	// gone contains the last versions of deleted objects.
	gone map[types.UID]client.Object
	// abandoned is true for the ids of webhooks that observer.abandoned finds.
	abandoned map[string]bool
}

type userChannel struct {
	discordtest.Channel
	// synced means that the channel has the permission overwrites of its category.
	synced bool
}

var customKinds = []schema.GroupVersionKind{
	{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"},
	{Group: "postgresql.cnpg.io", Version: "v1", Kind: "DatabaseRole"},
	{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Database"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
	{Group: "monitoring.coreos.com", Version: "v1alpha1", Kind: "AlertmanagerConfig"},
}

// gather reads Discord last. If an operator acts meanwhile, the caller must gather again.
func (r *run) gather(ctx context.Context) (*world, error) { //nolint:funlen // one list for each kind
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	w := &world{botID: r.botID}
	var servers v1alpha1.DiscordServerList
	var groups v1alpha1.DiscordGroupList
	var channels v1alpha1.DiscordChannelList
	var roles v1alpha1.DiscordRoleList
	var dojos corev1api.DojoList
	var secrets corev1.SecretList
	var deployments appsv1.DeploymentList
	var services corev1.ServiceList
	var budgets policyv1.PodDisruptionBudgetList
	var failed error
	for _, list := range []client.ObjectList{&servers, &groups, &channels, &roles, &dojos, &secrets, &deployments,
		&services, &budgets} {
		failed = errors.Join(failed, r.Admin.List(ctx, list, client.InNamespace(namespace)))
	}
	for _, kind := range customKinds {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		failed = errors.Join(failed, r.Admin.List(ctx, &list, client.InNamespace(namespace)))
		w.custom = append(w.custom, pointers(list.Items)...)
	}
	var err error
	if w.abuse, err = r.gatherAbuse(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	if w.guests, err = r.gatherGuests(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	if w.data, err = r.gatherData(ctx); err != nil {
		failed = errors.Join(failed, err)
	}
	w.servers, w.groups, w.channels = pointers(servers.Items), pointers(groups.Items), pointers(channels.Items)
	w.roles = pointers(roles.Items)
	w.dojos, w.secrets, w.deployments = pointers(dojos.Items), pointers(secrets.Items), pointers(deployments.Items)
	w.services, w.budgets = pointers(services.Items), pointers(budgets.Items)
	if failed == nil {
		w.gone = r.observer.deletedObjects(slices.Concat(objects(w.servers), objects(w.groups), objects(w.channels),
			objects(w.roles), objects(w.dojos), objects(w.data.dojos)))
		w.data.gone = maps.Clone(w.gone)
		maps.DeleteFunc(w.gone, func(_ types.UID, o client.Object) bool { return o.GetNamespace() != namespace })
		maps.DeleteFunc(w.data.gone, func(_ types.UID, o client.Object) bool { return o.GetNamespace() != archive })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w.dragged = maps.Clone(r.dragged)
	w.userChannels, w.userRoles, w.guild = maps.Clone(r.userChannels), maps.Clone(r.userRoles), r.discord.Guild(r.guild)
	w.members = map[string][]string{}
	for user, member := range w.guild.Members {
		w.members[user] = member.Roles
	}
	for _, hook := range w.guild.Webhooks {
		r.secrets.add(hook.Token)
	}
	w.abandoned = r.observer.abandoned(w.origins(auditWebhookCreate))
	return w, failed
}

func pointers[T any](items []T) (all []*T) {
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}

func (r *run) deleteAll(ctx context.Context) error {
	if err := r.releaseGuests(ctx); err != nil {
		return err
	}
	for _, in := range []string{namespace, abuser, guest, archive} {
		for _, kind := range []client.Object{&v1alpha1.DiscordServer{}, &corev1api.Dojo{}, &v1alpha1.DiscordGroup{},
			&v1alpha1.DiscordChannel{}, &v1alpha1.DiscordRole{}} {
			if err := r.Admin.DeleteAllOf(ctx, kind, client.InNamespace(in)); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
