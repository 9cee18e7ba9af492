// SPDX-License-Identifier: Apache-2.0

package sizes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func dojoOf(cluster corev1api.PostgresCluster) *corev1api.Dojo {
	return &corev1api.Dojo{Spec: corev1api.DojoSpec{Postgres: &corev1api.Postgres{Cluster: &cluster}}}
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func TestResolve(t *testing.T) {
	t.Parallel()
	presets := Parse(map[string][]byte{
		"Bare": []byte("{instances: 2, storage: 3Gi}"),
		"Full": []byte("{instances: 3, cpu: 2, memory: 4Gi, storage: 30Gi, parameters: {a: x, b: q}}"),
	})
	limits := &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: quantity("1Gi")}}
	cases := map[string]struct{ cluster, want corev1api.PostgresCluster }{
		"no size": {corev1api.PostgresCluster{Instances: new(int32(1))}, corev1api.PostgresCluster{Instances: new(int32(1))}},
		"preset without optional fields": {corev1api.PostgresCluster{Size: "Bare"}, corev1api.PostgresCluster{
			Size: "Bare", Instances: new(int32(2)), Storage: corev1api.PostgresStorage{Size: quantity("3Gi")},
			Resources: &corev1.ResourceRequirements{}, Parameters: map[string]corev1api.ParameterValue{},
		}},
		"preset with all fields": {corev1api.PostgresCluster{Size: "Full"}, corev1api.PostgresCluster{
			Size: "Full", Instances: new(int32(3)), Storage: corev1api.PostgresStorage{Size: quantity("30Gi")},
			Resources: &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: quantity("2"), corev1.ResourceMemory: quantity("4Gi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: quantity("4Gi")},
			},
			Parameters: map[string]corev1api.ParameterValue{"a": "x", "b": "q"},
		}},
		"fields of the spec override the preset": {
			corev1api.PostgresCluster{
				Size: "Full", Instances: new(int32(1)), Resources: limits,
				Storage:    corev1api.PostgresStorage{Size: quantity("1Gi"), StorageClassName: "fast"},
				Parameters: map[string]corev1api.ParameterValue{"b": "z", "c": "w"},
			},
			corev1api.PostgresCluster{
				Size: "Full", Instances: new(int32(1)), Resources: limits,
				Storage:    corev1api.PostgresStorage{Size: quantity("1Gi"), StorageClassName: "fast"},
				Parameters: map[string]corev1api.ParameterValue{"a": "x", "b": "z", "c": "w"},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojoOf(c.cluster)
			before := dojo.DeepCopy()
			got, issue := Resolve(dojo, presets)
			if issue != nil {
				t.Fatal(issue)
			}
			if diff := cmp.Diff(&c.want, got.Spec.Postgres.Cluster); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, dojo); diff != "" {
				t.Error("the cached Dojo is changed", diff)
			}
		})
	}
}

func TestBuiltInSizes(t *testing.T) {
	t.Parallel()
	for _, files := range []map[string][]byte{nil, {}} {
		presets := Parse(files)
		for _, name := range []string{"Small", "Medium", "Large"} {
			p, known := presets[name]
			if !known || p.problem(name) != "" {
				t.Errorf("%s: %v, %s", name, known, p.problem(name))
			}
		}
	}
}

func TestUnusableSizes(t *testing.T) {
	t.Parallel()
	const good = "instances: 1, storage: 1Gi"
	cases := map[string]struct{ name, text, want string }{
		"not defined":                   {"Other", "{" + good + "}", "The platform does not define the size Mine of spec.postgres.cluster.size"},
		"invalid YAML":                  {"Mine", "{", "not valid"},
		"unknown field":                 {"Mine", "{" + good + ", ram: 1Gi}", `unknown field "ram"`},
		"no instances":                  {"Mine", "{storage: 1Gi}", "instances must be from 1 to 9"},
		"ten instances":                 {"Mine", "{instances: 10, storage: 1Gi}", "instances must be from 1 to 9"},
		"no storage":                    {"Mine", "{instances: 1}", "storage must be greater than 0"},
		"storage is not a quantity":     {"Mine", "{instances: 1, storage: much}", "not valid"},
		"negative memory":               {"Mine", "{" + good + ", memory: -1}", "must not be negative"},
		"invalid name of a parameter":   {"Mine", "{" + good + `, parameters: {"A B": x}}`, `"A B" is not a valid name`},
		"value of a parameter too long": {"Mine", "{" + good + ", parameters: {a: " + strings.Repeat("x", 257) + "}}", "more than 256"},
		"a long error is shortened":     {"Mine", "{" + strings.Repeat("x", 900) + ": 1}", "..."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojoOf(corev1api.PostgresCluster{Size: "Mine"})
			got, issue := Resolve(dojo, Parse(map[string][]byte{c.name: []byte(c.text)}))
			if issue == nil || !issue.IsDegraded() || issue.Reason != corev1api.ReasonUnknownSize ||
				!strings.Contains(issue.Message, c.want) || len(issue.Message) > 600 {
				t.Fatalf("got %v", issue)
			}
			if strings.Contains(issue.Message, "Use one of the sizes Mine") {
				t.Errorf("the advice is an invalid size: %s", issue.Message)
			}
			if got != dojo {
				t.Error("the Dojo is changed")
			}
		})
	}
}

func TestInvalidNamesAreUnusable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"-x", "x-", "1", "a_b", strings.Repeat("x", 64)} {
		p := Parse(map[string][]byte{name: []byte("{instances: 1, storage: 1Gi}")})[name]
		if p.invalid == "" {
			t.Errorf("%q is a usable size", name)
		}
	}
}

func TestAdviceNamesUsableSizes(t *testing.T) {
	t.Parallel()
	many := Presets{"Broken": {invalid: "x"}}
	for _, c := range "abcdefghijkl" {
		many[string(c)] = Preset{}
	}
	for name, c := range map[string]struct {
		presets Presets
		want    string
	}{
		"built-in":    {BuiltIn(), "Use one of the sizes Large, Medium, Small"},
		"one invalid": {Presets{"Big": {invalid: "x"}, "Tiny": {}}, "Use one of the sizes Tiny"},
		"all invalid": {Presets{"Big": {invalid: "x"}}, "Ask the platform team to define it"},
		"many":        {many, "Use one of the sizes a, b, c, d, e, f, g, h, i, j, ..."},
	} {
		if got := c.presets.advice(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
