// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

func (s *Stack) arguments(o environment.Operator) []any {
	args := s.addresses(o)
	if o == environment.Dojo {
		args = append(args, "--docs-url=https://docs.example.org")
	}
	return args
}

// addresses returns the arguments that name the simulated Discord and the Dojo image. Former
// releases accept these arguments, too.
func (s *Stack) addresses(o environment.Operator) []any {
	args := []any{"--discord-api-url=" + discordURL}
	if o == environment.Dojo {
		args = append(args, "--dojo-image="+s.Images[DojoApp])
	}
	return args
}

func (s *Stack) installOperators(ctx context.Context) error {
	root, err := project.Root()
	if err != nil {
		return err
	}
	for _, o := range environment.All {
		if err := s.installOperator(ctx, o, root, s.Images[o.Name], s.arguments(o)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) installOperator(ctx context.Context, o environment.Operator, root, image string, args []any) error {
	objects, err := o.Render(root, "overlays/production", "prometheus")
	if err != nil {
		return err
	}
	setImage(objects, image, args...)
	return manifests.Apply(ctx, s.admin, objects)
}

func setImage(objects []*unstructured.Unstructured, image string, args ...any) {
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		// Each Deployment has one container, so the image is right for all containers.
		for _, c := range containers {
			container := c.(map[string]any)
			container["image"] = image
			if had, _ := container["args"].([]any); len(had)+len(args) > 0 {
				container["args"] = slices.Concat(had, args)
			}
		}
		_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")
	}
}
