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

// ObserveOthers lists the users of a Dojo's own Cluster that prevent its deletion or hibernation
// (all), and the other Dojos with a database in the Cluster and, for a hibernation, suspended Dojos
// that use a login of the Cluster (guests). Databases of deleted Dojos
// and suspended Dojos prevent a deletion, but no hibernation. A suspended Dojo whose database is
// being deleted prevents both.
func ObserveOthers(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, readable bool,
) (all []string, guests []corev1api.Dojo, err error) {
	if !shutsDown(dojo) {
		return nil, nil, nil
	}
	deleting := dojo.DeletionTimestamp != nil
	if guests, err = listGuests(ctx, r, dojo); err != nil {
		return nil, nil, err
	}
	for i := range guests {
		guest := &guests[i]
		if deleting || !guest.Spec.Suspend || guest.DeletionTimestamp != nil && cnpg.Reclaims(guest) {
			all = append(all, "Dojo "+guest.Name)
		}
	}
	if readable {
		var list cnpgv1.DatabaseList
		if err := r.Cache.List(ctx, &list, client.InNamespace(dojo.Namespace)); err != nil {
			return nil, nil, fmt.Errorf("list Databases: %w", err)
		}
		used := slices.DeleteFunc(list.Items, func(db cnpgv1.Database) bool { return !deleting && ownership.Managed(&db) })
		all = append(all, Databases(dojo, guests, used)...)
	}
	users, suspended, err := loginUsers(ctx, r, dojo)
	slices.Sort(all)
	return append(all, users...), append(guests, suspended...), err
}

// Databases lists the Databases in the Dojo's Cluster that belong to no Dojo ("Database reports").
func Databases(dojo *corev1api.Dojo, guests []corev1api.Dojo, databases []cnpgv1.Database) (all []string) {
	known := map[string]bool{cnpg.ObjectName(dojo): true}
	for i := range guests {
		known[cnpg.ObjectName(&guests[i])] = true
	}
	for i := range databases {
		if db := &databases[i]; db.Spec.ClusterRef.Name == cnpg.ClusterName(dojo) && !known[db.Name] {
			all = append(all, "Database "+db.Name)
		}
	}
	return all
}

// Guests returns the other Dojos with a database in the Dojo's own Cluster.
func Guests(dojo *corev1api.Dojo, dojos []corev1api.Dojo) []corev1api.Dojo {
	return slices.DeleteFunc(slices.Clone(dojos), func(other corev1api.Dojo) bool {
		return other.UID == dojo.UID || cnpg.ClusterName(&other) != cnpg.ClusterName(dojo)
	})
}

func listGuests(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) ([]corev1api.Dojo, error) {
	var dojos corev1api.DojoList
	name := types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.ClusterName(dojo)}
	if err := r.Cache.List(ctx, &dojos, client.InNamespace(dojo.Namespace),
		client.MatchingFields{ownership.References: name.String()}); err != nil {
		return nil, fmt.Errorf("list Dojos in the Cluster %s: %w", name, err)
	}
	return Guests(dojo, dojos.Items), nil
}

func shutsDown(dojo *corev1api.Dojo) bool {
	if dojo.DeletionTimestamp != nil && !cnpg.Reclaims(dojo) || dojo.DeletionTimestamp == nil && !dojo.Spec.Suspend {
		return false
	}
	return dojo.Spec.Postgres.Cluster != nil
}

// LoginSecrets names the Secrets with a login of the Dojo or of its own Cluster. CloudNativePG
// creates the Secrets of the Cluster.
func LoginSecrets(dojo *corev1api.Dojo) []string {
	return append([]string{cnpg.Owner.ObjectName(dojo), cnpg.Second.ObjectName(dojo)},
		cnpg.ClusterSecrets(cnpg.ClusterName(dojo))...)
}

// loginUsers lists the Dojos that use a login of the Dojo or of its Cluster. Suspended Dojos do not
// prevent a hibernation, but their pods must have ended before it.
func loginUsers(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (
	all []string, suspended []corev1api.Dojo, err error,
) {
	for _, name := range LoginSecrets(dojo) {
		secret := types.NamespacedName{Namespace: dojo.Namespace, Name: name}
		dojos, err := ownership.Naming(ctx, r.Cache, secret)
		if err != nil {
			return nil, nil, err
		}
		if len(dojos) == 0 {
			continue
		}
		live, err := apply.Get(ctx, r, "Secret", secret, apply.Metadata("v1", "Secret"))
		if err != nil {
			return nil, nil, err
		}
		if live == nil { // a Secret that does not exist is shared with no other namespace
			live = apply.Metadata("v1", "Secret")
			live.Namespace = dojo.Namespace
		}
		for i := range dojos {
			users := ownership.Users(dojos[i:i+1], live)
			if dojo.DeletionTimestamp == nil && dojos[i].Spec.Suspend && len(users) > 0 {
				suspended = append(suspended, dojos[i])
			} else {
				all = append(all, users...)
			}
		}
	}
	slices.Sort(all)
	return all, suspended, nil
}

// InUse returns an issue if other Dojos or Databases use the Cluster or its logins, so that the
// Cluster cannot be deleted.
func InUse(dojo *corev1api.Dojo, s State) *conditions.Issue {
	if len(s.Others) == 0 || !ownership.Holds(dojo, s.Live) {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonClusterInUse,
		"The Dojo is being deleted with its Cluster %s, but others use the Cluster: %s. Nothing is deleted while they "+
			"use the Cluster. To keep the Cluster instead: `%s`.",
		s.Live.Name, strings.Join(s.Others, ", "), cnpg.RetainCommand(dojo))
}

func inUseSuspended(cluster string, others []string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonClusterInUse,
		"The Dojo is suspended, and its Cluster %s is not hibernated, because others use it: %s. "+
			"Suspend these Dojos too, or move their databases to another Cluster. Also move databases that belong to no Dojo.",
		cluster, strings.Join(others, ", "))
}
