// SPDX-License-Identifier: Apache-2.0

// Package dojotest has a Dojo and a simulated API server, for the tests of several packages.
package dojotest

import (
	"context"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Noon is the default time in tests.
var Noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Scheme has the types of all kinds that the operator reads.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1api.AddToScheme, clientgoscheme.AddToScheme, cnpgv1.AddToScheme, discordv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// Dojo returns the Dojo school/tokyo with the fields that the API server sets, such as the UID.
func Dojo(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	dojo := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", UID: "uid of tokyo", Generation: 3},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High", Replicas: ptr.To[int32](3),
			Database:       corev1api.DatabasePostgres,
			CredentialsRef: &corev1api.SecretReference{Name: "pg-app"},
		},
	}
	for _, change := range changes {
		change(dojo)
	}
	return dojo
}

// Named gives the Dojo a name and another UID.
func Named(name string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Name, dojo.UID = name, "uid of "+dojo.UID }
}

// Replicas sets the number of replicas.
func Replicas(n int32) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Replicas = &n }
}

// WaitingFor adds a wait for the object to status.waitingFor. The wait started at [Noon] minus ago.
func WaitingFor(object string, ago time.Duration) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		wait := corev1api.Wait{Object: object, Since: metav1.NewTime(Noon.Add(-ago))}
		dojo.Status.WaitingFor = append(dojo.Status.WaitingFor, wait)
	}
}

// Source returns the Secret school/pg-app with the credentials to which the Dojo refers.
func Source(changes ...func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "pg-app", UID: "uid of pg-app", ResourceVersion: "7"},
		Data: map[string][]byte{
			"host": []byte("pg-rw"), "port": []byte("5432"), "dbname": []byte("app"), "user": []byte("yaga"),
			"password": []byte("hollow purple"),
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// Metadata returns the metadata of a Secret, as the cache has it. It returns nil for nil.
func Metadata(secret *corev1.Secret) *metav1.PartialObjectMetadata {
	if secret == nil {
		return nil
	}
	m := apply.Metadata("v1", "Secret")
	m.ObjectMeta = *secret.ObjectMeta.DeepCopy()
	return m
}

// Cluster is a simulated API server with an Applier that writes as the operator does.
type Cluster struct {
	*applytest.Server
	*apply.Applier
	t TB
}

// TB has the methods that testing.T and rapid.T share.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// NewCluster returns a Cluster in which a user has created the objects.
func NewCluster(t TB, objects ...client.Object) *Cluster {
	t.Helper()
	clock := testclock.NewFakePassiveClock(Noon)
	server := applytest.New(Scheme, clock)
	c := &Cluster{Server: server, t: t, Applier: apply.New(server, ownership.FieldOwner, apply.Reasons{
		Refused: corev1api.ReasonChildRefused, NamespaceTerminating: corev1api.ReasonNamespaceTerminating,
		NameConflict: corev1api.ReasonNameConflict,
	}, clock)}
	for _, o := range objects {
		c.Put(o)
	}
	return c
}

// Put creates an object as a user would.
func (c *Cluster) Put(o client.Object) {
	c.t.Helper()
	o.SetResourceVersion("")
	if err := c.Create(context.Background(), o, client.FieldOwner("kubectl")); err != nil {
		c.t.Fatal(err)
	}
}

// Reader returns a reader for a reconcile of the Dojo. The cache always has the latest objects.
func (c *Cluster) Reader(dojo *corev1api.Dojo) apply.Reader {
	none := expectations.NewSet(testclock.NewFakePassiveClock(Noon))
	return apply.Reader{Cache: c.Server, Live: c.Server, Expectations: none, Unchanged: c.Unchanged(dojo.UID)}
}

// Do applies a plan. The test fails if a write fails.
func (c *Cluster) Do(dojo *corev1api.Dojo, plan apply.Plan) {
	c.t.Helper()
	if results := c.Run(context.Background(), dojo, plan); len(results.Issues) > 0 || results.Stale {
		c.t.Fatalf("results are %+v", results)
	}
}

// Kinds returns the kinds of the objects that a plan writes, in the order of the writes.
func Kinds(plan apply.Plan) []string {
	var kinds []string
	for _, o := range plan.Apply {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// Deleted returns the objects that a plan deletes, each as KIND/NAME.
func Deleted(plan apply.Plan) []string {
	var all []string
	for _, old := range plan.Delete {
		all = append(all, old.Kind+"/"+old.Name)
	}
	return all
}

// Worst returns the type and reason of the most severe issue, or "".
func Worst(issues []conditions.Issue) string {
	worst := conditions.Worst(issues)
	if worst == nil {
		return ""
	}
	return worst.Type + "/" + worst.Reason
}
