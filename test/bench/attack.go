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
	// audit-policy.yaml names these namespaces, too.
	abuseNamespace, quotaNamespace = "abuse", "abuse-quota"
	// keptChannel is the DiscordChannel of the attacked tenant.
	keptChannel = "kept"
	// A shorter attackPace would measure a busy API server instead of the operator.
	attackPace = 20 * time.Millisecond

	// An attack of size n creates n Dojos with refused children, n/forgedOf forged objects, or at
	// least n/serversOf other objects.
	serversOf, forgedOf = 20, 10
)

type attack struct {
	name string
	// begin prepares an attack of size n. The attack leaves its objects in the cluster.
	begin func(ctx context.Context, s *stage, n int) background
}

// background creates the attack's objects. Then it returns, or it calls flooded and edits the
// objects until ending is closed.
type background func(ctx context.Context, flooded func(), ending <-chan struct{}) error

func (do background) start(ctx context.Context) (flooded <-chan struct{}, end func()) {
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

func flood(s *stage, n int, object func(i int) client.Object, as ...client.CreateOption) background {
	return func(ctx context.Context, _ func(), _ <-chan struct{}) error { return paced(ctx, s, n, object, as...) }
}

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

func refusedDojos(ctx context.Context, s *stage, n int) background {
	none := resource.MustParse("0")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/deployments.apps": none, "count/services": none, "count/poddisruptionbudgets.policy": none,
			"count/secrets": resource.MustParse("1"), // for the Secret with the credentials
		}}}
	s.namespaceWith(ctx, quotaNamespace, credentials("other"), quota)
	pollUntil(ctx, func() (bool, error) {
		err := s.Admin.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return len(quota.Status.Used) > 0, err
	})
	return flood(s, n, func(i int) client.Object {
		d := dojo(i)
		d.Namespace = quotaNamespace
		return d
	})
}

func forgedForDojos(ctx context.Context, s *stage, n int) background {
	owner := dojo(0)
	owner.Spec.Replicas = new(int32(0))
	s.namespaceWith(ctx, abuseNamespace, owner)
	claim := metav1.NewControllerRef(owner, corev1api.GroupVersion.WithKind("Dojo"))
	return flood(s, n/forgedOf, func(i int) client.Object {
		return forge(forgedKinds[i%len(forgedKinds)](), i, environment.Dojo, claim)
	}, client.FieldOwner(environment.Dojo.Name))
}

func forgedForChannels(ctx context.Context, s *stage, n int) background {
	owner := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: abuseNamespace, Name: "owner"},
		Spec: v1alpha1.DiscordChannelSpec{Name: "owner", ServerRef: &v1alpha1.ServerReference{Name: "none"}}}
	check(s.Admin.Create(ctx, owner))
	claim := metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("DiscordChannel"))
	return flood(s, n/forgedOf, func(i int) client.Object { return forge(forgedSecret(), i, environment.Discord, claim) },
		client.FieldOwner(environment.Discord.Name))
}

// forge adds 470 KiB of metadata.
func forge(o client.Object, i int, as environment.Operator, owner *metav1.OwnerReference) client.Object {
	o.SetNamespace(abuseNamespace)
	o.SetName(fmt.Sprintf("forged-%04d", i))
	labels := map[string]string{"app.kubernetes.io/managed-by": as.Name, "app.kubernetes.io/name": "dojo",
		"app.kubernetes.io/instance": "tokyo"}
	for j := range 1000 { // 100 KiB, and another 100 KiB in managedFields
		labels[fmt.Sprintf("example.org/%04d-%s", j, strings.Repeat("k", 20))] = strings.Repeat("v", 63)
	}
	o.SetLabels(labels)
	long := strings.Repeat("another,", 100<<10/8)
	o.SetAnnotations(map[string]string{
		corev1api.AllowedNamespacesAnnotation: long, v1alpha1.AllowedServersAnnotation: long})
	owners := []metav1.OwnerReference{*owner}
	// All references name the same owner, because Kubernetes removes references to missing owners.
	for range 500 {
		also := *owner
		also.Controller, also.BlockOwnerDeletion = nil, nil
		owners = append(owners, also)
	}
	o.SetOwnerReferences(owners)
	return o
}

// filling is the size in bytes of a forged object without its metadata.
const filling = 550 << 10

func forgedSecret() client.Object {
	return &corev1.Secret{Data: map[string][]byte{"data": bytes.Repeat([]byte("d"), filling)}}
}

// forgedKinds are large objects that dojo-operator watches. None starts a container.
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

func filledPod(restart corev1.RestartPolicy) corev1.PodSpec {
	return corev1.PodSpec{SchedulerName: "none", RestartPolicy: restart, Containers: []corev1.Container{{
		Name: "forged", Image: "example.org/forged",
		Env: []corev1.EnvVar{{Name: "FILLING", Value: strings.Repeat("d", filling)}},
	}}}
}

// dojoReferences creates Dojos that refer to the victim's credentials. The first Dojos have the
// names of the operators' metrics Services.
func dojoReferences(_ context.Context, s *stage, n int) background {
	return flood(s, n/serversOf, func(i int) client.Object {
		d := dojo(i + 1)
		d.Namespace, d.Spec.CredentialsRef.Namespace = abuseNamespace, namespace
		if i < len(environment.All) {
			d.Name = environment.All[i].Name + "-metrics"
		}
		return d
	})
}

// refusedTokens creates DiscordServers whose token Discord refuses, and edits their Secret each
// second.
func refusedTokens(ctx context.Context, s *stage, n int) background {
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

// wrongToken has the form of a bot token, because the operator sends only such texts to Discord.
func wrongToken(i int) string { return fmt.Sprintf("wrong.token.%027d", i) }

// channelReferences creates channels that name a group or a server of the victim, and the victim's
// channel and Secret.
func channelReferences(kept *v1alpha1.DiscordChannel) func(context.Context, *stage, int) background {
	return func(_ context.Context, s *stage, n int) background {
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
