// SPDX-License-Identifier: Apache-2.0

// Command reference is an operator with kubebuilder's flags for the test of --reference: it makes a
// Deployment for each Dojo and reports when it is available.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func main() {
	_ = flag.String("metrics-bind-address", "", "")
	probes := flag.String("health-probe-bind-address", "", "")
	flag.Parse()
	ctx := context.Background()
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	check(corev1api.AddToScheme(clientgoscheme.Scheme))
	c := must(client.New(config, client.Options{}))
	objects := must(cache.New(config, cache.Options{}))
	for kind, changed := range map[client.Object]func(client.Object) error{
		&corev1api.Dojo{}:    func(o client.Object) error { return create(ctx, c, o.(*corev1api.Dojo)) },
		&appsv1.Deployment{}: func(o client.Object) error { return report(ctx, c, o.(*appsv1.Deployment)) },
	} {
		must(must(objects.GetInformer(ctx, kind)).AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { check(changed(o.(client.Object))) },
			UpdateFunc: func(_, o any) { check(changed(o.(client.Object))) },
		}))
	}
	go func() { check(objects.Start(ctx)) }()
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	check(http.ListenAndServe(*probes, nil))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func create(ctx context.Context, c client.Client, dojo *corev1api.Dojo) error {
	if len(dojo.Status.Conditions) > 0 { // it exists
		return nil
	}
	labels := map[string]string{"app": dojo.Name}
	err := c.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "dojo", Image: "dojo"}}},
			},
		},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func report(ctx context.Context, c client.Client, deployment *appsv1.Deployment) error {
	if deployment.Status.AvailableReplicas == 0 {
		return nil
	}
	var dojo corev1api.Dojo
	if err := c.Get(ctx, client.ObjectKeyFromObject(deployment), &dojo); err != nil {
		return err
	}
	meta.SetStatusCondition(&dojo.Status.Conditions,
		metav1.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "Deployment"})
	return c.Status().Update(ctx, &dojo)
}
