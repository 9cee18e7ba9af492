// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"path"
	"path/filepath"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
)

// All constants except NextDojoApp are folders of main packages. All constants except plugin are
// keys of Stack.Images.
const (
	DojoApp     = "test/e2e/programs/dojo"
	NextDojoApp = DojoApp + ", next version" // the same program in another image
	Visitor     = "test/e2e/programs/visitor"
	discordtest = "test/discordtest/cmd/discordtest"
	plugin      = "dojo-operator/cmd/kubectl-dojo"
)

func (s *Stack) pushPrograms(ctx context.Context) error {
	root, err := project.Root()
	if err != nil {
		return err
	}
	programs, err := images.Compile(ctx, s.folder, DojoApp, Visitor, discordtest, plugin)
	if err != nil {
		return err
	}
	s.Plugins = filepath.Dir(programs[plugin])
	delete(programs, plugin)
	for source, binary := range programs {
		name := "/" + path.Base(source)
		image := images.Image{Name: "jutsu-e2e" + name + ":e2e", Files: map[string]string{name: binary},
			Entrypoint: []string{name}}
		if s.Images[source], err = image.Push(s.Registry); err != nil {
			return err
		}
	}
	next := images.Image{
		Name: "jutsu-e2e/dojo:next", Files: map[string]string{"/dojo": programs[DojoApp], "/next": "-> dojo"},
		Entrypoint: []string{"/next"},
	}
	if s.Images[NextDojoApp], err = next.Push(s.Registry); err != nil {
		return err
	}
	for _, o := range environment.All {
		if s.Images[o.Name], err = images.PushOperator(ctx, root, s.Registry, s.folder, o.Name, "e2e"); err != nil {
			return err
		}
	}
	return nil
}
