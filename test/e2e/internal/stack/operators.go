package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/libs/testcluster/manifests"
	"jutsu.com/operators/test/internal/operator"
	"jutsu.com/operators/test/internal/project"
)

// arguments are what an operator is told beside what its manifests say.
func (s *Stack) arguments(o operator.Operator) []any {
	if o == operator.Dojo {
		return []any{"--dojo-image=" + s.Images[DojoApp]}
	}
	return []any{"--discord-api-url=" + discordURL}
}

// installOperators applies both operators as they are deployed, with the images of this checkout and towards the simulated Discord.
func (s *Stack) installOperators(ctx context.Context) error {
	root, err := project.Root()
	if err != nil {
		return err
	}
	for _, o := range operator.All {
		if err := s.installOperator(ctx, o, root, s.Images[o.Name]); err != nil {
			return err
		}
	}
	return nil
}

// installOperator applies an operator as the checkout at root deploys it.
func (s *Stack) installOperator(ctx context.Context, o operator.Operator, root, image string) error {
	folder, err := s.overlay(o, root)
	if err != nil {
		return fmt.Errorf("overlay for %s: %w", o.Name, err)
	}
	objects, err := manifests.Render(folder)
	if err != nil {
		return err
	}
	setImage(objects, image, s.arguments(o)...)
	return manifests.Apply(ctx, s.admin, objects)
}

// overlay writes what a user's own overlay is: the one for production, scraped by Prometheus. A version that has neither has the base.
func (s *Stack) overlay(o operator.Operator, root string) (folder string, err error) {
	if folder, err = os.MkdirTemp(s.folder, "overlay-"); err != nil {
		return "", err
	}
	kustomization := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}}
	for _, part := range []struct {
		into  *[]string
		paths []string // the first that exists
	}{
		{&kustomization.Resources, []string{"overlays/production", "base"}},
		{&kustomization.Components, []string{"components/prometheus"}},
	} {
		for _, path := range part.paths {
			path = filepath.Join(root, o.Folder(), path)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			relative, err := filepath.Rel(folder, path) // kustomize takes no other
			if err != nil {
				return "", err
			}
			*part.into = append(*part.into, relative)
			break
		}
	}
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o600)
}

// setImage gives the containers of all Deployments an image and further arguments.
func setImage(objects []*unstructured.Unstructured, image string, args ...any) {
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			container := c.(map[string]any)
			container["image"] = image
			if had, _ := container["args"].([]any); len(had)+len(args) > 0 {
				container["args"] = slices.Concat(had, args)
			}
		}
		_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers") // it was one
	}
}
