// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/check"
	"jutsu.com/operators/dojo-operator/internal/cli/plan"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/options"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
	"jutsu.com/operators/libs/kubectl"
)

type platform struct {
	*options.Options
	sizes   sizes.Presets
	catalog images.Catalog
}

// platform parses the flags in --operator-args (the parameter given). If given is empty, platform
// parses the flags of the operator's Deployment. If there is no Deployment, or the user may not
// list it, platform uses the default flags.
func (s *session) platform(ctx context.Context, given string, report *plan.Report) (p platform, err error) {
	operator, err := s.operator(ctx)
	if err != nil {
		return p, err
	}
	var args []string
	switch {
	case given != "":
		args = strings.Fields(given)
	case operator == nil:
		report.Note("There is no Deployment of dojo-operator, or you may not list it. The plan assumes the default flags, " +
			"and the built-in sizes and images of databases. Name other flags with --operator-args.")
	default:
		container := operatorContainer(operator)
		s.noteVersion(container.Image, report)
		args = container.Args
	}
	p.Options, err = options.Parse(s.Version, args, io.Discard)
	switch {
	case err != nil && given != "":
		return p, kubectl.Usage("--operator-args: %w", err)
	case err != nil:
		return p, fmt.Errorf("dojo-operator %s would not start with the flags of the Deployment %s/%s: %w",
			s.Version, operator.Namespace, operator.Name, err)
	}
	own := files{session: s, operator: operator, given: given != "", report: report}
	presets, err := own.read(ctx, p.PostgresSizes, "sizes")
	if err != nil {
		return p, err
	}
	catalogs, err := own.read(ctx, p.PostgresCatalog, "images")
	p.sizes, p.catalog = sizes.Parse(presets), p.Catalog(catalogs)
	return p, err
}

func (s *session) operator(ctx context.Context) (*appsv1.Deployment, error) {
	var all appsv1.DeploymentList
	_, err := s.listed(ctx, &all, client.MatchingLabels{ownership.NameLabel: check.DojoOperator})
	if err != nil || len(all.Items) == 0 {
		return nil, err
	}
	return &all.Items[0], nil
}

func operatorContainer(operator *appsv1.Deployment) (c corev1.Container) {
	all := operator.Spec.Template.Spec.Containers
	if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == "operator" }); i >= 0 {
		c = all[i]
	}
	return c
}

func (s *session) noteVersion(image string, report *plan.Report) {
	if tag := images.Tag(image); tag != "" && strings.TrimPrefix(tag, "v") != strings.TrimPrefix(s.Version, "v") {
		report.Note(fmt.Sprintf("The cluster runs dojo-operator %s, but this plan is for dojo-operator %s.", tag, s.Version))
	}
}

type files struct {
	*session
	operator *appsv1.Deployment
	given    bool
	report   *plan.Report
}

// read returns the files of the ConfigMap that the operator mounts at folder. With --operator-args,
// it returns the files of the local folder with this path, if the folder exists.
func (f *files) read(ctx context.Context, folder, what string) (map[string][]byte, error) {
	if folder == "" {
		return nil, nil
	}
	if _, err := os.Stat(folder); f.given && err == nil {
		all, err := mounted.Read(folder, func(all map[string][]byte) map[string][]byte { return all })
		if err != nil {
			return nil, kubectl.Usage("--operator-args: %w", err)
		}
		return all.Current(), nil
	}
	name := mountedAt(f.operator, folder)
	if name.Name == "" {
		f.report.Note("The plan did not find the ConfigMap that dojo-operator mounts at " + folder + " for the " + what +
			" of databases. It assumes the built-in " + what + ".")
		return nil, nil
	}
	var found corev1.ConfigMap
	switch err := f.Get(ctx, name, &found); {
	case apierrors.IsForbidden(err):
		f.report.Note("You may not read the " + what + " of databases in the ConfigMap " + name.String() + ", " +
			"so the plan assumes the built-in " + what + ".")
		return nil, nil
	case apierrors.IsNotFound(err): // the operator would find no files in this folder either
		return nil, nil
	case err != nil:
		return nil, err
	}
	all := map[string][]byte{}
	maps.Copy(all, found.BinaryData)
	for name, text := range found.Data {
		all[name] = []byte(text)
	}
	return all, nil
}

func mountedAt(operator *appsv1.Deployment, folder string) (name client.ObjectKey) {
	if operator == nil {
		return name
	}
	for _, mount := range operatorContainer(operator).VolumeMounts {
		for _, volume := range operator.Spec.Template.Spec.Volumes {
			if volume.Name == mount.Name && volume.ConfigMap != nil &&
				path.Clean(mount.MountPath) == path.Clean(folder) {
				name = client.ObjectKey{Namespace: operator.Namespace, Name: volume.ConfigMap.Name}
			}
		}
	}
	return name
}
