// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/internal/former"
	"jutsu.com/operators/test/testcluster/project"
)

// FormerOperator is an operator's last release, or else the baseline commit.
type FormerOperator struct {
	environment.Operator
	Release former.Release

	// Image is the image's name with digest.
	Image string
}

func (b *FormerOperator) String() string {
	return b.Release.Version + " of commit " + b.Release.Commit[:12]
}

// BuildFormer builds and pushes the former release, unless the registry already has its image.
func BuildFormer(ctx context.Context, o environment.Operator, registry, folder string) (*FormerOperator, error) {
	checkout, err := os.MkdirTemp(folder, "checkout-")
	if err != nil {
		return nil, err
	}
	b := &FormerOperator{Operator: o}
	if b.Release, err = former.CheckOut(ctx, o.Name, checkout); err != nil {
		return nil, err
	}
	version := "before-" + b.Release.Commit[:12]
	if b.Image, err = images.Pushed(ctx, registry, o.Name, version); err != nil {
		b.Image, err = images.PushOperator(ctx, checkout, registry, folder, o.Name, version)
	}
	return b, err
}

// Downgrade installs the former releases with their CRDs, and returns when the operators are ready.
func (s *Stack) Downgrade(ctx context.Context, operators ...*FormerOperator) error {
	for _, b := range operators {
		if err := s.installOperator(ctx, b.Operator, b.Release.Folder, b.Image, s.addresses(b.Operator)); err != nil {
			return err
		}
	}
	return s.ready(ctx)
}

// Upgrade installs this checkout's version of an operator and returns when the operator is ready.
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
