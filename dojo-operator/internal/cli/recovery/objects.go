// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/kubectl/term"
)

func (p *Plan) copy(w *world.World, r Request, from source) error {
	if r.As == w.Dojo.Name {
		return fmt.Errorf("--as names %s itself: to restore in place, leave --as out", r.As)
	}
	d := &corev1api.Dojo{Spec: *w.Dojo.Spec.DeepCopy()}
	d.Namespace, d.Name = w.Dojo.Namespace, r.As
	d.Spec.Replicas, d.Spec.Suspend, d.Spec.DeletionProtection = new(int32(0)), false, false
	// The original Dojo keeps its hosts, alerts channel and autoscaler. The copy gets none.
	d.Spec.Exposure, d.Spec.Alerts, d.Spec.Autoscaling = nil, nil, nil
	pg := d.Spec.Postgres.Cluster
	pg.Bootstrap = &corev1api.Bootstrap{Recovery: from.recovery(w.Dojo, r.To)}
	version(pg, w, from)
	if known := w.Dojo.Status.Database; pg.Size != "" && known != nil && known.Size != nil {
		cluster.KeepCapacity(pg, known.Size.Storage)
	}
	if pg.Backup != nil && pg.Backup.Plugin != nil {
		p.ServerName = NextServerName(w, d)
		serverName(pg.Backup, p.ServerName)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		return fmt.Errorf("convert the Dojo: %w", err)
	}
	p.Object = &unstructured.Unstructured{Object: object}
	p.Object.SetGroupVersionKind(kinds.Dojo.GroupVersionKind)
	unstructured.RemoveNestedField(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	p.about = fmt.Sprintf("new Dojo %s with the Cluster %s: %s", r.As, cnpg.ObjectName(d), describe(pg, ""))
	p.Steps = []Step{
		{Create, fmt.Sprintf("create the Dojo %s at 0 replicas; %s does not change", r.As, w.Dojo.Name)},
		{Verify, "wait until the data is restored and the operator has run its SQL in the database"},
		{Serve, "start the application: " + term.Count(int(p.Replicas), "replica")},
	}
	return nil
}

// version sets the Postgres version of the restored data in pg. If pg names an image of another
// version, version removes the image.
func version(pg *corev1api.PostgresCluster, w *world.World, from source) {
	major := cmp.Or(from.major, currentMajor(w))
	image := images.Major(images.VersionOf(pg.ImageName))
	switch {
	case from.major > 0 && image > 0 && image != from.major:
		pg.ImageName, pg.Version = "", strconv.Itoa(from.major)
	case major == 0 || pg.ImageName != "":
	case pg.Version == "" || from.major > 0 && pg.Version != strconv.Itoa(from.major):
		pg.Version = strconv.Itoa(major)
	}
}

func majorOf(d *corev1api.Dojo, live *cnpgv1.Cluster, r Request) (major int) {
	if live != nil {
		_, _, major = images.Majors(d, live, images.Input{Catalog: r.catalog()})
	}
	want := d.Spec.Postgres.Cluster
	for _, version := range []string{images.VersionOf(want.ImageName), want.Version, images.VersionOf(r.Image)} {
		major = cmp.Or(major, images.Major(version))
	}
	return major
}

func currentMajor(w *world.World) int {
	if w.Dojo.Status.Database == nil {
		return 0
	}
	return images.Major(w.Dojo.Status.Database.Version)
}

func serverName(b *corev1api.Backup, name string) {
	parameters := map[string]string{}
	maps.Copy(parameters, b.Plugin.Parameters)
	parameters[serverKey] = name
	b.Plugin.Parameters = parameters
}

func describe(pg *corev1api.PostgresCluster, image string) string {
	words := []string{}
	switch {
	case image != "":
		words = append(words, "Postgres "+cmp.Or(images.VersionOf(image), image))
	case pg.ImageName != "":
		words = append(words, "Postgres "+cmp.Or(images.VersionOf(pg.ImageName), pg.ImageName))
	case pg.Version != "":
		words = append(words, "Postgres "+pg.Version)
	}
	if pg.Size != "" {
		return strings.Join(append(words, "size "+string(pg.Size)), ", ")
	}
	words = append(words, term.Count(int(ptr.Deref(pg.Instances, 1)), "instance"),
		strings.TrimSpace(pg.Storage.Size.String()+" "+pg.Storage.StorageClassName))
	return strings.Join(words, ", ")
}

func (p *Plan) inPlace(w *world.World, r Request, from source) error {
	if err := busy(w); err != nil {
		return err
	}
	live := world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ObjectName(w.Dojo))
	switch has := majorOf(w.Dojo, live, r); {
	case w.Unreadable(kinds.Cluster):
		return fmt.Errorf("you may not get %s in the namespace %s, so it is unknown if the restore would replace a Cluster",
			kinds.Cluster.Resource(), w.Dojo.Namespace)
	case !ours(w.Dojo, live):
		return fmt.Errorf("the Cluster %s does not belong to the Dojo: see kubectl dojo status %s -n %s",
			live.Name, w.Dojo.Name, w.Dojo.Namespace)
	case live != nil && (w.Unreadable(kinds.Dojo) || w.Unreadable(kinds.Database)):
		return fmt.Errorf("you need the rights to list %s and %s in the namespace %s: without them, it is unknown if "+
			"others have data in the Cluster %s, which the restore would replace",
			kinds.Dojo.Resource(), kinds.Database.Resource(), w.Dojo.Namespace, live.Name)
	case live != nil && len(w.Others) > 0:
		return fmt.Errorf("the Cluster %s has data of others (%s): restore beside the Dojo with --as; a restore in place "+
			"would delete their data too", live.Name, strings.Join(w.Others, ", "))
	case live != nil && cnpg.Hibernates(live):
		return fmt.Errorf("the Cluster %s is hibernated, so its current data cannot be backed up. %s",
			live.Name, ResumeFirst(w.Dojo, live))
	case live != nil && !cnpg.Up(live):
		return fmt.Errorf("the Cluster %s has no primary, so its current data cannot be backed up: restore beside the "+
			"Dojo with --as, or, if nobody needs that data, first delete the Cluster: "+
			"kubectl delete clusters.postgresql.cnpg.io %s -n %s",
			live.Name, live.Name, w.Dojo.Namespace)
	case live != nil && w.Dojo.Spec.Postgres.Cluster.Backup == nil:
		return fmt.Errorf("%s has no spec.postgres.cluster.backup, so its current data cannot be backed up: "+
			"restore beside the Dojo with --as", w.Dojo.Name)
	case live != nil && r.To.After(from.until(w)):
		return fmt.Errorf("--to is after %s, the last moment that is known to be in the write-ahead log of "+
			"serverName %s: restore beside the Dojo with --as", term.Exact(from.until(w)), from.place().ServerName)
	case has > 0 && from.major > 0 && has != from.major:
		return fmt.Errorf("the backup is of Postgres %d, but %s has Postgres %d: restore beside the Dojo with --as",
			from.major, w.Dojo.Name, has)
	}
	p.Replaces = live != nil
	d := w.Dojo.DeepCopy()
	if b := d.Spec.Postgres.Cluster.Backup; b != nil && b.Plugin != nil {
		p.ServerName = NextServerName(w, d)
		serverName(b, p.ServerName)
	}
	var err error
	if p.Object, err = clusterFor(w, d, live, from, r); err != nil {
		return err
	}
	image, _, _ := unstructured.NestedString(p.Object.Object, "spec", "imageName")
	p.about = fmt.Sprintf("new Cluster %s: %s", p.Object.GetName(), describe(d.Spec.Postgres.Cluster, image))
	p.stepsInPlace()
	return nil
}

