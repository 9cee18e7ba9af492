// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type defaults struct {
	Image         string
	Replicas      string
	GoMemoryLimit string
	Resources     string // YAML
	// Files maps paths in the chart to contents. The templates read these files.
	Files map[string]string
}

// podFields are fields of the pod's spec that the overlay does not have.
var podFields = []string{"imagePullSecrets", "priorityClassName", "nodeSelector", "affinity", "tolerations"}

func parameterize(o operator, objects []*object) (d defaults, err error) {
	d.Files = map[string]string{}
	for _, object := range objects {
		labels, err := object.value.find("metadata.labels")
		if err != nil {
			return d, fmt.Errorf("%s %s: %w", object.kind, object.name, err)
		}
		labels.add("{{- with .Values.commonLabels }}{{ toYaml . | nindent 0 }}{{ end }}")
		switch object.kind {
		case "CustomResourceDefinition":
			err = keptKind(object)
		case "ConfigMap":
			err = fromFiles(object, d.Files)
		case "Deployment":
			err = parameterizeDeployment(o.Name, object.value, &d)
		case "NetworkPolicy":
			if o.Name == "discord-operator" { // only this operator connects to the internet
				err = addProxyPort(object)
			}
		}
		if err != nil {
			return d, fmt.Errorf("%s %s: %w", object.kind, object.name, err)
		}
	}
	if d.Replicas == "" {
		return d, fmt.Errorf("%s has no Deployment", o.Name)
	}
	return d, nil
}

func (t *tree) add(template string) { t.entries = append(t.entries, &entry{raw: template}) }

// unpruned are the annotations with which Flux and Argo CD keep an object.
var unpruned = []string{"argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/prune"}

// keptKind makes a CustomResourceDefinition depend on crds.enabled and crds.keep.
func keptKind(o *object) error {
	annotations, err := o.value.find("metadata.annotations")
	if err != nil {
		return err
	}
	var kept []*entry
	annotations.entries = slices.DeleteFunc(annotations.entries, func(e *entry) bool {
		if !slices.Contains(unpruned, e.key.Value) {
			return false
		}
		kept = append(kept, e)
		return true
	})
	if len(kept) != len(unpruned) {
		return fmt.Errorf("it lacks one of the annotations %v", unpruned)
	}
	kept = append(kept, &entry{key: yaml.NewStringRNode("helm.sh/resource-policy").YNode(),
		value: newTree(yaml.NewStringRNode("keep").YNode())})
	for _, e := range kept {
		annotations.entries = append(annotations.entries, conditional(e, condition{value: "crds.keep"}))
	}
	o.when = append(o.when, condition{value: "crds.enabled"})
	o.file = "crds/" + o.name
	return nil
}

func addProxyPort(policy *object) error {
	egress, err := policy.value.find("spec.egress")
	if err != nil {
		return err
	}
	egress.add("{{- with .Values.networkPolicy.proxyPort }}\n- ports: [{port: {{ . }}, protocol: TCP}]\n{{- end }}")
	return nil
}

// fromFiles moves the content of a ConfigMap into files of the chart. In a template, the content
// would need escapes.
func fromFiles(o *object, files map[string]string) error {
	data, err := o.value.find("data")
	if err != nil {
		return err
	}
	for _, e := range data.entries {
		path := "files/" + e.key.Value
		files[path] = e.value.node.Value
		e.value = &tree{node: yaml.NewStringRNode("").YNode(), raw: fmt.Sprintf("| {{- .Files.Get %q | nindent 2 }}", path)}
	}
	return nil
}

func parameterizeDeployment(operator string, deployment *tree, d *defaults) error {
	const pod, container = "spec.template.spec", "spec.template.spec.containers.0"
	for _, scalar := range []struct {
		path, template string
		was            *string
	}{
		{"spec.replicas", "{{ .Values.replicas }}", &d.Replicas},
		{container + ".image", fmt.Sprintf(`{{ include "%s.image" . | quote }}`, operator), &d.Image},
		{container + ".env.0.value", "{{ .Values.goMemoryLimit }}", &d.GoMemoryLimit},
	} {
		found, err := deployment.find(scalar.path)
		if err != nil {
			return err
		}
		*scalar.was, found.raw = found.node.Value, scalar.template
	}
	resources, err := deployment.find(container + ".resources")
	if err != nil {
		return err
	}
	if d.Resources, err = yaml.NewRNode(resources.node).String(); err != nil {
		return err
	}
	*resources = tree{node: yaml.NewStringRNode("").YNode(), raw: "{{- toYaml .Values.resources | nindent 2 }}"}

	var ofPod []string
	for _, field := range podFields {
		key := field + ": {{- toYaml . | nindent 2 }}"
		if field == "priorityClassName" {
			key = field + ": {{ . }}"
		}
		ofPod = append(ofPod, fmt.Sprintf("{{- with .Values.%s }}\n%s\n{{- end }}", field, key))
	}
	for _, addition := range []struct{ path, lines string }{
		{"spec.template.metadata.labels", "{{- with .Values.podLabels }}{{ toYaml . | nindent 0 }}{{ end }}"},
		{"spec.template.metadata.annotations", "{{- with .Values.podAnnotations }}{{ toYaml . | nindent 0 }}{{ end }}"},
		{pod, strings.Join(ofPod, "\n")},
		{container, "{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}"},
		{container + ".env", "{{- with .Values.env }}{{ toYaml . | nindent 0 }}{{ end }}"},
		{container + ".args", "{{- range $flag, $value := .Values.flags }}\n" +
			`- {{ printf "--%s=%v" $flag $value | quote }}` + "\n{{- end }}"},
	} {
		found, err := deployment.find(addition.path)
		if err != nil {
			return err
		}
		found.add(addition.lines)
	}
	return nil
}
