// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

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
	"jutsu.com/operators/test/environment/spec"
)

// secrets contains all passwords of the specs. Only Secrets may contain them.
var secrets spec.Secrets

func newPassword() string { return secrets.Add("secret-" + rand.Text()) }

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "dojo-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(k8s.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		expectLawful(ctx, ns.Name)
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, ns))).To(Succeed(), "a spec may have deleted it")
	})
	return ns.Name
}

func expectLawful(ctx context.Context, namespace string) {
	GinkgoHelper()
	var dojos corev1api.DojoList
	Expect(k8s.List(ctx, &dojos, client.InNamespace(namespace))).To(Succeed())
	var events eventsv1.EventList
	Expect(k8s.List(ctx, &events, client.InNamespace(namespace))).To(Succeed())
	for _, dojo := range dojos.Items {
		is := func(kind string) bool { return meta.IsStatusConditionTrue(dojo.Status.Conditions, kind) }
		Expect(is("Degraded") && is("Progressing")).To(BeFalse(), "%s is Degraded and Progressing", dojo.Name)
		Expect(is("Ready") && (is("Degraded") || is("Progressing"))).
			To(BeFalse(), "%s is Ready, and Degraded or Progressing", dojo.Name)
		Expect(dojo.Status.ObservedGeneration).To(BeNumerically("<=", dojo.Generation))
		for _, condition := range dojo.Status.Conditions {
			secrets.ExpectNotIn(condition.Message)
		}
	}
	for _, e := range events.Items {
		secrets.ExpectNotIn(e.Note)
	}
}

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
	dojo := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High",
			CredentialsRef: &corev1api.SecretReference{Name: "pg-app"},
		},
	}
	for _, f := range change {
		f(dojo)
	}
	return dojo
}

func replicas(n int32) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Replicas = &n }
}

func runningDojo(ctx context.Context, namespace string, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
	GinkgoHelper()
	Expect(k8s.Create(ctx, source(namespace, "pg-app"))).To(Succeed())
	dojo := newDojo(namespace, "tokyo", change...)
	Expect(k8s.Create(ctx, dojo)).To(Succeed())
	eventuallyReady(ctx, dojo)
	return dojo
}

// untilReady is long, because a Dojo with all options needs 34 s on a core with other processes.
const untilReady = 2 * time.Minute

func eventuallyReady(ctx context.Context, dojo *corev1api.Dojo) {
	GinkgoHelper()
	Eventually(ctx, refetch(dojo)).WithTimeout(untilReady).
		Should(HaveCondition("Ready", "True", ""), "the Dojo should become Ready")
}

func eventuallyDegraded(ctx context.Context, dojo *corev1api.Dojo, reason string) *corev1api.Dojo {
	GinkgoHelper()
	Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", reason), "the Dojo should become Degraded")
	return dojo
}

func eventuallyGone(ctx context.Context, o client.Object, explanation ...any) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(o), o) }).
		ShouldNot(Succeed(), explanation...)
}

func refetch[O client.Object](o O) func(context.Context) (O, error) {
	return func(ctx context.Context) (O, error) {
		return o, k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
}

// HaveCondition matches a condition for the current generation. An empty reason matches any.
func HaveCondition(kind, status, reason string) types.GomegaMatcher {
	return WithTransform(func(dojo *corev1api.Dojo) string {
		condition := meta.FindStatusCondition(dojo.Status.Conditions, kind)
		switch {
		case condition == nil || condition.ObservedGeneration != dojo.Generation,
			dojo.Status.ObservedGeneration != dojo.Generation:
			return "not reported yet"
		case reason == "":
			return kind + "=" + string(condition.Status)
		}
		return kind + "=" + string(condition.Status) + "/" + condition.Reason
	}, Equal(strings.TrimSuffix(kind+"="+status+"/"+reason, "/")))
}

func message(dojo *corev1api.Dojo, kind string) string {
	if condition := meta.FindStatusCondition(dojo.Status.Conditions, kind); condition != nil {
		return condition.Message
	}
	return ""
}

func reason(dojo *corev1api.Dojo, kind string) string {
	if condition := meta.FindStatusCondition(dojo.Status.Conditions, kind); condition != nil {
		return condition.Reason
	}
	return ""
}

func haveMessage(kind string, matcher types.GomegaMatcher) types.GomegaMatcher {
	return WithTransform(func(dojo *corev1api.Dojo) string { return message(dojo, kind) }, matcher)
}

func edit[O client.Object](ctx context.Context, o O, change func(O)) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change(o)
		return k8s.Update(ctx, o, client.FieldOwner("another-client"))
	}).Should(Succeed(), "the edit should be accepted")
}

func deploymentOf(dojo *corev1api.Dojo) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name}}
}

func serviceOf(dojo *corev1api.Dojo) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name}}
}

func secretOf(dojo *corev1api.Dojo) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name + "-credentials"}}
}

func passwordOf(s *corev1.Secret) string { return string(s.Data["DB_PASS"]) }

func runningPods(dojo *corev1api.Dojo) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var pods corev1.PodList
		err := k8s.List(ctx, &pods, client.InNamespace(dojo.Namespace),
			client.MatchingLabels{"app.kubernetes.io/instance": dojo.Name})
		var names []string
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				names = append(names, pod.Name)
			}
		}
		return names, err
	}
}

// eventsOf lists the events about an object. An event with n occurrences is n times in the list.
func eventsOf(o client.Object) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var events eventsv1.EventList
		err := k8s.List(ctx, &events, client.InNamespace(o.GetNamespace()))
		var recorded []string
		for _, e := range events.Items {
			if e.Regarding.UID != o.GetUID() {
				continue
			}
			times := 1
			if e.Series != nil {
				times = int(e.Series.Count)
			}
			recorded = append(recorded, slices.Repeat([]string{e.Type + " " + e.Reason}, times)...)
		}
		return recorded, err
	}
}
