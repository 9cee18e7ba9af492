package specs_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// statusOf returns the conditions of an object of one of the three kinds, and of which generation its status speaks.
func statusOf(o client.Object) ([]metav1.Condition, int64) {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordGroup:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordChannel:
		return o.Status.Conditions, o.Status.ObservedGeneration
	}
	panic(fmt.Sprintf("%T has no conditions", o))
}

// HaveCondition matches an object whose status speaks of its present spec and has a condition with this status and, unless it is
// empty, this reason.
func HaveCondition(kind, status, reason string) types.GomegaMatcher {
	return WithTransform(func(o client.Object) string {
		conditions, observed := statusOf(o)
		c := meta.FindStatusCondition(conditions, kind)
		switch {
		case c == nil || c.ObservedGeneration != o.GetGeneration() || observed != o.GetGeneration():
			return "not told yet"
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

func eventuallyReady(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Eventually(ctx, refetch(o)).Should(HaveCondition("Ready", "True", ""), "%T %s should become Ready", o, o.GetName())
}

// eventuallyDegraded waits until an object is Degraded for a reason, and returns the message.
func eventuallyDegraded(ctx context.Context, o client.Object, reason string) string {
	GinkgoHelper()
	Eventually(ctx, refetch(o)).Should(HaveCondition("Degraded", "True", reason), "%T %s should become Degraded", o, o.GetName())
	return message(o, "Degraded")
}

// eventuallyProgressing waits until an object is Progressing for a reason, and returns the message.
func eventuallyProgressing(ctx context.Context, o client.Object, reason string) string {
	GinkgoHelper()
	Eventually(ctx, refetch(o)).Should(HaveCondition("Progressing", "True", reason), "%T %s should be Progressing", o, o.GetName())
	return message(o, "Progressing")
}

func eventuallyGone(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(o), o) }).
		Should(MatchError(ContainSubstring("not found")), "%T %s should go", o, o.GetName())
}

// refetch reads an object anew, for Eventually and Consistently.
func refetch[O client.Object](o O) func(context.Context) (O, error) {
	return func(ctx context.Context) (O, error) {
		return o, k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
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

// eventsOf are the events about an object, as "Warning TokenNotFound".
func eventsOf(o client.Object) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var events eventsv1.EventList
		err := k8s.List(ctx, &events, client.InNamespace(o.GetNamespace()))
		var told []string
		for _, e := range events.Items {
			if e.Regarding.UID == o.GetUID() {
				told = append(told, e.Type+" "+e.Reason)
			}
		}
		return told, err
	}
}
