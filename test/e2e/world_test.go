// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/manifests"
)

func step(format string, args ...any) { By(fmt.Sprintf(format, args...)) }

type world struct {
	namespace string
	slowness  int // slow mode of the channel dojo-news in seconds, see changeSlowMode
}

// newWorld creates a namespace with a random suffix, because the namespace of the last run may
// still exist.
func newWorld(ctx context.Context, name string) *world {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: name + "-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	w := &world{namespace: namespace.Name}
	DeferCleanup(func(ctx SpecContext) { // the operators must still run, to remove their finalizers
		Expect(client.IgnoreNotFound(k8s.DeleteAllOf(ctx, &corev1api.Dojo{}, client.InNamespace(w.namespace)))).To(Succeed())
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, namespace))).To(Succeed())
	}, NodeTimeout(soon))
	// A new namespace accepts pods only after this ServiceAccount exists.
	account := client.ObjectKey{Namespace: w.namespace, Name: "default"}
	Eventually(ctx, func() error { return k8s.Get(ctx, account, &corev1.ServiceAccount{}) }).Should(Succeed())
	return w
}

func (w *world) apply(ctx context.Context, text string) {
	GinkgoHelper()
	Expect(w.tryApply(ctx, text)).To(Succeed())
}

func (w *world) tryApply(ctx context.Context, text string) error {
	objects, err := manifests.Parse([]byte(text))
	if err != nil {
		return err
	}
	for _, o := range objects {
		o.SetNamespace(w.namespace)
	}
	return manifests.Apply(ctx, k8s, objects)
}

func (w *world) dojo(ctx context.Context, name string) (*corev1api.Dojo, error) {
	d := &corev1api.Dojo{}
	return d, k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, d)
}

func (w *world) postgres(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("postgresql.cnpg.io/v1")
	o.SetKind(kind)
	return o, k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, o)
}

// condition returns a condition of a Dojo as "STATUS REASON: MESSAGE".
func (w *world) condition(ctx context.Context, dojo, kind string) (string, error) {
	d, err := w.dojo(ctx, dojo)
	if err != nil {
		return "", err
	}
	c := meta.FindStatusCondition(d.Status.Conditions, kind)
	if c == nil || c.ObservedGeneration != d.Generation {
		return "not reported yet", nil
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), nil
}

func (w *world) awaitReady(ctx context.Context, dojo string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return w.condition(ctx, dojo, "Ready") }).
		WithTimeout(eventually).Should(HavePrefix("True "), "condition Ready of Dojo %s", dojo)
}

func (w *world) pods(ctx context.Context, dojo string) ([]corev1.Pod, error) {
	d, err := w.dojo(ctx, dojo)
	if err != nil {
		return nil, err
	}
	selector, err := metav1.ParseToLabelSelector(d.Status.Selector)
	if err != nil {
		return nil, err
	}
	labels, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := k8s.List(ctx, &list, client.InNamespace(w.namespace),
		client.MatchingLabelsSelector{Selector: labels}); err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

type weapon struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (w *world) addWeapon(ctx context.Context, dojo, id, name string) error {
	body, err := json.Marshal(weapon{id, name})
	if err != nil {
		return err
	}
	return retry.OnError(noEndpoints, apierrors.IsServiceUnavailable, func() error {
		return typed.CoreV1().RESTClient().Post().Namespace(w.namespace).Resource("services").Name(dojo + ":http").
			SubResource("proxy").
			Suffix("weapon").Body(body).Do(ctx).Error()
	})
}

// noEndpoints is for a busy node: if the probe of a Dojo's only pod fails once, its Service has no
// endpoints until the next probe.
var noEndpoints = wait.Backoff{Duration: time.Second, Factor: 1, Steps: int(soon / time.Second)}

func (w *world) weapons(ctx context.Context, dojo string) (weapons []weapon, err error) {
	var answer []byte
	err = retry.OnError(noEndpoints, apierrors.IsServiceUnavailable, func() (err error) {
		answer, err = typed.CoreV1().RESTClient().Get().Namespace(w.namespace).Resource("services").Name(dojo + ":http").
			SubResource("proxy").
			Suffix("weapon").DoRaw(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, answer)
	}
	err = json.Unmarshal(answer, &weapons)
	return weapons, err
}

type visits struct {
	Answers   int       `json:"answers"`
	Failures  int       `json:"failures"`
	Last      string    `json:"last"`
	FailedAt  time.Time `json:"failedAt"`
	LongestMS int64     `json:"longestMs"`
}

func (w *world) visit(ctx context.Context, dojo string) {
	GinkgoHelper()
	w.visitPage(ctx, dojo, dojo, "weapon")
}

func (w *world) visitPage(ctx context.Context, dojo, name, page string, args ...string) {
	GinkgoHelper()
	url := fmt.Sprintf("http://%s.%s.svc/%s", dojo, w.namespace, page)
	w.apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: visitor-%s}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: visitor
      image: %s
      args: ["%s"]
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`, name, installed.Images[Visitor], strings.Join(append([]string{url}, args...), `", "`)))
	Eventually(ctx, func() (visits, error) { return w.visits(ctx, name) }).
		Should(HaveField("Answers", BeNumerically(">", 5)))
}

func (w *world) visits(ctx context.Context, name string) (visits, error) {
	var v visits
	answer, err := typed.CoreV1().RESTClient().Get().Namespace(w.namespace).Resource("pods").
		Name("visitor-" + name + ":8080").SubResource("proxy").DoRaw(ctx)
	if err != nil {
		return v, fmt.Errorf("%w: %s", err, answer)
	}
	err = json.Unmarshal(answer, &v)
	return v, err
}

func gone(ctx context.Context, o client.Object) error {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return client.IgnoreNotFound(err)
	}
	return errors.New(o.GetName() + " is still there")
}
