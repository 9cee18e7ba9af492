// SPDX-License-Identifier: Apache-2.0

// Package cluster is what a Dojo's own Cluster of CloudNativePG should be, with its backups, and what
// the objects of any Cluster say. All of it is pure.
package cluster

import (
	"fmt"
	"strconv"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// For is the Cluster of a Dojo that has one of its own. Nothing empty may be sent:
// CloudNativePG compares some fields with what the API server made of them, and would restart the
// primary for ever.
func For(d *corev1api.Dojo, live *cnpgv1.Cluster, images cnpg.Images) *unstructured.Unstructured {
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
	} else if image := cnpg.ImageFor(want, live, images); image != "" {
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

// VersionTooLow is the issue with a version that does not open the data of the Cluster; nil where it
// does, or where an image does not say its version.
func VersionTooLow(d *corev1api.Dojo, live *cnpgv1.Cluster, images cnpg.Images) *conditions.Issue {
	if live == nil {
		return nil
	}
	wants, _, has := cnpg.Majors(d, live, images)
	if wants == 0 || wants >= has {
		return nil
	}
	image := cnpg.ImageFor(d.Spec.Postgres.Cluster, live, images)
	return conditions.Degraded(corev1api.ReasonVersionTooLow,
		"The data of the Cluster %s/%s is of Postgres %d, which the image %s does not open, so the Cluster is not changed. "+
			"Name %d or a higher version in spec.postgres.cluster.", d.Namespace, live.Name, has, image, has)
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

// Describe adds to the status of a Dojo what its Cluster says of itself.
func Describe(c *cnpgv1.Cluster, status *corev1api.DatabaseStatus) {
	status.Version = cnpg.VersionOf(c.Status.Image)
	if data := c.Status.PGDataImageInfo; status.Version == "" && data != nil && data.MajorVersion > 0 {
		status.Version = strconv.Itoa(data.MajorVersion)
	}
	status.Instances = fmt.Sprintf("%d/%d", c.Status.ReadyInstances, c.Spec.Instances)
	if primary := c.Status.CurrentPrimary; len(primary) <= validation.DNS1123SubdomainMaxLength {
		status.Primary = primary
	}
}

// Strip leaves of a foreign Cluster its identity, and what a Dojo in it has to know.
func Strip(c *cnpgv1.Cluster) {
	was := *c
	ownership.Strip(c)
	c.Spec.Instances = was.Spec.Instances
	if value, ok := was.Annotations[cnpg.HibernationAnnotation]; ok && !apply.Long(value) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, cnpg.HibernationAnnotation, value)
	}
	if value, ok := was.Annotations[corev1api.OriginAnnotation]; ok && value == cnpg.Bounded(value) {
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
	case cnpg.Hibernates(c):
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
