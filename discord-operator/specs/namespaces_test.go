// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("--watch-namespaces", func() {
	It("makes the operator reconcile only the objects of the named namespaces", func(ctx context.Context) {
		here, elsewhere := newWorld(ctx), newWorld(ctx)
		operator.Restart(ctx, "--watch-namespaces="+here.ns)
		ignored := elsewhere.server()
		create(ctx, ignored)
		ready(ctx, here.server(), here.channel("", "tokyo"))
		Expect(refetch(ignored)(ctx)).To(HaveField("Status.Conditions", BeEmpty()), "its namespace is not watched")
		Expect(elsewhere.calls()).To(BeEmpty())
	})
})
