// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The environment of a client of Postgres may name a service file
// (https://www.postgresql.org/docs/current/libpq-pgservice.html). The file's application_name, in
// pg_stat_activity, shows that the pods have the variables and volumes of the spec.
var _ = Describe("A Dojo with pod options", Ordered, func() {
	var w *world

	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "pod-options")
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Value: 7}
		Expect(k8s.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, class)).To(Succeed()) }, NodeTimeout(soon))
		w.apply(ctx, `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: dojo}
spec:
  instances: 1
  storage: {size: 1Gi}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: services}
data:
  pg_service.conf: |
    [weapons]
    application_name=named-in-a-volume
---
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: sendai}
spec:
  accountId: Kiyotaka Ijichi
  title: Sendai
  credentialsRef: {name: dojo-app}
  envFrom: [{prefix: PG, configMapRef: {name: settings}}]
  volumes:
    - {name: services, configMap: {name: services}}
    - {name: cache, emptyDir: {sizeLimit: 16Mi}}
  volumeMounts:
    - {name: services, mountPath: /etc/postgres, readOnly: true}
    - {name: cache, mountPath: /var/cache}
  probes:
    readiness: {path: /, periodSeconds: 1}
  priorityClassName: `+w.namespace)
	}, NodeTimeout(soon))

	It("is Degraded until the ConfigMap in spec.envFrom exists", func(ctx SpecContext) {
		Eventually(ctx, func() (string, error) { return w.condition(ctx, "sendai", "Degraded") }).WithTimeout(eventually).
			Should(And(HavePrefix("True CreateContainerConfigError: "), ContainSubstring("settings")))
		w.apply(ctx, `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {SERVICE: weapons, SERVICEFILE: /etc/postgres/pg_service.conf}
`)
		w.awaitReady(ctx, "sendai")
	}, SpecTimeout(2*eventually))

	It("passes its variables and files to the application", func(ctx SpecContext) {
		var secret corev1.Secret
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "dojo-app"}, &secret)).To(Succeed())
		Expect(w.kubectl(ctx, "exec", w.primary(ctx, "dojo"), "-c", "postgres", "--",
			"env", "PGPASSWORD="+string(secret.Data["password"]), "psql", "-XAtq", "-h", "dojo-rw",
			"-U", string(secret.Data["user"]), "-d", string(secret.Data["dbname"]),
			"-c", "SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()",
		)).To(Equal("named-in-a-volume"))
	}, SpecTimeout(2*time.Minute))

	It("is probed at the paths of its spec", func(ctx SpecContext) {
		Expect(w.metrics(ctx, "sendai")).To(And(ContainSubstring(`url="/"`), ContainSubstring(`url="/probe/liveness"`),
			Not(ContainSubstring(`url="/probe/readiness"`))))
	}, SpecTimeout(time.Minute))

	It("runs its pods with the priority of its PriorityClass", func(ctx SpecContext) {
		Expect(w.pods(ctx, "sendai")).To(HaveEach(HaveField("Spec.Priority", HaveValue(Equal(int32(7))))))
	}, SpecTimeout(time.Minute))

	It("serves with its former pods and is not Ready when a probe fails", func(ctx SpecContext) {
		w.patch(ctx, "sendai", `{"spec":{"probes":{"readiness":{"path":"/no-such-page"}}}}`)
		Eventually(ctx, w.metricsOfNewest).WithArguments("sendai").WithTimeout(eventually).
			Should(ContainSubstring(`code="404"`), "the kubelet should probe the new pod at this path")
		Expect(w.condition(ctx, "sendai", "Ready")).To(HavePrefix("False "))
		Expect(w.condition(ctx, "sendai", "Available")).To(HavePrefix("True "))
		w.patch(ctx, "sendai", `{"spec":{"probes":null}}`)
		w.awaitReady(ctx, "sendai")
	}, SpecTimeout(2*eventually))
})

func (w *world) metrics(ctx context.Context, dojo string) (string, error) {
	text, err := typed.CoreV1().RESTClient().Get().Namespace(w.namespace).Resource("services").Name(dojo + ":http").
		SubResource("proxy").Suffix("metrics").DoRaw(ctx)
	return string(text), err
}

func (w *world) metricsOfNewest(ctx context.Context, dojo string) (string, error) {
	pods, err := w.pods(ctx, dojo)
	if err != nil || len(pods) == 0 {
		return "", err
	}
	newest := pods[0]
	for _, pod := range pods {
		if newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	text, err := typed.CoreV1().RESTClient().Get().Namespace(w.namespace).Resource("pods").Name(newest.Name + ":8080").
		SubResource("proxy").Suffix("metrics").DoRaw(ctx)
	return string(text), err // an error if the pod does not serve yet
}
