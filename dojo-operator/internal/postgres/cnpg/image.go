// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"cmp"
	"strconv"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// Images say where Postgres comes from.
type Images struct {
	// Image has no tag, which is the version that a Dojo asks for.
	Image string
	// Catalog is a ClusterImageCatalog that has the image of a version, instead; empty for none.
	Catalog string
}

// ImageFor is the image of Postgres, empty where CloudNativePG chooses it, which it does once: it
// writes its default into the spec. Where we have named one before, it stays: not to name it any more
// would let CloudNativePG write the default of today, and upgrade.
func ImageFor(want *corev1api.PostgresCluster, live *cnpgv1.Cluster, images Images) string {
	switch {
	case want.ImageName != "":
		return want.ImageName
	case want.Version != "":
		return images.Image + ":" + want.Version
	case live != nil && apply.OwnedFields(ownership.FieldOwner, live).Has(fieldpath.MakePathOrDie("spec", "imageName")):
		return live.Spec.ImageName
	}
	return ""
}

// Majors are the major versions that the spec asks for, that a Cluster names, and of its data; 0 where an
// image does not say it.
func Majors(d *corev1api.Dojo, live *cnpgv1.Cluster, images Images) (wants, names, has int) {
	wants, names = majorOf(ImageFor(d.Spec.Postgres.Cluster, live, images)), majorOf(live.Spec.ImageName)
	if ref := live.Spec.ImageCatalogRef; ref != nil {
		names = ref.Major
	}
	has = majorOf(cmp.Or(live.Status.Image, live.Spec.ImageName))
	if info := live.Status.PGDataImageInfo; info != nil {
		has = info.MajorVersion
	}
	return wants, names, has
}

// majorOf is the major version in the tag of an image of Postgres, 0 where it has none.
func majorOf(image string) int {
	digits, _, _ := strings.Cut(VersionOf(image), ".")
	major, _ := strconv.Atoi(digits)
	return major
}

// maxTag is the length of the longest tag of an image (opencontainers/distribution-spec, spec.md).
// Whatever another client writes to a Cluster, the status of the Dojo has room for it.
const maxTag = 128

// VersionOf is the version in the tag of an image of Postgres, such as "17.6" or "17"; empty where it
// has none.
func VersionOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	end := strings.IndexFunc(tag, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(tag)
	}
	return strings.Trim(tag[:min(end, maxTag)], ".")
}
