// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/dojo-operator/internal/cli/world"
)

// Backup describes a Backup of the Dojo's Cluster, or of a former Cluster of its name.
type Backup struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Ended is the time of its end; zero while it runs.
	Ended  time.Time `json:"ended,omitzero"`
	Method string    `json:"method"`
	// Phase is CloudNativePG's; Error says why a backup failed.
	Phase string `json:"phase"`
	Error string `json:"error,omitempty"`
	// Place is where a plugin keeps it, nil for volume snapshots and where it does not say.
	Place *Place `json:"place,omitempty"`
	// Major is the major version of Postgres; 0 if CloudNativePG does not report it.
	Major int `json:"major,omitempty"`
	// Usable reports whether a Dojo can be restored from it by its name.
	Usable bool `json:"usable"`
}

// Snapshot reports whether it is of volumes, without a log.
func (b Backup) Snapshot() bool { return b.Method == string(cnpgv1.BackupMethodVolumeSnapshot) }

// Backups returns all of them, the newest first.
func Backups(w *world.World) (all []Backup) {
	for i := range w.Backups {
		all = append(all, backupOf(&w.Backups[i]))
	}
	slices.SortStableFunc(all, func(a, b Backup) int { return b.Created.Compare(a.Created) })
	return all
}

// Completed returns the completed backups, the newest first.
func Completed(w *world.World) []Backup {
	return slices.DeleteFunc(Backups(w), func(b Backup) bool { return b.Phase != cnpgv1.BackupPhaseCompleted })
}

func backupOf(b *cnpgv1.Backup) Backup {
	is := Backup{
		Name: b.Name, Created: b.CreationTimestamp.Time, Method: string(b.Spec.Method), Phase: string(b.Status.Phase),
		Error: b.Status.Error, Major: b.Status.MajorVersion,
	}
	if is.Phase == "" {
		is.Phase = string(cnpgv1.BackupPhasePending)
	}
	for _, at := range []*metav1.Time{b.Status.StoppedAt, b.Status.ReconciliationTerminatedAt} {
		if is.Ended.IsZero() && at != nil {
			is.Ended = at.Time
		}
	}
	completed := b.Status.Phase == cnpgv1.BackupPhaseCompleted
	if completed && is.Ended.IsZero() {
		is.Ended = is.Created
	}
	if place := b.Spec.PluginConfiguration; place != nil && len(place.Parameters) > 0 {
		is.Place = ptr.To(placeOf(place.Name, place.Parameters, b.Spec.Cluster.Name))
	}
	is.Usable = completed && (is.Snapshot() || is.Place != nil && b.Status.BackupID != "")
	return is
}
