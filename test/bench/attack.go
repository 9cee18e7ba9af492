// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
)

const (
	// The namespaces of the tenant that attacks; audit-policy.yaml has them too.
	abuseNamespace, quotaNamespace = "abuse", "abuse-quota"
	// keptChannel is the object of the channel that the other tenant keeps.
	keptChannel = "kept"
	// attackPace is the time between two creates of an attack, so that what is measured is the
	// operator, and not that everything shares the cores of the API server.
	attackPace = 20 * time.Millisecond

	// Of n Dojos, so many are servers, and forged objects.
	serversOf, forgedOf = 20, 10
)

// attack is what one tenant does to another.
type attack struct {
	name string
	// begin makes what there has to be before, and returns what is done beside what else happens: it
	// creates n Dojos, or what the ratios above make of n, and what it has created stays.
	begin func(ctx context.Context, s *stage, n int) besides
}

// besides is done beside what else happens: until it returns or, where it repeats something each
// second, until ending is closed. It calls flooded when all is created.
type besides func(ctx context.Context, flooded func(), ending <-chan struct{}) error

// start starts it, and returns what is closed when all is created, and what ends it.
func (do besides) start(ctx context.Context) (flooded <-chan struct{}, end func()) {
	created, ending, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	done := sync.OnceFunc(func() { close(created) })
	go func() {
		err := do(ctx, done, ending)
		done()
		result <- err
	}()
	return created, func() {
		close(ending)
		check(<-result)
	}
}

// flood creates objects one after the other.
func flood(s *stage, n int, object func(i int) client.Object, as ...client.CreateOption) besides {
	return func(ctx context.Context, _ func(), _ <-chan struct{}) error { return paced(ctx, s, n, object, as...) }
}

// paced creates objects one after the other, each a little after the one before.
func paced(ctx context.Context, s *stage, n int, object func(i int) client.Object, as ...client.CreateOption) error {
	next := time.NewTicker(attackPace)
	defer next.Stop()
	for i := range n {
		if err := s.Admin.Create(ctx, object(i), as...); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
	}
	return nil
}

// refusedDojos are Dojos in a namespace whose quota refuses all of their children.
func refusedDojos(ctx context.Context, s *stage, n int) besides {
	none := resource.MustParse("0")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/deployments.apps": none, "count/services": none, "count/poddisruptionbudgets.policy": none,
			"count/secrets": resource.MustParse("1"), // that of the credentials
		}}}
	s.namespaceWith(ctx, quotaNamespace, credentials("other"), quota)
	until(ctx, func() (bool, error) {
		err := s.Admin.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return len(quota.Status.Used) > 0, err
	})
	return flood(s, n, func(i int) client.Object {
		d := dojo(i)
		d.Namespace = quotaNamespace
		return d
	})
}

// forgedForDojos are objects of 1 MiB of the kinds that the dojo-operator watches, which claim to be
// of a Dojo, and written by the operator.
func forgedForDojos(ctx context.Context, s *stage, n int) besides {
	owner := dojo(0)
	owner.Spec.Replicas = new(int32(0))
	s.namespaceWith(ctx, abuseNamespace, owner)
	claim := metav1.NewControllerRef(owner, corev1api.GroupVersion.WithKind("Dojo"))
	return flood(s, n/forgedOf, func(i int) client.Object {
		return forge(forgedKinds[i%len(forgedKinds)](), i, environment.Dojo, claim)
	}, client.FieldOwner(environment.Dojo.Name))
}

// forgedForChannels are Secrets of 1 MiB that claim to be of a DiscordChannel, and written by the
// operator.
func forgedForChannels(ctx context.Context, s *stage, n int) besides {
	owner := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: abuseNamespace, Name: "owner"},
		Spec: v1alpha1.DiscordChannelSpec{Name: "owner", ServerRef: &v1alpha1.ServerReference{Name: "none"}}}
	check(s.Admin.Create(ctx, owner))
	claim := metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("DiscordChannel"))
	return flood(s, n/forgedOf, func(i int) client.Object { return forge(forgedSecret(), i, environment.Discord, claim) },
		client.FieldOwner(environment.Discord.Name))
}

// forge gives an object the labels of an operator's own, an owner, the annotations that the operators
// read, and metadata of 450 KiB.
func forge(o client.Object, i int, as environment.Operator, owner *metav1.OwnerReference) client.Object {
	o.SetNamespace(abuseNamespace)
	o.SetName(fmt.Sprintf("forged-%04d", i))
	labels := map[string]string{"app.kubernetes.io/managed-by": as.Name, "app.kubernetes.io/name": "dojo",
		"app.kubernetes.io/instance": "tokyo"}
	for j := range 1000 { // 100 KiB, and as much again in managedFields
		labels[fmt.Sprintf("example.org/%04d-%s", j, strings.Repeat("k", 20))] = strings.Repeat("v", 63)
	}
	o.SetLabels(labels)
	long := strings.Repeat("another,", 100<<10/8)
	o.SetAnnotations(map[string]string{
		corev1api.AllowedNamespacesAnnotation: long, v1alpha1.AllowedServersAnnotation: long})
	owners := []metav1.OwnerReference{*owner}
	for range 500 { // 70 KiB; of an owner that does not exist Kubernetes would delete the object
		also := *owner
		also.Controller, also.BlockOwnerDeletion = nil, nil
		owners = append(owners, also)
	}
	o.SetOwnerReferences(owners)
	return o
}

