// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/kubectl/term"
)

// Request describes which data to restore, and where.
type Request struct {
	// To is the point in time to restore to. The zero time means the latest data.
	To time.Time
	// Backup is the name of the Backup to restore. If it is empty, New chooses a backup.
	Backup string
	// As is the name of a new Dojo for the data. If it is empty, the restore is in place.
	As string
	// Image is the Postgres image of a Cluster that replaces a lost Cluster. Its tag is also the
	// version of an archive of unknown version. Without a tag, it is the repository of the images,
	// as in the operator's flag --postgres-image. If it is empty, the built-in repository is used.
	Image string
}

// catalog returns the images from which to choose if a lost Cluster is replaced.
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

// source is where the restored data comes from: a window or a Backup.
type source struct {
	window *Window
	backup *cnpgv1.Backup
	major  int
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
		return fmt.Errorf("the database of %s is not the operator's: spec.credentialsRef names it. "+
			"Restore it where it is, and name its Secret there", d.Name)
	case pg.ClusterRef != nil:
		return fmt.Errorf("the database of %s is in the Cluster %s, which is not its own: it is restored with that Cluster",
			d.Name, pg.ClusterRef.Name)
	}
	return nil
}

func (s source) words(d *corev1api.Dojo) string {
	if s.backup != nil {
		return fmt.Sprintf("Backup %s/%s", d.Namespace, s.backup.Name)
	}
	p := s.window.Place
	if store := p.Store(); store != "" {
		return fmt.Sprintf("object store %s (serverName %s)", store, p.ServerName)
	}
	return fmt.Sprintf("%s (serverName %s)", p.Plugin, p.ServerName)
}

// find returns the window or the Backup from which the requested data can be restored.
func find(w *world.World, r Request) (s source, err error) {
	if r.To.After(w.Now) {
		return s, fmt.Errorf("%s is in the future", term.Exact(r.To))
	}
	if r.Backup != "" {
		return findBackup(w, r)
	}
	windows := Windows(w)
	for i := range windows {
		if r.To.IsZero() && windows[i].backupsOnly {
			if r.Backup = lastIn(w, windows[i].Place); r.Backup != "" {
				return findBackup(w, r)
			}
		}
		if r.To.IsZero() || windows[i].Contains(r.To) {
			return source{window: &windows[i], major: majorIn(w, windows[i].Place, r.To)}, nil
		}
	}
	for _, b := range Completed(w) {
		if b.Snapshot() && b.Usable && r.To.IsZero() {
			r.Backup = b.Name
			return findBackup(w, r)
		}
	}
	return s, nothing(w, r, windows)
}

// lastIn returns the name of the last usable Backup in a place, or "".
func lastIn(w *world.World, place Place) string {
	for _, b := range Completed(w) {
		if b.Usable && b.Place != nil && b.Place.equal(place) {
			return b.Name
		}
	}
	return ""
}

// withoutLog reports whether only the end of a backup can be restored.
func withoutLog(d *corev1api.Dojo, b Backup) bool {
	now := archive(d)
	return b.Snapshot() || b.Place != nil && now != nil && b.Place.equal(*now) && !archivesLog(d)
}

// nothing returns the error if no window and no Backup has the requested data. The error lists what
// can be restored instead.
func nothing(w *world.World, r Request, windows []Window) error {
	if w.Unreadable(kinds.Backup) && w.Unreadable(kinds.ObjectStore) {
		return fmt.Errorf("you may not list %s and %s in the namespace %s, which say what can be restored",
			kinds.Backup.Resource(), kinds.ObjectStore.Resource(), w.Dojo.Namespace)
	}
	var can []string
	for _, window := range windows {
		if !window.backupsOnly {
			can = append(can, window.Words(w.Now))
		}
	}
	for _, b := range Completed(w) {
		if withoutLog(w.Dojo, b) {
			can = append(can, fmt.Sprintf("--backup %s (%s)", b.Name, term.Moment(b.Ended, w.Now)))
		}
	}
	if len(can) == 0 {
		return fmt.Errorf("%s has no backup that has completed: nothing can be restored", w.Dojo.Name)
	}
	return fmt.Errorf("%s cannot be restored to %s; it can to: %s",
		w.Dojo.Name, term.Exact(r.To), strings.Join(can, ", or "))
}

// Words describes a window for the user, such as "21 Nov 02:00 to 24 Nov 02:51".
func (w Window) Words(now time.Time) string {
	to := term.Moment(w.To, now)
	switch {
	case w.Live:
		to = "now"
	case !w.Sure:
		to = "about " + to
	}
	return term.Moment(w.From, now) + " to " + to
}

