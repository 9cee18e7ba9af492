// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

const catalogFile = "dojo-operator/internal/postgres/images/catalog.yaml"

// A Cluster cannot start without its image, so checkCatalog asks the registry for each image in the
// catalog. It checks nothing in a dry run, or if images are pushed to 127.0.0.1.
func checkCatalog(ctx context.Context, root string, o releaseOptions, out io.Writer) error {
	if o.Operator != "dojo-operator" || o.DryRun || strings.HasPrefix(o.Repo, "127.0.0.1:") {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(catalogFile)))
	if err != nil {
		return err
	}
	var catalog struct {
		Spec struct{ Images []struct{ Image string } }
	}
	if err := yaml.Unmarshal(text, &catalog); err != nil {
		return fmt.Errorf("read %s: %w", catalogFile, err)
	}
	var all []error
	for _, entry := range catalog.Spec.Images {
		all = append(all, checkImage(ctx, entry.Image))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("the catalog of Postgres images: %w", err)
	}
	_, _ = fmt.Fprintf(out, "  the registry has the %d images of %s\n", len(catalog.Spec.Images), catalogFile)
	return nil
}

func checkImage(ctx context.Context, image string) error {
	digest, err := name.NewDigest(image)
	if err != nil {
		return fmt.Errorf("%s is not pinned by digest: %w", image, err)
	}
	if _, err := remote.Head(digest, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("%s cannot be pulled: %w", image, err)
	}
	return nil
}
