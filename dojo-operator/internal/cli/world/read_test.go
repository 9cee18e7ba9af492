// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
)

func TestOthersIn(t *testing.T) {
	t.Parallel()
	guest := func(name, cluster string) corev1api.Dojo {
		d := corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: name}}
		d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: cluster}}
		return d
	}
	database := func(name, cluster string) cnpgv1.Database {
		db := cnpgv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: name}}
		db.Spec.ClusterRef.Name = cluster
		return db
	}
	with := func(name, namespace, secret string) corev1api.Dojo {
		d := corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: name}}
		d.Spec.CredentialsRef = &corev1api.SecretReference{Namespace: namespace, Name: secret}
		return d
	}
	own, without := database("sendai-db", "sendai-db"), corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Name: "osaka"}}
	for name, c := range map[string]struct {
		dojos     []corev1api.Dojo
		databases []cnpgv1.Database
		want      []string
	}{
		"the Dojo's own Database": {[]corev1api.Dojo{*apitest.Sendai(), without}, []cnpgv1.Database{own}, nil},
		"another Dojo and a Database without a Dojo": {
			[]corev1api.Dojo{*apitest.Sendai(), guest("kyoto", "sendai-db")},
			[]cnpgv1.Database{own, database("kyoto-db", "sendai-db"), database("reports", "sendai-db")},
			[]string{"Database reports", "Dojo kyoto"},
		},
		"the Database of a deleted Dojo": {nil, []cnpgv1.Database{own, database("kyoto-db", "sendai-db")}, []string{"Database kyoto-db"}},
		"users of another Cluster": {
			[]corev1api.Dojo{guest("kyoto", "shared")}, []cnpgv1.Database{database("reports", "shared")}, nil,
		},
		"Dojos that use a login of sendai or of its Cluster": {
			[]corev1api.Dojo{
				with("second", apitest.Namespace, "sendai-db-2"), with("owner", "", "sendai-db"),
				with("app", "", "sendai-db-app"), with("admin", "", "sendai-db-superuser"),
			}, []cnpgv1.Database{own},
			[]string{"Dojo admin", "Dojo app", "Dojo owner", "Dojo second"},
		},
		"Dojos that use other Secrets": {
			[]corev1api.Dojo{with("kyoto", "", "kyoto-db"), with("osaka", "team-b", "sendai-db")}, nil, nil,
		},
	} {
		if diff := cmp.Diff(c.want, othersIn(apitest.Sendai(), c.dojos, c.databases)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
