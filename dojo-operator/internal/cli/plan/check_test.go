// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
)

type answers func(Request) (answer *object, refusal error)

func (a answers) Check(_ context.Context, r Request) (bool, *object, error) {
	answer, refusal := a(r)
	return true, answer, refusal
}

func (answers) Defaults(context.Context, *object) *object { return nil }

func changed(t *testing.T, m *Model, checker Checker, change func(*corev1api.Dojo)) *Dojo {
	t.Helper()
	d, live := liveDojo(t, m)
	change(d)
	d.Generation++
	p := plannerOn(t, m, checker)
	p.Apply(live, asObject(t, d))
	return planOf(t, p, d)
}

// TestRefusalOfTheFirstApply asserts that a plan shows a refused apply as a problem. The plan keeps
// the earlier patch, which moved fields to the field manager of the apply.
func TestRefusalOfTheFirstApply(t *testing.T) {
	t.Parallel()
	m := converged(t, dojotest.Dojo(ownCluster))
	var tried []types.PatchType
	planned := changed(t, m, answers(func(r Request) (*object, error) {
		if r.Desired.GetKind() != kinds.Cluster.Kind || r.Verb != "patch" {
			return nil, nil
		}
		if r.Apply {
			tried = append(tried, types.ApplyYAMLPatchType)
		} else if tried = append(tried, r.Patch.Type()); r.Patch.Type() == types.JSONPatchType {
			return nil, nil
		}
		return nil, apierrors.NewInvalid(kinds.Cluster.GroupKind(), "tokyo-db", nil)
	}), func(d *corev1api.Dojo) {
		d.Spec.Postgres.Cluster.Parameters = map[string]corev1api.ParameterValue{"port": "1"}
	})
	if len(tried) < 2 || !slices.Equal(tried[:2], []types.PatchType{types.JSONPatchType, types.MergePatchType}) {
		t.Errorf("the API server is asked about %q", tried)
	}
	if len(planned.Problems) != 1 || !strings.HasPrefix(planned.Problems[0], corev1api.ReasonClusterRefused+": ") {
		t.Errorf("problems: %q", planned.Problems)
	}
	want := []Write{{Verb: "patch", Resource: "clusters", Name: "tokyo-db"}}
	if writes := planned.Stages[0].Writes; !slices.Equal(writes, want) {
		t.Errorf("writes: %v, want %v, the request before the apply", writes, want)
	}
}

// TestRewritten plans a change with and without an admission policy that undoes the change.
func TestRewritten(t *testing.T) {
	t.Parallel()
	m := converged(t, dojotest.Dojo())
	service := key{kinds.Service.GroupVersionKind, types.NamespacedName{Namespace: "school", Name: "tokyo"}}
	ports, _, _ := unstructured.NestedSlice(m.objects[service].Object, "spec", "ports")
	ports[0].(map[string]any)["targetPort"] = int64(8080)
	if err := unstructured.SetNestedSlice(m.objects[service].Object, ports, "spec", "ports"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer *object
		writes int
	}{
		"with the policy": {m.objects[service], 0}, "without the policy": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) { // not parallel, because the cases share the model
			planned := changed(t, m, answers(func(Request) (*object, error) { return c.answer, nil }),
				func(*corev1api.Dojo) {})
			var writes []Write
			for _, stage := range planned.Stages {
				writes = append(writes, stage.Writes...)
			}
			if len(writes) != c.writes || !planned.Ready {
				t.Errorf("writes %v, ready %t", writes, planned.Ready)
			}
		})
	}
}

// TestConflictOfTheModel asserts that a plan ignores a conflict over a made-up resource version.
func TestConflictOfTheModel(t *testing.T) {
	t.Parallel()
	m := converged(t, dojotest.Dojo(ownCluster))
	conflicts := 0
	planned := changed(t, m, answers(func(r Request) (*object, error) {
		if r.Desired.GetKind() != kinds.Database.Kind {
			return nil, nil
		}
		conflicts++
		databases := schema.GroupResource{Resource: "databases"}
		return nil, apierrors.NewConflict(databases, "tokyo-db", errors.New("another version"))
	}), withSQL)
	if conflicts == 0 || !planned.Ready || len(planned.Problems) > 0 {
		t.Errorf("%d conflicts, ready %t, problems %q, waits %q", conflicts, planned.Ready, planned.Problems, planned.Waits)
	}
}

func TestNotWatched(t *testing.T) {
	t.Parallel()
	d := dojotest.Dojo()
	p := plannerOn(t, dojotest.NewCluster(t, dojotest.Source()).Server, nil)
	p.reconciler.Config.Credentials.Namespaces = []string{"elsewhere"}
	p.Apply(nil, asObject(t, d))
	planned := planOf(t, p, d)
	if stage := planned.Stages[0]; len(stage.Changes) != 1 || len(stage.Writes) > 0 || stage.Changes[0].Kind != "Dojo" {
		t.Errorf("stage: %v", stage)
	}
	if len(planned.Problems) != 1 || !strings.Contains(planned.Problems[0], "does not watch the namespace school") {
		t.Errorf("problems: %q", planned.Problems)
	}
}

func TestChannelWithoutWebhook(t *testing.T) {
	t.Parallel()
	m := converged(t, dojotest.Dojo(inGroup))
	shared := kinds.Channel.Object()
	shared.SetNamespace("school")
	shared.SetName("all")
	shared.Object["spec"] = map[string]any{"name": "all"}
	m.conjure(kinds.Channel.GroupVersionKind, shared)
	planned := changed(t, m, nil, func(d *corev1api.Dojo) {
		d.Spec.Alerts.Discord = &corev1api.DiscordAlerts{ChannelRef: &corev1api.DiscordReference{Name: "all"}}
	})
	for _, stage := range planned.Stages {
		if len(stage.Writes) > 0 {
			t.Errorf("writes: %v", stage.Writes)
		}
	}
	if len(planned.Problems) != 1 || !strings.HasPrefix(planned.Problems[0], corev1api.ReasonChannelWithoutWebhook+": ") {
		t.Errorf("problems: %q", planned.Problems)
	}
}
