// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
)

// FormerOperator is an operator before this checkout.
type FormerOperator struct {
	environment.Operator
	// Revision is the last release, or without one the commit before.
	Revision string

	checkout string
	image    string
}

// ErrNoFormerVersion reports a checkout without an earlier commit, such as a shallow clone.
var ErrNoFormerVersion = errors.New("there is nothing before this checkout")

// BuildFormer builds and pushes the former version unless the registry has it.
func BuildFormer(ctx context.Context, o environment.Operator, registry, folder string) (*FormerOperator, error) {
	revision, err := git(ctx, "describe", "--tags", "--abbrev=0", "--match", o.Name+"/*", "HEAD~")
	if err != nil {
		if revision, err = git(ctx, "rev-parse", "--short=12", "HEAD~"); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoFormerVersion, err)
		}
	}
	b := &FormerOperator{Operator: o, Revision: revision}
	if b.checkout, err = os.MkdirTemp(folder, "checkout-"); err != nil {
		return nil, err
	}
	for _, arguments := range [][]string{
		{"clone", "--quiet", "--shared", "--no-checkout", ".", b.checkout},
		{"-C", b.checkout, "checkout", "--quiet", "--detach", revision},
	} {
		if _, err := git(ctx, arguments...); err != nil {
			return nil, err
		}
	}
	version := "before-" + path.Base(revision)
	if b.image, err = images.Pushed(ctx, registry, o.Name, version); err != nil {
		b.image, err = images.PushOperator(ctx, b.checkout, registry, folder, o.Name, version)
	}
	return b, err
}

// Downgrade installs the earlier versions and returns when they are ready.
func (s *Stack) Downgrade(ctx context.Context, operators ...*FormerOperator) error {
	for _, b := range operators {
		if err := s.installOperator(ctx, b.Operator, b.checkout, b.image, s.arguments(b.Operator)); err != nil {
			return err
		}
	}
	return s.ready(ctx)
}

// Upgrade installs this checkout's version and returns when it is ready.
func (s *Stack) Upgrade(ctx context.Context, o environment.Operator) error {
	root, err := project.Root()
	if err != nil {
		return err
	}
	if err := s.installOperator(ctx, o, root, s.Images[o.Name], s.arguments(o)); err != nil {
		return err
	}
	return s.ready(ctx)
}

func git(ctx context.Context, arguments ...string) (string, error) {
	root, err := project.Root()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, arguments...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
