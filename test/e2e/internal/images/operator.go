// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"jutsu.com/operators/test/testcluster/project"
)

// PushOperator builds and pushes an operator's image from the checkout at root, like a release. It
// returns the name with digest.
func PushOperator(ctx context.Context, root, registry, folder, operator, version string) (reference string,
	err error) {
	release, err := project.Path("bin", "release")
	if err != nil {
		return "", err
	}
	if folder, err = os.MkdirTemp(folder, "image-"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, release, "image", operator,
		"--repo="+repository(registry), "--version="+version, "--platform=linux/"+runtime.GOARCH, "--folder="+folder)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the image of %s with %s, which `make e2e` builds: %w\n%s", operator, release, err, out)
	}
	return Pushed(ctx, registry, operator, version)
}

// Pushed returns the name with digest of an image from PushOperator, or an error if none exists.
func Pushed(ctx context.Context, registry, operator, version string) (reference string, err error) {
	tag, err := name.NewTag(repository(registry) + "/" + operator + ":" + version)
	if err != nil {
		return "", err
	}
	pushed, err := remote.Head(tag, remote.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("look for image %s: %w", tag, err)
	}
	return tag.Context().Digest(pushed.Digest.String()).String(), nil
}

func repository(registry string) string { return registry + "/jutsu-e2e" }
