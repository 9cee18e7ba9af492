// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply/applytest"
)

// rotated returns a world in which the application of the Dojo tokyo and its pods have changed to
// the second login. The credentials of the Dojo kyoto and its pods come from the Secret source.
func rotated(t *testing.T, source string) (w *databaseWorld, kyoto *corev1api.Dojo) {
	t.Helper()
	w = upToDate(t, withDatabase())
	kyoto = &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "kyoto"}}
	kyoto.Spec.CredentialsRef = &corev1api.SecretReference{Name: "tokyo-db"}
	noError(t, w.server.Create(t.Context(), kyoto))
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{ownership.RevisionAnnotation: "a"}}}
	labels := ownership.Labels(kyoto, ownership.Application)
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(kyoto, corev1api.GroupVersion.WithKind("Dojo"))}
	noError(t, w.server.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "school", Name: credentials.Name(kyoto), Labels: labels, OwnerReferences: owner, Annotations: map[string]string{
			"core.jutsu.com/credentials-source": "school/" + source + "/uid/1", ownership.RevisionAnnotation: "a",
		},
	}}))
	noError(t, w.server.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "kyoto", Labels: labels, OwnerReferences: owner},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Template: template},
	}))
	setStatus(w, "kyoto", func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		}
	})
	w.dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "monday"}
	for range 8 {
		w.pass()
	}
	kyoto.Spec.CredentialsRef.Name = "tokyo-db-2"
	noError(t, w.server.Update(t.Context(), kyoto))
	return w, kyoto
}

// pass reconciles once, then simulates CloudNativePG for both roles.
func (w *databaseWorld) pass() {
	w.t.Helper()
	w.reconcile()
	w.play()
	setStatus(w, "tokyo-db-2", func(r *cnpgv1.DatabaseRole) {
		r.Status = cnpgv1.DatabaseRoleStatus{Applied: ptr.To(true), ObservedGeneration: r.Generation}
		if secret := inWorld[corev1.Secret](w, "tokyo-db-2"); secret != nil {
			r.Status.SecretResourceVersion = secret.ResourceVersion
		}
	})
}

// TestTheFormerLoginOutlivesThePodsOfOtherDojos asserts that Postgres accepts the former login until
// no pod of another Dojo has it, even if this Dojo already names the Secret of the new login.
func TestTheFormerLoginOutlivesThePodsOfOtherDojos(t *testing.T) {
	t.Parallel()
	w, _ := rotated(t, "tokyo-db")
	if got := inWorld[cnpgv1.DatabaseRole](w, "tokyo-db-2"); got == nil || !got.Spec.Login {
		t.Fatalf("the second login is %+v", got)
	}
	w.pass()
	if !inWorld[cnpgv1.DatabaseRole](w, "tokyo-db").Spec.Login {
		t.Error("Postgres refuses the former login, which pods of kyoto have")
	}
	applytest.Edit(t, w.server, "others", inWorld[corev1.Secret](w, "kyoto-credentials"), func(s *corev1.Secret) {
		s.Annotations["core.jutsu.com/credentials-source"] = "school/tokyo-db-2/uid/1"
	})
	w.pass()
	w.pass()
	if inWorld[cnpgv1.DatabaseRole](w, "tokyo-db").Spec.Login {
		t.Error("Postgres still accepts the former login")
	}
}

func TestDojosThatStillUseTheFormerLogin(t *testing.T) {
	t.Parallel()
	pod := func(name, revision string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "school", Name: "kyoto-1", Annotations: map[string]string{ownership.RevisionAnnotation: revision},
			Labels: ownership.Labels(&corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Name: "kyoto"}}, name),
		}}
	}
	for name, c := range map[string]struct {
		source string
		change func(*databaseWorld, *corev1api.Dojo)
		want   []string
	}{
		"the credentials come from the former login": {"tokyo-db", nil, []string{"Dojo kyoto (its credentials have yet to change)"}},
		"the Deployment has the former credentials": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			applytest.Edit(w.t, w.server, "others", inWorld[corev1.Secret](w, "kyoto-credentials"), func(s *corev1.Secret) {
				s.Annotations[ownership.RevisionAnnotation] = "b"
			})
		}, []string{"Dojo kyoto (the Deployment has yet to get the new credentials)"}},
		"a user has deleted the credentials, which pods still have": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			noError(w.t, w.server.Delete(w.t.Context(), inWorld[corev1.Secret](w, "kyoto-credentials")))
		}, []string{"Dojo kyoto (the Deployment has yet to get the new credentials)"}},
		"neither credentials nor a Deployment": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			noError(w.t, w.server.Delete(w.t.Context(), inWorld[corev1.Secret](w, "kyoto-credentials")))
			noError(w.t, w.server.Delete(w.t.Context(), inWorld[appsv1.Deployment](w, "kyoto")))
		}, nil},
		"the rollout is not complete": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			setStatus(w, "kyoto", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 })
		}, []string{"Dojo kyoto (the rollout is not complete)"}},
		"a pod with the former credentials has not ended": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			noError(w.t, w.server.Create(w.t.Context(), pod(ownership.Application, "former")))
		}, []string{"Dojo kyoto (the pod kyoto-1 has not ended)"}},
		"a release step with the former credentials has not ended": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			noError(w.t, w.server.Create(w.t.Context(), pod(ownership.Release, "former")))
		}, []string{"Dojo kyoto (a release step has yet to end (kyoto-1))"}},
		"all pods have the new login": {"tokyo-db-2", func(w *databaseWorld, _ *corev1api.Dojo) {
			noError(w.t, w.server.Create(w.t.Context(), pod(ownership.Application, "a")))
		}, nil},
		"the other Dojo now names an unrelated Secret": {"tokyo-db", func(w *databaseWorld, kyoto *corev1api.Dojo) {
			kyoto.Spec.CredentialsRef.Name = "pg-app"
			noError(w.t, w.server.Update(w.t.Context(), kyoto))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, kyoto := rotated(t, c.source)
			if c.change != nil {
				c.change(w, kyoto)
			}
			s, _ := w.plan()
			if diff := cmp.Diff(c.want, s.Postgres.Login.Leaving); diff != "" {
				t.Error(diff)
			}
		})
	}
}