func findBackup(w *world.World, r Request) (s source, err error) {
	for i := range w.Backups {
		b := &w.Backups[i]
		if b.Name != r.Backup {
			continue
		}
		switch is := backupOf(b); {
		case !is.Usable && is.Phase != cnpgv1.BackupPhaseCompleted:
			return s, fmt.Errorf("the Backup %s has not completed: it is %q", b.Name, is.Phase)
		case !is.Usable:
			return s, fmt.Errorf("the Backup %s does not say where it is (spec.pluginConfiguration.parameters): "+
				"leave --backup out, so that it is found by its time", b.Name)
		case is.Snapshot() && !r.To.IsZero():
			return s, fmt.Errorf("the Backup %s is a volume snapshot, without the log that --to needs", b.Name)
		case withoutLog(w.Dojo, is) && !r.To.IsZero():
			return s, fmt.Errorf("the Backup %s has no log, which --to needs, because walArchiver is false", b.Name)
		case !r.To.IsZero() && r.To.Before(is.Ended):
			return s, fmt.Errorf("the Backup %s ended at %s, after %s", b.Name, term.Exact(is.Ended), term.Exact(r.To))
		default:
			return source{backup: b, major: is.Major}, nil
		}
	}
	return s, fmt.Errorf("there is no Backup %s of %s; kubectl dojo backups %s -n %s lists them",
		r.Backup, w.Dojo.Name, w.Dojo.Name, w.Dojo.Namespace)
}

// majorIn returns the major version of the last backup in a place before a moment. Without one, it
// returns that of the first backup, or 0.
func majorIn(w *world.World, place Place, to time.Time) (major int) {
	for _, b := range Completed(w) {
		if b.Place == nil || !b.Place.equal(place) || b.Major == 0 {
			continue
		}
		if major = b.Major; to.IsZero() || !b.Ended.After(to) {
			break
		}
	}
	return major
}

// place returns where the plugin stores the source; nil for a volume snapshot.
func (s source) place() *Place {
	if s.window != nil {
		return &s.window.Place
	}
	return backupOf(s.backup).Place
}

// until returns the moment to which the log of the source is known to reach.
func (s source) until(w *world.World) time.Time {
	if s.window != nil {
		return s.window.To
	}
	until, place := backupOf(s.backup).Ended, s.place()
	for _, window := range Windows(w) {
		if place != nil && window.equal(*place) {
			until = window.To
		}
	}
	return until
}

// former reports whether the source is an archive to which the Dojo's Cluster no longer archives.
func (s source) former(d *corev1api.Dojo) bool {
	place, now := s.place(), archive(d)
	return place != nil && (now == nil || !place.equal(*now))
}

// version returns the major version of the source, or 0 if only CloudNativePG knows it. A former
// archive whose Backup objects are gone is usually of a former version: barman-cloud deletes them
// after an upgrade, but not after a restore. A Cluster with another version cannot start, so the
// user must name the version of such an archive, and a live Cluster is never deleted for it.
func (s source) version(w *world.World, r Request) (int, error) {
	if s.major > 0 || !s.former(w.Dojo) {
		return s.major, nil
	}
	beside := ""
	if r.As == "" && world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ObjectName(w.Dojo)) != nil {
		beside = "restore beside it with --as, and "
	}
	if major := images.Major(images.VersionOf(r.Image)); major > 0 && beside == "" {
		return major, nil
	}
	return 0, fmt.Errorf("the version of Postgres of the archive %s is not known: %sname an image of that version, with "+
		"its tag, in --postgres-image", s.place().ServerName, beside)
}

func (s source) recovery(d *corev1api.Dojo, to time.Time) *corev1api.Recovery {
	r := &corev1api.Recovery{Database: databaseOf(d)}
	if !to.IsZero() {
		r.TargetTime = to.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	}
	if s.backup != nil {
		r.Backup = &corev1api.BackupReference{Name: s.backup.Name}
		return r
	}
	r.ObjectStore = &corev1api.RecoveryObjectStore{
		Plugin:     corev1api.RecoveryPlugin{Name: s.window.Plugin, Parameters: s.window.Parameters},
		ServerName: s.window.ServerName,
	}
	return r
}

func databaseOf(d *corev1api.Dojo) string {
	if d.Status.Database != nil {
		return d.Status.Database.Name
	}
	return cnpg.SQLName(d)
}

// Restorable reports whether any data of the Dojo can be restored. former reports whether the
// newest such data is in a former archive, without the writes since then.
func Restorable(w *world.World) (ok, former bool) {
	if refused(w.Dojo) != nil {
		return false, false
	}
	from, err := find(w, Request{})
	return err == nil, err == nil && from.former(w.Dojo)
}

var errBusy = errors.New("restore beside it with --as, or continue when that is over")

// busy returns an error if the Dojo's current state does not allow a restore in place.
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

// ours reports whether the Cluster c has labels that mark it as the Dojo's data, or is nil.
func ours(d *corev1api.Dojo, c *cnpgv1.Cluster) bool { return c == nil || ownership.Holds(d, c) }

// ArchivesApart reports whether a new Cluster, or the same one after an upgrade to another major
// version of Postgres, needs a new serverName. The plugin barman-cloud requires this.
func ArchivesApart(d *corev1api.Dojo) bool {
	now := archive(d)
	return now != nil && now.Plugin == cnpg.BarmanCloud
}
