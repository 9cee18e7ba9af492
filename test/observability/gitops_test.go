// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"encoding/json"
	"errors"
	"regexp"
	"sync"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

type health struct {
	argo, kstatus, flux string
}

var (
	healthy     = health{"Healthy", "Current", "Current"}
	progressing = health{"Progressing", "InProgress", "InProgress"}
	degraded    = health{"Degraded", "InProgress", "Failed"}
	deleted     = health{"Progressing", "Terminating", "InProgress"}
)

func TestHealth(t *testing.T) {
	var (
		usable  = conditions.Usable("ReplicasReady", "3/3")
		down    = conditions.Unusable("Starting", "0/3")
		off     = conditions.NothingDesired("ScaledToZero", "0/0")
		waiting = conditions.Progressing("RollingOut", "1 of 3")
		broken  = conditions.Degraded("CrashLoopBackOff", "it keeps ending")
	)
	set := func(can conditions.Availability, failure error, changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
		d := &corev1api.Dojo{ObjectMeta: named("tokyo")}
		d.Generation, d.Status.ObservedGeneration = 2, 2
		conditions.Set(&d.Status.Conditions, 2, can, conditions.Worst(conditions.Of(failure)))
		for _, change := range changes {
			change(d)
		}
		return d
	}
	changed := func(d *corev1api.Dojo) { d.Generation = 3 }
	goes := func(d *corev1api.Dojo) {
		now := metav1.Now()
		d.DeletionTimestamp, d.Generation, d.Finalizers = &now, 3, []string{"core.jutsu.com/cleanup"}
	}
	for name, c := range map[string]struct {
		dojo  *corev1api.Dojo
		want  health
		cause string
	}{
		"new":                      {initialDojo(), progressing, "has not reconciled it yet"},
		"reconciled and usable":    {set(usable, nil), healthy, "Reconciled: "},
		"scaled to zero":           {set(off, nil), healthy, "Reconciled: "},
		"starting":                 {set(down, waiting), progressing, "RollingOut: 1 of 3"},
		"rolling out while usable": {set(usable, waiting), progressing, "RollingOut: 1 of 3"},
		"a call has failed": {set(usable, errors.New("connection refused")), progressing,
			"Retrying: connection refused"},
		"reconciled but down":         {set(down, nil), progressing, "Starting: 0/3"},
		"broken":                      {set(down, broken), degraded, "CrashLoopBackOff: it keeps ending"},
		"broken while usable":         {set(usable, broken), degraded, "CrashLoopBackOff: it keeps ending"},
		"a new spec":                  {set(usable, nil, changed), progressing, "has not reconciled this generation yet"},
		"a new spec of a broken Dojo": {set(usable, broken, changed), progressing, "has not reconciled this generation yet"},
		"being deleted":               {set(usable, nil, goes), deleted, "Pending deletion"},
		"cannot be deleted":           {set(usable, broken, goes), deleted, "Pending deletion"},
	} {
		t.Run(name, func(t *testing.T) {
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.dojo)
			must(t, err)
			o := &unstructured.Unstructured{Object: object}
			o.SetGroupVersionKind(kinds[0])
			got, message := healthOf(t, o)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(health{})); diff != "" {
				t.Error(diff)
			}
			NewWithT(t).Expect(message).To(ContainSubstring(c.cause))
		})
	}
}

// initialDojo returns a Dojo with the default status of the schema. TestLive checks this status.
func initialDojo() *corev1api.Dojo {
	d := &corev1api.Dojo{ObjectMeta: named("tokyo")}
	d.Generation, d.Status.ObservedGeneration = 1, -1
	return d
}

// Objects that no operator has seen are progressing. The test creates objects by a dry run, so that
// no operator sees them.
func (s *stage) newObjectsAreNotCurrent(t *testing.T) {
	for _, o := range s.objects(t) {
		created := o.DeepCopy()
		unstructured.RemoveNestedField(created.Object, "status")
		created.SetResourceVersion("")
		created.SetName("new-" + o.GetName())
		must(t, s.Admin.Create(t.Context(), created, client.DryRunAll))
		got, _ := healthOf(t, created)
		if diff := cmp.Diff(progressing, got, cmp.AllowUnexported(health{})); diff != "" {
			t.Errorf("a new %s:\n%s", o.GetKind(), diff)
		}
	}
}

