// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// rule is a part (text) of a field's CEL rule; at is the field's path. The CEL rule limits this
// field or a nested field, whose Kubernetes type sets no limit in the schema.
type rule struct{ at, text string }

func resourceRules(at string) map[string]rule {
	return map[string]rule{
		at + ".limits":           {at, "size(self.limits) <= 16"},
		at + ".limits{}":         {at, "(type(self.limits[key]) == int || size(self.limits[key]) <= 64)"},
		at + ".requests":         {at, "size(self.requests) <= 16"},
		at + ".requests{}":       {at, "(type(self.requests[key]) == int || size(self.requests[key]) <= 64)"},
		at + ".claims":           {at, "size(self.claims) <= 16"},
		at + ".claims[].name":    {at, "size(c.name) <= 317"},
		at + ".claims[].request": {at, "size(c.?request.orValue('')) <= 317"},
	}
}

func labelRule(at string, name, value int) map[string]rule {
	text := fmt.Sprintf("self.all(key, size(key) <= %d && size(self[key]) <= %d)", name, value)
	return map[string]rule{at + "{}": {at, text}}
}

func itemRules(at, item string, most int, optional, required []string) map[string]rule {
	rules := map[string]rule{}
	for _, field := range optional {
		rules[at+"[]."+field] = rule{at, fmt.Sprintf("size(%s.?%s.orValue('')) <= %d",
			item, strings.ReplaceAll(field, ".", ".?"), most)}
	}
	for _, field := range required {
		rules[at+"[]."+field] = rule{at, fmt.Sprintf("size(%s.%s) <= %d", item, field, most)}
	}
	return rules
}

// ruled maps each kind to the fields that only CEL rules limit, and to these rules.
var ruled = map[string][]map[string]rule{
	"Dojo": {
		resourceRules(".spec.resources"), resourceRules(".spec.postgres.cluster.resources"),
		labelRule(".spec.nodeSelector", 317, 63), labelRule(".spec.podAnnotations", 317, 4096),
		labelRule(".spec.monitoring.labels", 317, 63), labelRule(".spec.exposure.ingress.annotations", 317, 4096),
		labelRule(".spec.postgres.cluster.backup.plugin.parameters", 253, 4096),
		labelRule(".spec.postgres.cluster.bootstrap.recovery.objectStore.plugin.parameters", 253, 4096),
		itemRules(".spec.imagePullSecrets", "s", 253, nil, []string{"name"}),
		itemRules(".spec.env", "e", 8192, []string{"value"}, nil),
		itemRules(".spec.env", "e", 253, nil, []string{"name"}),
		itemRules(".spec.env", "e", 512, []string{
			"valueFrom.configMapKeyRef.key", "valueFrom.configMapKeyRef.name", "valueFrom.fieldRef.apiVersion",
			"valueFrom.fieldRef.fieldPath", "valueFrom.fileKeyRef.key", "valueFrom.fileKeyRef.path",
			"valueFrom.fileKeyRef.volumeName", "valueFrom.resourceFieldRef.containerName",
			"valueFrom.resourceFieldRef.resource", "valueFrom.secretKeyRef.key", "valueFrom.secretKeyRef.name",
		}, []string{"valueFrom.resourceFieldRef.divisor"}),
		itemRules(".spec.tolerations", "t", 317, []string{"key", "operator", "value", "effect"}, nil),
		{".spec.postgres.cluster.storage.size": {".spec.postgres.cluster.storage.size", "size(self) <= 64"}},
		{".spec.postgres.cluster.walStorage.size": {".spec.postgres.cluster.walStorage.size", "size(self) <= 64"}},
		labelRule(".spec.postgres.cluster.affinity.nodeSelector", 317, 63),
		itemRules(".spec.postgres.cluster.affinity.tolerations", "t", 317, []string{"key", "operator", "value", "effect"}, nil),
	},
	"DiscordServer":  {selectorRules(selector), selectorRules(roleSelector)},
	"DiscordGroup":   {selectorRules(selector)},
	"DiscordChannel": nil,
	"DiscordRole":    nil,
}

const selector, roleSelector = ".spec.allowedNamespaces.selector", ".spec.allowedRoles.namespaces.selector"

func selectorRules(at string) map[string]rule {
	return map[string]rule{
		at + ".matchLabels":                 {at, "size(self.matchLabels) <= 16"},
		at + ".matchLabels{}":               {at, "size(key) <= 317 && size(self.matchLabels[key]) <= 63"},
		at + ".matchExpressions":            {at, "size(self.matchExpressions) <= 16"},
		at + ".matchExpressions[].key":      {at, "size(e.key) <= 317"},
		at + ".matchExpressions[].operator": {at, "size(e.operator) <= 317"},
		at + ".matchExpressions[].values":   {at, "size(e.values) <= 64"},
	}
}

