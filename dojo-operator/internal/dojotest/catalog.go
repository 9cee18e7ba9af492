// SPDX-License-Identifier: Apache-2.0

package dojotest

import (
	"strings"

	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

// Catalog returns the images registry.example/postgres:TAG. The default tags are 16, 17 and 18.
func Catalog(tags ...string) images.Catalog {
	if len(tags) == 0 {
		tags = []string{"16", "17", "18"}
	}
	entries := make([]string, 0, len(tags))
	for _, tag := range tags {
		entries = append(entries, "{major: "+tag[:2]+", image: 'registry.example/postgres:"+tag+"'}")
	}
	text := "{kind: ImageCatalog, spec: {images: [" + strings.Join(entries, ", ") + "]}}"
	return images.Parse(map[string][]byte{"test": []byte(text)})
}
