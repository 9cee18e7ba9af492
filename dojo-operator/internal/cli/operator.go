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
	"jutsu.com/operators/dojo-operator/internal/options"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
	"jutsu.com/operators/libs/kubectl"
)

// operatorOptions returns the flags of the operator and its sizes of databases, nil for those built
// in. The flags are given, read from its Deployment, or defaults.
func (s *session) operatorOptions(
	ctx context.Context, given string, report *plan.Report,
) (*options.Options, *sizes.Store, error) {
	if given != "" {
		o, err := options.Parse(s.Version, strings.Fields(given), io.Discard)
		if err != nil {
			return nil, nil, kubectl.Usage("--operator-args: %w", err)
		}
		presets, err := s.givenSizes(ctx, o.PostgresSizes, report)
		return o, presets, err
	}
	operator, err := s.operator(ctx)
	if err != nil {
		return nil, nil, err
	}
	if operator == nil {
		report.Note("The Deployment of dojo-operator is not there, or you may not list it: the defaults of its flags " +
			"and the built-in sizes of databases are assumed. Name other flags with --operator-args.")
		o, err := options.Parse(s.Version, nil, io.Discard)
		return o, nil, err
	}
	container := operatorContainer(operator)
	s.noteVersion(container.Image, report)
	o, err := options.Parse(s.Version, container.Args, io.Discard)
	if err != nil {
		return nil, nil, fmt.Errorf("dojo-operator %s would not start with the flags of the Deployment %s/%s: %w",
			s.Version, operator.Namespace, operator.Name, err)
	}
	presets, err := s.mountedSizes(ctx, operator, o.PostgresSizes, report)
	return o, presets, err
}

// operator returns the operator's Deployment; nil if there is none that the user may list.
func (s *session) operator(ctx context.Context) (*appsv1.Deployment, error) {
	var all appsv1.DeploymentList
	err := s.List(ctx, &all, client.MatchingLabels{"app.kubernetes.io/name": check.DojoOperator})
	if err != nil || len(all.Items) == 0 {
		return nil, ignoreDenied(err)
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

// noteVersion notes that another version of the operator runs.
func (s *session) noteVersion(image string, report *plan.Report) {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if tag != "" && strings.TrimPrefix(tag, "v") != strings.TrimPrefix(s.Version, "v") {
		report.Note(fmt.Sprintf("dojo-operator %s runs; this is the plan of %s.", tag, s.Version))
	}
}

// givenSizes reads sizes from a folder that the user names: one of this machine, or else the one
// that the running operator has.
func (s *session) givenSizes(ctx context.Context, folder string, report *plan.Report) (*sizes.Store, error) {
	if folder == "" {
		return nil, nil
	}
	if _, err := os.Stat(folder); err == nil {
		presets, err := sizes.NewStore(folder)
		if err != nil {
			return nil, kubectl.Usage("--operator-args: --postgres-sizes: %w", err)
		}
		return presets, nil
	}
	operator, err := s.operator(ctx)
	if err != nil {
		return nil, err
	}
	return s.mountedSizes(ctx, operator, folder, report)
}

// mountedSizes reads sizes from the ConfigMap that the operator mounts at a folder. It takes the
// built-in sizes if the user may not read it.
func (s *session) mountedSizes(
	ctx context.Context, operator *appsv1.Deployment, folder string, report *plan.Report,
) (*sizes.Store, error) {
	if folder == "" {
		return nil, nil
	}
	name := mountedAt(operator, folder)
	if name.Name == "" {
		report.Note("No ConfigMap with sizes of databases is known at " + folder + " of dojo-operator: " +
			"the built-in sizes are assumed.")
		return nil, nil
	}
	var files corev1.ConfigMap
	switch err := s.Get(ctx, name, &files); {
	case apierrors.IsForbidden(err):
		report.Note("You may not read the sizes of databases in the ConfigMap " + name.String() + ": " +
			"the built-in sizes are assumed.")
		return nil, nil
	case apierrors.IsNotFound(err): // as for the operator
		return nil, nil
	case err != nil:
		return nil, err
	}
	all := maps.Clone(files.BinaryData)
	if all == nil {
		all = map[string][]byte{}
	}
	for name, text := range files.Data {
		all[name] = []byte(text)
	}
	return sizes.Fixed(sizes.Parse(all)), nil
}

// mountedAt returns the name of the ConfigMap at a folder of the operator, or none.
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
