// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"jutsu.com/operators/dojo-operator/internal/dojotest"
)

// OpenShift's restricted SecurityContextConstraints refuse a pod that names a user or a group.
func TestUsers(t *testing.T) {
	t.Parallel()
	const user = int64(65532)
	for users, want := range map[Users]*int64{{}: new(user), {ByPlatform: true}: nil} {
		s := Spec(dojotest.Dojo(), user, users, "1Mi", corev1ac.Container()).SecurityContext
		if diff := cmp.Diff([]*int64{want, want, want}, []*int64{s.RunAsUser, s.RunAsGroup, s.FSGroup}); diff != "" {
			t.Errorf("%+v: %s", users, diff)
		}
		if !*s.RunAsNonRoot || s.SeccompProfile == nil {
			t.Errorf("%+v: the security context does not meet the standard restricted: %+v", users, s)
		}
	}
}
