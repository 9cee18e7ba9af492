// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func protect(o client.Object, protected bool) {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		o.Spec.DeletionProtection = protected
	case *v1alpha1.DiscordGroup:
		o.Spec.DeletionProtection = protected
	}
}

var _ = Describe("An object with spec.deletionProtection", func() {
	var w *world
	var protected client.Object
	begin := func(ctx context.Context, of func(*world) client.Object) {
		GinkgoHelper()
		w = newWorld(ctx)
		protected = of(w)
		protect(protected, true)
		create(ctx, protected)
		DeferCleanup(func(ctx context.Context) { // even if the spec has failed
			lift := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletionProtection":false}}`))
			Expect(client.IgnoreNotFound(k8s.Patch(ctx, protected, lift))).To(Succeed())
		})
	}
	server := func(w *world) client.Object { return w.server() }
	group := func(w *world) client.Object { return w.group("alerts") }

	DescribeTable("cannot be deleted, not even by kubectl delete --force, until a user removes the protection",
		func(ctx context.Context, kind string, of func(*world) client.Object) {
			begin(ctx, of)
			name := protected.GetName()
			refusal := fmt.Sprintf("The %s %s/%s is protected by spec.deletionProtection. Remove that protection first: "+
				`kubectl patch %s %[3]s -n %[2]s --type=merge -p '{"spec":{"deletionProtection":false}}'`,
				kind, w.ns, name, strings.ToLower(kind)+"s.discord.jutsu.com")
			refused := And(MatchError(apierrors.IsForbidden, "it is forbidden"), MatchError(ContainSubstring(refusal)))
			Eventually(ctx, func(ctx context.Context) error { // the API server must compile the ValidatingAdmissionPolicy first
				return k8s.Delete(ctx, protected, client.DryRunAll)
			}).Should(refused)
			Expect(k8s.Delete(ctx, protected)).To(refused)
			Expect(k8s.Delete(ctx, protected, client.PropagationPolicy("Foreground"))).To(refused)
			Expect(k8s.Delete(ctx, protected, client.GracePeriodSeconds(0))).To(refused, "as by kubectl delete --force")
			Expect(k8s.DeleteAllOf(ctx, protected, client.InNamespace(w.ns))).To(refused)
			Expect(refetch(protected)(ctx)).To(HaveField("ObjectMeta.DeletionTimestamp", BeNil()))
			edit(ctx, protected, func(o client.Object) { protect(o, false) })
			deleteAndWait(ctx, protected)
		},
		Entry("a server", "DiscordServer", server),
		Entry("a group", "DiscordGroup", group),
	)

	It("can be deleted once its namespace is being deleted", func(ctx context.Context) {
		begin(ctx, server)
		Eventually(ctx, func(ctx context.Context) error { // the API server must compile the ValidatingAdmissionPolicy first
			return k8s.Delete(ctx, protected, client.DryRunAll)
		}).Should(MatchError(apierrors.IsForbidden, "it is forbidden"))
		Expect(k8s.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Delete(ctx, protected, client.DryRunAll)
		}).Should(Or(Succeed(), MatchError(apierrors.IsNotFound, "it has gone")))
	})
})
