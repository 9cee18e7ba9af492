// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
)

// leaving names the other Dojos that use the Secret of the current login, but may still have pods
// with the former login. It also says why.
func leaving(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, s postgres.State) (all []string, err error) {
	current := s.Login.Logins[s.Login.Current].Secret
	if current == nil {
		return nil, nil
	}
	dojos, err := ownership.Naming(ctx, r.Cache, client.ObjectKeyFromObject(current))
	if err != nil {
		return nil, err
	}
	for i := range dojos {
		why, err := mayHave(ctx, r, &dojos[i], s.Login.Current.Other().ObjectName(dojo))
		if err != nil {
			return nil, err
		}
		for _, name := range ownership.Users(dojos[i:i+1], current) {
			if why != "" {
				all = append(all, fmt.Sprintf("%s (%s)", name, why))
			}
		}
	}
	return all, nil
}

// mayHave says why pods of a Dojo may have a former login; "" if no pod can have it. former is the
// name of the Secret of this login.
func mayHave(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, former string) (string, error) {
	own, err := credentials.ObserveOwn(ctx, r, dojo)
	if err != nil {
		return "", err
	}
	if credentials.SourceOf(own) == former {
		return "its credentials have yet to change", nil
	}
	live, err := apply.Get(ctx, r, "Deployment", client.ObjectKeyFromObject(dojo), &appsv1.Deployment{})
	if err != nil {
		return "", err
	}
	steps, err := pods.List(ctx, r, dojo, pods.OfRelease)
	if err != nil {
		return "", err
	}
	return outdated(ctx, r, dojo, own, live, steps)
}

// outdated says why pods of a Dojo may have other credentials than own, the Dojo's own Secret; "" if
// no pod can have them. live is the Dojo's Deployment. steps are the pods of its release steps.
func outdated(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, own *metav1.PartialObjectMetadata,
	live *appsv1.Deployment, steps []corev1.Pod,
) (string, error) {
	revision := ""
	if own != nil {
		revision = own.GetAnnotations()[ownership.RevisionAnnotation]
	}
	if why, err := workload.Outdated(ctx, r, dojo, live, revision); why != "" || err != nil {
		return why, err
	}
	for i := range steps {
		if pod := &steps[i]; !pods.Ended(pod) && pod.Annotations[ownership.RevisionAnnotation] != revision {
			return fmt.Sprintf("a release step has yet to end (%s)", pod.Name), nil
		}
	}
	return "", nil
}
