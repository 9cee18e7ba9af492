// SPDX-License-Identifier: Apache-2.0

// Package largest makes objects that cost the most memory within the limits of their
// CustomResourceDefinition, for tests of an operator's cache. The size of the JSON is no measure of
// memory: `{}` may take a hundred bytes in Go.
package largest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// MaxBytes is etcd's limit on an object, in bytes of JSON.
const MaxBytes = 1536 << 10

// Allowance is an object's allowed memory in addition to four bytes per byte of its JSON.
const Allowance = 16 << 10

type schema = apiextensionsv1.JSONSchemaProps

// Object is the JSON of an object.
type Object struct {
	// Name has the path of the large field and its filling, such as "long strings".
	Name string
	JSON []byte
}

type filling struct {
	name string
	// long gives strings their maximal length instead of one character.
	long bool
	// whole sets the optional fields of list items too.
	whole bool
}

var fillings = []filling{{name: "empty items"}, {"short strings", false, true}, {"long strings", true, true}}

// Of returns objects of the definition's first version, each as large as its schema, its rules and
// etcd allow. For each list and map, and for all together, there is one object per filling.
func Of(crd *apiextensionsv1.CustomResourceDefinition) []Object {
	version := crd.Spec.Versions[0]
	root := version.Schema.OpenAPIV3Schema
	var objects []Object
	for _, how := range fillings {
		for _, path := range append([]string{""}, multiples(root, "")...) {
			m := maker{filling: how, path: path, remaining: MaxBytes}
			o := m.object(root, "", nil)
			o["apiVersion"], o["kind"] = crd.Spec.Group+"/"+version.Name, crd.Spec.Names.Kind
			o["metadata"] = map[string]any{"namespace": "team-a", "name": "largest"}
			objects = append(objects, Object{fmt.Sprintf("%s, %s", orAll(path), how.name), encoded(o)})
		}
	}
	return objects
}

func orAll(path string) string {
	if path == "" {
		return "all fields"
	}
	return path
}

func encoded(o map[string]any) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // our values can always be encoded
	}
	return text
}

func multiples(s *schema, path string) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		paths = append(paths, multiples(&property, path+"."+name)...)
	}
	switch {
	case s.Items != nil:
		return append(multiples(s.Items.Schema, path+"[]"), path)
	case s.AdditionalProperties != nil:
		return append(multiples(s.AdditionalProperties.Schema, path+"{}"), path)
	}
	return paths
}

type maker struct {
	filling
	// An empty path means all fields.
	path string

	remaining int
	// keys is the number of keys so far. Each new key contains this number, so keys are unique.
	keys int
}

// in reports whether m fills the field at path. It fills the field at m.path, the fields around it
// and, if m.whole, the fields in it.
func (m *maker) in(path string) bool {
	return m.path == "" || within(m.path, path) || (m.whole && within(path, m.path))
}

func within(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".[{"))
}

// around has the schemas of the enclosing fields: their validation rules may also bound the value.
func (m *maker) value(s *schema, path string, around []*schema) any {
	around = append([]*schema{s}, around...)
	switch {
	case s.XIntOrString:
		m.remaining -= 4
		return "1"
	case s.Type == "array":
		return m.list(s, path, around)
	case s.Type == "object" && s.AdditionalProperties != nil:
		return m.entries(s, path, around)
	case s.Type == "object":
		return m.object(s, path, around)
	case s.Type == "string":
		return m.text(s)
	case s.Type == "boolean":
		m.remaining -= 5
		return true
	default:
		m.remaining -= 2
		return 1
	}
}

func (m *maker) object(s *schema, path string, around []*schema) map[string]any {
	o := map[string]any{}
	m.remaining -= 3
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if slices.Contains(s.Required, name) || m.in(path+"."+name) && path+"."+name != ".metadata" && m.remaining > 0 {
			m.remaining -= len(name) + 4
			o[name] = m.value(&property, path+"."+name, around)
		}
	}
	return o
}

func (m *maker) list(s *schema, path string, around []*schema) []any {
	items := []any{}
	for most := m.most(s.MaxItems, path, around); len(items) < most && m.remaining > 0; m.remaining-- {
		items = append(items, m.value(s.Items.Schema, path+"[]", around))
	}
	return items
}

func (m *maker) entries(s *schema, path string, around []*schema) map[string]any {
	entries := map[string]any{}
	for most := m.most(s.MaxProperties, path, around); len(entries) < most && m.remaining > 0; {
		m.keys++
		key := strconv.FormatInt(int64(m.keys), 36)
		m.remaining -= len(key) + 4
		entries[key] = m.value(s.AdditionalProperties.Schema, path+"{}", around)
	}
	return entries
}

func (m *maker) most(bound *int64, path string, around []*schema) int {
	switch {
	case !m.in(path):
		return 1
	case bound != nil:
		return int(*bound)
	}
	name := path[strings.LastIndex(path, ".")+1:]
	size := regexp.MustCompile(`size\([\w.?]*\b` + regexp.QuoteMeta(name) + `\) <= (\d+)`)
	for _, s := range around {
		for _, v := range s.XValidations {
			if found := size.FindStringSubmatch(v.Rule); found != nil {
				most, err := strconv.Atoi(found[1])
				if err == nil {
					return most
				}
			}
		}
	}
	return MaxBytes
}

// maxText is the length of a long string without maxLength.
const maxText = 64

func (m *maker) text(s *schema) string {
	text := "a"
	switch {
	case len(s.Enum) > 0:
		if err := json.Unmarshal(s.Enum[0].Raw, &text); err != nil {
			panic(err) // the API server would refuse the definition
		}
	case slices.ContainsFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool {
		return strings.Contains(v.Rule, "duration(self)")
	}):
		text = "1s"
	case s.Format == "date-time":
		text = "2026-01-01T00:00:00Z"
	case m.long && s.MaxLength != nil:
		text = strings.Repeat("a", int(*s.MaxLength))
	case m.long:
		text = strings.Repeat("a", maxText)
	}
	m.remaining -= len(text) + 3
	return text
}
