// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
)

// fit removes the optional fields that the schema refuses. If the schema then still refuses the
// object, fit comments the object out.
func (e *exporter) fit(of *entry, optional resource.Rows) {
	spec := map[string]any{}
	raw, err := json.Marshal(of.spec)
	if err = errors.Join(err, json.Unmarshal(raw, &spec)); err != nil {
		e.err = errors.Join(e.err, err)
		return
	}
	of.spec = spec
	for {
		refused, err := e.refused(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": of.kind, "metadata": map[string]any{"name": of.name},
			"spec": runtime.DeepCopyJSON(spec),
		}})
		e.err = errors.Join(e.err, err)
		if len(refused) == 0 {
			return
		}
		if !omit(of, spec, refused, optional) {
			if !of.disabled {
				of.disable("the schema refuses it: " + refused.ToAggregate().Error() + ".")
			}
			return
		}
	}
}

func omit(of *entry, spec map[string]any, refused field.ErrorList, optional resource.Rows) (changed bool) {
	for _, problem := range refused {
		path, _, _ := strings.Cut(strings.TrimPrefix(problem.Field, "spec."), "[")
		i := slices.IndexFunc(optional, func(row resource.Row) bool {
			return row.Path != "" && (path == row.Path || strings.HasPrefix(path, row.Path+"."))
		})
		if i < 0 {
			continue
		}
		at := strings.Split(optional[i].Path, ".")
		if value, found, _ := unstructured.NestedFieldNoCopy(spec, at...); found {
			of.notes.omit(optional[i].Path, "the schema refuses "+subject(problem, value)+": "+
				cmp.Or(problem.Detail, problem.Type.String()))
			unstructured.RemoveNestedField(spec, at...)
			changed = true
		}
	}
	return changed
}

func subject(problem *field.Error, value any) string {
	switch v := value.(type) {
	case string:
		return resource.Quoted(v)
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		return strings.TrimPrefix(problem.Field, "spec.")
	}
}