// unbounded maps each kind to fields without a limit: strings in nested lists. The API server
// refuses rules for such fields, because the estimated cost of the rules is too high.
var unbounded = map[string][]string{
	"DiscordServer": {selector + ".matchExpressions[].values[]", roleSelector + ".matchExpressions[].values[]"},
	"DiscordGroup":  {selector + ".matchExpressions[].values[]"},
}

type field struct {
	*apiextensionsv1.JSONSchemaProps
	// path contains [] for the items of a list and {} for the values of a map.
	path string
	// described is the description of the field or of its nearest described ancestor.
	described string
}

func fields(f field, visit func(field)) {
	f.described = cmp.Or(f.Description, f.described)
	visit(f)
	for name, property := range f.Properties {
		fields(field{&property, f.path + "." + name, f.described}, visit)
	}
	if f.Items != nil {
		fields(field{f.Items.Schema, f.path + "[]", f.described}, visit)
	}
	if f.AdditionalProperties != nil {
		fields(field{f.AdditionalProperties.Schema, f.path + "{}", f.described}, visit)
	}
}

func open(s *apiextensionsv1.JSONSchemaProps) bool {
	switch {
	case s.Type == "array":
		return s.MaxItems == nil
	case s.Type == "string" || s.XIntOrString:
		return s.MaxLength == nil && s.Enum == nil && s.Format != "date-time"
	default:
		return s.AdditionalProperties != nil && s.MaxProperties == nil
	}
}

// Clients cannot make a field of our kinds arbitrarily large, except the fields in unbounded.
func TestKindsAreBounded(t *testing.T) {
	for kind, schema := range ourKinds(t) {
		t.Run(kind, func(t *testing.T) {
			rules, known := map[string]rule{}, map[string]*apiextensionsv1.JSONSchemaProps{}
			for _, some := range ruled[kind] {
				for path, r := range some {
					rules[path] = r
				}
			}
			excepted := map[string]bool{}
			for _, part := range []string{"spec", "status"} {
				property := schema.Properties[part]
				fields(field{JSONSchemaProps: &property, path: "." + part}, func(f field) { known[f.path] = f.JSONSchemaProps })
			}
			for path, s := range known {
				if !open(s) {
					continue
				}
				i := slices.IndexFunc(unbounded[kind], func(prefix string) bool { return strings.HasPrefix(path, prefix) })
				switch r, ok := rules[path]; {
				case i >= 0:
					excepted[unbounded[kind][i]] = true
				case !ok:
					t.Errorf("%s has no bound: give it one, and document it", path)
				case !holds(known[r.at], r.text):
					t.Errorf("%s: no rule of %s contains %s", path, r.at, r.text)
				}
			}
			for path := range rules {
				if known[path] == nil || !open(known[path]) {
					t.Errorf("%s needs no rule, because the schema bounds it or lacks it", path)
				}
			}
			if len(excepted) != len(unbounded[kind]) {
				t.Errorf("of the exceptions, only %v are needed", excepted)
			}
		})
	}
}

func holds(s *apiextensionsv1.JSONSchemaProps, text string) bool {
	return s != nil && slices.ContainsFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool {
		return strings.Contains(v.Rule, text)
	})
}

// ofNames are well-known limits: the lengths of Kubernetes names and labels, and of Discord ids.
var ofNames = []int64{253, 63, 50, 20}

var size = regexp.MustCompile(`size\(.+?\) <= (\d+)`)

// The description of each field, or of its nearest described ancestor, mentions the field's limits,
// except maxima in ofNames.
func TestBoundsAreDocumented(t *testing.T) {
	for kind, schema := range ourKinds(t) {
		t.Run(kind, func(t *testing.T) {
			fields(field{JSONSchemaProps: schema}, func(f field) {
				if strings.HasPrefix(f.path, ".status.conditions[]") {
					return // described by Kubernetes
				}
				var bounds []string
				for _, most := range []*int64{f.MaxLength, f.MaxItems, f.MaxProperties} {
					if most != nil && !slices.Contains(ofNames, *most) {
						bounds = append(bounds, strconv.FormatInt(*most, 10))
					}
				}
				for _, v := range f.XValidations {
					for _, most := range size.FindAllStringSubmatch(v.Rule, -1) {
						bounds = append(bounds, most[1])
					}
				}
				for _, most := range bounds {
					if f.path != "" && !regexp.MustCompile(`\b`+most+`\b`).MatchString(f.described) {
						t.Errorf("%s: the bound %s is not in its description:\n%s", f.path, most, f.described)
					}
				}
			})
		})
	}
}

func ourKinds(t *testing.T) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	files, err := filepath.Glob("../../deploy/*/crds/*_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			kinds[crd.Spec.Names.Kind] = version.Schema.OpenAPIV3Schema
		}
	}
	if len(kinds) != len(ruled) {
		t.Fatalf("%d kinds, not %d", len(kinds), len(ruled))
	}
	return kinds
}
