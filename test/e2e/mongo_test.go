// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/e2e/internal/images"
)

// MongoApp is the folder of a Dojo application that uses MongoDB.
const MongoApp = "test/e2e/programs/mongo"

type mongoImages struct{ ferretDB, app string }

func (s *Stack) pushMongo(ctx context.Context, folder string) (m mongoImages, err error) {
	programs, err := images.Compile(ctx, folder, MongoApp)
	if err != nil {
		return m, err
	}
	ferretDB, err := images.CompileFerretDB(ctx, folder)
	if err != nil {
		return m, err
	}
	for into, image := range map[*string]images.Image{
		&m.ferretDB: {Name: "jutsu-e2e/ferretdb:e2e", Files: map[string]string{"/ferretdb": ferretDB},
			Entrypoint: []string{"/ferretdb"}},
		&m.app: {Name: "jutsu-e2e/mongo:e2e", Files: map[string]string{"/mongo": programs[MongoApp]},
			Entrypoint: []string{"/mongo"}},
	} {
		if *into, err = image.Push(s.Registry); err != nil {
			return m, err
		}
	}
	return m, nil
}

// FerretDB logs in to Postgres with the client's user and password (mechanism PLAIN).
const ferretDBAndPostgres = `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: dojo}
spec:
  instances: 1
  storage: {size: 1Gi}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ferretdb}
spec:
  selector: {matchLabels: {app: ferretdb}}
  template:
    metadata: {labels: {app: ferretdb}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: ferretdb
          image: %s
          env: [{name: POSTGRES_URL, value: "postgres://dojo-rw:5432/app"}]
          ports: [{name: mongo, containerPort: 27017}]
          readinessProbe: {tcpSocket: {port: mongo}, periodSeconds: 1}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: ferretdb}
spec:
  selector: {app: ferretdb}
  ports: [{name: mongo, port: 27017, targetPort: mongo}]
`

const osaka = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: osaka}
spec:
  accountId: Choso
  title: Osaka Branch
  replicas: 2
  image: %s
  database: Mongo
  credentialsRef: {name: osaka-mongo}
  probes: {readiness: {periodSeconds: 1}}
