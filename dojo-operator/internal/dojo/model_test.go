package dojo

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// history is what may happen to a Dojo, in any order: its spec and its credentials change, others add and break things, passes end halfway.
type history struct {
	*world
	dojo *corev1api.Dojo
	// added is what others have added, which stays.
	added []string
}

// Spec changes the spec.
func (h *history) Spec(t *rapid.T) {
	h.dojo.Generation++
	replicas(rapid.Int32Range(0, 5).Draw(t, "replicas"))(h.dojo)
	h.dojo.Spec.Title = drawText.Draw(t, "title")
}

// Monitoring asks to be watched, or not any more.
func (h *history) Monitoring(t *rapid.T) {
	h.dojo.Generation++
	h.dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: rapid.Bool().Draw(t, "enabled")}
}

// Rotate changes the password.
func (h *history) Rotate(t *rapid.T) {
	h.version++
	h.source = pgApp(func(s *corev1.Secret) { s.ResourceVersion = strconv.Itoa(h.version) }, key("password", rapid.StringN(1, 20, -1).Draw(t, "password")))
}

// Lose and Find take the credentials away and bring them back.
func (h *history) Lose(*rapid.T) { h.source = nil }

// Find is the end of Lose.
func (h *history) Find(t *rapid.T) {
	if h.source != nil {
		t.Skip("they are there")
	}
	h.Rotate(t)
}

// Add is what others may do, each of it once: a port cannot be there twice.
func (h *history) Add(t *rapid.T) {
	what := rapid.SampledFrom(slices.Sorted(maps.Keys(harmless()))).Draw(t, "added")
	if slices.Contains(h.added, what) {
		t.Skip("it was added")
	}
	h.added = append(h.added, what)
	h.disturb(harmless()[what])
}

// Break is what has to be put right.
func (h *history) Break(t *rapid.T) {
	h.disturb(harmful()[rapid.SampledFrom(slices.Sorted(maps.Keys(harmful()))).Draw(t, "broken")].change)
}

// disturb changes what there is; some changes need everything to be there.
func (h *history) disturb(change func(*world)) {
	if h.own == nil || h.deployment == nil || h.service == nil || h.budget == nil {
		return
	}
	change(h.world)
}

// Pass is one pass to its end; the pods then run.
func (h *history) Pass(*rapid.T) { h.passAndServe() }

// Halfway is a pass that ends somewhere in between: the operator was killed, or a write was refused.
func (h *history) Halfway(t *rapid.T) {
	s := plan(h.dojo, h.see(h.dojo), testConfig)
	s.apply, s.remove = s.apply[:rapid.IntRange(0, len(s.apply)).Draw(t, "writes")], nil
	h.carryOut(h.dojo, s)
}

func (h *history) passAndServe() *steps {
	s := h.pass(h.dojo)
	if h.deployment != nil {
		h.serve(*h.deployment.Spec.Replicas)
	}
	return s
}

// Check is what holds at every moment: pods never run without credentials, and nothing but the budget and the monitors is ever removed.
func (h *history) Check(t *rapid.T) {
	s := plan(h.dojo, h.see(h.dojo), testConfig)
	for _, old := range s.remove {
		if !slices.Contains([]string{kindBudget, "ServiceMonitor", "PrometheusRule"}, old.kind) {
			t.Fatalf("a %s is to be removed", old.kind)
		}
	}
	if h.own == nil && h.source == nil && h.deployment == nil && slices.Contains(kinds(s), kindDeployment) {
		t.Fatal("pods are started without credentials")
	}
}

// TestAnyHistoryEndsWhereAFreshStartDoes: whatever has happened, one pass is enough, and it makes of the Dojo what it would be if it were new.
func TestAnyHistoryEndsWhereAFreshStartDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{world: &world{t: t, source: pgApp(), version: 7, custom: map[string]*unstructured.Unstructured{}}, dojo: tokyo()} // 7 is that of pgApp: none comes twice
		t.Repeat(rapid.StateMachineActions(h))
		if h.source == nil {
			h.Rotate(t)
		}
		h.scaler = false
		h.passAndServe()
		if s := h.passAndServe(); s.apply != nil || s.remove != nil || s.verdict != nil {
			t.Fatalf("a second pass writes %v, removes %v, ends as %v", kinds(s), s.remove, s.verdict)
		}
		if len(h.added) > 0 {
			return
		}
		fresh := &world{t: t, source: h.source, custom: map[string]*unstructured.Unstructured{}}
		fresh.pass(h.dojo)
		same(t, fresh, h.world)
	})
}