// ResumeFirst advises how to end the hibernation of the Dojo's own Cluster.
func ResumeFirst(d *corev1api.Dojo, hibernated *cnpgv1.Cluster) string {
	switch {
	case d.Spec.Suspend:
		return fmt.Sprintf("First resume the Dojo: kubectl dojo resume %s -n %s", d.Name, d.Namespace)
	case cnpg.HibernatedByUs(hibernated):
		return fmt.Sprintf("The operator will resume it, unless the Dojo is paused: see kubectl dojo status %s -n %s",
			d.Name, d.Namespace)
	}
	return "First resume the Cluster: " + cnpg.Resume(hibernated)
}

func (p *Plan) stepsInPlace() {
	name := p.Object.GetName()
	p.Steps = []Step{{Stop, "stop the application"}}
	if p.Replaces {
		p.Steps = append(p.Steps,
			Step{Save, "back up the current data, and wait until the backup has completed"},
			Step{Remove, fmt.Sprintf("delete the Cluster %s with its volumes", name)})
	}
	if p.ServerName != "" {
		p.Steps = append(p.Steps, Step{ChangeArchive, "archive to serverName " + p.ServerName + " from now on"})
	}
	p.Steps = append(p.Steps,
		Step{Create, "create the Cluster " + name},
		Step{Verify, "wait until the data is restored and the operator has run its SQL in the database"},
		Step{Serve, "start the application: " + term.Count(int(p.Replicas), "replica")})
}

