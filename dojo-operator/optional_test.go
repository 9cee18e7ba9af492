package main_test

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

// uninstall takes the optional kinds of a group off the cluster, and installs them again after the spec.
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
	_, err := envtest.InstallCRDs(cluster.Config(), envtest.CRDInstallOptions{Paths: folders, ErrorIfPathMissing: true, MaxTime: soon})
	Expect(err).NotTo(HaveOccurred())
}

func crds() client.Client {
	GinkgoHelper()
	scheme := k8s.Scheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

var _ = Describe("Kinds that a cluster may or may not have", func() {
	const group = "postgresql.cnpg.io"
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("are missed when they are not there, and taken up as soon as they are, without a restart", func(ctx context.Context) {
		uninstall(ctx, group)
		operator.Restart(ctx)
		d := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonCloudNativePGNotInstalled)
		Expect(message(d, "Degraded")).To(ContainSubstring("does not have its kind Cluster"))
		Expect(d).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonCloudNativePGNotInstalled))
		runningDojo(ctx, newNamespace(ctx)) // the others do not care

		installOptional()
		standingCluster(ctx, ns, "pg")
		eventuallyReady(ctx, d)
	})

	It("may vanish and come back while the operator runs, and the application goes on serving", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, replicas(2))
		began := time.Now()
		uninstall(ctx, group)
		eventuallyDegraded(ctx, d, corev1api.ReasonCloudNativePGNotInstalled)
		Eventually(ctx, refetch(d)).Should(HaveCondition("Available", "True", ""))
		edit(ctx, d, replicas(3))
		Eventually(ctx, refetch(deploymentOf(d))).Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))), "what runs is still looked after")
		Consistently(func() int { return operatorErrors(began, group) }).WithTimeout(3*time.Second).Should(BeNumerically("<=", 12),
			"five kinds that have gone are a few refused watches, not one after the other for ever")

		installOptional()
		Eventually(ctx, refetch(d)).Should(Or( // it is waited for before it is missed, unless the kinds took long to come back
			HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster),
			HaveCondition("DatabaseReady", "False", corev1api.ReasonClusterNotFound)))
		standingCluster(ctx, ns, "pg")
		eventuallyReady(ctx, d)
	})
})

// operatorErrors counts the requests of the operator for a group, since a time, that the API server has refused.
func operatorErrors(since time.Time, group string) int {
	count := 0
	for _, e := range operator.Requests() {
		if e.RequestReceivedTimestamp.After(since) && e.ObjectRef != nil && e.ObjectRef.APIGroup == group && e.ResponseStatus != nil &&
			e.ResponseStatus.Code >= 400 && slices.Contains([]string{"list", "watch"}, strings.ToLower(e.Verb)) {
			count++
		}
	}
	return count
}
