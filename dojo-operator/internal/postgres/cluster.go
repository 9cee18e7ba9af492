// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// hibernation is CloudNativePG's annotation that stops the instances of a Cluster: "on" or "off".
const hibernation = "cnpg.io/hibernation"

// cluster brings up the Cluster where the Dojo has one of its own, and waits for its primary.
func (w *way) cluster() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	own := d.Spec.Postgres.Cluster
	if own != nil {
		c := sync(w.state, live, clusterFor(d, live, w.config))
		if w.incomplete = versionTooLow(d, live, w.config); w.incomplete != nil {
			c = nil // not even another field: CloudNativePG would refuse it with this one
		}
		w.write(c)
		w.schedule()
		if live == nil {
			return waitForInstances(d, &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: int(*own.Instances)}})
		}
		if c != nil {
			w.incomplete = waitForInstances(d, live)
		}
	}
	if live == nil {
		return w.clusterMissing()
	}
	switch waiting := waitForInstances(d, live); {
	case hibernates(live):
		return conditions.Degraded(corev1api.ReasonClusterHibernated,
			"The Cluster %s/%s is hibernated. Resume it with `kubectl annotate cluster %s %s-`.",
			d.Namespace, live.Name, live.Name, hibernation)
	case !up(live):
		return w.waitForPrimary(waiting)
	case own != nil && !w.incomplete.IsDegraded() && live.Status.ReadyInstances < live.Spec.Instances:
		w.incomplete = w.waitForStandbys(waiting)
	}
	return nil
}

func (w *way) clusterMissing() *conditions.Issue {
	object := fmt.Sprintf("Cluster %s/%s", w.dojo.Namespace, cnpg.ClusterName(w.dojo))
	return conditions.WaitUntil(w.state.Now, w.dojo.WaitingSince(object, w.state.Now), w.config.Deadline,
		conditions.Progressing(corev1api.ReasonWaitingForCluster,
			"Waiting for the %s of CloudNativePG.", object).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotFound,
			"The %s of CloudNativePG does not exist. Create it; the Dojo then continues automatically.", object).For(object))
}

func waitForInstances(d *corev1api.Dojo, c *cnpgv1.Cluster) *conditions.Issue {
	phase := ""
	if c.Status.Phase != "" {
		phase = ": " + c.Status.Phase
	}
	return conditions.Progressing(corev1api.ReasonWaitingForCluster,
		"%d of %d instances of the Cluster %s/%s are ready%s.",
		c.Status.ReadyInstances, c.Spec.Instances, d.Namespace, cnpg.ClusterName(d), phase)
}

// waitForPrimary waits until Postgres can be reached. It counts since when the Dojo waits:
// CloudNativePG writes the status of a Cluster that fails over every second
// (internal/controller/cluster_status.go resets targetPrimary), of one of others the cache does not
// have when it was written, and the Ready condition stays True in hibernation.
func (w *way) waitForPrimary(waiting *conditions.Issue) *conditions.Issue {
	live := w.state.Cluster
	if live.Status.CurrentPrimary != "" { // there has been one
		waiting.Message = unreachable(w.dojo, live) + " " + waiting.Message
	}
	object := fmt.Sprintf("instances of the Cluster %s/%s", live.Namespace, live.Name)
	since := latest(readySince(live), w.dojo.WaitingSince(object, w.state.Now))
	exceeded := w.notReady(waiting).For(object)
	return conditions.WaitUntil(w.state.Now, since, w.config.Deadline, waiting.For(object), exceeded)
}

// waitForStandbys waits for all instances, beside the primary, until nothing has changed for a while.
func (w *way) waitForStandbys(waiting *conditions.Issue) *conditions.Issue {
	since := latest(readySince(w.state.Cluster), lastWritten(w.state.Cluster))
	return conditions.WaitUntil(w.state.Now, since, w.config.Deadline, waiting, w.notReady(waiting))
}

func (w *way) notReady(waiting *conditions.Issue) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonClusterNotReady,
		"%s Nothing has changed for %s. See `kubectl describe cluster %s` and its pods.",
		waiting.Message, w.config.Deadline, w.state.Cluster.Name)
}

// Unreachable says why requests cannot reach Postgres; empty where they can, and where that is not
// known.
func Unreachable(d *corev1api.Dojo, s State) string {
	if d.Spec.Postgres == nil || !s.readable() || up(s.Cluster) {
		return ""
	}
	return unreachable(d, s.Cluster)
}

func unreachable(d *corev1api.Dojo, c *cnpgv1.Cluster) string {
	const message = "Requests cannot reach Postgres: "
	name := fmt.Sprintf("Cluster %s/%s", d.Namespace, cnpg.ClusterName(d))
	switch {
	case c == nil:
		return message + "the " + name + " does not exist."
	case hibernates(c):
		return message + "the " + name + " is hibernated."
	case c.Status.CurrentPrimary == "":
		return message + "the " + name + " has no primary."
	}
	return fmt.Sprintf("%sthe primary %s of the %s is not ready.", message, c.Status.CurrentPrimary, name)
}

