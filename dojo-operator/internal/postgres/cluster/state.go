// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State has the observed Cluster. An absent object is nil.
type State struct {
	Live *cnpgv1.Cluster
	// Budgets are the existing PodDisruptionBudgets with the names that a new Cluster needs. They are
	// read only while there is no Cluster.
	Budgets [2]*policyv1.PodDisruptionBudget
	// Others names the other users of the Cluster, such as "Dojo kyoto". It is set only while the
	// Dojo is suspended or deleted with its data.
	Others []string
}

// Observe reads the Cluster of a Dojo.
func Observe(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (s State, err error) {
	name := types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.ClusterName(dojo)}
	s.Live, err = apply.Get(ctx, r, cnpg.ClusterKind.Kind, name, &cnpgv1.Cluster{})
	if err != nil || s.Live != nil || dojo.Spec.Postgres.Cluster == nil {
		return s, err
	}
	for i, suffix := range cnpg.BudgetSuffixes() {
		name.Name = dojo.Name + suffix
		s.Budgets[i], err = apply.Get(ctx, r, "PodDisruptionBudget", name, &policyv1.PodDisruptionBudget{})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Strip removes those fields of a foreign Cluster that no plan reads.
func Strip(cluster *cnpgv1.Cluster) {
	was := *cluster
	ownership.Strip(cluster)
	cluster.Spec.Instances = was.Spec.Instances
	if value, ok := was.Annotations[cnpg.HibernationAnnotation]; ok && !apply.Long(value) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, cnpg.HibernationAnnotation, value)
	}
	if value, ok := was.Annotations[corev1api.OriginAnnotation]; ok && value == cnpg.ShortOrigin(value) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, corev1api.OriginAnnotation, value) // set by a user after a restore
	}
	cluster.Status = cnpgv1.ClusterStatus{
		Phase: was.Status.Phase, Image: was.Status.Image,
		CurrentPrimary: was.Status.CurrentPrimary, TargetPrimary: was.Status.TargetPrimary,
		ReadyInstances: was.Status.ReadyInstances, InstancesStatus: was.Status.InstancesStatus,
		PGDataImageInfo: was.Status.PGDataImageInfo,
		Conditions:      was.Status.Conditions,
	}
}