func healthOf(t *testing.T, o *unstructured.Unstructured) (h health, message string) {
	t.Helper()
	h.argo, message = argoHealth(t, o)
	result, err := status.Compute(o)
	must(t, err)
	h.kstatus = string(result.Status)
	h.flux = fluxHealth(t, o)
	return h, message
}

var argoCD = sync.OnceValues(func() ([]*unstructured.Unstructured, error) {
	path, err := project.Path("deploy/argocd")
	if err != nil {
		return nil, err
	}
	return manifests.Render(path)
})

// argoHealth runs the deployed Lua script with the libraries that Argo CD opens.
func argoHealth(t *testing.T, o *unstructured.Unstructured) (state, message string) {
	t.Helper()
	if o.GetDeletionTimestamp() != nil { // as GetResourceHealth of Argo CD's gitops-engine
		return "Progressing", "Pending deletion"
	}
	kind := o.GroupVersionKind()
	scripts, err := argoCD()
	must(t, err)
	script, found, err := unstructured.NestedString(scripts[0].Object, "data",
		"resource.customizations.health."+kind.Group+"_"+kind.Kind)
	must(t, err)
	if !found {
		t.Fatalf("deploy/argocd has no script for %s", kind.Kind)
	}
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase,
		lua.TabLibName: lua.OpenTable} {
		must(t, vm.CallByParam(lua.P{Fn: vm.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	var plain any // JSON makes all numbers floats
	text, err := json.Marshal(o.Object)
	must(t, err)
	must(t, json.Unmarshal(text, &plain))
	vm.SetGlobal("obj", toLua(vm, plain))
	must(t, vm.DoString(script))
	answer, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %v", vm.Get(-1))
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

func toLua(vm *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := vm.NewTable()
		for key, one := range value {
			table.RawSetString(key, toLua(vm, one))
		}
		return table
	case []any:
		table := vm.NewTable()
		for _, one := range value {
			table.Append(toLua(vm, one))
		}
		return table
	case string:
		return lua.LString(value)
	case float64:
		return lua.LNumber(value)
	case bool:
		return lua.LBool(value)
	}
	return lua.LNil
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// See https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions.
// fluxHealth takes an expression as false if the evaluation fails.
func fluxHealth(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ APIVersion, Kind, Current, Failed string }
		}
	}
	must(t, yaml.Unmarshal([]byte(yamlBlock.FindStringSubmatch(read(t, "docs/do/gitops.md"))[1]), &kustomization))
	for _, exprs := range kustomization.Spec.HealthCheckExprs {
		if exprs.APIVersion != o.GetAPIVersion() || exprs.Kind != o.GetKind() {
			continue
		}
		switch {
		case holds(t, exprs.Failed, o):
			return "Failed"
		case holds(t, exprs.Current, o):
			return "Current"
		}
		return "InProgress"
	}
	t.Fatalf("docs/do/gitops.md has no expressions for %s", o.GetKind())
	return ""
}

func holds(t *testing.T, expr string, o *unstructured.Unstructured) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("status", cel.DynType))
	must(t, err)
	ast, issues := env.Compile(expr)
	must(t, issues.Err())
	program, err := env.Program(ast)
	must(t, err)
	answer, _, err := program.Eval(o.Object)
	return err == nil && answer.Value() == true
}

func (s *stage) gitOpsHealth(t *testing.T) {
	for _, o := range s.objects(t) {
		want := healthy
		switch o.GetName() {
		case "kyoto-jujutsu-high":
			want = degraded
		case "sendai-alerts":
			want = progressing
		}
		got, message := healthOf(t, &o)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(health{})); diff != "" {
			t.Errorf("%s %s (%s):\n%s", o.GetKind(), o.GetName(), message, diff)
		}
	}
}

func (s *stage) argoCDConfig(t *testing.T) {
	config := &corev1.ConfigMap{}
	config.Namespace, config.Name = "argocd", "argocd-cm"
	config.Data = map[string]string{"url": "https://argocd.example.invalid"}
	namespace := &corev1.Namespace{}
	namespace.Name = config.Namespace
	must(t, s.Admin.Create(t.Context(), namespace))
	must(t, s.Admin.Create(t.Context(), config))
	must(t, manifests.Apply(t.Context(), s.Admin, render(t, "deploy/argocd")))
	must(t, s.Admin.Get(t.Context(), client.ObjectKeyFromObject(config), config))
	NewWithT(t).Expect(config.Data).
		To(And(HaveLen(1+len(kinds)), HaveKeyWithValue("url", "https://argocd.example.invalid")))
}
