// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func statusOf(o client.Object) ([]metav1.Condition, int64) {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordGroup:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordChannel:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordRole:
		return o.Status.Conditions, o.Status.ObservedGeneration
	}
	panic(fmt.Sprintf("%T has no conditions", o))
}

// HaveCondition matches a condition for the current generation. An empty reason matches any.
func HaveCondition(kind, status, reason string) types.GomegaMatcher {
	return WithTransform(func(o client.Object) string {
		conditions, observed := statusOf(o)
		c := meta.FindStatusCondition(conditions, kind)
		switch {
		case c == nil || c.ObservedGeneration != o.GetGeneration() || observed != o.GetGeneration():
			return "not observed yet"
		case reason == "" || string(c.Status) != status:
			return kind + "=" + string(c.Status)
		}
		return kind + "=" + string(c.Status) + "/" + c.Reason
	}, Equal(strings.TrimSuffix(kind+"="+status+"/"+reason, "/")))
}

func message(o client.Object, kind string) string {
	conditions, _ := statusOf(o)
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

func eventuallyReady(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		eventually(ctx, o, "Ready", "")
	}
}

func eventuallyDegraded(ctx context.Context, o client.Object, reason string) string {
	GinkgoHelper()
	return eventually(ctx, o, "Degraded", reason)
}

func eventuallyProgressing(ctx context.Context, o client.Object, reason string) string {
	GinkgoHelper()
	return eventually(ctx, o, "Progressing", reason)
}

func eventually(ctx context.Context, o client.Object, kind, reason string) string {
	GinkgoHelper()
	Eventually(ctx, refetch(o)).Should(HaveCondition(kind, "True", reason), "%T %s should be %s", o, o.GetName(), kind)
	return message(o, kind)
}

func eventuallyGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	eventuallyGoneIn(ctx, soon, objects...)
}

func eventuallyGoneIn(ctx context.Context, timeout time.Duration, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(o), o) }).
			WithTimeout(timeout).Should(MatchError(ContainSubstring("not found")), "%T %s should be deleted", o, o.GetName())
	}
}

// eventuallyCollected replaces the garbage collector, which does not run in the specs. It deletes
// each Secret after the operator has set an owner that does not exist.
func eventuallyCollected(ctx context.Context, secrets ...*corev1.Secret) {
	GinkgoHelper()
	for _, secret := range secrets {
		orphaned := func(s *corev1.Secret) (bool, error) {
			owner := metav1.GetControllerOf(s)
			if len(s.OwnerReferences) != 1 || owner.Kind != "DiscordChannel" {
				return false, nil
			}
			var c v1alpha1.DiscordChannel
			err := k8s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: owner.Name}, &c)
			return err == nil && c.UID != owner.UID, err
		}
		Eventually(ctx, refetch(secret)).Should(WithTransform(orphaned, BeTrue()),
			"Secret %s should have no owner that exists", secret.Name)
		deleteObjects(ctx, secret)
	}
}

func deleteObjects(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(k8s.Delete(ctx, o)).To(Succeed())
	}
}

func deleteAndWait(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		deleteObjects(ctx, o)
		eventuallyGone(ctx, o)
	}
}

func refetch[O client.Object](o O) func(context.Context) (O, error) {
	return func(ctx context.Context) (O, error) {
		return o, k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
}

func edit[O client.Object](ctx context.Context, o O, change func(O)) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change(o)
		return k8s.Update(ctx, o, client.FieldOwner("user"))
	}).Should(Succeed(), "the edit should be accepted")
}

func eventsOf(o client.Object) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var events eventsv1.EventList
		err := k8s.List(ctx, &events, client.InNamespace(o.GetNamespace()))
		var reasons []string
		for _, e := range events.Items {
			if e.Regarding.UID == o.GetUID() {
				reasons = append(reasons, e.Type+" "+e.Reason)
			}
		}
		return reasons, err
	}
}
