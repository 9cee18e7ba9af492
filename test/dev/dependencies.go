// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
)

type dependency struct {
	name string
	// This CustomResourceDefinition exists if and only if the dependency is installed.
	detectedBy string
	// released returns the path of the manifest in the Go module that tools/ pins.
	released func(context.Context) (string, error)
}

var dependenciesToInstall = []dependency{
	{"CloudNativePG", "clusters.postgresql.cnpg.io", testcluster.CloudNativePGManifest},
	{"prometheus-operator", "prometheusrules.monitoring.coreos.com", testcluster.PrometheusOperatorManifest},
}

const startTimeout = 5 * time.Minute

// dependencies installs or updates the dependencies, but keeps installations by other programs.
func dependencies(ctx context.Context, _ *options, t *target, out io.Writer) error {
	for _, d := range dependenciesToInstall {
		others, err := t.ofOthers(ctx, d.detectedBy)
		if err != nil {
			return err
		}
		if others {
			say(out, "%s: another program has installed it; nothing is changed", d.name)
			continue
		}
		path, err := d.released(ctx)
		if err != nil {
			return err
		}
		objects, err := manifests.Read(path)
		if err != nil {
			return err
		}
		say(out, "%s: applying %s, then waiting for its pods", d.name, path)
		if err := manifests.Apply(ctx, t.client, objects); err != nil {
			return err
		}
		if err := t.available(ctx, objects, out); err != nil {
			return err
		}
	}
	say(out, "Both are installed. If you have no Prometheus and no Alertmanager, install them for all namespaces: "+
		"kubectl apply --server-side -k deploy/samples/monitoring")
	return nil
}

// ofOthers reports whether a CustomResourceDefinition exists that another program has applied.
func (t *target) ofOthers(ctx context.Context, name string) (bool, error) {
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind(crd)
	err := t.client.Get(ctx, client.ObjectKey{Name: name}, definition)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", name, err)
	}
	return !slices.ContainsFunc(definition.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == manifests.FieldOwner
	}), nil
}

func (t *target) available(ctx context.Context, objects []*unstructured.Unstructured, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		deployment := &appsv1.Deployment{}
		err := wait.PollUntilContextCancel(ctx, refresh, true, func(ctx context.Context) (bool, error) {
			err := t.client.Get(ctx, client.ObjectKeyFromObject(o), deployment)
			if overloaded(err) {
				return false, nil
			}
			s := deployment.Status
			return s.ObservedGeneration >= deployment.Generation && s.UpdatedReplicas == *deployment.Spec.Replicas &&
				s.AvailableReplicas == *deployment.Spec.Replicas, err
		})
		if err != nil {
			return fmt.Errorf("the pods of Deployment %[1]s/%[2]s are not ready (%[3]w); see why: "+
				"kubectl -n %[1]s describe pods", o.GetNamespace(), o.GetName(), err)
		}
		say(out, "  Deployment %s/%s is available", o.GetNamespace(), o.GetName())
	}
	return nil
}
