// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// manifest returns the text of install.yaml, in which the namespace and the
// CustomResourceDefinitions come first. The text refers to the image by its digest.
func manifest(o imageOptions, image string) (text []byte, err error) {
	root, operator, docs := o.Root, o.Operator, o.docs()
	folder, err := os.MkdirTemp("", "install-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	from, err := filepath.Rel(folder, overlay(root, operator))
	if err != nil {
		return nil, err
	}
	overlaid, err := kustomization(o, from, image)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), overlaid, 0o600); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	rendered, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", overlay(root, operator), err)
	}
	text, err = rendered.AsYaml()
	if err != nil {
		return nil, err
	}
	text = bytes.ReplaceAll(text, []byte(docsPlaceholder), []byte(docs))
	if repository, digest, _ := withoutTag(image); !strings.Contains(string(text), "image: "+repository+"@"+digest) {
		return nil, fmt.Errorf("%s does not use the image %s", overlay(root, operator), operator)
	}
	return fmt.Appendf(nil, "# %s %s. Install this version, or replace an older version by it: kubectl apply --server-side "+
		"-f install.yaml\n%s", operator, o.Version, text), nil
}

// docsPlaceholder is the address of the docs in the component docs-url/links.
const docsPlaceholder = "https://docs.example.com"

// kustomization sets the image, and the operator's flags for docs and companion.
func kustomization(o imageOptions, from, image string) ([]byte, error) {
	root, operator, docs := o.Root, o.Operator, o.docs()
	repository, digest, err := withoutTag(image)
	if err != nil {
		return nil, err
	}
	var components []string
	flag := filepath.Join("components", "docs-url", "links", "flag")
	if _, err := os.Stat(filepath.Join(root, "deploy", operator, flag)); err == nil && docs != "" {
		top, err := filepath.Rel(overlay(root, operator), filepath.Join(root, "deploy", operator))
		if err != nil {
			return nil, err
		}
		components = append(components, filepath.ToSlash(filepath.Join(from, top, flag)))
	}
	var patches []types.Patch
	for name, value := range o.flags() {
		patches = append(patches, types.Patch{
			Target: &types.Selector{ResId: resid.NewResIdKindOnly("Deployment", operator)},
			Patch: fmt.Sprintf("- {op: add, path: /spec/template/spec/containers/0/args/-, value: %q}\n",
				"--"+name+"="+value),
		})
	}
	return yaml.Marshal(types.Kustomization{
		Patches:    patches,
		Components: components,
		TypeMeta:   types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources:  []string{from},
		Images:     []types.Image{{Name: operator, NewName: repository, Digest: digest}},
		Labels: []types.Label{{
			Pairs: map[string]string{"app.kubernetes.io/version": o.Version}, IncludeTemplates: true,
		}},
	})
}

func withoutTag(image string) (repository, digest string, err error) {
	repository, digest, ok := strings.Cut(image, "@")
	if !ok {
		return "", "", fmt.Errorf("the image %q has no digest, and a tag can move to another image: give it as NAME@DIGEST", image)
	}
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	return repository, digest, nil
}

func overlay(root, operator string) string {
	production := filepath.Join(root, "deploy", operator, "overlays", "production")
	if _, err := os.Stat(filepath.Join(production, "kustomization.yaml")); err == nil {
		return production
	}
	return filepath.Join(root, "deploy", operator, "base")
}
