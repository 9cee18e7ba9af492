// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/kubectl/term"
)

type source struct {
	window *Window
	backup *cnpgv1.Backup
	major  int
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

func find(w *world.World, r Request) (s source, err error) {
	if r.To.After(w.Now) {
		return s, fmt.Errorf("--to is %s, which is in the future", term.Exact(r.To))
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

func lastIn(w *world.World, place Place) string {
	for _, b := range Completed(w) {
		if b.Usable && b.Place != nil && b.Place.equal(place) {
			return b.Name
		}
	}
	return ""
}

// withoutLog reports whether only the state at the end of a backup can be restored.
func withoutLog(d *corev1api.Dojo, b Backup) bool {
	now := archive(d)
	return b.Snapshot() || b.Place != nil && now != nil && b.Place.equal(*now) && !archivesLog(d)
}

func nothing(w *world.World, r Request, windows []Window) error {
	if w.Unreadable(kinds.Backup) && w.Unreadable(kinds.ObjectStore) {
		return fmt.Errorf("you may not list %s and %s in the namespace %s, so it is unknown what can be restored",
			kinds.Backup.Resource(), kinds.ObjectStore.Resource(), w.Dojo.Namespace)
	}
	var can []string
	for _, window := range windows {
		if !window.backupsOnly {
			can = append(can, "a time from "+window.Words(w.Now))
		}
	}
	for _, b := range Completed(w) {
		if b.Usable && withoutLog(w.Dojo, b) {
			can = append(can, fmt.Sprintf("--backup %s (%s)", b.Name, term.Moment(b.Ended, w.Now)))
		}
	}
	if len(can) == 0 {
		return fmt.Errorf("no completed backup of %s was found that a restore can use", w.Dojo.Name)
	}
	return fmt.Errorf("%s cannot be restored to %s. Choose instead: %s",
		w.Dojo.Name, term.Exact(r.To), strings.Join(can, ", or "))
}

// Words describes a window, such as "21 Nov 02:00 to 24 Nov 02:51".
func (w Window) Words(now time.Time) string {
	to := term.Moment(w.To, now)
	switch {
	case w.Live:
		to = "now"
	case w.Open:
		to = "about " + to + " or later"
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
			return s, fmt.Errorf("the Backup %s has not completed: its phase is %q", b.Name, is.Phase)
		case !is.Usable:
			return s, fmt.Errorf("the Backup %s does not name the place of its data (it lacks "+
				"spec.pluginConfiguration.parameters or status.backupId): leave --backup out, and name the moment with --to",
				b.Name)
		case is.Snapshot() && !r.To.IsZero():
			return s, fmt.Errorf("the Backup %s is a volume snapshot without the write-ahead log that --to needs: "+
				"leave --to out", b.Name)
		case withoutLog(w.Dojo, is) && !r.To.IsZero():
			return s, fmt.Errorf("walArchiver is false, so the Backup %s has no write-ahead log after it, which --to "+
				"needs: leave --to out", b.Name)
		case !r.To.IsZero() && r.To.Before(is.Ended):
			return s, fmt.Errorf("the Backup %s ended at %s, after --to (%s): name an earlier Backup, or leave --backup out",
				b.Name, term.Exact(is.Ended), term.Exact(r.To))
		default:
			return source{backup: b, major: is.Major}, nil
		}
	}
	return s, fmt.Errorf("no Backup %s of %s was found; kubectl dojo backups %s -n %s lists the Backups",
		r.Backup, w.Dojo.Name, w.Dojo.Name, w.Dojo.Namespace)
}

// majorIn returns the Postgres version of the newest backup in place that ended at or before to, or
// of the oldest backup if all ended later. A zero to sets no limit. majorIn ignores backups of
// unknown version, and returns 0 if there is no other backup.
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

// place returns nil for a volume snapshot, and for a Backup that does not name its place.
func (s source) place() *Place {
	if s.window != nil {
		return &s.window.Place
	}
	return backupOf(s.backup).Place
}

// until returns the end of the window of the source. Without a window, it returns the end of the
// Backup.
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

// former reports whether the Dojo no longer archives to the place of the source.
func (s source) former(d *corev1api.Dojo) bool {
	place, now := s.place(), archive(d)
	return place != nil && (now == nil || !place.equal(*now))
}

// version returns the Postgres version of the source. It returns 0 if the version is unknown and
// the source is not a former archive. For a former archive of unknown version, the user must name
// an image, and a restore does not delete a live Cluster. The reason is that barman-cloud deletes
// Backup objects after an upgrade, but not after a restore (plugin-barman-cloud, retention.go,
// useSameBackupLocation). A former archive without Backup objects thus usually has another version,
// and a Cluster of the present version cannot start on it.
func (s source) version(w *world.World, r Request) (int, error) {
	if s.major > 0 || !s.former(w.Dojo) {
		return s.major, nil
	}
	beside := ""
	if r.As == "" && world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ObjectName(w.Dojo)) != nil {
		beside = "restore beside the Dojo with --as, and "
	}
	if major := images.Major(images.VersionOf(r.Image)); major > 0 && beside == "" {
		return major, nil
	}
	return 0, fmt.Errorf("the version of Postgres in the archive %s is not known: %sname an image of the right "+
		"version, with its tag, in --postgres-image", s.place().ServerName, beside)
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
