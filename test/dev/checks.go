// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
)

func metaOf(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func serviceAccount(o environment.Operator) string {
	return "system:serviceaccount:" + o.Namespace + ":" + o.Name
}

func (t *target) check(ctx context.Context, o environment.Operator) error {
	account := &corev1.ServiceAccount{}
	err := t.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, account)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s is not installed on this cluster (there is no ServiceAccount %s/%s): run make install first",
			o.Name, o.Namespace, o.Name)
	}
	if err != nil {
		return fmt.Errorf("look for the ServiceAccount of %s: %w", o.Name, err)
	}
	return errors.Join(t.mayImpersonate(ctx, o), t.idle(ctx, o))
}

func (t *target) mayImpersonate(ctx context.Context, o environment.Operator) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "impersonate", Resource: "serviceaccounts", Namespace: o.Namespace, Name: o.Name,
		},
	}}
	if err := t.client.Create(ctx, review); err != nil {
		return fmt.Errorf("ask whether you may impersonate the ServiceAccount of %s: %w", o.Name, err)
	}
	if review.Status.Allowed {
		return nil
	}
	return fmt.Errorf(`you may not impersonate the ServiceAccount %[1]s/%[2]s, with whose permissions %[2]s runs here. `+
		`An administrator can allow it:
  kubectl -n %[1]s create role impersonate-%[2]s --verb=impersonate --resource=serviceaccounts --resource-name=%[2]s
  kubectl -n %[1]s create rolebinding impersonate-%[2]s --role=impersonate-%[2]s --user=YOU`, o.Namespace, o.Name)
}

// undeployed returns an error if the operator is deployed, or runs elsewhere with the Lease.
func (t *target) undeployed(ctx context.Context, o environment.Operator) error {
	deployment, err := t.deployment(ctx, o)
	if err != nil {
		return err
	}
	if deployment != nil {
		return fmt.Errorf("%s is deployed in the namespace %s, but not by make install: remove it as "+
			"docs/platform/leaving.md says", o.Name, o.Namespace)
	}
	return t.idle(ctx, o)
}

// idle returns an error if the operator's Deployment has replicas or if a process holds the Lease:
// a second process would only wait for the Lease.
func (t *target) idle(ctx context.Context, o environment.Operator) error {
	deployment, err := t.deployment(ctx, o)
	if err != nil {
		return err
	}
	if deployment != nil && (deployment.Spec.Replicas == nil || *deployment.Spec.Replicas > 0) {
		return fmt.Errorf("%[1]s is deployed on this cluster. Stop it first: "+
			"kubectl -n %[2]s scale deployment %[1]s --replicas=0", o.Name, o.Namespace)
	}
	lease, err := t.lease(ctx, o)
	if err != nil {
		return err
	}
	if holder, since := held(lease, time.Now()); holder != "" {
		return fmt.Errorf("%s holds the Lease %s/%s (renewed %s ago): %s runs elsewhere, in a pod or in another make dev, "+
			"or was killed. Stop it, or wait until the Lease has expired", holder, o.Namespace, o.Lease,
			since.Round(time.Second), o.Name)
	}
	return nil
}

func (t *target) deployment(ctx context.Context, o environment.Operator) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := t.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, deployment)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a missing Deployment is no error
	}
	if err != nil {
		return nil, fmt.Errorf("look for a deployed %s: %w", o.Name, err)
	}
	return deployment, nil
}

func (t *target) lease(ctx context.Context, o environment.Operator) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := t.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Lease}, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a missing Lease is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read the Lease of %s: %w", o.Name, err)
	}
	return lease, nil
}

// held returns the holder of a valid Lease, or "", and the time since its last renewal.
func held(lease *coordinationv1.Lease, now time.Time) (holder string, since time.Duration) {
	if lease == nil || lease.Spec.HolderIdentity == nil || lease.Spec.RenewTime == nil ||
		lease.Spec.LeaseDurationSeconds == nil {
		return "", 0
	}
	since = now.Sub(lease.Spec.RenewTime.Time)
	if since > time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
		return "", 0
	}
	return *lease.Spec.HolderIdentity, since
}
