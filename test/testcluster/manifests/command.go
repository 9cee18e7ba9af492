// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"regexp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Command is the command of a container.
type Command struct {
	// Args are the arguments, with variables resolved.
	Args []string
	// Env are the environment variables, as NAME=value.
	Env []string
}

// CommandOf returns the command of a Deployment's first container. An environment variable with
// valueFrom must refer to a ConfigMap among the objects.
func CommandOf(objects []*unstructured.Unstructured, deployment string) (*Command, error) {
	configs := map[string]*corev1.ConfigMap{}
	var found *appsv1.Deployment
	for _, o := range objects {
		switch {
		case o.GetKind() == "Deployment" && o.GetName() == deployment:
			found = &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, found); err != nil {
				return nil, fmt.Errorf("deployment %s: %w", deployment, err)
			}
		case o.GetKind() == "ConfigMap":
			config := &corev1.ConfigMap{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, config); err != nil {
				return nil, fmt.Errorf("configmap %s: %w", o.GetName(), err)
			}
			configs[o.GetNamespace()+"/"+o.GetName()] = config
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no Deployment %s", deployment)
	}
	return commandOf(&found.Spec.Template.Spec.Containers[0], func(ref *corev1.ConfigMapKeySelector) (string, bool) {
		config, ok := configs[found.Namespace+"/"+ref.Name]
		if !ok {
			return "", false
		}
		value, ok := config.Data[ref.Key]
		return value, ok
	})
}

var reference = regexp.MustCompile(`\$\(([^)]+)\)`)

func commandOf(c *corev1.Container, config func(*corev1.ConfigMapKeySelector) (string, bool)) (*Command, error) {
	command := &Command{}
	values := map[string]string{}
	for _, variable := range c.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil {
			var ok bool
			if from.ConfigMapKeyRef != nil {
				value, ok = config(from.ConfigMapKeyRef)
			}
			if !ok {
				return nil, fmt.Errorf("container %s: nothing says what %s is", c.Name, variable.Name)
			}
		}
		values[variable.Name] = value
		command.Env = append(command.Env, variable.Name+"="+value)
	}
	for _, arg := range c.Args {
		command.Args = append(command.Args, reference.ReplaceAllStringFunc(arg, func(r string) string {
			if value, ok := values[r[2:len(r)-1]]; ok {
				return value
			}
			return r
		}))
	}
	return command, nil
}
