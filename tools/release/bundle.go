// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// bundled lists the kinds of objects in the bundle. OLM itself creates the operator's Namespace,
// ServiceAccount, roles and bindings. OLM does not know ValidatingAdmissionPolicy;
// docs/platform/olm.md lists the objects that users apply themselves.
var bundled = []string{"ClusterRole", "CustomResourceDefinition", "PodDisruptionBudget", "Service"}

var hubCategories = map[string]string{
	"dojo-operator": "Application Runtime, Database", "discord-operator": "Integration & Delivery",
}

var displayNames = map[string]string{"dojo-operator": "Dojo Operator", "discord-operator": "Discord Operator"}

func bundleFiles(root string, o imageOptions, manifest []byte, reference string, repository string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "charts", o.Operator, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var c chart
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	objects, err := split(manifest)
	if err != nil {
		return nil, err
	}
	csv, err := clusterServiceVersion(o, c, objects, reference, repository)
	if err != nil {
		return nil, fmt.Errorf("the ClusterServiceVersion of %s: %w", o.Operator, err)
	}
	files := map[string]string{}
	add := func(name string, object any) error {
		text, err := yaml.Marshal(object)
		files[name] = string(text)
		return err
	}
	errs := []error{
		add("manifests/"+o.Operator+".clusterserviceversion.yaml", csv),
		add("metadata/annotations.yaml", map[string]any{"annotations": bundleAnnotations(o.Operator)}),
	}
	for _, object := range objects {
		if !slices.Contains(bundled, object.GetKind()) || isOwn(o.Operator, object) {
			continue
		}
		unstructured.RemoveNestedField(object.Object, "metadata", "namespace") // OLM chooses it
		unstructured.RemoveNestedField(object.Object, "status")
		errs = append(errs, add("manifests/"+object.GetName()+"."+strings.ToLower(object.GetKind())+".yaml", object.Object))
	}
	return files, errors.Join(errs...)
}

type chart struct {
	Description string
	Keywords    []string
	KubeVersion string
	Annotations map[string]string
}

func bundleAnnotations(operator string) map[string]string {
	const prefix = "operators.operatorframework.io.bundle."
	return map[string]string{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": operator, prefix + "channels.v1": "stable", prefix + "channel.default.v1": "stable",
	}
}

func split(manifest []byte) (all []*unstructured.Unstructured, err error) {
	decoder := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// isOwn reports whether an object is a role of the operator itself. The bundle omits these roles,
// because the ClusterServiceVersion has their rules.
func isOwn(operator string, object *unstructured.Unstructured) bool {
	name := object.GetName()
	return strings.HasSuffix(object.GetKind(), "Role") && (name == operator || name == operator+"-process")
}

func clusterServiceVersion(o imageOptions, c chart, objects []*unstructured.Unstructured, reference, repository string) (any, error) {
	version := strings.TrimPrefix(o.Version, "v")
	install, err := installStrategy(o.Operator, objects)
	if err != nil {
		return nil, err
	}
	owned, err := ownedKinds(objects)
	if err != nil {
		return nil, err
	}
	examples, err := yaml.YAMLToJSON([]byte(c.Annotations["artifacthub.io/crdsExamples"]))
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{
		"alm-examples": string(examples), "capabilities": c.Annotations["artifacthub.io/operatorCapabilities"],
		"categories": hubCategories[o.Operator], "containerImage": reference, "createdAt": o.Created.UTC().Format(time.RFC3339),
		"description": c.Description, "support": "Jutsu", "operatorframework.io/suggested-namespace": namespaces[o.Operator],
	}
	spec := map[string]any{
		"displayName": displayNames[o.Operator], "description": c.Description + "\n", "version": version, "maturity": "alpha",
		"keywords": c.Keywords, "provider": map[string]string{"name": "Jutsu"},
		"minKubeVersion":            strings.TrimSuffix(strings.TrimPrefix(c.KubeVersion, ">="), "-0"),
		"customresourcedefinitions": map[string]any{"owned": owned}, "install": install,
		"installModes": []map[string]any{ // the operator reads the watched namespaces from a flag, not from an OperatorGroup
			{"type": "OwnNamespace", "supported": false}, {"type": "SingleNamespace", "supported": false},
			{"type": "MultiNamespace", "supported": false}, {"type": "AllNamespaces", "supported": true},
		},
		"relatedImages": o.images(reference),
	}
	if repository != "" {
		annotations["repository"] = repository
		spec["links"] = []map[string]string{{"name": "Source", "url": repository}}
	}
	return map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": map[string]any{
			"name": o.Operator + ".v" + version, "namespace": "placeholder", "annotations": annotations,
			"labels": map[string]string{
				"operatorframework.io/os.linux": "supported", "operatorframework.io/arch.amd64": "supported",
				"operatorframework.io/arch.arm64": "supported",
			},
		},
		"spec": spec,
	}, nil
}

func installStrategy(operator string, objects []*unstructured.Unstructured) (any, error) {
	var deployments, cluster, local []any
	for _, object := range objects {
		switch {
		case object.GetKind() == "Deployment":
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d); err != nil {
				return nil, err
			}
			deployments = append(deployments, map[string]any{"name": d.Name, "label": d.Labels, "spec": d.Spec})
		case isOwn(operator, object):
			var role rbacv1.ClusterRole // a Role has the same rules
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				return nil, err
			}
			one := map[string]any{"serviceAccountName": operator, "rules": role.Rules}
			if object.GetKind() == "ClusterRole" {
				cluster = append(cluster, one)
			} else {
				local = append(local, one)
			}
		}
	}
	if len(deployments) != 1 || len(cluster) != 2 || len(local) != 1 {
		return nil, fmt.Errorf("it has %d Deployments, %d ClusterRoles and %d Roles, and must have 1, 2 and 1",
			len(deployments), len(cluster), len(local))
	}
	return map[string]any{"strategy": "deployment", "spec": map[string]any{
		"deployments": deployments, "clusterPermissions": cluster, "permissions": local,
	}}, nil
}

func ownedKinds(objects []*unstructured.Unstructured) (owned []map[string]string, err error) {
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
			return nil, err
		}
		for _, version := range crd.Spec.Versions {
			owned = append(owned, map[string]string{
				"name": crd.Name, "kind": crd.Spec.Names.Kind, "version": version.Name, "displayName": crd.Spec.Names.Kind,
				"description": strings.Join(strings.Fields(version.Schema.OpenAPIV3Schema.Description), " "),
			})
		}
	}
	slices.SortFunc(owned, func(a, b map[string]string) int { return cmp.Compare(a["name"], b["name"]) })
	return owned, nil
}

func bundleArchive(root, folder string, o imageOptions, manifest []byte, reference, repository string) error {
	files, err := bundleFiles(root, o, manifest, reference, repository)
	if err != nil {
		return err
	}
	archive, err := pack(files, o.Operator+"/"+strings.TrimPrefix(o.Version, "v")+"/", o.Created)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, o.Operator+"-bundle.tgz"), archive, 0o644)
}