// clusterFor returns the Cluster as the operator creates it, with a bootstrap from the source.
func clusterFor(
	w *world.World, d *corev1api.Dojo, live *cnpgv1.Cluster, from source, r Request,
) (*unstructured.Unstructured, error) {
	restored := d.DeepCopy()
	restored.Spec.Postgres.Cluster.Bootstrap = &corev1api.Bootstrap{Recovery: from.recovery(d, r.To)}
	in := bootstrap.Input{Input: cnpg.Input{Now: w.Now}}
	step := bootstrap.Plan(restored, bootstrap.State{Backup: from.backup}, in)
	if step.Blocks != nil {
		return nil, fmt.Errorf("%s", step.Blocks.Message)
	}
	change := step.Change
	// The operator rejects a Cluster whose origin differs from bootstrap in the Dojo's spec.
	if origin := bootstrap.Origin(d); origin != "" {
		change.Annotations[corev1api.OriginAnnotation] = origin
	}
	filled, err := withSize(d, live)
	if err != nil {
		return nil, err
	}
	desired := cluster.For(filled, live, images.Input{Catalog: r.catalog(), Now: w.Now})
	change.Make(desired)
	spec := desired.Object["spec"].(map[string]any)
	switch {
	case live != nil && live.Spec.ImageCatalogRef != nil:
		ref, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live.Spec.ImageCatalogRef)
		if err != nil {
			return nil, fmt.Errorf("convert the image catalog: %w", err)
		}
		delete(spec, "imageName")
		spec["imageCatalogRef"] = ref
	case live != nil && live.Spec.ImageName != "":
		spec["imageName"] = live.Spec.ImageName
	case images.VersionOf(r.Image) != "":
		spec["imageName"] = r.Image
	case spec["imageName"] == nil:
		if image := r.catalog().Image(cmp.Or(from.major, currentMajor(w))); image != "" {
			spec["imageName"] = image
		}
	}
	return desired, nil
}

// NextServerName returns a serverName that is new to the Dojo's spec, Backups and ObjectStores.
func NextServerName(w *world.World, d *corev1api.Dojo) string {
	last := 0
	see := func(server string) {
		if n, ok := number(d, server); ok {
			last = max(last, n)
		}
	}
	for _, b := range Backups(w) {
		if b.Place != nil {
			see(b.Place.ServerName)
		}
	}
	for i := range w.Stores {
		for server := range statusOf(&w.Stores[i]).ServerRecoveryWindow {
			see(server)
		}
	}
	if now := archive(d); d.Name == w.Dojo.Name && now != nil {
		see(now.ServerName)
	}
	if last == 0 {
		return cnpg.ObjectName(d)
	}
	return fmt.Sprintf("%s-%d", cnpg.ObjectName(d), last+1)
}

// number returns the number at the end of a Dojo's serverName, or 1 if there is no number. ok is
// false if server cannot be a serverName of the Dojo.
func number(d *corev1api.Dojo, server string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(server, cnpg.ObjectName(d))
	if !ok || rest == "" {
		return 1, ok
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "-"))
	return n, err == nil && n > 1 && strings.HasPrefix(rest, "-")
}
