// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
)

func dojoName(slot int) string { return fmt.Sprintf("dojo-%d", slot) }

func (r *run) createDojo(ctx context.Context, a action) (string, error) {
	random := a.random()
	d := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: dojoName(a.slot)}}
	d.Spec.AccountID, d.Spec.Title = "Masamichi Yaga", "Dojo "+uniqueWord(random)[:4]
	database := "credentialsRef"
	switch random.IntN(4) {
	case 0:
		database = "a Cluster of its own"
		d.Spec.Postgres = &corev1api.Postgres{
			Cluster: &corev1api.PostgresCluster{Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")}}}
	case 1:
		database = "the shared Cluster"
		d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: sharedCluster}}
	default:
		d.Spec.CredentialsRef = &corev1api.SecretReference{Name: credentialsSecret}
	}
	if d.Spec.Postgres != nil {
		d.Spec.Postgres.ReclaimPolicy = pick(random,
			[]corev1api.ReclaimPolicy{corev1api.ReclaimRetain, corev1api.ReclaimDelete})
	}
	what := []string{database}
	for range random.IntN(3) {
		what = append(what, changeDojo(random, d))
	}
	if d.Spec.Postgres != nil {
		what = append(what, string(d.Spec.Postgres.ReclaimPolicy))
	}
	return strings.Join(what, ", "), r.create(ctx, d)
}

func changeDojo(random *rand.Rand, d *corev1api.Dojo) string {
	switch random.IntN(6) {
	case 0:
		n := random.Int32N(4)
		d.Spec.Replicas = &n
		return fmt.Sprintf("replicas %d", n)
	case 1:
		d.Spec.Title = "Dojo " + uniqueWord(random)[:4]
		return "title " + d.Spec.Title
	case 2:
		d.Spec.Env = []corev1.EnvVar{{Name: "MOOD", Value: uniqueWord(random)[:4]}}
		return "env"
	case 3:
		d.Spec.Alerts = &corev1api.Alerts{
			Discord: &corev1api.DiscordAlerts{GroupRef: &corev1api.DiscordGroupReference{Name: groupRef(random).Name}}}
		return "alerts in " + d.Spec.Alerts.Discord.GroupRef.Name
	case 4:
		d.Spec.Alerts = nil
		return "no alerts"
	default:
		if d.Spec.Postgres == nil {
			return "nothing"
		}
		d.Spec.Postgres.ReclaimPolicy = pick(random,
			[]corev1api.ReclaimPolicy{corev1api.ReclaimRetain, corev1api.ReclaimDelete})
		return "reclaimPolicy " + string(d.Spec.Postgres.ReclaimPolicy)
	}
}

func (r *run) editDojo(ctx context.Context, a action) (string, error) {
	d, what := &corev1api.Dojo{}, ""
	err := r.edit(ctx, dojoName(a.slot), d, func() { what = changeDojo(a.random(), d) })
	return what, err
}

func (r *run) deleteDojo(ctx context.Context, a action) (string, error) {
	d := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: dojoName(a.slot)}}
	how := pick(a.random(), []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground})
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return "deleted in the " + strings.ToLower(string(how)), r.Admin.Delete(ctx, d, client.PropagationPolicy(how))
}

func (r *run) deleteChild(ctx context.Context, a action) (string, error) {
	name := dojoName(a.slot)
	child := pick(a.random(), []struct {
		name string
		kind client.Object
	}{
		{name, &appsv1.Deployment{}}, {name, &corev1.Service{}}, {name, &policyv1.PodDisruptionBudget{}},
		{name + "-credentials", &corev1.Secret{}},
		{name + "-alerts", &v1alpha1.DiscordChannel{}},
	})
	return fmt.Sprintf("deleted its %s", kindOf(child.kind)), r.delete(ctx, child.name, child.kind)
}

func kindOf(o client.Object) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", o)[strings.LastIndex(fmt.Sprintf("%T", o), "."):], ".")
}

func (r *run) editChild(ctx context.Context, a action) (string, error) {
	name := dojoName(a.slot)
	edit := pick(a.random(), []struct {
		name, what, patch string
		kind              client.Object
	}{
		{name, "replicas of the Deployment", `{"spec":{"replicas":5}}`, &appsv1.Deployment{}},
		{name, "labels of the Deployment", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"another"}}}`,
			&appsv1.Deployment{}},
		{name, "type of the Service", `{"spec":{"type":"NodePort"}}`, &corev1.Service{}},
		{name + "-credentials", "a password in the Secret", `{"data":{"DB_PASS":"bm9uc2Vuc2U="}}`, &corev1.Secret{}},
		{name + "-alerts", "topic of the DiscordChannel", `{"spec":{"topic":"nonsense"}}`, &v1alpha1.DiscordChannel{}},
	})
	edit.kind.SetNamespace(namespace)
	edit.kind.SetName(edit.name)
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return edit.what, r.Admin.Patch(ctx, edit.kind, client.RawPatch(types.MergePatchType, []byte(edit.patch)))
}

func (r *run) rotatePassword(ctx context.Context, a action) (string, error) {
	random := a.random()
	if oneIn(random, 2) {
		ctx, cancel := r.withTimeout(ctx)
		defer cancel()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentialsSecret}}
		patch := fmt.Appendf(nil, `{"stringData":{"password":%q}}`, "password-"+uniqueWord(random))
		return "in " + credentialsSecret, r.Admin.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch))
	}
	d := &corev1api.Dojo{}
	return "by the annotation", r.edit(ctx, dojoName(a.slot), d, func() {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.RotatePasswordAnnotation, uniqueWord(random))
	})
}
