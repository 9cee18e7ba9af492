// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

// Request describes which data to restore, and where.
type Request struct {
	// To is the point in time to restore to. The zero time means the latest data.
	To time.Time
	// Backup is the name of the Backup to restore. If it is empty, New chooses a backup.
	Backup string
	// As is the name of a new Dojo for the data. If it is empty, the restore is in place.
	As string
	// Image is the Postgres image of a Cluster that replaces a lost Cluster. If the version of an
	// archive is unknown, the tag of Image says the version. Without a tag, Image is the repository
	// of the images, as in the operator's flag --postgres-image. If Image is empty, the built-in
	// repository is used.
	Image string
}

// catalog returns the Postgres images for a Cluster that replaces a lost Cluster.
func (r Request) catalog() images.Catalog {
	if images.VersionOf(r.Image) != "" {
		return images.BuiltIn("")
	}
	return images.BuiltIn(r.Image)
}

// Action is the kind of a step.
type Action int

// The steps of a restore, in their order.
const (
	// Stop scales the application to 0, and waits until its pods have ended.
	Stop Action = iota
	// Save takes a backup of the current data, and waits until it has completed.
	Save
	// Remove deletes the Cluster with the current data, and waits until it is gone.
	Remove
	// Turn sets a new serverName in the Dojo's spec, so that the new Cluster archives apart from
	// the old one.
	Turn
	// Create creates a Cluster or a Dojo with the restored data.
	Create
	// Verify waits until the data is restored and the operator's SQL has run in it.
	Verify
	// Serve scales the application to its former number of replicas.
	Serve
)

// Step is one step of a restore. Text describes it for the user.
type Step struct {
	Action Action
	Text   string
}

// Plan is the plan of a restore.
type Plan struct {
	// Source describes the origin of the data. Window is the time window that contains the restored
	// state; nil if the user named a Backup.
	Source string
	Window *Window
	// Backup is the name of the Backup to restore; "" if the data comes from a window.
	Backup string
	// To is the point in time to restore to. The zero time means the latest data.
	To time.Time
	// Target is the name of the Dojo that gets the data. InPlace reports whether Target is the
	// original Dojo. Replaces reports whether the restore deletes a live Cluster.
	Target            string
	InPlace, Replaces bool
	// Object is the object to create: a Cluster if InPlace is true, or else a Dojo.
	Object *unstructured.Unstructured
	// ServerName is the serverName under which the restored Cluster archives. It is empty if no
	// plugin makes the backups.
	ServerName string
	// Replicas is the number of replicas after the restore.
	Replicas int32
	Steps    []Step
	// Notes are warnings for the user.
	Notes []string
	// about describes the new Cluster or the new Dojo for the user.
	about string
}

// ClusterName returns the name of the Cluster that gets the data.
func (p *Plan) ClusterName() string {
	target := &corev1api.Dojo{}
	target.Name = p.Target
	return cnpg.ObjectName(target)
}

// New plans a restore. Its error says why the data cannot be restored.
func New(w *world.World, r Request) (*Plan, error) {
	if err := refused(w.Dojo); err != nil {
		return nil, err
	}
	from, err := find(w, r)
	if err == nil {
		from.major, err = from.version(w, r)
	}
	if err != nil {
		return nil, err
	}
	p := &Plan{To: r.To, Window: from.window, Target: w.Dojo.Name, InPlace: r.As == ""}
	if from.backup != nil {
		p.Backup = from.backup.Name
	}
	p.Replicas = size(w.Dojo)
	p.Source = from.words(w.Dojo)
	if p.InPlace {
		err = p.inPlace(w, r, from)
	} else {
		p.Target = r.As
		err = p.copy(w, r, from)
	}
	if err != nil {
		return nil, err
	}
	p.notes(w, from)
	return p, nil
}

// SizeAnnotation on a Dojo records the number of replicas before a restore in place stops the
// application. If a user repeats an interrupted restore, the application still gets this number.
const SizeAnnotation = "core.jutsu.com/replicas-before-restore"

// size returns the number of replicas to start after the restore. If an interrupted restore has
// stopped the application, this is the number in SizeAnnotation.
func size(d *corev1api.Dojo) int32 {
	now := ptr.Deref(d.Spec.Replicas, 1)
	if before, err := strconv.ParseInt(d.Annotations[SizeAnnotation], 10, 32); err == nil && now == 0 {
		return int32(before)
	}
	return now
}

func refused(d *corev1api.Dojo) error {
	switch pg := d.Spec.Postgres; {
	case pg == nil:
		return fmt.Errorf("the operator does not run the database of %s (spec.credentialsRef). "+
			"Restore the database with its own tools, and name its Secret in spec.credentialsRef", d.Name)
	case pg.ClusterRef != nil:
		return fmt.Errorf("the database of %s is in the Cluster %s, which belongs to others too. Restore the Cluster under "+
			"another name with CloudNativePG, then copy the database",
			d.Name, pg.ClusterRef.Name)
	}
	return nil
}

func databaseOf(d *corev1api.Dojo) string {
	if d.Status.Database != nil {
		return d.Status.Database.Name
	}
	return cnpg.SQLName(d)
}

// Restorable reports whether any data of the Dojo can be restored. former reports whether the
// newest restorable data is in a former archive, which lacks all later writes.
func Restorable(w *world.World) (ok, former bool) {
	if refused(w.Dojo) != nil {
		return false, false
	}
	from, err := find(w, Request{})
	return err == nil, err == nil && from.former(w.Dojo)
}

var errBusy = errors.New("restore beside the Dojo with --as, or repeat the command when the Dojo runs normally again")

func busy(w *world.World) error {
	d := w.Dojo
	var what string
	switch {
	case d.DeletionTimestamp != nil:
		what = "is being deleted"
	case d.Spec.Suspend:
		what = "is suspended"
	case d.Annotations[corev1api.PausedAnnotation] == "true":
		what = "is paused by an annotation"
	case d.Status.Database != nil && d.Status.Database.Upgrade != nil:
		what = "is being upgraded"
	default:
		return nil
	}
	return fmt.Errorf("%s %s: %w", d.Name, what, errBusy)
}

func ours(d *corev1api.Dojo, c *cnpgv1.Cluster) bool { return c == nil || ownership.Holds(d, c) }

// ArchivesApart reports whether the Dojo needs a new serverName for a new Cluster, and for an
// upgrade to another major version of Postgres. The plugin barman-cloud requires a new one.
func ArchivesApart(d *corev1api.Dojo) bool {
	now := archive(d)
	return now != nil && now.Plugin == cnpg.BarmanCloud
}
