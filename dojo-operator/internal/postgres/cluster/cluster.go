// SPDX-License-Identifier: Apache-2.0

// Package cluster is what a Dojo's own Cluster of CloudNativePG should be, with its backups, and what
// the objects of any Cluster say. All of it is pure.
package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Images say where Postgres comes from.
type Images struct {
	// Image has no tag, which is the version that a Dojo asks for.
	Image string
	// Catalog is a ClusterImageCatalog that has the image of a version, instead; empty for none.
	Catalog string
}

// For is the Cluster of a Dojo that has one of its own. Nothing empty may be sent:
// CloudNativePG compares some fields with what the API server made of them, and would restart the
// primary for ever.
func For(d *corev1api.Dojo, live *cnpgv1.Cluster, images Images) *unstructured.Unstructured {
	want := d.Spec.Postgres.Cluster
	spec := map[string]any{
		"description": fmt.Sprintf("database of Dojo %s/%s", d.Namespace, d.Name),
		"instances":   int64(ptr.Deref(want.Instances, 1)),
		"storage":     volume(want.Storage),
		// A smart shutdown refuses new connections and waits for those of the application, which a pool
		// never closes, up to three minutes, before another instance can take over
		// (TryShuttingDownSmartFast in pkg/management/postgres/instance.go).
		"smartShutdownTimeout": int64(0),
	}
	if major, err := strconv.ParseInt(want.Version, 10, 64); err == nil && images.Catalog != "" {
		spec["imageCatalogRef"] = map[string]any{
			"apiGroup": cnpgv1.SchemeGroupVersion.Group, "kind": "ClusterImageCatalog", "name": images.Catalog, "major": major,
		}
	} else if image := imageFor(want, live, images); image != "" {
		spec["imageName"] = image
	}
	if resources := apply.As[map[string]any](want.Resources); len(resources) > 0 {
		spec["resources"] = resources
	}
	addSettings(spec, want)
	addBackup(spec, want.Backup)
	desired := ownership.Data(d, cnpg.ClusterKind.GroupVersionKind, cnpg.ObjectName(d), spec)
	bootstrap.Keep(desired, live)
	return desired
}

// imageFor is the image of Postgres, empty where CloudNativePG chooses it, which it does once: it
// writes its default into the spec. Where we have named one before, it stays: not to name it any more
// would let CloudNativePG write the default of today, and upgrade.
func imageFor(want *corev1api.PostgresCluster, live *cnpgv1.Cluster, images Images) string {
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

// VersionTooLow is the issue with a version that does not open the data of the Cluster; nil where it
// does, or where an image does not say its version.
func VersionTooLow(d *corev1api.Dojo, live *cnpgv1.Cluster, images Images) *conditions.Issue {
	if live == nil {
		return nil
	}
	wants, _, has := Majors(d, live, images)
	if wants == 0 || wants >= has {
		return nil
	}
	image := imageFor(d.Spec.Postgres.Cluster, live, images)
	return conditions.Degraded(corev1api.ReasonVersionTooLow,
		"The data of the Cluster %s/%s is of Postgres %d, which the image %s does not open, so the Cluster is not changed. "+
			"Name %d or a higher version in spec.postgres.cluster.", d.Namespace, live.Name, has, image, has)
}

// Majors are the major versions that the spec asks for, that a Cluster names, and of its data; 0 where an
// image does not say it.
func Majors(d *corev1api.Dojo, live *cnpgv1.Cluster, images Images) (wants, names, has int) {
	wants, names = majorOf(imageFor(d.Spec.Postgres.Cluster, live, images)), majorOf(live.Spec.ImageName)
	if ref := live.Spec.ImageCatalogRef; ref != nil {
		names = ref.Major
	}
	has = majorOf(cmp.Or(live.Status.Image, live.Spec.ImageName))
	if info := live.Status.PGDataImageInfo; info != nil {
		has = info.MajorVersion
	}
	return wants, names, has
}

// Hold keeps the image of a Cluster, and where it archives to: what the log of a new version overwrites is
// not for one of the former.
func Hold(desired *unstructured.Unstructured, live *cnpgv1.Cluster) {
	spec := desired.Object["spec"].(map[string]any)
	delete(spec, "imageName")
	delete(spec, "imageCatalogRef")
	delete(spec, "plugins")
	if ref := live.Spec.ImageCatalogRef; ref != nil {
		spec["imageCatalogRef"] = map[string]any{
			"apiGroup": ptr.Deref(ref.APIGroup, ""), "kind": ref.Kind, "name": ref.Name, "major": int64(ref.Major),
		}
	} else if live.Spec.ImageName != "" {
		spec["imageName"] = live.Spec.ImageName
	}
	if len(live.Spec.Plugins) > 0 {
		spec["plugins"] = apply.As[[]any](live.Spec.Plugins)
	}
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

// Describe adds to the status of a Dojo what its Cluster says of itself.
func Describe(c *cnpgv1.Cluster, status *corev1api.DatabaseStatus) {
	status.Version = VersionOf(c.Status.Image)
	if data := c.Status.PGDataImageInfo; status.Version == "" && data != nil && data.MajorVersion > 0 {
		status.Version = strconv.Itoa(data.MajorVersion)
	}
	status.Instances = fmt.Sprintf("%d/%d", c.Status.ReadyInstances, c.Spec.Instances)
	if primary := c.Status.CurrentPrimary; len(primary) <= validation.DNS1123SubdomainMaxLength {
		status.Primary = primary
	}
}

// Up reports whether Postgres can be reached: the pod of the primary is ready, and no other instance
// is to take over. Nothing else says so: readyInstances counts standbys too, and the Ready condition
// stays True in hibernation. A pod that is being deleted is in none of the lists of instancesStatus
// (api/v1/base_funcs.go).
func Up(c *cnpgv1.Cluster) bool {
	return c != nil && !Hibernates(c) && c.Status.CurrentPrimary != "" &&
		c.Status.CurrentPrimary == c.Status.TargetPrimary &&
		slices.Contains(c.Status.InstancesStatus[cnpgv1.PodHealthy], c.Status.CurrentPrimary)
}

// ReadySince is when the Ready condition of a Cluster last flipped.
func ReadySince(c *cnpgv1.Cluster) time.Time {
	created := c.CreationTimestamp.Time
	ready := meta.FindStatusCondition(c.Status.Conditions, string(cnpgv1.ConditionClusterReady))
	if ready != nil && ready.LastTransitionTime.After(created) {
		return ready.LastTransitionTime.Time
	}
	return created
}

// Strip leaves of a foreign Cluster its identity, and what a Dojo in it has to know.
func Strip(c *cnpgv1.Cluster) {
	was := *c
	ownership.Strip(c)
	c.Spec.Instances = was.Spec.Instances
	if value, ok := was.Annotations[HibernationAnnotation]; ok && !apply.Long(value) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, HibernationAnnotation, value)
	}
	if value, ok := was.Annotations[corev1api.OriginAnnotation]; ok && value == bootstrap.Bounded(value) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, corev1api.OriginAnnotation, value) // of one that a user has restored
	}
	c.Status = cnpgv1.ClusterStatus{
		Phase: was.Status.Phase, Image: was.Status.Image,
		CurrentPrimary: was.Status.CurrentPrimary, TargetPrimary: was.Status.TargetPrimary,
		ReadyInstances: was.Status.ReadyInstances, InstancesStatus: was.Status.InstancesStatus,
		PGDataImageInfo: was.Status.PGDataImageInfo,
		Conditions:      was.Status.Conditions,
	}
}

