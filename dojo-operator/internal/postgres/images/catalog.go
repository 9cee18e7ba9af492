// SPDX-License-Identifier: Apache-2.0

package images

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"sigs.k8s.io/yaml"
)

const maxImage = 512

//go:embed catalog.yaml
var builtIn []byte

// Catalog has the image of each major version of Postgres.
type Catalog struct {
	images map[int]string

	invalid string
}

// BuiltIn returns the operator's catalog. repository is a mirror with the same images, or empty.
func BuiltIn(repository string) Catalog {
	all := Parse(map[string][]byte{"catalog.yaml": builtIn})
	if repository == "" {
		return all
	}
	for major, image := range all.images {
		// The first colon begins the tag, because the built-in registry has no port.
		name, _, _ := strings.Cut(image, ":")
		all.images[major] = repository + strings.TrimPrefix(image, name)
	}
	return all
}

// Parse reads ClusterImageCatalogs and ImageCatalogs. An invalid file makes the catalog empty.
func Parse(files map[string][]byte) Catalog {
	all := Catalog{images: map[int]string{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := all.add(files[name]); err != nil {
			return Catalog{invalid: fmt.Sprintf("%s: %s", name, err)}
		}
	}
	return all
}

func (c Catalog) add(text []byte) error {
	var file cnpgv1.ImageCatalog // a ClusterImageCatalog has the same fields
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	if file.Kind != "ImageCatalog" && file.Kind != "ClusterImageCatalog" {
		return fmt.Errorf("the kind %q is not ClusterImageCatalog or ImageCatalog", file.Kind)
	}
	for _, entry := range file.Spec.Images {
		switch has := majorOf(entry.Image); {
		case len(entry.Image) > maxImage:
			return fmt.Errorf("the image of version %d has more than %d characters", entry.Major, maxImage)
		case has != entry.Major:
			return fmt.Errorf("the tag of the image %s is not of version %d", entry.Image, entry.Major)
		case c.images[has] != "":
			return fmt.Errorf("there are two images of version %d", has)
		}
		c.images[entry.Major] = entry.Image
	}
	return nil
}

// Image returns the image of a major version, or "".
func (c Catalog) Image(major int) string { return c.images[major] }

// Offers lists the major version of the data (has) and the newer versions in the catalog. If has is
// 0, it lists the whole catalog.
func (c Catalog) Offers(has int) string {
	var all []string
	if has > 0 {
		all = append(all, strconv.Itoa(has))
	}
	for _, major := range slices.Sorted(maps.Keys(c.images)) {
		if major > has {
			all = append(all, strconv.Itoa(major))
		}
	}
	return strings.Join(all, ", ")
}
