// SPDX-License-Identifier: Apache-2.0

package world

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
)

// Child is an object that a Dojo has or may have.
type Child struct {
	Kind kinds.Kind
	Name string
	// Wanted reports whether the spec asks for it. Others are leftovers, or come and go.
	Wanted bool
	// Foreign reports whether the Dojo uses it and does not own it.
	Foreign bool
}

// Children lists the objects that a Dojo can have, by what its spec says, in the order of the tree.
func Children(d *corev1api.Dojo) []Child {
	all := []Child{
		{Kind: kinds.Deployment, Name: d.Name, Wanted: true},
		{Kind: kinds.Service, Name: d.Name, Wanted: true},
		{Kind: kinds.Budget, Name: d.Name},
		{Kind: kinds.Autoscaler, Name: d.Name, Wanted: d.Spec.Autoscaling != nil},
		{Kind: kinds.Secret, Name: credentials.Name(d), Wanted: true},
	}
	all = append(all, databaseChildren(d)...)
	exposure := d.Spec.Exposure
	monitored := monitoring.Monitored(d)
	alerts := d.Spec.Alerts != nil
	all = append(all,
		Child{Kind: kinds.Ingress, Name: d.Name, Wanted: exposure != nil && exposure.Gateway == nil},
		Child{Kind: kinds.HTTPRoute, Name: d.Name, Wanted: exposure != nil && exposure.Gateway != nil},
		Child{Kind: kinds.ServiceMonitor, Name: d.Name, Wanted: monitored},
		Child{Kind: kinds.Rule, Name: d.Name, Wanted: monitored && !d.Spec.Suspend},
		Child{Kind: kinds.Route, Name: d.Name, Wanted: alerts},
		Child{Kind: kinds.Secret, Name: monitoring.SecretName(d), Wanted: alerts},
	)
	if channel := monitoring.ChannelName(d); channel != "" {
		foreign := d.Spec.Alerts.Discord.ChannelRef != nil
		all = append(all, Child{Kind: kinds.Channel, Name: channel, Wanted: true, Foreign: foreign})
	}
	return all
}

func databaseChildren(d *corev1api.Dojo) []Child {
	pg := d.Spec.Postgres
	if pg == nil {
		return nil
	}
	own := pg.Cluster != nil
	all := []Child{{Kind: kinds.Cluster, Name: cnpg.ClusterName(d), Wanted: true, Foreign: !own}}
	if own {
		all = append(all,
			Child{Kind: kinds.Pooler, Name: cnpg.PoolerName(d), Wanted: pooler.Wanted(d) != nil},
			Child{Kind: kinds.Schedule, Name: cnpg.ScheduleName(d), Wanted: pg.Cluster.Backup != nil})
	}
	all = append(all, Child{Kind: kinds.Database, Name: cnpg.ObjectName(d), Wanted: true})
	for _, login := range []cnpg.Login{cnpg.Owner, cnpg.Second} {
		all = append(all,
			Child{Kind: kinds.Role, Name: login.ObjectName(d), Wanted: login == cnpg.Owner},
			Child{Kind: kinds.Secret, Name: login.ObjectName(d), Wanted: login == cnpg.Owner})
	}
	return all
}
