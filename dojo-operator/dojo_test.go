package main_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/testcluster/operatortest"
)

// secrets are all passwords that were ever given to a Dojo; none may show up anywhere but in Secrets.
var secrets operatortest.Secrets

func newPassword() string { return secrets.Add("secret-" + rand.Text()) }

// newNamespace makes a namespace in which only pods that pod security calls restricted may run.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "dojo-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(k8s.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		expectLawful(ctx, ns.Name)
		Expect(k8s.Delete(ctx, ns)).To(Succeed())
	})
	return ns.Name
}

// expectLawful checks what must hold of every Dojo at any time.
func expectLawful(ctx context.Context, namespace string) {
	GinkgoHelper()
	var dojos corev1api.DojoList
	Expect(k8s.List(ctx, &dojos, client.InNamespace(namespace))).To(Succeed())
	var told eventsv1.EventList
	Expect(k8s.List(ctx, &told, client.InNamespace(namespace))).To(Succeed())
	for _, d := range dojos.Items {
		is := func(kind string) bool { return meta.IsStatusConditionTrue(d.Status.Conditions, kind) }
		Expect(is("Degraded") && is("Progressing")).To(BeFalse(), "%s is Degraded and Progressing", d.Name)
		Expect(is("Ready") && (is("Degraded") || is("Progressing"))).To(BeFalse(), "%s is Ready and not settled", d.Name)
		Expect(d.Status.ObservedGeneration).To(BeNumerically("<=", d.Generation))
		for _, c := range d.Status.Conditions {
			secrets.ExpectNotIn(c.Message)
		}
	}
	for _, e := range told.Items {
		secrets.ExpectNotIn(e.Note)
	}
}

// source is a Secret as CloudNativePG writes it, without its labels.
func source(namespace, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		StringData: map[string]string{
			"host": "pg-rw", "port": "5432", "dbname": "app", "user": "app", "username": "app", "password": newPassword(),
			"uri": "postgresql://app@pg-rw:5432/app",
		},
	}
}

func newDojo(namespace, name string, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
	d := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High",
			CredentialsRef: &corev1api.SecretReference{Name: "pg-app"},
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

func replicas(n int32) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) { d.Spec.Replicas = &n }
}

// runningDojo creates a Secret and a Dojo on it and waits until it is Ready.
func runningDojo(ctx context.Context, namespace string, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
	GinkgoHelper()
	Expect(k8s.Create(ctx, source(namespace, "pg-app"))).To(Succeed())
	d := newDojo(namespace, "tokyo", change...)
	Expect(k8s.Create(ctx, d)).To(Succeed())
	eventuallyReady(ctx, d)
	return d
}

func eventuallyReady(ctx context.Context, d *corev1api.Dojo) {
	GinkgoHelper()
	Eventually(ctx, refetch(d)).Should(HaveCondition("Ready", "True", ""), "the Dojo should become Ready")
}

func eventuallyDegraded(ctx context.Context, d *corev1api.Dojo, reason string) *corev1api.Dojo {
	GinkgoHelper()
	Eventually(ctx, refetch(d)).Should(HaveCondition("Degraded", "True", reason), "the Dojo should become Degraded")
	return d
}

// refetch reads an object anew, for Eventually and Consistently.
func refetch[O client.Object](o O) func(context.Context) (O, error) {
	return func(ctx context.Context) (O, error) {
		return o, k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
}

// HaveCondition matches a Dojo whose status speaks of its present spec and has a condition with this status and, unless it is
// empty, this reason.
func HaveCondition(kind, status, reason string) types.GomegaMatcher {
	return WithTransform(func(d *corev1api.Dojo) string {
		c := meta.FindStatusCondition(d.Status.Conditions, kind)
		switch {
		case c == nil || c.ObservedGeneration != d.Generation || d.Status.ObservedGeneration != d.Generation:
			return "not told yet"
		case reason == "":
			return kind + "=" + string(c.Status)
		}
		return kind + "=" + string(c.Status) + "/" + c.Reason
	}, Equal(strings.TrimSuffix(kind+"="+status+"/"+reason, "/")))
}

func message(d *corev1api.Dojo, kind string) string {
	if c := meta.FindStatusCondition(d.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// edit changes an object as a person would and writes it.
func edit[O client.Object](ctx context.Context, o O, change func(O)) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change(o)
		return k8s.Update(ctx, o, client.FieldOwner("somebody"))
	}).Should(Succeed(), "the edit should be accepted")
}

// The children of a Dojo, empty, to be fetched.
func deploymentOf(d *corev1api.Dojo) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
}

func serviceOf(d *corev1api.Dojo) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
}

func secretOf(d *corev1api.Dojo) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-credentials"}}
}

func passwordOf(s *corev1.Secret) string { return string(s.Data["DB_PASS"]) }

// runningPods are the names of the Dojo's pods that run and stay.
func runningPods(d *corev1api.Dojo) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var pods corev1.PodList
		err := k8s.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels{"app.kubernetes.io/instance": d.Name})
		var names []string
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				names = append(names, pod.Name)
			}
		}
		return names, err
	}
}

// eventsOf are the events about an object, as "Warning CredentialsNotFound". One that was told more than once is there as often.
func eventsOf(o client.Object) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var events eventsv1.EventList
		err := k8s.List(ctx, &events, client.InNamespace(o.GetNamespace()))
		var told []string
		for _, e := range events.Items {
			if e.Regarding.UID != o.GetUID() {
				continue
			}
			times := 1
			if e.Series != nil {
				times = int(e.Series.Count)
			}
			told = append(told, slices.Repeat([]string{e.Type + " " + e.Reason}, times)...)
		}
		return told, err
	}
}
