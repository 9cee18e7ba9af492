// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// firstUsersDojo is from the API's first users: every version of the API must accept it.
const firstUsersDojo = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: tokyo-jujutsu-high}
spec:
  accountId: Masamichi Yaga
  title: Tokyo Jujutsu High
  replicas: 3
  database: Postgres
  credentialsRef: {name: dojo-app, namespace: default}
`

var _ = Describe("The API of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	apply := func(ctx context.Context, text string) error {
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(text), o)).To(Succeed())
		o.SetNamespace(ns)
		return k8s.Create(ctx, o)
	}

	It("is shown by deploy/samples/dojo.yaml, which equals the first users' manifest", func(context.Context) {
		sample, err := os.ReadFile("../../deploy/samples/dojo.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(sample).To(MatchYAML(firstUsersDojo))
	})

	It("accepts the first users' manifest, and sets the defaults in a minimal manifest", func(ctx context.Context) {
		Expect(apply(ctx, firstUsersDojo)).To(Succeed())
		Expect(apply(ctx, `{apiVersion: core.jutsu.com/v1, kind: Dojo, metadata: {name: least},
			spec: {accountId: a, title: t, credentialsRef: {name: s}}}`)).To(Succeed())
		var least corev1api.Dojo
		Expect(k8s.Get(ctx, nameOf(ns, "least"), &least)).To(Succeed())
		Expect(least.Spec).
			To(And(HaveField("Replicas", HaveValue(Equal(int32(1)))), HaveField("Database", corev1api.DatabasePostgres)))
	})

	DescribeTable("refuses an invalid spec, and says why",
		func(ctx context.Context, change func(o map[string]any), want string) {
			o := map[string]any{}
			Expect(yaml.Unmarshal([]byte(firstUsersDojo), &o)).To(Succeed())
			change(o)
			text, err := yaml.Marshal(o)
			Expect(err).NotTo(HaveOccurred())
			Expect(apply(ctx, string(text))).To(MatchError(ContainSubstring(want)))
		},
		Entry("empty accountId", set("accountId", ""), "spec.accountId in body should be at least 1 chars long"),
		Entry("blank accountId", set("accountId", "  "), "must not be blank"),
		Entry("over-long accountId", set("accountId", strings.Repeat("a", 129)),
			"spec.accountId: Too long: may not be more than 128 bytes"),
		Entry("no accountId", set("accountId", nil), "spec.accountId: Required value"),
		Entry("empty title", set("title", ""), "spec.title in body should be at least 1 chars long"),
		Entry("blank title", set("title", "\t"), "must not be blank"),
		Entry("over-long title", set("title", strings.Repeat("a", 129)),
			"spec.title: Too long: may not be more than 128 bytes"),
		Entry("negative replicas", set("replicas", -1), "spec.replicas in body should be greater than or equal to 0"),
		Entry("a database other than Postgres and Mongo", set("database", "Oracle"),
			`spec.database: Unsupported value: "Oracle": supported values: "Postgres", "Mongo"`),
		Entry("unknown field", set("replica", 3), `strict decoding error: unknown field "spec.replica"`),
		Entry("no credentials", set("credentialsRef", nil), "spec: Invalid value: credentialsRef or postgres is required"),
		Entry("credentials without a name", set("credentialsRef", map[string]any{"namespace": "default"}),
			"spec.credentialsRef.name: Required value"),
		Entry("credentials with an empty name", set("credentialsRef", map[string]any{"name": ""}),
			"spec.credentialsRef.name in body should be at least 1 chars long"),
		Entry("credentials with an invalid name", set("credentialsRef", map[string]any{"name": "Dojo App"}),
			"must be the name of a Secret"),
		Entry("credentials in an invalid namespace", set("credentialsRef", map[string]any{"name": "a", "namespace": "a.b"}),
			"must be the name of a namespace"),
		Entry("credentials with a name too long for a Secret",
			set("credentialsRef", map[string]any{"name": strings.Repeat("a", 254)}),
			"spec.credentialsRef.name: Too long: may not be more than 253 bytes"),
		Entry("credentials in a namespace with too long a name",
			set("credentialsRef", map[string]any{"name": "a", "namespace": strings.Repeat("a", 64)}),
			"spec.credentialsRef.namespace: Too long: may not be more than 63 bytes"),
		Entry("credentials with an empty value of namespace",
			set("credentialsRef", map[string]any{"name": "a", "namespace": ""}),
			"spec.credentialsRef.namespace in body should be at least 1 chars long"),
		Entry("an over-long image", set("image", strings.Repeat("a", 513)),
			"spec.image: Too long: may not be more than 512 bytes"),
		Entry("too many imagePullSecrets", set("imagePullSecrets", many(17, "name")),
			"spec.imagePullSecrets: Too many: 17: must have at most 16 items"),
		Entry("the same imagePullSecret twice",
			set("imagePullSecrets", []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}),
			"spec.imagePullSecrets[1]: Duplicate value"),
		Entry("too many environment variables",
			set("env", many(65, "name")), "spec.env: Too many: 65: must have at most 64 items"),
		Entry("too many tolerations", set("tolerations", many(33, "key")),
			"spec.tolerations: Too many: 33: must have at most 32 items"),
		Entry("too many labels in nodeSelector", set("nodeSelector", labelled(33)),
			"spec.nodeSelector: Too many: 33: must have at most 32 items"),
		Entry("too many topologySpreadConstraints", set("topologySpreadConstraints", spread(9)),
			"spec.topologySpreadConstraints: Too many: 9: must have at most 8 items"),
		Entry("the same topologySpreadConstraint twice", set("topologySpreadConstraints", append(spread(1), spread(1)...)),
			"spec.topologySpreadConstraints[1]: Duplicate value"),
		Entry("too long a value of an environment variable",
			set("env", []any{map[string]any{"name": "A", "value": strings.Repeat("a", 8193)}}),
			"a variable has a name of at most 253 and a value of at most 8192 characters"),
		Entry("environment variables whose values are too long together",
			set("env", environmentOf(5, 5, strings.Repeat("a", 6554))),
			"the values have at most 32768 characters together"),
		Entry("too long a key in a secretKeyRef", set("env", []any{map[string]any{"name": "A", "valueFrom": map[string]any{
			"secretKeyRef": map[string]any{"name": "a", "key": strings.Repeat("a", 513)}}}}),
			"a name, key or path in valueFrom has at most 512 characters"),
		Entry("too long a divisor in a resourceFieldRef",
			set("env", []any{map[string]any{"name": "A", "valueFrom": map[string]any{
				"resourceFieldRef": map[string]any{"resource": "limits.cpu", "divisor": strings.Repeat("1", 513)}}}}),
			"a divisor in valueFrom has at most 512 characters"),
		Entry("too long a name of an imagePullSecret",
			set("imagePullSecrets", []any{map[string]any{"name": strings.Repeat("a", 254)}}),
			"the name of a Secret has at most 253 characters"),
		Entry("too long a quantity in resources.limits",
			set("resources", map[string]any{"limits": labelledWith(1, strings.Repeat("1", 65))}),
			"limits has at most 16 entries"),
		Entry("too many entries in resources.requests", set("resources", map[string]any{"requests": labelledWith(17, 1)}),
			"requests has at most 16 entries"),
		Entry("too many entries in resources.claims", set("resources", map[string]any{"claims": many(17, "name")}),
			"claims has at most 16 entries"),
		Entry("too long a label value in nodeSelector", set("nodeSelector", map[string]any{"a": strings.Repeat("a", 64)}),
			"the name of a label has at most 317 characters, and its value at most 63"),
		Entry("too long a key of a toleration", set("tolerations", []any{map[string]any{"key": strings.Repeat("a", 318)}}),
			"a key, operator, value or effect has at most 317 characters"),
		Entry("too long a topologyKey of a topologySpreadConstraint", set("topologySpreadConstraints", []any{map[string]any{
			"topologyKey": strings.Repeat("a", 318), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}}),
			"spec.topologySpreadConstraints[0].topologyKey: Too long"),
		Entry("too many matchLabels of a topologySpreadConstraint",
			set("topologySpreadConstraints", []any{map[string]any{"topologyKey": "a",
				"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": map[string]any{"matchLabels": labelled(17)}}}),
			"spec.topologySpreadConstraints[0].labelSelector.matchLabels"),
		Entry("too many nodeSelectorTerms in affinity", set("affinity", map[string]any{"nodeAffinity": map[string]any{
			"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
				"nodeSelectorTerms": slices.Repeat([]any{map[string]any{}}, 9)}}}), "must have at most 8 items"),
		Entry("an unknown operator in the matchExpressions of affinity",
			set("affinity", map[string]any{"nodeAffinity": map[string]any{
				"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{map[string]any{
					"matchExpressions": []any{map[string]any{"key": "a", "operator": "Like"}}}}}}}),
			"Unsupported value: \"Like\""),
		Entry("too long a label value in monitoring.labels", set("monitoring",
			map[string]any{"enabled": true, "labels": map[string]any{"a": strings.Repeat("a", 64)}}),
			"the name of a label has at most 317 characters, and its value at most 63"),
		Entry("a name with a dot", named("tokyo.high"), "metadata.name becomes the name of a Service"),
		Entry("a name that starts with a digit", named("1tokyo"), "metadata.name becomes the name of a Service"),
		Entry("a name of 64 characters", named(strings.Repeat("a", 64)), "metadata.name becomes the name of a Service"),
	)

	It("accepts the maximum number of entries in env, limits, requests, nodeSelector, tolerations "+
		"and topologySpreadConstraints", func(ctx context.Context) {
		full := map[string]any{}
		Expect(yaml.Unmarshal([]byte(firstUsersDojo), &full)).To(Succeed())
		set("env", environmentOf(64, 4, strings.Repeat("ü", 8192)))(full)
		limits, requests := labelledWith(16, strings.Repeat("1", 64)), labelledWith(16, 1)
		set("resources", map[string]any{"limits": limits, "requests": requests})(full)
		set("nodeSelector", labelledWith(32, strings.Repeat("a", 63)))(full)
		set("tolerations", many(32, "key"))(full)
		set("topologySpreadConstraints", spread(8))(full)
		text, err := yaml.Marshal(full)
		Expect(err).NotTo(HaveOccurred())
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal(text, o)).To(Succeed())
		o.SetNamespace(ns)
		Expect(k8s.Create(ctx, o, client.DryRunAll)).To(Succeed())
	})

	It("accepts the longest name", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, strings.Repeat("a", 63), replicas(2))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
	})

	It("has columns for kubectl", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		table := asTable(ctx, ns)
		var all, narrow []string
		for _, column := range table.ColumnDefinitions {
			all = append(all, column.Name)
			if column.Priority == 0 {
				narrow = append(narrow, column.Name)
			}
		}
		Expect(narrow).To(Equal([]string{"Name", "Ready", "Reason", "Pods", "Account", "Age"}))
		Expect(all[6:]).To(Equal([]string{"Up-to-date", "Available", "Database", "Version", "Last-backup",
			"Endpoint", "Host", "Message"}))
		cells := fmt.Sprint(table.Rows[0].Cells...)
		Expect(cells).To(And(ContainSubstring(dojo.Name), ContainSubstring("2/2"), ContainSubstring("Masamichi Yaga"),
			ContainSubstring("Postgres"), ContainSubstring("tokyo."+ns+".svc:80"), ContainSubstring("Reconciled")))
	})

	It("has a short name and the category all", func(context.Context) {
		kinds, err := discovery.NewDiscoveryClientForConfigOrDie(cluster.Config()).
			ServerResourcesForGroupVersion("core.jutsu.com/v1")
		Expect(err).NotTo(HaveOccurred())
		Expect(kinds.APIResources).To(ContainElement(And(HaveField("Name", "dojos"),
			HaveField("ShortNames", ConsistOf("dj")), HaveField("Categories", ConsistOf("all")))))
		Expect(kinds.APIResources).To(ContainElement(And(HaveField("Name", "dojos/scale"), HaveField("Kind", "Scale"))))
	})
})

func set(field string, value any) func(map[string]any) {
	return func(o map[string]any) {
		spec := o["spec"].(map[string]any)
		if value == nil {
			delete(spec, field)
			return
		}
		spec[field] = value
	}
}

func named(name string) func(map[string]any) {
	return func(o map[string]any) { o["metadata"] = map[string]any{"name": name} }
}

func many(n int, field string) []any {
	items := make([]any, 0, n)
	for i := range n {
		items = append(items, map[string]any{field: fmt.Sprintf("a%d", i)})
	}
	return items
}

func labelled(n int) map[string]any { return labelledWith(n, "x") }

func labelledWith(n int, value any) map[string]any {
	all := map[string]any{}
	for i := range n {
		all[fmt.Sprintf("a%d", i)] = value
	}
	return all
}

// environmentOf returns n variables. The parameter few is the number of variables with the value.
func environmentOf(n, few int, value string) (env []any) {
	for i := range n {
		one := map[string]any{"name": fmt.Sprintf("%0253d", i)}
		if i < few {
			one["value"] = value
		}
		env = append(env, one)
	}
	return env
}

func spread(n int) []any {
	constraints := many(n, "topologyKey")
	for _, item := range constraints {
		constraint := item.(map[string]any)
		constraint["maxSkew"], constraint["whenUnsatisfiable"] = 1, "DoNotSchedule"
	}
	return constraints
}

func asTable(ctx context.Context, namespace string) *metav1.Table {
	GinkgoHelper()
	config := cluster.Config()
	config.GroupVersion = &corev1api.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	restClient, err := rest.RESTClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	raw, err := restClient.Get().Namespace(namespace).Resource("dojos").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	Expect(err).NotTo(HaveOccurred())
	table := &metav1.Table{}
	Expect(yaml.Unmarshal(raw, table)).To(Succeed())
	return table
}
