// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/test/e2e/internal/images"
)

// Debian 12 and its security updates have two minor versions of Postgres 15.
var _ = Describe("A minor version of Postgres", Label("database"), Ordered, Serial, func() {
	var w *world
	var former, newer string
	BeforeAll(func(ctx SpecContext) {
		former = pushMinor(ctx, "15.1", images.PostgresArchive)
		newer = pushMinor(ctx, "15.2", images.MinorPostgresArchive)
		w = newWorld(ctx, "minor")
		offerMinor(ctx, w, former)
		DeferCleanup(func(ctx SpecContext) { offerMinor(ctx, w, "15") })
		Eventually(ctx, func(ctx context.Context) string {
			return w.kubectl(ctx, "exec", "-n", "dojo-system", "deploy/dojo-operator", "--", "true")
		})
		w.apply(ctx, `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: hakone}
spec:
  accountId: Atsuya Kusakabe
  title: Simple Domain
  replicas: 2
  postgres:
    cluster: {version: "15", instances: 3, storage: {size: 1Gi}}
    reclaimPolicy: Delete
`)
		w.awaitReady(ctx, "hakone")
		Expect(w.addWeapon(ctx, "hakone", "1", "Katana")).To(Succeed())
	}, NodeTimeout(20*time.Minute))
})
