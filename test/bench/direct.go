// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// children are the objects of a Dojo with one replica, without fields that a create must not have.
type children struct {
	secret     *corev1.Secret
	deployment *appsv1.Deployment
	service    *corev1.Service
}

func (c children) create(ctx context.Context, by client.Client) error {
	for _, o := range []client.Object{c.secret, c.deployment, c.service} {
		if err := by.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) direct(ctx context.Context, s *stage, at sheet, made []children) {
	b.say("%s: creating the children of %d Dojos without the operator", at.scenario, at.n)
	watch := newStopwatch(ctx, s, &appsv1.Deployment{}, at.n, rolledOut)
	moment, apiServer := time.Now(), cpuSeconds(s.apiServerPID())
	var took spread
	var used float64
	b.apiServerProfiled(ctx, s, b.profile("kube-apiserver-direct-%d", at.n), func() {
		began := createAll(ctx, at.n, func(ctx context.Context, i int) (string, error) {
			return made[i].deployment.Name, made[i].create(ctx, s.Admin)
		})
		took, used = spreadOf(began, watch.await(ctx)), cpuSeconds(s.apiServerPID())-apiServer
	})
	at.addSpread("created to available", took)
	at.add(apiServerCPU, used, "s")
	loaded := sheet{at.report, scenarioLoad, at.n}
	loaded.bound(createdToReady+firstToLast, took.total)
	loaded.bound(apiServerCPU, used)
	if requests := must(s.audit.since(moment)); len(requests) > 0 {
		check(fmt.Errorf("an operator was at work: %s %s", requests[0].Verb, requests[0].resource()))
	}
}

func childrenOf(ctx context.Context, s *stage, n int) []children {
	all := make([]children, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range all {
		group.Go(func() error {
			name := dojo(i).Name
			c := children{secret: &corev1.Secret{}, deployment: &appsv1.Deployment{}, service: &corev1.Service{}}
			for o, name := range map[client.Object]string{c.secret: name + "-credentials", c.deployment: name,
				c.service: name} {
				if err := s.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
					return fmt.Errorf("read an object that the operator creates: %w", err)
				}
			}
			all[i] = children{secret: c.secret, deployment: c.deployment, service: c.service}
			strip(c)
			return nil
		})
	}
	check(group.Wait())
	return all
}

func strip(c children) {
	for _, o := range []client.Object{c.secret, c.deployment, c.service} {
		o.SetOwnerReferences(nil)
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetGeneration(0)
		o.SetCreationTimestamp(metav1.Time{})
	}
	c.deployment.Status = appsv1.DeploymentStatus{}
	c.service.Spec.ClusterIP, c.service.Spec.ClusterIPs = "", nil
}

func rolledOut(o client.Object) bool {
	d := o.(*appsv1.Deployment)
	wanted, s := *d.Spec.Replicas, d.Status
	return s.ObservedGeneration >= d.Generation && s.Replicas == wanted && s.UpdatedReplicas == wanted &&
		s.AvailableReplicas == wanted
}
