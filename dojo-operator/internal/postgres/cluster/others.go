// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// ObserveOthers lists the other users of a Dojo's own Cluster, such as "Dojo kyoto", before the
// Cluster is deleted or hibernated. Before a hibernation, it omits suspended Dojos, and Databases
// that deleted Dojos have left. A Dojo that is being deleted with its database needs Postgres, even
// if it is suspended.
func ObserveOthers(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, readable bool) (all []string, err error) {
	if !shutsDown(dojo) {
		return nil, nil
	}
	deleting := dojo.DeletionTimestamp != nil
	guests, err := Guests(ctx, r, dojo)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{cnpg.ObjectName(dojo): true}
	for i := range guests {
		guest := &guests[i]
		known[cnpg.ObjectName(guest)] = true
		if deleting || !guest.Spec.Suspend || guest.DeletionTimestamp != nil && cnpg.Reclaims(guest) {
			all = append(all, "Dojo "+guest.Name)
		}
	}
	if readable {
		var list cnpgv1.DatabaseList
		if err := r.Cache.List(ctx, &list, client.InNamespace(dojo.Namespace)); err != nil {
			return nil, fmt.Errorf("list Databases: %w", err)
		}
		for i := range list.Items {
			db := &list.Items[i]
			used := deleting || !ownership.Managed(db)
			if db.Spec.ClusterRef.Name == cnpg.ClusterName(dojo) && !known[db.Name] && used {
				all = append(all, "Database "+db.Name)
			}
		}
	}
	users, err := loginUsers(ctx, r, dojo)
	slices.Sort(all)
	return append(all, users...), err
}

// Guests lists the other Dojos with a database in the Dojo's own Cluster.
func Guests(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) ([]corev1api.Dojo, error) {
	var dojos corev1api.DojoList
	name := types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.ClusterName(dojo)}
	if err := r.Cache.List(ctx, &dojos, client.InNamespace(dojo.Namespace),
		client.MatchingFields{ownership.References: name.String()}); err != nil {
		return nil, fmt.Errorf("list Dojos in the Cluster %s: %w", name, err)
	}
	return slices.DeleteFunc(dojos.Items, func(other corev1api.Dojo) bool {
		return other.UID == dojo.UID || cnpg.ClusterName(&other) != name.Name
	}), nil
}

func shutsDown(dojo *corev1api.Dojo) bool {
	if dojo.DeletionTimestamp != nil && !cnpg.Reclaims(dojo) || dojo.DeletionTimestamp == nil && !dojo.Spec.Suspend {
		return false
	}
	return dojo.Spec.Postgres.Cluster != nil
}

// loginUsers lists the Dojos that use a Secret of the Cluster.
func loginUsers(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (all []string, err error) {
	for _, name := range []string{
		cnpg.Owner.ObjectName(dojo), cnpg.Second.ObjectName(dojo),
		cnpg.ClusterName(dojo) + "-app", cnpg.ClusterName(dojo) + "-superuser",
	} {
		secret := types.NamespacedName{Namespace: dojo.Namespace, Name: name}
		dojos, err := ownership.Naming(ctx, r.Cache, secret)
		if err != nil {
			return nil, err
		}
		dojos = slices.DeleteFunc(dojos, func(other corev1api.Dojo) bool {
			return dojo.DeletionTimestamp == nil && other.Spec.Suspend
		})
		if len(dojos) == 0 {
			continue
		}
		live, err := apply.Get(ctx, r, "Secret", secret, apply.Metadata("v1", "Secret"))
		if err != nil {
			return nil, err
		}
		if live == nil { // a Secret that does not exist is shared with no other namespace
			live = apply.Metadata("v1", "Secret")
			live.Namespace = dojo.Namespace
		}
		all = append(all, ownership.Users(dojos, live)...)
	}
	slices.Sort(all)
	return all, nil
}

// InUse returns an issue if others use the Cluster that is to be deleted; else nil.
func InUse(dojo *corev1api.Dojo, s State) *conditions.Issue {
	if len(s.Others) == 0 || !ownership.Holds(dojo, s.Live) {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonClusterInUse,
		"The Dojo is being deleted with its Cluster %s, but others have databases in it: %s. Nothing is deleted until "+
			"they are gone. With the reclaimPolicy Retain the Cluster stays.",
		s.Live.Name, strings.Join(s.Others, ", "))
}

func inUseSuspended(cluster string, others []string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonClusterInUse,
		"The Dojo is suspended, and its Cluster %s is not hibernated, because others have databases in it: %s. "+
			"Suspend them too, or move them to another Cluster.", cluster, strings.Join(others, ", "))
}
