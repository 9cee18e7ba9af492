// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// Hibernating is the desired state of a Cluster, to be hibernated or not. Without the annotation the
// Cluster runs, unless another client has set it.
func Hibernating(desired *unstructured.Unstructured, hibernates bool) *unstructured.Unstructured {
	if hibernates {
		ownership.Annotate(desired, cnpg.HibernationAnnotation, cnpg.HibernationOn)
	}
	return desired
}

// Hibernation waits until a Cluster is hibernated; nil where it is. CloudNativePG hibernates a healthy
// Cluster only.
func Hibernation(d *corev1api.Dojo, c *cnpgv1.Cluster, now time.Time, deadline time.Duration) *conditions.Issue {
	is := meta.FindStatusCondition(c.Status.Conditions, cnpg.HibernationAnnotation)
	if cnpg.Hibernates(c) && is != nil && is.Status == metav1.ConditionTrue {
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