// Progress is how many instances are ready, as an issue to wait for.
func Progress(d *corev1api.Dojo, c *cnpgv1.Cluster) *conditions.Issue {
	phase := ""
	if c.Status.Phase != "" {
		phase = ": " + c.Status.Phase
	}
	return conditions.Progressing(corev1api.ReasonWaitingForCluster,
		"%d of %d instances of the Cluster %s/%s are ready%s.",
		c.Status.ReadyInstances, c.Spec.Instances, d.Namespace, cnpg.ClusterName(d), phase)
}

// Unreachable says why requests cannot reach Postgres; nil is a Cluster that does not exist.
func Unreachable(d *corev1api.Dojo, c *cnpgv1.Cluster) string {
	const message = "Requests cannot reach Postgres: "
	name := fmt.Sprintf("Cluster %s/%s", d.Namespace, cnpg.ClusterName(d))
	switch {
	case c == nil:
		return message + "the " + name + " does not exist."
	case Hibernates(c):
		return message + "the " + name + " is hibernated."
	case c.Status.CurrentPrimary == "":
		return message + "the " + name + " has no primary."
	}
	return fmt.Sprintf("%sthe primary %s of the %s is not ready.", message, c.Status.CurrentPrimary, name)
}

// StripDatabase leaves of a foreign Database its identity, and in which Cluster it is.
func StripDatabase(db *cnpgv1.Database) {
	cluster := db.Spec.ClusterRef
	ownership.Strip(db)
	if !apply.Long(cluster.Name) {
		db.Spec.ClusterRef = cluster
	}
}

// LastWritten is when an object was last changed, its status included.
func LastWritten(o metav1.Object) time.Time {
	return lastEntry(o, func(metav1.ManagedFieldsEntry) bool { return true })
}

// LastAsked is when an object was last changed, its status not included: CloudNativePG writes each
// refusal there, and its message may be another one each time.
func LastAsked(o metav1.Object) time.Time {
	return lastEntry(o, func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource != "status" })
}

func lastEntry(o metav1.Object, counts func(metav1.ManagedFieldsEntry) bool) time.Time {
	at := o.GetCreationTimestamp().Time
	for _, entry := range o.GetManagedFields() {
		if entry.Time != nil && counts(entry) {
			at = slices.MaxFunc([]time.Time{at, entry.Time.Time}, time.Time.Compare)
		}
	}
	return at
}
