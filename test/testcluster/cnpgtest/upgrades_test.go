// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testPoolersAndUpgrades reverts its upgrades, because no upgrade ends without the Job controller.
func testPoolersAndUpgrades(t *testing.T, c client.Client, s *StandIn) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(waitLimit)
	const namespace = "upgrades"
	g.Expect(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	object := func(kind, name string, spec map[string]any) *unstructured.Unstructured {
		o := object(kind, name, spec)
		o.SetNamespace(namespace)
		return o
	}
	reads := func(o *unstructured.Unstructured, field string) func() any { return in(t.Context(), c, o, field) }
	pooler := func(name string) *unstructured.Unstructured {
		return object("Pooler", name, map[string]any{
			"cluster": map[string]any{"name": "pg"}, "instances": int64(2), "pgbouncer": map[string]any{},
		})
	}

	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foreign"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	g.Expect(c.Create(t.Context(), foreign)).To(Succeed())
	bouncer, hindered := pooler("bouncer"), pooler("foreign")
	g.Expect(c.Create(t.Context(), bouncer)).To(Succeed())
	g.Expect(c.Create(t.Context(), hindered)).To(Succeed())
	for _, p := range []*unstructured.Unstructured{bouncer, hindered} {
		g.Eventually(reads(p, "phaseReason")).Should(Equal(`Cluster "pg" not found`))
	}
	pg := object("Cluster", "pg", map[string]any{
		"instances": int64(1), "storage": map[string]any{"size": "1Gi"}, "imageName": "postgres:16",
	})
	g.Expect(c.Create(t.Context(), pg)).To(Succeed())
	g.Eventually(reads(bouncer, "phase")).Should(Equal("active"))
	var deployment appsv1.Deployment
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(bouncer), &deployment)).To(Succeed())
	g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
	g.Expect(reads(hindered, "phase")()).To(Equal("inactive"), "another object has the Pooler's name")

	upgrade := func(image string) {
		before := pg.DeepCopy()
		g.Expect(unstructured.SetNestedField(pg.Object, image, "spec", "imageName")).To(Succeed())
		g.Expect(c.Patch(t.Context(), pg, client.MergeFrom(before))).To(Succeed())
	}
	g.Eventually(reads(pg, "phase")).Should(Equal(healthy))
	upgrade("postgres:17")
	g.Eventually(reads(pg, "phase")).Should(Equal(majorUpgrade))
	g.Expect(reads(pg, "readyInstances")()).To(BeZero())
	g.Expect(reads(pg, "pgDataImageInfo")()).To(HaveKeyWithValue("majorVersion", int64(16)))
	job := client.ObjectKey{Namespace: namespace, Name: "pg-1-major-upgrade"}
	g.Eventually(func() error { return c.Get(t.Context(), job, &batchv1.Job{}) }).Should(Succeed())
	upgrade("postgres:16")
	g.Eventually(reads(pg, "phase")).Should(Equal(healthy))
	g.Expect(c.Get(t.Context(), job, &batchv1.Job{})).NotTo(Succeed())

	s.SetUpgrades(namespace, "pg", UpgradesRun)
	upgrade("postgres:17")
	g.Eventually(func() error { return c.Get(t.Context(), job, &batchv1.Job{}) }).Should(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "pg-1-major-upgrade-x", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: upgradeRole, Image: "standin.invalid/postgres"}}},
	}
	g.Expect(c.Create(t.Context(), pod)).To(Succeed())
	g.Eventually(func() ([]corev1.ContainerStatus, error) {
		return pod.Status.ContainerStatuses, c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
	}).Should(ContainElement(HaveField("State.Running", Not(BeNil()))))
	upgrade("postgres:16")
	g.Eventually(reads(pg, "phase")).Should(Equal(waitingActive), "pg_upgrade has begun")
	g.Expect(reads(pg, "readyInstances")()).To(BeZero())
	g.Expect(c.Get(t.Context(), job, &batchv1.Job{})).NotTo(Succeed())
}
