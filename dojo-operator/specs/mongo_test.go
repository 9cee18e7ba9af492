// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func onMongo(dojo *corev1api.Dojo) { dojo.Spec.Database = corev1api.DatabaseMongo }

func mongoSource(namespace, name, key, uri string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{key: uri},
	}
}

func mongoURI(password string) string {
	return "mongodb://geto:" + password + "@mongo-0.mongo.db.svc:27017,mongo-1.mongo.db.svc:27017/curses?replicaSet=mongo"
}

var _ = Describe("A Dojo with MongoDB", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	running := func(ctx context.Context, key, password string) *corev1api.Dojo {
		GinkgoHelper()
		Expect(k8s.Create(ctx, mongoSource(ns, "pg-app", key, mongoURI(password)))).To(Succeed())
		dojo := newDojo(ns, "tokyo", onMongo, replicas(2))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		return dojo
	}
	credentials := func(dojo *corev1api.Dojo) func(context.Context) (map[string]string, error) {
		return func(ctx context.Context) (map[string]string, error) {
			own := secretOf(dojo)
			err := k8s.Get(ctx, client.ObjectKeyFromObject(own), own)
			data := map[string]string{}
			for key, value := range own.Data {
				data[key] = string(value)
			}
			return data, err
		}
	}

	DescribeTable("gets the connection string and its parts, and replaces its pods when the string changes",
		func(ctx context.Context, key string) {
			password, rotated := newPassword(), newPassword()
			dojo := running(ctx, key, password)
			Expect(credentials(dojo)(ctx)).To(Equal(map[string]string{
				"DB_URI": mongoURI(password), "DB_ENDPOINT": "mongo-0.mongo.db.svc", "DB_PORT": "27017", "DB_NAME": "curses",
				"DB_USER": "geto", "DB_PASS": password,
			}))
			deployment := deploymentOf(dojo)
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
			Expect(deployment.Spec.Template.Spec.Containers[0].Env).To(ContainElement(
				HaveField("ValueFrom.SecretKeyRef", HaveField("Key", "DB_URI"))))
			before, err := runningPods(dojo)(ctx)
			Expect(err).NotTo(HaveOccurred())

			edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
				s.Data[key] = []byte(mongoURI(rotated))
			})
			Eventually(ctx, credentials(dojo)).Should(HaveKeyWithValue("DB_URI", mongoURI(rotated)))
			Eventually(ctx, runningPods(dojo)).Should(And(HaveLen(2), Not(ContainElement(before[0])),
				Not(ContainElement(before[1]))), "all pods should be replaced")
			eventuallyReady(ctx, dojo)
			Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal CredentialsRotated"))
		},
		Entry("in the key uri", "uri"),
		Entry("in the key that MongoDB's operator writes", "connectionString.standard"),
		Entry("in the key that Percona's operator writes", "geto_rs0_connectionString"),
	)

	It("gets a URI that the operator builds from the fields of its Secret, "+
		"and corrects drift in the copy of the Secret", func(ctx context.Context) {
		s := source(ns, "pg-app")
		delete(s.StringData, "uri")
		s.StringData["password"] += "@/?"
		Expect(k8s.Create(ctx, s)).To(Succeed())
		dojo := newDojo(ns, "tokyo", onMongo)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		want, err := credentials(dojo)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(want["DB_URI"]).To(And(HavePrefix("mongodb://app:secret-"), HaveSuffix("%40%2F%3F@pg-rw:5432/app")))
		edit(ctx, secretOf(dojo), func(s *corev1.Secret) { s.Data["DB_URI"] = []byte("mongodb://evil.example.org") })
		Eventually(ctx, credentials(dojo)).Should(Equal(want))
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal DriftCorrected"))
	})

	It("keeps its credentials and shows no password in its condition "+
		"when the Secret has a Postgres URI", func(ctx context.Context) {
		password := newPassword()
		dojo := running(ctx, "uri", password)
		before, err := credentials(dojo)(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Data["uri"] = []byte("postgresql://geto:" + password + "@pg-rw/app")
		})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsIncomplete)
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring(`under the key "uri"`), Not(ContainSubstring(password)),
			Not(ContainSubstring("pg-rw"))))
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		Consistently(ctx, credentials(dojo)).Should(Equal(before))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Database = corev1api.DatabasePostgres })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsIncomplete)
		Expect(credentials(dojo)(ctx)).To(Equal(before), "pods must not lose a variable that their Secret had")
	})

	It("reads no Secret of another namespace without the permission of the Secret's owner", func(ctx context.Context) {
		other := newNamespace(ctx)
		s := mongoSource(other, "pg-app", "uri", "mongodb://geto:"+newPassword()+"@mongo/curses")
		Expect(k8s.Create(ctx, s)).To(Succeed())
		dojo := newDojo(ns, "tokyo", onMongo, func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Namespace = other })
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotShared)
		edit(ctx, s, func(s *corev1.Secret) {
			s.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: ns}
		})
		eventuallyReady(ctx, dojo)
		Expect(credentials(dojo)(ctx)).To(And(HaveKeyWithValue("DB_ENDPOINT", "mongo."+other+".svc"),
			HaveKeyWithValue("DB_URI", HaveSuffix("@mongo."+other+".svc/curses"))))
	})

	It("is refused if spec.env has DB_URI, even if spec.database changes to Mongo only later", func(ctx context.Context) {
		withURI := func(dojo *corev1api.Dojo) { dojo.Spec.Env = []corev1.EnvVar{{Name: "DB_URI", Value: "x"}} }
		const refused = "with the database Mongo, the operator sets DB_URI: remove DB_URI from env"
		Expect(k8s.Create(ctx, newDojo(ns, "tokyo", onMongo, withURI))).To(MatchError(ContainSubstring(refused)))
		dojo := runningDojo(ctx, ns, withURI)
		onMongo(dojo)
		Expect(k8s.Update(ctx, dojo)).To(MatchError(ContainSubstring(refused)))
	})
})
