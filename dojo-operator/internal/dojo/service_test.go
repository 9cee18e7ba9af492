package dojo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

func TestServiceReachesThePods(t *testing.T) {
	t.Parallel()
	w := settledWorld(t, tokyo())
	template := w.deployment.Spec.Template
	if !k8slabels.SelectorFromSet(w.service.Spec.Selector).Matches(k8slabels.Set(template.Labels)) {
		t.Errorf("selector %v misses the pods' labels %v", w.service.Spec.Selector, template.Labels)
	}
	if n := len(w.service.Spec.Ports); n != 1 {
		t.Fatalf("%d ports", n)
	}
	target := w.service.Spec.Ports[0].TargetPort.String()
	for _, p := range template.Spec.Containers[0].Ports {
		if p.Name == target && p.ContainerPort == 8080 && p.Protocol == corev1.ProtocolTCP {
			return
		}
	}
	t.Errorf("the container has no port %q on 8080", target)
}

func TestServiceLeavesOtherDojosAlone(t *testing.T) {
	t.Parallel()
	kyoto := tokyo()
	kyoto.Name = "kyoto"
	w := settledWorld(t, tokyo())
	budget, err := metav1.LabelSelectorAsSelector(w.budget.Spec.Selector)
	must(t, err)
	for what, s := range map[string]k8slabels.Selector{"Service": k8slabels.SelectorFromSet(w.service.Spec.Selector), "budget": budget} {
		if s.Matches(k8slabels.Set(labels(kyoto))) {
			t.Errorf("the %s of tokyo takes in the pods of kyoto", what)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	if port := settledWorld(t, tokyo()).service.Spec.Ports[0].Port; port != 80 {
		t.Errorf("the Service listens on %d", port)
	}
	if got, want := endpoint(tokyo()), "tokyo.school.svc:80"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
