// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

type planOutcome struct {
	planReport
	Refused bool
}

// window contains the effects of a change of a Dojo, up to the next action of the spec.
type window struct {
	Refused bool
	Written []string
	// Rewritten reports whether mutating admission policies exist. They undo changes, so the
	// operator may send patches without effect.
	Rewritten bool
	// Ready and Degraded describe the end of the window. Degraded is the reason, or empty.
	Ready    bool
	Degraded string
}

// mismatches compares a plan with the operator's writes and the Dojo's state. The comment of
// planEveryChange lists the rules.
func (p planOutcome) mismatches(name string, w window) (all []string) {
	if p.Refused != w.Refused {
		return []string{fmt.Sprintf("the API server refuses the change: plan %t, apply %t", p.Refused, w.Refused)}
	}
	if p.Refused {
		return nil
	}
	hashed := p.hashed()
	planned := p.distinct(hashed)
	written := distinctWrites(w.Written, hashed)
	for _, write := range written {
		if !slices.Contains(planned, write) && (!w.Rewritten || !strings.HasPrefix(write, "patch ")) {
			all = append(all, "not planned: "+write)
		}
	}
	ready, problems := p.endOf(name)
	switch {
	case w.Ready && !ready:
		all = append(all, fmt.Sprintf("the Dojo is Ready, the plan is not: %q", problems))
	case ready && strings.HasSuffix(w.Degraded, "Refused"):
		all = append(all, "the plan is Ready, the Dojo is Degraded: "+w.Degraded)
	}
	if !p.ended(name, w) {
		return all
	}
	for _, write := range planned {
		if !slices.Contains(written, write) {
			all = append(all, "not written: "+write)
		}
	}
	return all
}

// ended reports whether the Dojo is Ready as planned, or Degraded for a planned reason.
func (r planReport) ended(name string, w window) bool {
	ready, problems := r.endOf(name)
	return ready && w.Ready || w.Degraded != "" && slices.ContainsFunc(problems,
		func(problem string) bool { return strings.HasPrefix(problem, w.Degraded+": ") })
}

func (r planReport) endOf(name string) (ready bool, problems []string) {
	for _, dojo := range r.Dojos {
		if dojo.Name == name {
			return dojo.Ready, dojo.Problems
		}
	}
	return false, nil
}

// hashed returns the planned writes with an unknown hash in the name. "*" replaces each hash.
func (r planReport) hashed() map[string]bool {
	hashed := map[string]bool{}
	for _, w := range r.writes() {
		if w.NameUnknown {
			hashed[withoutHash(w.String())] = true
		}
	}
	return hashed
}

func (r planReport) distinct(hashed map[string]bool) []string {
	planned := []string{}
	for _, w := range r.writes() {
		planned = append(planned, w.String())
	}
	return distinctWrites(planned, hashed)
}

// distinctWrites returns each write once. It leaves out writes of the status, and writes in
// unplanned.
func distinctWrites(all []string, hashed map[string]bool) (distinct []string) {
	for _, w := range all {
		if hashed[withoutHash(w)] {
			w = withoutHash(w)
		}
		if !isStatus(w) && unplanned[w] == "" {
			distinct = append(distinct, w)
		}
	}
	slices.Sort(distinct)
	return slices.Compact(distinct)
}

// manifest returns the manifest with which kubectl apply changes live into next. It sets removed
// fields to null, because kubectl apply removes only fields of earlier manifests.
func manifest(live, next map[string]any) map[string]any {
	made := map[string]any{"apiVersion": next["apiVersion"], "kind": next["kind"]}
	if spec, ok := withNulls(live["spec"], next["spec"]).(map[string]any); ok {
		made["spec"] = spec
	}
	metadata := map[string]any{}
	for _, name := range []string{"name", "namespace", "labels", "annotations", "finalizers", "ownerReferences"} {
		was, _, _ := unstructured.NestedFieldNoCopy(live, "metadata", name)
		now, _, _ := unstructured.NestedFieldNoCopy(next, "metadata", name)
		if was != nil || now != nil {
			metadata[name] = withNulls(was, now)
		}
	}
	made["metadata"] = metadata
	return runtime.DeepCopyJSON(made)
}

func withNulls(live, next any) any {
	was, _ := live.(map[string]any)
	now, ok := next.(map[string]any)
	if !ok {
		return next
	}
	made := map[string]any{}
	for name := range was {
		made[name] = nil
	}
	for name, value := range now {
		made[name] = withNulls(was[name], value)
	}
	return made
}

