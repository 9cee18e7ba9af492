// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// usual has Kubernetes' defaults by field name (pkg/apis/*/*/defaults.go in k8s.io/kubernetes).
var usual = map[string][]any{
	"dnsPolicy": {"ClusterFirst"}, "restartPolicy": {"Always"}, "schedulerName": {"default-scheduler"},
	"terminationMessagePath": {"/dev/termination-log"}, "terminationMessagePolicy": {"File"},
	"imagePullPolicy": {"IfNotPresent", "Always"}, "scheme": {"HTTP"}, "successThreshold": {int64(1)},
	"revisionHistoryLimit": {int64(10)}, "protocol": {"TCP"}, "sessionAffinity": {"None"},
	"internalTrafficPolicy": {"Cluster"}, "ipFamilyPolicy": {"SingleStack"}, "defaultMode": {int64(420)},
	"timeoutSeconds": {int64(1)}, "periodSeconds": {int64(10)}, "failureThreshold": {int64(3)}, "apiVersion": {"v1"},
	"terminationGracePeriodSeconds": {int64(30)}, "progressDeadlineSeconds": {int64(600)}, "enableServiceLinks": {true},
}

// restore puts back the defaults that an apply has removed, as the API server does. The operator
// owns the API server's defaults after a POST (libs/apply/doc.go), and a later apply lacks them.
// Without restore, the plan would show their removal.
func (m *Model) restore(ctx context.Context, before, after, desired *object) {
	was, now := before.Object["spec"], after.Object["spec"]
	if !drops(was, now) {
		return
	}
	var defaults any
	if m.checker != nil {
		if created := m.checker.Defaults(ctx, desired); created != nil {
			defaults = created.Object["spec"]
		}
	}
	restoreFields(was, now, defaults, defaults != nil)
}

func drops(was, now any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, _ := now.(map[string]any)
		for name, value := range was {
			if next, ok := now[name]; !ok || drops(value, next) {
				return true
			}
		}
	case []any:
		now, _ := now.([]any)
		for i, value := range was {
			if next, ok := itemOf(now, nameOf(value, i)); ok && drops(value, next) {
				return true
			}
		}
	}
	return false
}

func itemOf(list []any, name string) (any, bool) {
	for i, item := range list {
		if nameOf(item, i) == name {
			return item, true
		}
	}
	return nil, false
}

// restoreFields copies fields with default values from was to now. If known is true, defaults has
// the default values, otherwise usual has them.
func restoreFields(was, now, defaults any, known bool) {
	switch now := now.(type) {
	case map[string]any:
		was, _ := was.(map[string]any)
		defaults, _ := defaults.(map[string]any)
		for name, value := range was {
			next, kept := now[name]
			switch {
			case kept:
				restoreFields(value, next, defaults[name], known)
			case known && equality.Semantic.DeepEqual(value, defaults[name]), !known && isUsual(name, value):
				now[name] = value
			}
		}
	case []any:
		was, _ := was.([]any)
		defaults, _ := defaults.([]any)
		for i, item := range now {
			name := nameOf(item, i)
			if former, ok := itemOf(was, name); ok {
				made, _ := itemOf(defaults, name)
				restoreFields(former, item, made, known)
			}
		}
	}
}

func isUsual(name string, value any) bool {
	same := func(known any) bool { return equality.Semantic.DeepEqual(known, value) }
	if slices.ContainsFunc(usual[name], same) {
		return true
	}
	fields, empty := value.(map[string]any)
	return empty && len(fields) == 0
}
