// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/apply"
)

func TestShare(t *testing.T) {
	t.Parallel()
	deployment := func(dojo *corev1api.Dojo) *appsv1.Deployment {
		access := Credentials{SecretName: dojo.Name + "-credentials", Keys: []string{"DB_PORT"}, Revision: "r"}
		live := apply.As[appsv1.Deployment](deploymentFor(dojo, access, "dojo:1", Config{}, new(int32(1))))
		live.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Message: "a"}, {Type: appsv1.DeploymentReplicaFailure, Message: "b"},
		}
		return &live
	}
	a, b := deployment(dojotest.Dojo()), deployment(dojotest.Dojo(dojotest.Named("kyoto")))
	want := a.DeepCopy()
	want.Status.Conditions[0].Message = ""
	Share(a)
	Share(b)
	Share(a)
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	mine, other := a.Spec.Template.Spec.Containers[0], b.Spec.Template.Spec.Containers[0]
	if mine.LivenessProbe != other.LivenessProbe || mine.SecurityContext != other.SecurityContext ||
		a.Spec.Template.Spec.SecurityContext != b.Spec.Template.Spec.SecurityContext {
		t.Error("equal fields are held twice")
	}
	if mine.Env[2].ValueFrom.SecretKeyRef.Name == other.Env[2].ValueFrom.SecretKeyRef.Name {
		t.Error("different Secret names became equal")
	}
}