// filling is how much the kinds below hold, metadata apart.
const filling = 550 << 10

func forgedSecret() client.Object {
	return &corev1.Secret{Data: map[string][]byte{"data": bytes.Repeat([]byte("d"), filling)}}
}

// forgedKinds are of kinds that the dojo-operator watches, each filled and doing nothing.
var forgedKinds = []func() client.Object{
	forgedSecret,
	func() client.Object {
		return &corev1.ConfigMap{Data: map[string]string{"data": strings.Repeat("d", filling)}}
	},
	func() client.Object {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: true, Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"forged": "yes"}}}}
		d.Spec.Template.Labels = map[string]string{"forged": "yes"}
		d.Spec.Template.Spec = filledPod(corev1.RestartPolicyAlways)
		return d
	},
	func() client.Object {
		job := &batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true)}}
		job.Spec.Template.Spec = filledPod(corev1.RestartPolicyNever)
		return job
	},
	func() client.Object { return &corev1.Pod{Spec: filledPod(corev1.RestartPolicyNever)} },
	func() client.Object {
		ingress := &networkingv1.Ingress{}
		for i := range 3000 {
			host := fmt.Sprintf("%s.%d.example.org", strings.Repeat("h", 60), i)
			ingress.Spec.TLS = append(ingress.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{host}, SecretName: "tls"})
			ingress.Spec.Rules = append(ingress.Spec.Rules, networkingv1.IngressRule{Host: host})
		}
		return ingress
	},
}

// filledPod is one that no scheduler places.
func filledPod(restart corev1.RestartPolicy) corev1.PodSpec {
	return corev1.PodSpec{SchedulerName: "none", RestartPolicy: restart, Containers: []corev1.Container{{
		Name: "forged", Image: "example.org/forged",
		Env: []corev1.EnvVar{{Name: "FILLING", Value: strings.Repeat("d", filling)}},
	}}}
}

// dojoReferences are Dojos that refer to the other tenant's credentials, and have the names of the
// operators' Services.
func dojoReferences(_ context.Context, s *stage, n int) besides {
	return flood(s, n/serversOf, func(i int) client.Object {
		d := dojo(i + 1)
		d.Namespace, d.Spec.CredentialsRef.Namespace = abuseNamespace, namespace
		if i < len(environment.All) {
			d.Name = environment.All[i].Name + "-metrics"
		}
		return d
	})
}

// refusedTokens are servers with one token that Discord refuses, and a change of its Secret in each
// second: one time an annotation, the next time another wrong token.
func refusedTokens(ctx context.Context, s *stage, n int) besides {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bot"},
		StringData: map[string]string{"token": wrongToken(0)}}
	s.namespaceWith(ctx, abuseNamespace, secret)
	return func(ctx context.Context, flooded func(), ending <-chan struct{}) error {
		if err := paced(ctx, s, n/serversOf, func(i int) client.Object { return refusedServer(s, i) }); err != nil {
			return err
		}
		flooded()
		return eachSecond(ctx, ending, func(second int) error {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"second":"%d"}},"stringData":{"token":%q}}`,
				second, wrongToken(second/2))
			return s.Admin.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch))
		})
	}
}

// eachSecond repeats what an attack does until ending is closed.
func eachSecond(ctx context.Context, ending <-chan struct{}, do func(second int) error) error {
	for second := 1; ; second++ {
		select {
		case <-ending:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if err := do(second); err != nil {
			return err
		}
	}
}

func refusedServer(s *stage, i int) client.Object {
	return &v1alpha1.DiscordServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: abuseNamespace, Name: fmt.Sprintf("refused-%04d", i)},
		Spec: v1alpha1.DiscordServerSpec{
			TokenSecretRef: v1alpha1.TokenSecretReference{Name: "bot"}, ServerID: s.discord.guilds[0],
		},
	}
}

// wrongToken has the form of a bot's token, or it would not be tried.
func wrongToken(i int) string { return fmt.Sprintf("wrong.token.%027d", i) }

// channelReferences are channels in the group and in the server of the other tenant, which neither
// allows; that adopt its channel; and that write their webhooks into Secrets of its names.
func channelReferences(kept *v1alpha1.DiscordChannel) func(context.Context, *stage, int) besides {
	return func(_ context.Context, s *stage, n int) besides {
		return flood(s, n/serversOf, func(i int) client.Object {
			c := &v1alpha1.DiscordChannel{
				ObjectMeta: metav1.ObjectMeta{Namespace: abuseNamespace, Name: fmt.Sprintf("channel-%04d", i)},
				Spec: v1alpha1.DiscordChannelSpec{
					Name: kept.Spec.Name, Adopt: &v1alpha1.Adoption{ID: kept.Status.ChannelID},
					Webhook: &v1alpha1.ChannelWebhook{Name: "alertmanager", SecretName: kept.WebhookSecretName()},
				},
			}
			if i%2 == 0 {
				c.Spec.GroupRef = &v1alpha1.GroupReference{Namespace: namespace, Name: groupName(0, 0)}
			} else {
				c.Spec.ServerRef = &v1alpha1.ServerReference{Namespace: namespace, Name: "server-0"}
			}
			return c
		})
	}
}