// clusterFor is the Cluster of a Dojo that has one of its own. Nothing empty may be sent:
// CloudNativePG compares some fields with what the API server made of them, and would restart the
// primary for ever.
func clusterFor(d *corev1api.Dojo, live *cnpgv1.Cluster, cfg Config) *unstructured.Unstructured {
	want := d.Spec.Postgres.Cluster
	storage := map[string]any{"size": want.Storage.Size.String()}
	if class := want.Storage.StorageClassName; class != "" {
		storage["storageClass"] = class
	}
	spec := map[string]any{
		"description": fmt.Sprintf("database of Dojo %s/%s", d.Namespace, d.Name),
		"instances":   int64(ptr.Deref(want.Instances, 1)),
		"storage":     storage,
		// A smart shutdown refuses new connections and waits for those of the application, which a pool
		// never closes, up to three minutes, before another instance can take over
		// (TryShuttingDownSmartFast in pkg/management/postgres/instance.go).
		"smartShutdownTimeout": int64(0),
	}
	if major, err := strconv.ParseInt(want.Version, 10, 64); err == nil && cfg.Catalog != "" {
		spec["imageCatalogRef"] = map[string]any{
			"apiGroup": cnpgv1.SchemeGroupVersion.Group, "kind": "ClusterImageCatalog", "name": cfg.Catalog, "major": major,
		}
	} else if image := imageFor(want, live, cfg); image != "" {
		spec["imageName"] = image
	}
	if resources := apply.As[map[string]any](want.Resources); len(resources) > 0 {
		spec["resources"] = resources
	}
	if sync := want.Synchronous; sync != nil {
		spec["postgresql"] = map[string]any{"synchronous": map[string]any{
			"method": "any", "number": int64(sync.Number),
			// Both so that no acknowledged commit is ever lost: writes wait while standbys are missing, and
			// none takes over that may lack a commit (docs/src/failover.md, Failover quorum).
			"dataDurability": "required", "failoverQuorum": true,
		}}
	}
	addBackup(spec, want.Backup)
	return ownership.Data(d, cnpg.ClusterKind.GroupVersionKind, cnpg.ObjectName(d), spec)
}

// imageFor is the image of Postgres, empty where CloudNativePG chooses it, which it does once: it
// writes its default into the spec. Where we have named one before, it stays: not to name it any more
// would let CloudNativePG write the default of today, and upgrade.
func imageFor(want *corev1api.PostgresCluster, live *cnpgv1.Cluster, cfg Config) string {
	switch {
	case want.ImageName != "":
		return want.ImageName
	case want.Version != "":
		return cfg.Image + ":" + want.Version
	case live != nil && apply.OwnedFields(ownership.FieldOwner, live).Has(fieldpath.MakePathOrDie("spec", "imageName")):
		return live.Spec.ImageName
	}
	return ""
}

// versionTooLow is the issue with a version that does not open the data of the Cluster; nil where it
// does, or where an image does not say its version.
func versionTooLow(d *corev1api.Dojo, live *cnpgv1.Cluster, cfg Config) *conditions.Issue {
	if live == nil {
		return nil
	}
	has := majorOf(cmp.Or(live.Status.Image, live.Spec.ImageName))
	if info := live.Status.PGDataImageInfo; info != nil {
		has = info.MajorVersion
	}
	image := imageFor(d.Spec.Postgres.Cluster, live, cfg)
	if wants := majorOf(image); wants == 0 || wants >= has {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonVersionTooLow,
		"The data of the Cluster %s/%s is of Postgres %d, which the image %s does not open, so the Cluster is not changed. "+
			"Name %d or a higher version in spec.postgres.cluster.", d.Namespace, live.Name, has, image, has)
}

// majorOf is the major version in the tag of an image of Postgres, 0 where it has none.
func majorOf(image string) int {
	digits, _, _ := strings.Cut(versionOf(image), ".")
	major, _ := strconv.Atoi(digits)
	return major
}

// versionOf is the version in the tag of an image of Postgres, such as "17.6" or "17"; empty where it
// has none.
func versionOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	end := strings.IndexFunc(tag, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(tag)
	}
	return strings.Trim(tag[:end], ".")
}

func hibernates(c *cnpgv1.Cluster) bool { return c.Annotations[hibernation] == "on" }

// up reports whether Postgres can be reached: the pod of the primary is ready, and no other instance
// is to take over. Nothing else says so: readyInstances counts standbys too, and the Ready condition
// stays True in hibernation. A pod that is being deleted is in none of the lists of instancesStatus
// (api/v1/base_funcs.go).
func up(c *cnpgv1.Cluster) bool {
	return c != nil && !hibernates(c) && c.Status.CurrentPrimary != "" &&
		c.Status.CurrentPrimary == c.Status.TargetPrimary &&
		slices.Contains(c.Status.InstancesStatus[cnpgv1.PodHealthy], c.Status.CurrentPrimary)
}

// readySince is when the Ready condition of a Cluster last flipped.
func readySince(c *cnpgv1.Cluster) time.Time {
	if ready := meta.FindStatusCondition(c.Status.Conditions, string(cnpgv1.ConditionClusterReady)); ready != nil {
		return latest(c.CreationTimestamp.Time, ready.LastTransitionTime.Time)
	}
	return c.CreationTimestamp.Time
}

// Strip leaves of a foreign Cluster its identity, and what a Dojo in it has to know.
func Strip(c *cnpgv1.Cluster) {
	was := *c
	ownership.Strip(c)
	c.Spec.Instances = was.Spec.Instances
	if value, ok := was.Annotations[hibernation]; ok {
		c.Annotations = map[string]string{hibernation: value}
	}
	c.Status = cnpgv1.ClusterStatus{
		Phase: was.Status.Phase, Image: was.Status.Image,
		CurrentPrimary: was.Status.CurrentPrimary, TargetPrimary: was.Status.TargetPrimary,
		ReadyInstances: was.Status.ReadyInstances, InstancesStatus: was.Status.InstancesStatus,
		Conditions: was.Status.Conditions,
	}
}
