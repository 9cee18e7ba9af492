// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
)

func worldWithAbuser() *world {
	of := metav1.ObjectMeta{Namespace: abuser, Name: refusedName(0), Generation: 1}
	own := metav1.ObjectMeta{Namespace: abuser, Name: refusedName(0) + "-credentials",
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "dojo-operator"}}}
	forged := metav1.ObjectMeta{Namespace: abuser, Name: secretOfPosts,
		Annotations: map[string]string{forgedAnnotation: "yes"}}
	w := validWorld()
	w.abuse = &abuse{
		servers: []*v1alpha1.DiscordServer{{ObjectMeta: of, Status: v1alpha1.DiscordServerStatus{
			ObservedGeneration: 1, Conditions: conds(v1alpha1.ReasonAuthenticationFailed, "Degraded")}}},
		channels: []*v1alpha1.DiscordChannel{{ObjectMeta: of, Status: v1alpha1.DiscordChannelStatus{
			ObservedGeneration: 1, Conditions: conds(v1alpha1.ReasonNotAllowed, "Degraded")}}},
		dojos: []*corev1api.Dojo{{ObjectMeta: of,
			Spec: corev1api.DojoSpec{CredentialsRef: &corev1api.SecretReference{Name: credentialsSecret}},
			Status: corev1api.DojoStatus{
				ObservedGeneration: 1, Conditions: conds(corev1api.ReasonChildRefused, "Degraded")}}},
		secrets:    []*corev1.Secret{{ObjectMeta: own}, {ObjectMeta: forged}},
		configMaps: []*corev1.ConfigMap{{ObjectMeta: forged}},
	}
	return w
}

func TestAbuserGetsNothing(t *testing.T) {
	t.Parallel()
	if wrong := check(worldWithAbuser()); len(wrong) > 0 {
		t.Error(wrong)
	}
	ready := conds("Reconciled", "Available", "Ready")
	const gets = "a tenant gets nothing that it is not granted"
	ours := []metav1.ManagedFieldsEntry{{Manager: "discord-operator"}}
	for name, c := range map[string]struct {
		change          func(*world)
		invariant, says string
	}{
		"a server with a wrong token is Ready": {func(w *world) { w.abuse.servers[0].Status.Conditions = ready },
			"everything is reconciled", "AuthenticationFailed"},
		"a channel without a grant is Ready": {func(w *world) { w.abuse.channels[0].Status.Conditions = ready },
			"everything is reconciled", "NotAllowed"},
		"the tenant's DiscordChannel has another tenant's channel": {func(w *world) { w.abuse.channels[0].Status.ChannelID = posts }, gets, posts},
		"an operator creates a channel for the tenant": {func(w *world) {
			entry := madeFor(auditChannelCreate, "299", otherUID)
			entry.Reason = "DiscordChannel " + otherUID + " " + abuser + "/" + refusedName(0)
			w.guild.Audit = append(w.guild.Audit, entry)
		}, gets, "299"},
		"a Dojo is Ready despite the quota": {func(w *world) { w.abuse.dojos[0].Status.Conditions = ready },
			"everything is reconciled", "ChildRefused"},
		"a Deployment exists despite the quota": {func(w *world) { w.abuse.deployments = []*appsv1.Deployment{{}} },
			gets, "quota"},
		"an operator writes a Secret with another tenant's credentials": {func(w *world) { w.abuse.dojos[0].Spec.CredentialsRef.Namespace = namespace },
			gets, "-credentials"},
		"an operator writes to a forged Secret": {func(w *world) { w.abuse.secrets[1].ManagedFields = ours },
			gets, secretOfPosts},
		"an operator writes to a forged ConfigMap": {func(w *world) { w.abuse.configMaps[0].ManagedFields = ours },
			gets, secretOfPosts},
		"the deletion of a channel does not end": {func(w *world) { w.abuse.channels[0].DeletionTimestamp = now() },
			gets, "its deletion does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldWithAbuser()
			c.change(w)
			expect(t, check(w), c.invariant, c.says)
		})
	}
}
