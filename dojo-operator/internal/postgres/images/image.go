// SPDX-License-Identifier: Apache-2.0

// Package images chooses a Cluster's Postgres image: the image in the spec, or the catalog's image
// for the version in the spec. A Cluster keeps its image until an upgrade begins.
package images

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// For returns the image of a Cluster, or "" if CloudNativePG chooses it.
func For(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) string {
	switch want := dojo.Spec.Postgres.Cluster; {
	case want.ImageName != "":
		return want.ImageName
	case want.Version != "":
		return ofVersion(dojo, live, in)
	// Without the field, CloudNativePG would set its default image, and so could upgrade Postgres.
	case live != nil && apply.OwnedFields(ownership.FieldOwner, live).Has(fieldpath.MakePathOrDie("spec", "imageName")):
		return live.Spec.ImageName
	}
	return ""
}

func ofVersion(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) string {
	major, _ := strconv.Atoi(dojo.Spec.Postgres.Cluster.Version)
	has := current(live, major)
	if majorOf(has) == major && !minorDue(dojo, live, in) {
		return has
	}
	return cmp.Or(in.Catalog.images[major], has)
}

// Annotation has the operator's choice of image, so that the operator can undo foreign changes.
const Annotation = "core.jutsu.com/image"

// current returns the image that the Cluster keeps until an upgrade, or "" if it is unknown.
func current(live *cnpgv1.Cluster, major int) string {
	switch {
	case live == nil:
		return ""
	case majorOf(live.Annotations[Annotation]) == major:
		return live.Annotations[Annotation]
	case live.Spec.ImageCatalogRef != nil: // written by a former version of the operator
		return live.Status.Image
	}
	return live.Spec.ImageName
}

// Unknown returns an issue if neither the catalog nor the Cluster has an image of the version in
// the spec.
func Unknown(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) *conditions.Issue {
	own := dojo.Spec.Postgres.Cluster
	if own == nil || own.ImageName != "" || own.Version == "" ||
		strconv.Itoa(majorOf(For(dojo, live, in))) == own.Version {
		return nil
	}
	if in.Catalog.invalid != "" {
		return conditions.Degraded(corev1api.ReasonUnknownVersion,
			"The platform's catalog of Postgres images is not valid (%s). So the Cluster is neither created nor changed. Ask "+
				"the platform team to correct the catalog in the operator's ConfigMap of catalogs, or set "+
				"spec.postgres.cluster.imageName instead of version.",
			in.Catalog.invalid)
	}
	data, upgrade := 0, ""
	if live != nil {
		_, _, data = Majors(dojo, live, in)
	}
	if data != 0 {
		upgrade = fmt.Sprintf(" A major version above %d upgrades the database.", data)
	}
	use := "Set"
	if offers := in.Catalog.Offers(data); offers != "" {
		use = "Use one of " + offers + ", or set"
	}
	return conditions.Degraded(corev1api.ReasonUnknownVersion,
		"The catalog of Postgres images has no version %s, so the Cluster is neither created nor changed. %s "+
			"spec.postgres.cluster.imageName instead of version.%s", own.Version, use, upgrade)
}

// Majors returns the major versions of the spec, the Cluster's image and its data; 0 if unknown.
func Majors(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) (wanted, image, data int) {
	wanted, image = majorOf(For(dojo, live, in)), majorOf(live.Spec.ImageName)
	if ref := live.Spec.ImageCatalogRef; ref != nil {
		image = ref.Major
	}
	data = majorOf(cmp.Or(live.Status.Image, live.Spec.ImageName))
	if info := live.Status.PGDataImageInfo; info != nil {
		data = info.MajorVersion
	}
	return wanted, image, data
}

func majorOf(image string) int { return Major(VersionOf(image)) }

// Major returns the major version of a version such as "17.6"; 0 if the text is no version.
func Major(version string) int {
	digits, _, _ := strings.Cut(version, ".")
	major, _ := strconv.Atoi(digits)
	return major
}

// maxTag is the maximum length of a tag (opencontainers/distribution-spec, spec.md).
const maxTag = 128

// VersionOf returns the version in an image's tag, such as "17.6" or "17", or "".
func VersionOf(image string) string {
	tag := Tag(image)
	end := strings.IndexFunc(tag, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(tag)
	}
	return strings.Trim(tag[:min(end, maxTag)], ".")
}

// Tag returns the tag of an image, or "".
func Tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}
