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

// children are what the operator makes of a Dojo with one replica, as manifests: without what the API server adds.
type children struct {
	secret     *corev1.Secret
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// direct creates the children of all Dojos without any operator: the least that the cluster itself needs for them.
func (b *bench) direct(ctx context.Context, s *stage, made []children) error {
	b.say("direct: creating the children of %d Dojos without the operator", len(made))
	watch, err := newStopwatch(ctx, s, &appsv1.Deployment{}, len(made), rolledOut)
	if err != nil {
		return err
	}
	moment, apiServer := time.Now(), cpuSeconds(s.apiServerPID())
	began, err := createAll(ctx, len(made), func(ctx context.Context, i int) (string, error) {
		c := made[i]
		for _, o := range []client.Object{c.secret, c.deployment, c.service} {
			if err := s.admin.Create(ctx, o); err != nil {
				return "", err
			}
		}
		return c.deployment.Name, nil
	})
	if err != nil {
		return err
	}
	done, err := watch.await(ctx)
	if err != nil {
		return err
	}
	b.report.addSpread("direct", "created to available", spreadOf(began, done))
	b.report.add("direct", "API server's CPU time", cpuSeconds(s.apiServerPID())-apiServer, "s")
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	if len(requests) > 0 {
		return fmt.Errorf("an operator was at work: %s %s", requests[0].Verb, requests[0].resource())
	}
	return nil
}

// childrenOf reads back what the operator has made of the named Dojos.
func childrenOf(ctx context.Context, s *stage, names []string) ([]children, error) {
	all := make([]children, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i, name := range names {
		group.Go(func() error {
			c := children{secret: &corev1.Secret{}, deployment: &appsv1.Deployment{}, service: &corev1.Service{}}
			for o, name := range map[client.Object]string{c.secret: name + "-credentials", c.deployment: name, c.service: name} {
				if err := s.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
					return fmt.Errorf("the operator has not made it: %w", err)
				}
			}
			all[i] = children{secret: c.secret, deployment: c.deployment, service: c.service}
			strip(c)
			return nil
		})
	}
	return all, group.Wait()
}

// strip turns what is stored into what one would write.
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

// rolledOut reports whether all pods of a Deployment run its current revision and are available.
func rolledOut(o client.Object) bool {
	d := o.(*appsv1.Deployment)
	wanted, s := *d.Spec.Replicas, d.Status
	return s.ObservedGeneration >= d.Generation && s.Replicas == wanted && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted
}
