// SPDX-License-Identifier: Apache-2.0

package dojotest

import "jutsu.com/operators/dojo-operator/internal/postgres/images"

// Catalog returns a catalog with the images registry.example/postgres:16 to :18, or with the given
// ones.
func Catalog(tags ...string) images.Catalog {
	if len(tags) == 0 {
		tags = []string{"16", "17", "18"}
	}
	text := "{kind: ImageCatalog, spec: {images: ["
	for _, tag := range tags {
		text += "{major: " + tag[:2] + ", image: 'registry.example/postgres:" + tag + "'},"
	}
	return images.Parse(map[string][]byte{"test": []byte(text + "]}}")})
}
