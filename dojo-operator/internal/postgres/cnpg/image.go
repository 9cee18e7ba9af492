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

// Images selects the image of Postgres. A Catalog that is not empty replaces Image.
type Images struct {
	Image   string
	Catalog string
}

// ImageFor returns "" if CloudNativePG chooses the image. One that the operator has set stays:
// without it, CloudNativePG would write its present default, and upgrade.
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

// Majors returns the major versions of spec, Cluster image and data; 0 if one is not known.
func Majors(dojo *corev1api.Dojo, live *cnpgv1.Cluster, images Images) (wanted, image, data int) {
	wanted, image = majorOf(ImageFor(dojo.Spec.Postgres.Cluster, live, images)), majorOf(live.Spec.ImageName)
	if ref := live.Spec.ImageCatalogRef; ref != nil {
		image = ref.Major
	}
	data = majorOf(cmp.Or(live.Status.Image, live.Spec.ImageName))
	if info := live.Status.PGDataImageInfo; info != nil {
		data = info.MajorVersion
	}
	return wanted, image, data
}

func majorOf(image string) int {
	digits, _, _ := strings.Cut(VersionOf(image), ".")
	major, _ := strconv.Atoi(digits)
	return major
}

// maxTag is that of opencontainers/distribution-spec (spec.md). It bounds the status.
const maxTag = 128

// VersionOf returns the version in an image's tag, such as "17.6" or "17", or "".
func VersionOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	end := strings.IndexFunc(tag, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(tag)
	}
	return strings.Trim(tag[:min(end, maxTag)], ".")
}