var _ = Describe("The comparison of a plan with the writes of the operator", func() {
	plan := func(ready bool, problems []string, writes ...plannedWrite) planOutcome {
		return planOutcome{planReport: planReport{Dojos: []plannedDojo{{
			Name: "tokyo", Ready: ready, Problems: problems, Stages: []plannedStage{{Writes: writes}},
		}}}}
	}
	create := plannedWrite{Verb: "create", Resource: "services", Name: "tokyo"}
	job := plannedWrite{Verb: "create", Resource: "jobs", Name: "tokyo-0", NameUnknown: true}
	DescribeTable("reports",
		func(_ context.Context, p planOutcome, w window, want ...string) {
			all := p.mismatches("tokyo", w)
			Expect(all).To(HaveLen(len(want)), "%q", all)
			for i := range want {
				Expect(all[i]).To(ContainSubstring(want[i]))
			}
		},
		Entry("nothing if the operator sends each planned write", plan(true, nil, create, job),
			window{Ready: true, Written: []string{"create services/tokyo", "patch dojos/tokyo/status", "create jobs/tokyo-1"}}),
		Entry("nothing for a repeated write", plan(true, nil, create),
			window{Ready: true, Written: []string{"create services/tokyo", "create services/tokyo"}}),
		Entry("no missing write before the Dojo is Ready", plan(true, nil, create), window{}),
		Entry("a Dojo that is Ready although the plan predicts that it is not",
			plan(false, nil), window{Ready: true}, "the Dojo is Ready"),
		Entry("a write that is not planned", plan(true, nil), window{Written: []string{"create services/tokyo"}},
			"not planned: create services/tokyo"),
		Entry("an unplanned create even if admission policies rewrite objects", plan(true, nil), window{Rewritten: true,
			Written: []string{"patch services/tokyo", "create services/tokyo"}}, "not planned: create services/tokyo"),
		Entry("a planned write that is missing", plan(true, nil, create), window{Ready: true},
			"not written: create services/tokyo"),
		Entry("a Job with another name than planned", plan(true, nil, plannedWrite{Verb: "create", Resource: "jobs", Name: "tokyo-0"}),
			window{Ready: true, Written: []string{"create jobs/tokyo-1"}}, "not planned: create jobs/tokyo-1",
			"not written: create jobs/tokyo-0"),
		Entry("a planned problem that does not occur", plan(false, []string{"Invalid"}), window{Ready: true},
			"the Dojo is Ready"),
		Entry("a planned write that is missing though the Dojo is Degraded as planned",
			plan(false, []string{"Invalid: x"}, create), window{Degraded: "Invalid"}, "not written: create services/tokyo"),
		Entry("no missing write if the Dojo is Degraded for an unplanned reason", plan(false, []string{"Invalid: x"}, create), window{Degraded: "Other"}),
		Entry("a child that the API server refuses although the plan predicts Ready",
			plan(true, nil, create), window{Degraded: "ChildRefused"},
			"the Dojo is Degraded: ChildRefused"),
		Entry("nothing if another controller fails", plan(true, nil, create), window{Degraded: "DatabaseFailed"}),
		Entry("nothing if the API server refuses the change, as planned", planOutcome{Refused: true}, window{Refused: true}),
		Entry("a refusal that is not planned", plan(true, nil), window{Refused: true}, "plan false, apply true"),
		Entry("a planned refusal that does not happen",
			planOutcome{Refused: true}, window{Ready: true}, "plan true, apply false"),
	)

	It("uses a manifest that sets removed fields to null", func(context.Context) {
		live := map[string]any{
			"metadata": map[string]any{"name": "tokyo", "uid": "1", "annotations": map[string]any{"a": "1"}},
			"spec": map[string]any{
				"image": "dojo:1", "exposure": map[string]any{"hosts": []any{"a"}, "ingress": map[string]any{}},
			},
			"status": map[string]any{},
		}
		next := map[string]any{
			"apiVersion": "v1", "kind": "Dojo", "metadata": map[string]any{"name": "tokyo"},
			"spec": map[string]any{"title": "Tokyo", "exposure": map[string]any{"hosts": []any{"b"}}},
		}
		Expect(manifest(live, next)).To(Equal(map[string]any{
			"apiVersion": "v1", "kind": "Dojo",
			"metadata": map[string]any{"name": "tokyo", "annotations": nil},
			"spec": map[string]any{
				"image": nil, "title": "Tokyo", "exposure": map[string]any{"hosts": []any{"b"}, "ingress": nil},
			},
		}))
	})
})
