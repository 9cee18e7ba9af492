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

// Request selects the data to restore, and the target.
type Request struct {
	// To is the point in time. The zero time means the latest data.
	To time.Time
	// Backup is the name of the Backup to restore. If it is empty, New chooses the source.
	Backup string
	// As is the name of a new Dojo for the data. If it is empty, the restore is in place.
	As string
	// Image is the Postgres image of a Cluster that replaces a lost Cluster. If the Postgres
	// version of an archive is unknown, the tag of Image gives it. Without a tag, Image is a
	// repository of images. If Image is empty, the built-in repository is used.
	Image string
}

func (r Request) catalog() images.Catalog {
	if images.VersionOf(r.Image) != "" {
		return images.BuiltIn("")
	}
	return images.BuiltIn(r.Image)
}

// Action is the kind of a step.
type Action int

// The steps of a restore, in order: stop the application, back up the current data, delete the
// Cluster, set a new serverName in the Dojo's spec, create the Cluster or Dojo, wait for the data
// and the operator's SQL, start the application.
const (
	Stop Action = iota
	Save
	Remove
	ChangeArchive
	Create
	Verify
	Serve
)

// Step is one step of a restore. Text describes it for the user.
type Step struct {
	Action Action
	Text   string
}

// Plan is the plan of a restore.
type Plan struct {
	// Source describes the origin of the data. Window is nil if the origin is a Backup.
	Source string
	Window *Window
	// Backup is empty if the data comes from a window.
	Backup string
	// To is the point in time. The zero time means the latest data.
	To time.Time
	// Target is the Dojo that gets the data. Replaces is true if the restore deletes a Cluster.
	Target            string
	InPlace, Replaces bool
	// Object is the Cluster to create, or the Dojo if InPlace is false.
	Object *unstructured.Unstructured
	// ServerName is the serverName of the restored Cluster; empty if no plugin makes backups.
	ServerName string
	// Replicas are the replicas after the restore.
	Replicas int32
	Steps    []Step
	// Notes are warnings for the user.
	Notes []string

	about string
}

// ClusterName returns the name of the Cluster that gets the data.
func (p *Plan) ClusterName() string {
	target := &corev1api.Dojo{}
	target.Name = p.Target
	return cnpg.ObjectName(target)
}

// New plans a restore, or returns an error with the cause that prevents a restore.
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

// SizeAnnotation records the replicas of a Dojo before a restore, in case of an interruption.
const SizeAnnotation = "core.jutsu.com/replicas-before-restore"

// size returns spec.replicas. If an interrupted restore has set spec.replicas to 0, size returns
// the former replicas from SizeAnnotation.
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
			"Restore the database with its own tools, and name the Secret of the restored database in spec.credentialsRef",
			d.Name)
	case pg.ClusterRef != nil:
		return fmt.Errorf("the database of %s is in the Cluster %s, which others may use too. Restore the Cluster under "+
			"another name with CloudNativePG, then copy the Dojo's database from there",
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

// Restorable reports whether data of the Dojo can be restored. former is true if the newest data is
// in a former archive, which lacks the writes since its end.
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
		return fmt.Errorf("%s is being deleted: restore beside the Dojo with --as", d.Name)
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

// ArchivesApart reports whether barman-cloud makes the backups: barman-cloud needs a new serverName
// for a new Cluster or a new Postgres version.
func ArchivesApart(d *corev1api.Dojo) bool {
	now := archive(d)
	return now != nil && now.Plugin == cnpg.BarmanCloud
}
