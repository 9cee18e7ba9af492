// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// HibernationAnnotation is CloudNativePG's that stops the instances of a Cluster: "on" or "off". It is
// also the type of the condition that says how far that is (pkg/reconciler/hibernation/status.go).
const HibernationAnnotation = "cnpg.io/hibernation"

const hibernationOn = "on"

// Hibernates reports whether the instances of a Cluster are stopped, or are to be.
func Hibernates(c *cnpgv1.Cluster) bool { return c.Annotations[HibernationAnnotation] == hibernationOn }

// Hibernating is the desired state of a Cluster, to be hibernated or not. Without the annotation the
// Cluster runs, unless another client has set it.
func Hibernating(desired *unstructured.Unstructured, hibernates bool) *unstructured.Unstructured {
	if hibernates {
		ownership.Annotate(desired, HibernationAnnotation, hibernationOn)
	}
	return desired
}

// HibernatedByUs reports whether it is the operator who hibernates a Cluster, so that it wakes when the
// operator no longer does.
func HibernatedByUs(c *cnpgv1.Cluster) bool {
	path := fieldpath.MakePathOrDie("metadata", "annotations", HibernationAnnotation)
	return c != nil && Hibernates(c) && apply.OwnedFields(ownership.FieldOwner, c).Has(path)
}

// Hibernation waits until a Cluster is hibernated; nil where it is. CloudNativePG hibernates a healthy
// Cluster only.
func Hibernation(d *corev1api.Dojo, c *cnpgv1.Cluster, now time.Time, deadline time.Duration) *conditions.Issue {
	is := meta.FindStatusCondition(c.Status.Conditions, HibernationAnnotation)
	if Hibernates(c) && is != nil && is.Status == metav1.ConditionTrue {
		return nil
	}
	object := fmt.Sprintf("hibernation of the Cluster %s/%s", c.Namespace, c.Name)
	message := fmt.Sprintf("Waiting for the %s: %d instances are ready", object, c.Status.ReadyInstances)
	if is != nil {
		message = fmt.Sprintf("Waiting for the %s: %s", object, is.Message)
	}
	return conditions.WaitUntil(now, d.WaitingSince(object, now), deadline,
		conditions.Progressing(corev1api.ReasonSuspending, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotReady,
			"%s. It has been like this for more than %s. See `kubectl describe cluster %s` and its pods.",
			message, deadline, c.Name).For(object))
}
