// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// uninstall deletes the optional kinds of a group, and installs them again after the spec.
func uninstall(ctx context.Context, group string) {
	GinkgoHelper()
	DeferCleanup(installOptional)
	var definitions apiextensionsv1.CustomResourceDefinitionList
	Expect(crds().List(ctx, &definitions)).To(Succeed())
	for _, definition := range definitions.Items {
		if definition.Spec.Group == group {
			Expect(crds().Delete(ctx, &definition)).To(Succeed())
		}
	}
	Eventually(ctx, func(ctx context.Context) []string {
		var names []string
		Expect(crds().List(ctx, &definitions)).To(Succeed())
		for _, definition := range definitions.Items {
			names = append(names, definition.Name)
		}
		return names
	}).ShouldNot(ContainElement(HaveSuffix("." + group)))
}

func installOptional() {
	GinkgoHelper()
	installDefinitions(optionalCRDs...)
}

func installDefinitions(folders ...string) {
	GinkgoHelper()
	options := envtest.CRDInstallOptions{Paths: folders, ErrorIfPathMissing: true, MaxTime: soon}
	_, err := envtest.InstallCRDs(cluster.Config(), options)
	Expect(err).NotTo(HaveOccurred())
}

func crds() client.Client {
	GinkgoHelper()
	scheme := k8s.Scheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	all, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return all
}

var _ = Describe("Kinds that a cluster may or may not have", func() {
	const group = "postgresql.cnpg.io"
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("are reported when they are missing, and used once they are installed", func(ctx context.Context) {
		uninstall(ctx, group)
		operator.Restart(ctx)
		dojo := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCloudNativePGNotInstalled)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("does not have its kind Cluster"))
		Expect(dojo).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonCloudNativePGNotInstalled))
		runningDojo(ctx, newNamespace(ctx)) // other Dojos do not depend on them

		installOptional()
		existingCluster(ctx, ns, "pg")
		eventuallyReady(ctx, dojo)
	})

	It("may be uninstalled and installed again, and the application serves", func(ctx context.Context) {
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
				"five missing kinds are a few refused watches, not an endless row of them")

		installOptional()
		Eventually(ctx, refetch(dojo)).Should(Or( // the deadline may have passed while the kinds were installed
			HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster),
			HaveCondition("DatabaseReady", "False", corev1api.ReasonClusterNotFound)))
		existingCluster(ctx, ns, "pg")
		eventuallyReady(ctx, dojo)
	})
})

// operatorErrors counts the failed lists and watches of a group by the operator since a time.
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
