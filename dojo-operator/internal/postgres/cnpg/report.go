// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"fmt"
	"slices"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// HibernationAnnotation is also a condition type (pkg/reconciler/hibernation/status.go).
const HibernationAnnotation = "cnpg.io/hibernation"

// HibernationOn is the annotation's value for a hibernated Cluster.
const HibernationOn = "on"

// Hibernates reports whether a Cluster has the annotation for hibernation. Instances may still run.
func Hibernates(cluster *cnpgv1.Cluster) bool {
	return cluster.Annotations[HibernationAnnotation] == HibernationOn
}

// Resume returns the command that ends a hibernation.
func Resume(cluster *cnpgv1.Cluster) string {
	return fmt.Sprintf("kubectl annotate clusters.postgresql.cnpg.io %s -n %s %s-",
		cluster.Name, cluster.Namespace, HibernationAnnotation)
}

// HibernatedByUs reports whether the operator set the annotation, and so may remove it.
func HibernatedByUs(cluster *cnpgv1.Cluster) bool {
	path := fieldpath.MakePathOrDie("metadata", "annotations", HibernationAnnotation)
	return cluster != nil && Hibernates(cluster) && apply.OwnedFields(ownership.FieldOwner, cluster).Has(path)
}

// Up reports whether the primary is ready and no failover is due. It reads InstancesStatus, which
// omits terminating pods (api/v1/base_funcs.go). ReadyInstances is no substitute, because it also
// counts standbys. Nor is the condition Ready, because it stays True in hibernation.
func Up(cluster *cnpgv1.Cluster) bool {
	return cluster != nil && !Hibernates(cluster) && cluster.Status.CurrentPrimary != "" &&
		cluster.Status.CurrentPrimary == cluster.Status.TargetPrimary &&
		slices.Contains(cluster.Status.InstancesStatus[cnpgv1.PodHealthy], cluster.Status.CurrentPrimary)
}

// ReadySince returns the last change of the Cluster's Ready condition, or its creation if later.
func ReadySince(cluster *cnpgv1.Cluster) time.Time {
	created := cluster.CreationTimestamp.Time
	ready := meta.FindStatusCondition(cluster.Status.Conditions, string(cnpgv1.ConditionClusterReady))
	if ready != nil && ready.LastTransitionTime.After(created) {
		return ready.LastTransitionTime.Time
	}
	return created
}

// LastWritten returns when an object or its status was last written.
func LastWritten(o metav1.Object) time.Time {
	return lastEntry(o, func(metav1.ManagedFieldsEntry) bool { return true })
}

// LastSpecWrite returns when an object was last written. It ignores writes of the status, because
// CloudNativePG reports its refusals there.
func LastSpecWrite(o metav1.Object) time.Time {
	return lastEntry(o, func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource != "status" })
}

func lastEntry(o metav1.Object, counts func(metav1.ManagedFieldsEntry) bool) time.Time {
	at := o.GetCreationTimestamp().Time
	for _, entry := range o.GetManagedFields() {
		if entry.Time != nil && counts(entry) {
			at = slices.MaxFunc([]time.Time{at, entry.Time.Time}, time.Time.Compare)
		}
	}
	return at
}

// OwningCluster returns the name of the Cluster that controls a Job, or "".
func OwningCluster(job *batchv1.Job) string {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || owner.Kind != cnpgv1.ClusterKind || owner.APIVersion != cnpgv1.SchemeGroupVersion.String() {
		return ""
	}
	return owner.Name
}

const maxOrigin = 512

// ShortOrigin shortens an origin to maxOrigin bytes. A shortened origin ends with a hash.
func ShortOrigin(origin string) string {
	if len(origin) <= maxOrigin {
		return origin
	}
	hash := "... " + ShortHash(origin)
	return strings.ToValidUTF8(origin[:maxOrigin-len(hash)], "") + hash
}