`

var _ = Describe("A Dojo on MongoDB's protocol", Label("database"), Ordered, Serial, func() {
	var w *world
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "mongo")
		pushed, err := installed.pushMongo(ctx, GinkgoT().TempDir())
		Expect(err).NotTo(HaveOccurred())
		w.apply(ctx, fmt.Sprintf(ferretDBAndPostgres, pushed.ferretDB)+"---"+fmt.Sprintf(osaka, pushed.app))
	}, NodeTimeout(installing))

	awaitWeapons := func(ctx context.Context, want ...weapon) {
		GinkgoHelper()
		Eventually(ctx, w.weapons).WithArguments("osaka").WithTimeout(eventually).Should(ConsistOf(want))
	}
	first, second := weapon{"1", "Flowing Red Scale"}, weapon{"2", "Piercing Blood"}

	It("waits for its Secret, and writes and reads data once the Secret has the connection string", func(ctx SpecContext) {
		Eventually(ctx, w.condition).WithArguments("osaka", "Progressing").WithTimeout(eventually).
			Should(HavePrefix("True " + corev1api.ReasonWaitingForCredentials))
		Eventually(ctx, w.primary).WithArguments("dojo").WithTimeout(eventually).ShouldNot(BeEmpty())
		password := w.applicationPassword(ctx)
		began := time.Now()
		w.writeMongoSecret(ctx, password)
		w.awaitReady(ctx, "osaka")
		measured("with its connection string, the Dojo on MongoDB's protocol is Ready after %s", time.Since(began))
		Expect(w.addWeapon(ctx, "osaka", first.ID, first.Name)).To(Succeed())
		awaitWeapons(ctx, first)
	}, SpecTimeout(10*time.Minute))

	It("gets new pods with the new password after a rotation, "+
		"without a failed request or lost data", func(ctx SpecContext) {
		before := w.podNames(ctx, "osaka")
		w.visit(ctx, "osaka")
		const rotated = "blood-manipulation-2026"
		secret := &corev1.Secret{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "dojo-app"}, secret)).To(Succeed())
		Expect(k8s.Patch(ctx, secret, client.RawPatch(types.MergePatchType,
			[]byte(`{"stringData":{"password":"`+rotated+`"}}`)))).To(Succeed())
		Eventually(ctx, w.mayLogIn).WithArguments(rotated).WithTimeout(eventually).
			Should(BeTrue(), "Postgres should accept the new password")
		began := time.Now()
		w.writeMongoSecret(ctx, rotated)
		Eventually(ctx, w.podsOf).WithArguments("osaka").WithTimeout(eventually).
			Should(And(HaveLen(2), Not(ContainElement(BeElementOf(before)))), "all pods are new")
		w.awaitReady(ctx, "osaka")
		visits, err := w.visits(ctx, "osaka")
		Expect(err).NotTo(HaveOccurred())
		measured("rotation with MongoDB's protocol: %s, %d of %d requests failed", time.Since(began), visits.Failures,
			visits.Failures+visits.Answers)
		Expect(visits).To(HaveField("Failures", 0), "the field Last has the last failure")
		Expect(w.addWeapon(ctx, "osaka", second.ID, second.Name)).To(Succeed())
		awaitWeapons(ctx, first, second)
	}, SpecTimeout(10*time.Minute))

	It("reads all its data after a restart of its pods, of FerretDB and of Postgres", func(ctx SpecContext) {
		began := time.Now()
		w.kill(ctx, client.MatchingLabels{"cnpg.io/cluster": "dojo"})
		w.kill(ctx, client.MatchingLabels{"app": "ferretdb"}) // the new pod logs in to Postgres again
		w.kill(ctx, client.MatchingLabels{"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "osaka"})
		awaitWeapons(ctx, first, second)
		w.awaitReady(ctx, "osaka")
		measured("all pods of the Dojo on MongoDB's protocol, of FerretDB and of Postgres killed: Ready after %s",
			time.Since(began))
	}, SpecTimeout(10*time.Minute))

	It("is Degraded if its Secret has credentials of Postgres, while its pods keep serving", func(ctx SpecContext) {
		before := w.podNames(ctx, "osaka")
		w.patch(ctx, "osaka", `{"spec":{"credentialsRef":{"name":"dojo-app"}}}`) // a Secret without the key "uri"
		Eventually(ctx, w.condition).WithArguments("osaka", "Degraded").WithTimeout(eventually).
			Should(And(HavePrefix("True "+corev1api.ReasonCredentialsIncomplete), ContainSubstring(`"uri"`)))
		awaitWeapons(ctx, first, second)
		Expect(w.podNames(ctx, "osaka")).To(ConsistOf(before...))
		w.patch(ctx, "osaka", `{"spec":{"credentialsRef":{"name":"osaka-mongo"}}}`)
		w.awaitReady(ctx, "osaka")
	}, SpecTimeout(5*time.Minute))
})

func (w *world) writeMongoSecret(ctx context.Context, password string) {
	GinkgoHelper()
	w.apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: osaka-mongo}
stringData: {uri: "mongodb://app:%s@ferretdb:27017/weaponry?authMechanism=PLAIN"}
`, password))
}

func (w *world) applicationPassword(ctx context.Context) string {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Eventually(ctx, func() error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "dojo-app"}, secret)
	}).WithTimeout(eventually).Should(Succeed())
	return string(secret.Data["password"])
}

func (w *world) mayLogIn(ctx context.Context, password string) bool {
	answer, err := w.kubectl(ctx, "exec", "-n", w.namespace, w.primary(ctx, "dojo"), "-c", "postgres", "--",
		"env", "PGPASSWORD="+password, "psql", "-XAtq", "-h", "dojo-rw", "-U", "app", "-d", "app", "-c", "SELECT 1")
	return err == nil && answer == "1"
}
