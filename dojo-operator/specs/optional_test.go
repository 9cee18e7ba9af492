// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var uninstalled = map[string][]*apiextensionsv1.CustomResourceDefinition{}

// uninstall deletes the CRDs of a group, and creates them again when the spec ends. With plurals,
// it deletes only the CRDs of these kinds.
func uninstall(ctx context.Context, group string, plurals ...string) {
	GinkgoHelper()
	plans.end(ctx)
	DeferCleanup(installOptional)
	installed := func(ctx context.Context) []string {
		return slices.DeleteFunc(definitions(ctx, group), func(name string) bool {
			plural, _, _ := strings.Cut(name, ".")
			return len(plurals) > 0 && !slices.Contains(plurals, plural)
		})
	}
	for _, name := range installed(ctx) {
		var d apiextensionsv1.CustomResourceDefinition
		Expect(crds().Get(ctx, client.ObjectKey{Name: name}, &d)).To(Succeed())
		again := &apiextensionsv1.CustomResourceDefinition{Spec: d.Spec}
		again.Name, again.Labels, again.Annotations = d.Name, d.Labels, d.Annotations
		uninstalled[group] = append(uninstalled[group], again)
		Expect(crds().Delete(ctx, &d)).To(Succeed())
	}
	Eventually(ctx, installed).Should(BeEmpty())
}

// definitions reads only metadata: with the race detector, decoding the schemas takes a second.
func definitions(ctx context.Context, group string) (names []string) {
	GinkgoHelper()
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinitionList",
	}}
	Expect(crds().List(ctx, list)).To(Succeed())
	for _, d := range list.Items {
		if strings.HasSuffix(d.Name, "."+group) {
			names = append(names, d.Name)
		}
	}
	return names
}

func installOptional(ctx context.Context) {
	GinkgoHelper()
	for group := range uninstalled {
		install(ctx, group)
	}
}

func install(ctx context.Context, group string) {
	GinkgoHelper()
	plans.end(ctx)
	options := envtest.CRDInstallOptions{MaxTime: soon, PollInterval: 50 * time.Millisecond}
	Expect(envtest.CreateCRDs(cluster.Config(), uninstalled[group])).To(Succeed())
	Expect(envtest.WaitForCRDs(cluster.Config(), uninstalled[group], options)).To(Succeed())
	delete(uninstalled, group)
}

var crds = sync.OnceValue(func() client.Client {
	GinkgoHelper()
	scheme := k8s.Scheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	all, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return all
})

var _ = Describe("Kinds that a cluster may or may not have", func() {
	const group = "postgresql.cnpg.io"
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("are reported while they are missing, and used once they are installed", func(ctx context.Context) {
		uninstall(ctx, group)
		operator.Restart(ctx)
		dojo := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCloudNativePGNotInstalled)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("does not have its kind Cluster"))
		Expect(dojo).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonCloudNativePGNotInstalled))
		runningDojo(ctx, newNamespace(ctx)) // other Dojos become Ready without the missing kinds

		installOptional(ctx)
		existingCluster(ctx, ns, "pg")
		eventuallyReady(ctx, dojo)
	})

	It("do not block the final backup or the deletion of data "+
		"if only the kind Pooler is missing", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		uninstall(ctx, group, "poolers")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCloudNativePGNotInstalled)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("does not have its kind Pooler"))
		Expect(dojo).To(HaveCondition("Available", "True", ""))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		Expect(deletions(ns)).To(Equal([]string{"delete deployments/tokyo", "delete scheduledbackups/tokyo-db",
			"delete clusters/tokyo-db", "delete databases/tokyo-db", "delete databaseroles/tokyo-db"}))
		Expect(operator.Writes(ns)).To(ContainElement(HavePrefix("create backups/tokyo-db-final-")))
	})

	It("can be uninstalled and installed again while the application serves", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, replicas(2))
		began := time.Now()
		uninstall(ctx, group)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCloudNativePGNotInstalled)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", ""))
		edit(ctx, dojo, replicas(3))
		Eventually(ctx, refetch(deploymentOf(dojo))).
			Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))), "the Deployment is still reconciled")
		Consistently(func() int { return operatorErrors(began, group) }).WithTimeout(3*time.Second).
			Should(BeNumerically("<=", 12),
				"the operator should retry the requests for five missing kinds only a few times")

		installOptional(ctx)
		Eventually(ctx, refetch(dojo)).Should(Or( // the deadline may have passed during the installation of the kinds
			HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster),
			HaveCondition("DatabaseReady", "False", corev1api.ReasonClusterNotFound)))
		existingCluster(ctx, ns, "pg")
		eventuallyReady(ctx, dojo)
	})
})

func operatorErrors(since time.Time, group string) int {
	count := 0
	for _, e := range operator.Requests() {
		if e.RequestReceivedTimestamp.After(since) && e.ObjectRef != nil && e.ObjectRef.APIGroup == group &&
			e.ResponseStatus != nil && e.ResponseStatus.Code >= 400 &&
			slices.Contains([]string{"list", "watch"}, strings.ToLower(e.Verb)) {
			count++
		}
	}
	return count
}
