// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

var _ = Describe("kubectl", func() {
	DescribeTable("knows a kind's short name and the category \"discord\", and prints the kind's narrow and wide columns",
		func(ctx context.Context, resource, short string, narrow, wide []string) {
			kinds, err := discovery.NewDiscoveryClientForConfigOrDie(cluster.Config()).
				ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
			Expect(err).NotTo(HaveOccurred())
			Expect(kinds.APIResources).To(ContainElement(And(HaveField("Name", resource), HaveField("Namespaced", true),
				HaveField("ShortNames", ConsistOf(short)), HaveField("Categories", ConsistOf("discord")))))
			Expect(kinds.APIResources).To(ContainElement(HaveField("Name", resource+"/status")))

			var first, all []string
			for _, column := range asTable(ctx, "default", resource).ColumnDefinitions {
				all = append(all, column.Name)
				if column.Priority == 0 {
					first = append(first, column.Name)
				}
			}
			Expect(first).To(Equal(narrow))
			Expect(all[len(first):]).To(Equal(wide))
		},
		Entry("servers", "discordservers", "dsrv", []string{"Name", "Ready", "Reason", "ID", "Server", "Age"},
			[]string{"Channels", "Namespaces", "Message"}),
		Entry("groups", "discordgroups", "dgrp", []string{"Name", "Ready", "Reason", "ID", "Server", "Group", "Age"},
			[]string{"Message"}),
		Entry("channels", "discordchannels", "dch", []string{"Name", "Ready", "Reason", "ID", "Server", "Group", "Age"},
			[]string{"URL", "Message"}),
		Entry("roles", "discordroles", "drole", []string{"Name", "Ready", "Reason", "ID", "Server", "Role", "Age"},
			[]string{"Message"}),
	)

	DescribeTable("can explain every field of a CRD, "+
		"and can apply the CRD without --server-side", func(ctx context.Context, resource string) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		Expect(k8s.Get(ctx, nameOf("", resource+"."+v1alpha1.GroupVersion.Group), crd)).To(Succeed())
		definition := &apiextensionsv1.CustomResourceDefinition{}
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, definition)).To(Succeed())
		schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		Expect(undescribed("", *schema)).To(ConsistOf(".metadata"), "fields without a description")
		Expect(schema.Description).NotTo(BeEmpty())

		// kubectl apply stores the object without managedFields in an annotation. All annotations
		// of an object together may have at most 256 KiB.
		definition.ManagedFields = nil
		text, err := json.Marshal(definition)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(text)).To(BeNumerically("<", 64<<10), "the size of the CustomResourceDefinition")
	},
		Entry("servers", "discordservers"),
		Entry("groups", "discordgroups"),
		Entry("channels", "discordchannels"),
		Entry("roles", "discordroles"),
	)
})

func undescribed(path string, schema apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	for name, field := range schema.Properties {
		if field.Description == "" {
			found = append(found, path+"."+name)
		}
		found = append(found, undescribed(path+"."+name, field)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		found = append(found, undescribed(path+"[]", *schema.Items.Schema)...)
	}
	slices.Sort(found)
	return found
}

func asTable(ctx context.Context, namespace, resource string) *metav1.Table {
	GinkgoHelper()
	config := cluster.Config()
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	c, err := rest.RESTClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	raw, err := c.Get().Namespace(namespace).Resource(resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	Expect(err).NotTo(HaveOccurred())
	table := &metav1.Table{}
	Expect(yaml.Unmarshal(raw, table)).To(Succeed())
	return table
}

func cells(table *metav1.Table) []string {
	var rows []string
	for _, row := range table.Rows {
		var texts []string
		for _, cell := range row.Cells {
			texts = append(texts, fmt.Sprint(cell))
		}
		rows = append(rows, strings.Join(texts, " "))
	}
	return rows
}
