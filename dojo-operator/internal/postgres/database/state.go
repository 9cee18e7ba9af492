// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State has the Database, or nil.
type State struct{ Live *cnpgv1.Database }

// Observe reads the Database of a Dojo.
func Observe(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (s State, err error) {
	name := types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.ObjectName(dojo)}
	s.Live, err = apply.Get(ctx, r, cnpg.DatabaseKind.Kind, name, &cnpgv1.Database{})
	return s, err
}

// Strip removes all fields of a foreign Database except identity and Cluster name.
func Strip(db *cnpgv1.Database) {
	cluster := db.Spec.ClusterRef
	ownership.Strip(db)
	if !apply.Long(cluster.Name) {
		db.Spec.ClusterRef = cluster
	}
}
