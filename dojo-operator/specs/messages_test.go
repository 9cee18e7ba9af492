// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func causes(err error) (all []string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			all = append(all, cause.Field+": "+cause.Message)
		}
	}
	return all
}

var _ = Describe("The validation of a Dojo", func() {
	submit := func(ctx context.Context, manifest string, change func(map[string]any)) error {
		GinkgoHelper()
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(manifest), o)).To(Succeed())
		change(o.Object)
		o.SetNamespace("default")
		return k8s.Create(ctx, o, client.DryRunAll)
	}
	quantityOf := func(list string, value any) func(map[string]any) {
		return at("resources", map[string]any{list: map[string]any{"cpu": value}})
	}

	const (
		size     = "spec.postgres.cluster.storage.size"
		quantity = "must be a quantity: a number and a unit without a space, such as 10Gi"
	)
	DescribeTable("refuses, with one message that describes the valid form,",
		func(ctx context.Context, manifest string, change func(map[string]any), message string) {
			Expect(causes(submit(ctx, manifest, change))).To(ConsistOf(message))
		},
		Entry("a space in a size", ownDojo, at("postgres.cluster.storage.size", "1G i"),
			size+`: Invalid value: "1G i": `+quantity),
		Entry("an unknown unit of a size", ownDojo, at("postgres.cluster.storage.size", "10GB"),
			size+`: Invalid value: "10GB": `+quantity),
		Entry("an empty size of the WAL volume", ownDojo, at("postgres.cluster.walStorage.size", ""),
			`spec.postgres.cluster.walStorage.size: Invalid value: "": `+quantity),
		Entry("a size whose exponent is a fraction", ownDojo, at("postgres.cluster.storage.size", "1e1.5"),
			size+`: Invalid value: "1e1.5": `+quantity),
		Entry("a size whose exponent takes hours to decode", ownDojo, at("postgres.cluster.storage.size", "1e-999999999"),
			size+`: Invalid value: "1e-999999999": `+quantity),
		Entry("a backup schedule that is not in the format of cron",
			ownDojo, at("postgres.cluster.backup.schedule", "daily"),
			`spec.postgres.cluster.backup.schedule: Invalid value: "daily": must have the five fields of cron: minute, `+
				`hour, day of the month, month, day of the week, such as "0 2 * * *"`),
		Entry("an invalid name of a Secret", firstUsersDojo, at("credentialsRef.name", "Dojo App"),
			`spec.credentialsRef.name: Invalid value: "Dojo App": must be the name of a Secret: lower case letters, `+
				`digits, '-' and '.', starting and ending with a letter or digit`),
		Entry("an invalid sizeLimit of an emptyDir", firstUsersDojo, at("volumes", []any{map[string]any{
			"name": "a", "emptyDir": map[string]any{"sizeLimit": "1e-999999999"}}}),
			`spec.volumes[0].emptyDir.sizeLimit: Invalid value: "1e-999999999": `+
				`must be a quantity greater than 0, such as 64Mi`),
		Entry("a PgBouncer parameter with a value of two lines", ownDojo,
			at("postgres.cluster.pooler.parameters", map[string]any{"verbose": "0\nauth_type = any"}),
			`spec.postgres.cluster.pooler.parameters[verbose]: Invalid value: "0\nauth_type = any": `+
				`must be one line: remove the line breaks`),
	)

	DescribeTable("refuses a quantity whose exponent is invalid or extreme",
		func(ctx context.Context, change func(map[string]any), field string) {
			Expect(causes(submit(ctx, firstUsersDojo, change))).To(ConsistOf(HavePrefix(field + ": Invalid value: ")))
		},
		Entry("in limits", quantityOf("limits", "1e-999999999"), "spec.resources.limits.cpu"),
		Entry("in requests", quantityOf("requests", "1e1.5"), "spec.resources.requests.cpu"),
		Entry("in a divisor", at("env", []any{map[string]any{"name": "A", "valueFrom": map[string]any{
			"resourceFieldRef": map[string]any{"resource": "limits.cpu", "divisor": "1e99999999999999999999"}}}}),
			"spec.env[0].valueFrom.resourceFieldRef.divisor"),
	)

	DescribeTable("accepts a form of a quantity that Kubernetes documents:",
		func(ctx context.Context, value any) {
			Expect(submit(ctx, ownDojo, at("postgres.cluster.storage.size", value))).To(Succeed())
			Expect(submit(ctx, firstUsersDojo, quantityOf("limits", value))).To(Succeed())
		},
		Entry("a number", int64(1073741824)), Entry("a number in quotes", "1073741824"), Entry("a fraction", "1.5Gi"),
		Entry("a decimal unit", "10G"), Entry("thousandths", "1500m"), Entry("an exponent", "1e9"),
		Entry("a negative exponent", "1000E-3"), Entry("a sign", "+1Gi"), Entry("no digit before the point", ".5Gi"),
	)
})
