// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A Dojo that is protected from deletion", func() {
	var ns string
	var dojo *corev1api.Dojo
	protect := func(protected bool) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) { dojo.Spec.DeletionProtection = protected }
	}
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo = newDojo(ns, "tokyo", protect(true))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { // ends the protection even if the spec fails
			release := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletionProtection":false}}`))
			Expect(client.IgnoreNotFound(k8s.Patch(ctx, dojo, release))).To(Succeed())
		})
	})

	It("stays when a client deletes it, alone or with the other Dojos of its namespace, "+
		"until the protection is removed", func(ctx context.Context) {
		refusal := fmt.Sprintf("The Dojo %s/tokyo is protected by spec.deletionProtection. Remove that protection first: "+
			`kubectl patch dojos.core.jutsu.com tokyo -n %s --type=merge -p '{"spec":{"deletionProtection":false}}'`, ns, ns)
		refused := And(MatchError(apierrors.IsForbidden, "it is forbidden"), MatchError(ContainSubstring(refusal)))
		Eventually(ctx, func(ctx context.Context) error { // the API server has to compile the policy first
			return k8s.Delete(ctx, dojo, client.DryRunAll)
		}).Should(refused)
		Expect(k8s.Delete(ctx, dojo)).To(refused)
		Expect(k8s.Delete(ctx, dojo, client.PropagationPolicy("Foreground"))).To(refused)
		Expect(k8s.Delete(ctx, dojo, client.GracePeriodSeconds(0))).To(refused, "as by kubectl delete --force")
		other := newDojo(ns, "kyoto")
		Expect(k8s.Create(ctx, other)).To(Succeed())
		Expect(k8s.DeleteAllOf(ctx, &corev1api.Dojo{}, client.InNamespace(ns))).To(refused)
		Expect(k8s.Delete(ctx, other)).To(Or(Succeed(), MatchError(apierrors.IsNotFound, "it has gone")))
		Expect(refetch(dojo)(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		eventuallyReady(ctx, dojo)

		edit(ctx, dojo, protect(false))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
	})

	It("stays when its owner is deleted, until the protection is removed", func(ctx context.Context) {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
		Expect(k8s.Create(ctx, owner)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
			}
		})
		Eventually(ctx, func(ctx context.Context) error { // the API server has to compile the policy first
			return k8s.Delete(ctx, dojo, client.DryRunAll)
		}).Should(MatchError(apierrors.IsForbidden, "it is forbidden"))
		Expect(k8s.Delete(ctx, owner)).To(Succeed())
		Consistently(ctx, refetch(dojo)).Should(HaveField("DeletionTimestamp", BeNil()), "the garbage collector is refused")
		edit(ctx, dojo, protect(false))
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(dojo), &corev1api.Dojo{})
		}).WithTimeout(2*soon).Should(MatchError(apierrors.IsNotFound, "it has gone"),
			"the garbage collector should try again")
	})

	It("is still deleted when its namespace is deleted", func(ctx context.Context) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Expect(k8s.Delete(ctx, namespace)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(dojo), &corev1api.Dojo{})
		}).WithTimeout(2 * soon).Should(MatchError(apierrors.IsNotFound, "it has gone"))
	})
})
