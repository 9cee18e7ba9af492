package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/internal/operator"
	"jutsu.com/operators/test/internal/project"
)

// Previous is the version of an operator before this checkout: its last release, or where there is none the commit before. The error
// says that this checkout has no past, as a shallow clone has none.
func Previous(ctx context.Context, o operator.Operator) (revision string, err error) {
	if tag, err := git(ctx, "describe", "--tags", "--abbrev=0", "--match", o.Name+"/*", "HEAD~"); err == nil {
		return tag, nil
	}
	return git(ctx, "rev-parse", "HEAD~")
}

// Downgrade installs an operator as it was at a revision, and returns when it is ready.
func (s *Stack) Downgrade(ctx context.Context, o operator.Operator, revision string) error {
	root, err := os.MkdirTemp(s.folder, "checkout-")
	if err != nil {
		return err
	}
	archive := filepath.Join(root, "archive.tar")
	if _, err := git(ctx, "archive", "--output="+archive, revision); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "tar", "--extract", "--file="+archive, "--directory="+root).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w: %s", revision, err, out)
	}
	binaries, err := images.CompileAt(ctx, root, s.folder, o.Name)
	if err != nil {
		return err
	}
	entry := "/" + o.Name
	image := images.Image{Name: "jutsu-e2e" + entry + ":previous", Files: map[string]string{entry: binaries[o.Name]}, Entrypoint: []string{entry}}
	pushed, err := image.Push(s.registry)
	if err != nil {
		return err
	}
	if err := s.installOperator(ctx, o, root, pushed); err != nil {
		return err
	}
	return s.ready(ctx)
}

// Upgrade installs an operator as it is in this checkout, and returns when it is ready.
func (s *Stack) Upgrade(ctx context.Context, o operator.Operator) error {
	root, err := project.Root()
	if err != nil {
		return err
	}
	if err := s.installOperator(ctx, o, root, s.Images[o.Name]); err != nil {
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
