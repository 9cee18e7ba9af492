package dojo

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// ruleFields is what a real API server notes of a PrometheusRule that we have applied; its groups are merged by name.
const ruleFields = `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},` +
	`"f:spec":{"f:groups":{"k:{\"name\":\"dojo\"}":{".":{},"f:name":{},"f:rules":{}}},"f:limit":{}}}`

const wantedRule = `
metadata: {name: tokyo, labels: {a: b}, ownerReferences: [{uid: u, kind: Dojo}]}
spec: {limit: 3, groups: [{name: dojo, rules: [{alert: Down}]}]}
`

func TestHoldsExactly(t *testing.T) {
	t.Parallel()
	read := func(text, fields string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text), &o.Object))
		o.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "prometheus-operator", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
			{Manager: FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)},
		})
		return o
	}
	const surplus = `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},` +
		`"f:spec":{"f:groups":{"k:{\"name\":\"dojo\"}":{".":{},"f:name":{},"f:rules":{}},"k:{\"name\":\"old\"}":{".":{},"f:name":{}}},"f:limit":{}}}`
	const formerField = `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},` +
		`"f:spec":{"f:former":{},"f:groups":{"k:{\"name\":\"dojo\"}":{".":{},"f:name":{},"f:rules":{}}},"f:limit":{}}}`
	const lost = `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},"f:spec":{"f:limit":{}}}`
	cases := map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"absent":              {nil, false},
		"as applied":          {read(wantedRule, ruleFields), true},
		"with defaults":       {read(`{metadata: {labels: {a: b}, ownerReferences: [{uid: u, kind: Dojo}]}, spec: {limit: 3, groups: [{name: dojo, interval: 1m, rules: [{alert: Down, for: 0s}]}]}}`, ruleFields), true},
		"with others' values": {read(`{metadata: {labels: {a: b, c: d}, ownerReferences: [{uid: x}, {uid: u, kind: Dojo}]}, spec: {more: 1, limit: 3, groups: [{name: theirs}, {name: dojo, rules: [{alert: Down}]}]}}`, ruleFields), true},
		"label changed":       {read(`{metadata: {labels: {a: c}, ownerReferences: [{uid: u, kind: Dojo}]}, spec: {limit: 3, groups: [{name: dojo, rules: [{alert: Down}]}]}}`, ruleFields), false},
		"value changed":       {read(`{metadata: {labels: {a: b}, ownerReferences: [{uid: u, kind: Dojo}]}, spec: {limit: 4, groups: [{name: dojo, rules: [{alert: Down}]}]}}`, ruleFields), false},
		"item changed":        {read(`{metadata: {labels: {a: b}, ownerReferences: [{uid: u, kind: Dojo}]}, spec: {limit: 3, groups: [{name: dojo, rules: [{alert: Up}]}]}}`, ruleFields), false},
		"item gone":           {read(`{metadata: {labels: {a: b}, ownerReferences: [{uid: u, kind: Dojo}]}, spec: {limit: 3, groups: []}}`, ruleFields), false},
		"spec gone":           {read(`{metadata: {labels: {a: b}, ownerReferences: [{uid: u, kind: Dojo}]}}`, ruleFields), false},
		"an item too many":    {read(wantedRule, surplus), false},
		"a field too many":    {read(wantedRule, formerField), false},
		"no longer ours":      {read(wantedRule, lost), false},
		"never ours":          {read(wantedRule, `{}`), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := read(wantedRule, `{}`)
			want.SetManagedFields(nil)
			if got := holdsExactly(c.live, want); got != c.want {
				t.Errorf("holds exactly is %v", got)
			}
		})
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	d := tokyo()
	object := func(change func(o *unstructured.Unstructured)) *unstructured.Unstructured {
		o := custom(d, databaseKind, "tokyo-db", map[string]any{})
		change(o)
		return o
	}
	cases := map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"absent":                {nil, false},
		"ours":                  {object(func(*unstructured.Unstructured) {}), true},
		"ours, owned":           {object(func(o *unstructured.Unstructured) { owned(d, o) }), true},
		"without labels":        {object(func(o *unstructured.Unstructured) { o.SetLabels(nil) }), false},
		"without labels, owned": {object(func(o *unstructured.Unstructured) { o.SetLabels(nil); owned(d, o) }), true},
		"of another Dojo": {object(func(o *unstructured.Unstructured) {
			o.SetLabels(labels(tokyo(func(d *corev1api.Dojo) { d.Name = "kyoto" })))
		}), false},
		"our labels, but owned by another": {object(func(o *unstructured.Unstructured) {
			owned(tokyo(func(d *corev1api.Dojo) { d.UID = "another" }), o)
		}), false},
	}
	for name, c := range cases {
		if got := kept(d, c.live); got != c.want {
			t.Errorf("%s: kept is %v", name, got)
		}
	}
}
