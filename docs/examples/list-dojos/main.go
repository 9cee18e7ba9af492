// SPDX-License-Identifier: Apache-2.0

// Command list-dojos prints the Dojos of a cluster, and whether they are Ready.
package main

import (
	"context"
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func main() {
	scheme := runtime.NewScheme()
	if err := corev1api.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	c, err := client.New(ctrl.GetConfigOrDie(), client.Options{Scheme: scheme})
	if err != nil {
		log.Fatal(err)
	}
	var dojos corev1api.DojoList
	if err := c.List(context.Background(), &dojos); err != nil {
		log.Fatal(err)
	}
	for _, dojo := range dojos.Items {
		fmt.Println(dojo.Namespace, dojo.Name, meta.IsStatusConditionTrue(dojo.Status.Conditions, "Ready"))
	}
}
