// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
)

const (
	// abuser is the namespace of a tenant without grants. A quota refuses its Dojos' children.
	abuser     = "chaos-abuser"
	forgedSize = 100 << 10
	// wrongToken has the form of a bot token, because the operator sends only such texts to
	// Discord.
	wrongToken = "wrong.token.from-the-beginning-on"
)

func refusedName(slot int) string { return fmt.Sprintf("refused-%d", slot) }

func abuserSetup() []client.Object {
	none := resource.MustParse("0")
	in := metav1.ObjectMeta{Namespace: abuser, Name: tokenSecret}
	source := metav1.ObjectMeta{Namespace: abuser, Name: credentialsSecret}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: abuser}},
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: abuser, Name: "none"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				"count/deployments.apps": none, "count/services": none}}},
		&corev1.Secret{ObjectMeta: in, StringData: map[string]string{"token": wrongToken}},
		&corev1.Secret{ObjectMeta: source, StringData: map[string]string{
			"host": "other-rw", "port": "5432", "dbname": "app", "username": "app", "password": "the-password-of-the-abuser"}},
	}
}

func (r *run) abuseToken(ctx context.Context, a action) (string, error) {
	random := a.random()
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: abuser, Name: refusedName(a.slot)},
		Spec: v1alpha1.DiscordServerSpec{
			TokenSecretRef: v1alpha1.TokenSecretReference{Name: tokenSecret}, ServerID: r.guild,
		}}
	if err := client.IgnoreAlreadyExists(r.create(ctx, server)); err != nil {
		return "", err
	}
	what, patch := "an annotation", fmt.Appendf(nil, `{"metadata":{"annotations":{"at":%q}}}`, uniqueWord(random))
	if oneIn(random, 3) {
		token := "wrong.token.number-" + uniqueWord(random)
		r.secrets.add(token)
		what, patch = "another token", fmt.Appendf(nil, `{"stringData":{"token":%q}}`, token)
	}
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: abuser, Name: tokenSecret}}
	return what, r.Admin.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch))
}

// abuseChannel creates a DiscordChannel whose webhook Secret has the name of another tenant's
// Secret. Sometimes the DiscordChannel also tries to adopt a channel of that tenant.
func (r *run) abuseChannel(ctx context.Context, a action) (string, error) {
	random := a.random()
	c := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: abuser, Name: refusedName(a.slot)}}
	c.Spec.Name = pick(random, channelNames)
	c.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: pick(random, hookNames),
		SecretName: channelName(random.IntN(channelSlots)) + "-webhook"}
	if oneIn(random, 2) {
		c.Spec.GroupRef = &v1alpha1.GroupReference{Namespace: namespace, Name: groupName(random.IntN(groupSlots))}
	} else {
		c.Spec.ServerRef = &v1alpha1.ServerReference{Namespace: namespace, Name: serverName}
	}
	if oneIn(random, 2) {
		other := &v1alpha1.DiscordChannel{}
		withTimeout, cancel := r.withTimeout(ctx)
		defer cancel()
		name := nameOf(channelName(random.IntN(channelSlots)))
		if r.Admin.Get(withTimeout, name, other) == nil && other.Status.ChannelID != "" {
			c.Spec.Adopt = &v1alpha1.Adoption{ID: other.Status.ChannelID}
		}
	}
	return "#" + c.Spec.Name + describe(c), r.create(ctx, c)
}

func (r *run) abuseDojo(ctx context.Context, a action) (string, error) {
	random := a.random()
	d := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: abuser, Name: refusedName(a.slot)}}
	d.Spec.AccountID, d.Spec.Title = "abuser", "Dojo "+uniqueWord(random)[:4]
	d.Spec.CredentialsRef = &corev1api.SecretReference{Name: credentialsSecret}
	what := "with credentials of its own"
	if oneIn(random, 2) {
		d.Spec.CredentialsRef.Namespace, what = namespace, "with others' credentials"
	}
	if oneIn(random, 2) {
		d.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{GroupRef: &corev1api.DiscordGroupReference{
			Namespace: namespace, Name: groupRef(random).Name}}}
		what += ", alerts in others' group"
	}
	return what, r.create(ctx, d)
}

// abuseObject creates an object with the name and the labels of another tenant's child.
func (r *run) abuseObject(ctx context.Context, a action) (string, error) {
	o := forged(a.random(), a.slot)
	owner := &corev1api.Dojo{}
	withTimeout, cancel := r.withTimeout(ctx)
	defer cancel()
	key := types.NamespacedName{Namespace: abuser, Name: refusedName(a.slot)}
	// Kubernetes would garbage-collect an object with a missing owner.
	if r.Admin.Get(withTimeout, key, owner) == nil {
		o.SetOwnerReferences([]metav1.OwnerReference{
			*metav1.NewControllerRef(owner, corev1api.GroupVersion.WithKind("Dojo"))})
	}
	return kindOf(o) + " " + o.GetName(), r.create(ctx, o)
}

func forged(random *rand.Rand, slot int) client.Object {
	filling := strings.Repeat("f", forgedSize)
	as := pick(random, environment.All).Name
	in := metav1.ObjectMeta{Namespace: abuser, Annotations: map[string]string{forgedAnnotation: "yes"},
		Labels: map[string]string{"app.kubernetes.io/managed-by": as, "app.kubernetes.io/name": "dojo",
			"app.kubernetes.io/instance": dojoName(slot)}}
	switch random.IntN(3) {
	case 0:
		in.Name = channelName(slot) + "-webhook"
		return &corev1.Secret{ObjectMeta: in, StringData: map[string]string{"url": "https://example.org", "f": filling}}
	case 1:
		in.Name = dojoName(slot) + "-credentials"
		return &corev1.Secret{ObjectMeta: in, StringData: map[string]string{"DB_ENDPOINT": "other-rw", "f": filling}}
	default:
		in.Name = dojoName(slot)
		return &corev1.ConfigMap{ObjectMeta: in, Data: map[string]string{"f": filling}}
	}
}

const forgedAnnotation = "example.org/forged"

func (r *run) stopAbuse(ctx context.Context, a action) (string, error) {
	o := pick(a.random(), []client.Object{&v1alpha1.DiscordServer{}, &v1alpha1.DiscordChannel{}, &corev1api.Dojo{}})
	o.SetNamespace(abuser)
	o.SetName(refusedName(a.slot))
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return "deleted its " + kindOf(o), r.Admin.Delete(ctx, o)
}

type abuse struct {
	servers     []*v1alpha1.DiscordServer
	channels    []*v1alpha1.DiscordChannel
	dojos       []*corev1api.Dojo
	secrets     []*corev1.Secret
	configMaps  []*corev1.ConfigMap
	deployments []*appsv1.Deployment
}

func (r *run) gatherAbuse(ctx context.Context) (*abuse, error) {
	var servers v1alpha1.DiscordServerList
	var channels v1alpha1.DiscordChannelList
	var dojos corev1api.DojoList
	var secrets corev1.SecretList
	var configMaps corev1.ConfigMapList
	var deployments appsv1.DeploymentList
	for _, list := range []client.ObjectList{&servers, &channels, &dojos, &secrets, &configMaps, &deployments} {
		if err := r.Admin.List(ctx, list, client.InNamespace(abuser)); err != nil {
			return nil, err
		}
	}
	return &abuse{pointers(servers.Items), pointers(channels.Items), pointers(dojos.Items), pointers(secrets.Items),
		pointers(configMaps.Items), pointers(deployments.Items)}, nil
}
