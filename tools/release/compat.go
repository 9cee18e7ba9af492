// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/yaml"
)

type finding struct {
	// Breaking reports whether existing objects, clients or manifests may stop working.
	Breaking bool
	// Accepted is the reason to accept a breaking change since the baseline, or "".
	Accepted string
	// Where names the kind, the version and the field.
	Where string
	What  string
}

func (f finding) breaks() bool { return f.Breaking && f.Accepted == "" }

func (f finding) String() string {
	switch {
	case f.breaks():
		return "BREAKING " + f.Where + ": " + f.What
	case f.Breaking:
		change, _, _ := strings.Cut(f.What, " :")
		return "accepted " + f.Where + ": " + change + ": " + f.Accepted
	}
	return "warning  " + f.Where + ": " + f.What
}

// policy allows changes of descriptions and new values of enums. Crdify cannot check some changes,
// such as changes of CEL rules, and only warns of them.
var policy = &config.Config{
	Validations: []config.ValidationConfig{
		{Name: "description", Enforcement: config.EnforcementPolicyNone},
		{Name: "enum", Enforcement: config.EnforcementPolicyError, Configuration: map[string]any{"additionPolicy": "Allow"}},
	},
	UnhandledEnforcement: config.EnforcementPolicyWarn,
	Conversion:           config.ConversionPolicyNone,
}

func compare(before, after map[string]*apiextensionsv1.CustomResourceDefinition) ([]finding, error) {
	checks, err := runner.New(policy, runner.DefaultRegistry())
	if err != nil {
		return nil, fmt.Errorf("set up crdify: %w", err)
	}
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			found = append(found, finding{Breaking: true, Where: name, What: "the kind is gone"})
			continue
		}
		found = append(found, served(before[name], after[name])...)
		results := checks.Run(before[name], after[name])
		found = append(found, differences(name, results.CRDValidation)...)
		for _, version := range slices.Concat(results.SameVersionValidation, results.ServedVersionValidation) {
			for _, property := range version.PropertyComparisons {
				where := name + " " + version.Version + " " + strings.TrimPrefix(property.Property, "^.")
				found = append(found, differences(where, property.ComparisonResults)...)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return strings.Compare(a.Where+a.What, b.Where+b.What) })
	return slices.Compact(found), nil
}

func differences(where string, results []validations.ComparisonResult) []finding {
	var found []finding
	for _, result := range results {
		for _, text := range result.Errors {
			found = append(found, finding{Breaking: true, Where: where, What: text})
		}
		for _, text := range result.Warnings {
			found = append(found, finding{Where: where, What: text})
		}
	}
	return found
}

// served compares names, versions and subresources, because crdify does not compare them.
func served(before, after *apiextensionsv1.CustomResourceDefinition) []finding {
	var found []finding
	was, is := before.Spec.Names, after.Spec.Names
	if was.Kind != is.Kind || was.Plural != is.Plural || before.Spec.Group != after.Spec.Group {
		found = append(found, finding{Breaking: true, Where: before.Name,
			What: fmt.Sprintf("it was called %s (%s) and is called %s (%s)", was.Kind, was.Plural, is.Kind, is.Plural)})
	}
	for _, short := range was.ShortNames {
		if !slices.Contains(is.ShortNames, short) {
			found = append(found, finding{Where: before.Name, What: "the short name " + short + " is gone"})
		}
	}
	for _, version := range before.Spec.Versions {
		where := before.Name + " " + version.Name
		now := validations.GetCRDVersionByName(after, version.Name)
		if version.Served && (now == nil || !now.Served) {
			found = append(found, finding{Breaking: true, Where: where, What: "the version is no longer served"})
			continue
		}
		if now == nil || version.Subresources == nil {
			continue
		}
		if now.Subresources == nil || (version.Subresources.Status != nil && now.Subresources.Status == nil) ||
			(version.Subresources.Scale != nil && now.Subresources.Scale == nil) {
			found = append(found, finding{Breaking: true, Where: where, What: "a subresource (status, scale) is gone"})
		}
	}
	return found
}

// checkCompat fails if the API has a breaking change since the last release. Without a release, it
// fails if the API has a breaking change since the baseline, unless the list accepted has the
// change. It ignores the release whose tag equals the parameter without.
func checkCompat(ctx context.Context, r repository, out io.Writer, operator, without string) error {
	last, err := r.former(ctx, operator, except(without))
	if err != nil {
		return err
	}
	if last == nil {
		_, _ = fmt.Fprintf(out, "API of %s: there is no release yet (no tag %s/v*) and no baseline (no %s), so there is "+
			"nothing to be compatible with.\n", operator, operator, baselineFile)
		return nil
	}
	found, err := r.changes(ctx, last)
	if err != nil {
		return err
	}
	for _, f := range found {
		text := f.String()
		if last.Baseline && !f.Breaking {
			text, _, _ = strings.Cut(text, " :\n") // without the diff of rules and texts
		}
		_, _ = fmt.Fprintln(out, text)
	}
	if slices.ContainsFunc(found, finding.breaks) {
		return fmt.Errorf("the API of %s has a breaking change since %s: serve a new version of the kind, or revert the "+
			"change", operator, last)
	}
	_, _ = fmt.Fprintf(out, "API of %s: compatible with %s.\n", operator, last)
	return nil
}

func (r repository) changes(ctx context.Context, last *former) ([]finding, error) {
	before, err := r.crdsAt(ctx, last.Operator, last.Commit)
	if err != nil {
		return nil, err
	}
	after, err := crdsOf(os.DirFS(filepath.Join(r.root, "deploy", last.Operator, "crds")))
	if err != nil {
		return nil, err
	}
	found, err := compare(before, after)
	if err != nil || !last.Baseline {
		return found, err
	}
	return found, accept(found, slices.Collect(maps.Keys(before)))
}

func (r repository) crdsAt(
	ctx context.Context, operator, revision string,
) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := r.lines(ctx, "ls-tree", "--name-only", revision, "deploy/"+operator+"/crds/")
	if err != nil {
		return nil, err
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := r.git(ctx, "show", revision+":"+file)
		if err != nil {
			return nil, err
		}
		if err := addCRD(found, path.Base(file), []byte(text)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func crdsOf(folder fs.FS) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		if err := addCRD(found, file, text); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func addCRD(found map[string]*apiextensionsv1.CustomResourceDefinition, file string, text []byte) error {
	if file == "kustomization.yaml" {
		return nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	found[crd.Name] = &crd
	return nil
}
