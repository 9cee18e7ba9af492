// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
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

// HibernationAnnotation is CloudNativePG's that stops the instances of a Cluster: "on" or "off". It is
// also the type of the condition that says how far that is (pkg/reconciler/hibernation/status.go).
const HibernationAnnotation = "cnpg.io/hibernation"

// HibernationOn stops them.
const HibernationOn = "on"

// Hibernates reports whether the instances of a Cluster are stopped, or are to be.
func Hibernates(c *cnpgv1.Cluster) bool { return c.Annotations[HibernationAnnotation] == HibernationOn }

// HibernatedByUs reports whether it is the operator who hibernates a Cluster, so that it wakes when the
// operator no longer does.
func HibernatedByUs(c *cnpgv1.Cluster) bool {
	path := fieldpath.MakePathOrDie("metadata", "annotations", HibernationAnnotation)
	return c != nil && Hibernates(c) && apply.OwnedFields(ownership.FieldOwner, c).Has(path)
}

// Up reports whether Postgres can be reached: the pod of the primary is ready, and no other instance
// is to take over. Nothing else says so: readyInstances counts standbys too, and the Ready condition
// stays True in hibernation. A pod that is being deleted is in none of the lists of instancesStatus
// (api/v1/base_funcs.go).
func Up(c *cnpgv1.Cluster) bool {
	return c != nil && !Hibernates(c) && c.Status.CurrentPrimary != "" &&
		c.Status.CurrentPrimary == c.Status.TargetPrimary &&
		slices.Contains(c.Status.InstancesStatus[cnpgv1.PodHealthy], c.Status.CurrentPrimary)
}

// ReadySince is when the Ready condition of a Cluster last flipped.
func ReadySince(c *cnpgv1.Cluster) time.Time {
	created := c.CreationTimestamp.Time
	ready := meta.FindStatusCondition(c.Status.Conditions, string(cnpgv1.ConditionClusterReady))
	if ready != nil && ready.LastTransitionTime.After(created) {
		return ready.LastTransitionTime.Time
	}
	return created
}

// LastWritten is when an object was last changed, its status included.
func LastWritten(o metav1.Object) time.Time {
	return lastEntry(o, func(metav1.ManagedFieldsEntry) bool { return true })
}

// LastAsked is when an object was last changed, its status not included: CloudNativePG writes each
// refusal there, and its message may be another one each time.
func LastAsked(o metav1.Object) time.Time {
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

// OfCluster is the name of the Cluster whose Job this is, empty for none.
func OfCluster(job *batchv1.Job) string {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || owner.Kind != cnpgv1.ClusterKind || owner.APIVersion != cnpgv1.SchemeGroupVersion.String() {
		return ""
	}
	return owner.Name
}

// MaxOrigin is how much room the status has for it, in bytes.
const MaxOrigin = 512

// Bounded is an origin that the status has room for.
func Bounded(origin string) string {
	if len(origin) <= MaxOrigin {
		return origin
	}
	hash := "... " + ShortHash(origin)
	return strings.ToValidUTF8(origin[:MaxOrigin-len(hash)], "") + hash
}
