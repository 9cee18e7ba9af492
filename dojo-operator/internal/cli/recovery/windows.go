// SPDX-License-Identifier: Apache-2.0

// Package recovery finds restorable states of a Dojo's database and plans a restore, without I/O.
package recovery

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

const (
	// storeKey names barman-cloud's ObjectStore in the parameters of the plugin. serverKey names
	// the archive in the parameters of all plugins.
	storeKey, serverKey = "barmanObjectName", "serverName"
	// archiveInterval is CloudNativePG's archive_timeout (pkg/postgres/configuration.go).
	archiveInterval = 5 * time.Minute
)

// Place is the location of the base backups and the WAL archive of one Cluster.
type Place struct {
	Plugin string `json:"plugin"`
	// Parameters omit serverName.
	Parameters map[string]string `json:"parameters,omitempty"`
	ServerName string            `json:"serverName"`
}

// Store returns the name of barman-cloud's ObjectStore, or "".
func (p Place) Store() string { return p.Parameters[storeKey] }

func (p Place) equal(other Place) bool {
	return p.Plugin == other.Plugin && p.ServerName == other.ServerName && maps.Equal(p.Parameters, other.Parameters)
}

// placeOf uses the Cluster's name as ServerName if the parameters lack serverName, as plugins do.
func placeOf(plugin string, parameters map[string]string, cluster string) Place {
	p := Place{Plugin: plugin, Parameters: maps.Clone(parameters), ServerName: cmp.Or(parameters[serverKey], cluster)}
	delete(p.Parameters, serverKey)
	return p
}

// archive returns the present place of the Dojo's backups; nil if no plugin makes backups.
func archive(d *corev1api.Dojo) *Place {
	policy := d.BackupPolicy()
	if policy == nil || policy.Plugin == nil {
		return nil
	}
	return ptr.To(placeOf(policy.Plugin.Name, policy.Plugin.Parameters, cnpg.ObjectName(d)))
}

func archivesLog(d *corev1api.Dojo) bool {
	policy := d.BackupPolicy()
	return policy != nil && policy.Plugin != nil && ptr.Deref(policy.Plugin.WALArchiver, true)
}

// Window is a span of time. Unless backupsOnly is true, the database can be restored to any moment
// in it.
type Window struct {
	Place
	From time.Time `json:"from"`
	// To is the last moment that is known to be restorable.
	To time.Time `json:"to"`
	// Live is true while the Cluster archives to this place, so that the window grows.
	Live bool `json:"live"`
	// Sure is true if To is the end of a backup. Otherwise the WAL archive ends at about To, or later
	// if Open is true.
	Sure bool `json:"sure"`
	// Open is true if the archive may end after To although To is not the end of a backup.
	Open bool `json:"-"`
	// backupsOnly is true without a WAL archive: a restore is possible only to the end of a backup.
	backupsOnly bool
}

// Contains reports whether a moment may be restorable from the WAL archive. If the Cluster no
// longer archives here, the archive may end after To, so Contains returns true for all later
// moments, unless it is known when the Cluster stopped to archive.
func (w Window) Contains(at time.Time) bool {
	return !at.Before(w.From) && (!at.After(w.To) || w.Sure && !w.Live || w.Open) && !w.backupsOnly
}

// Windows returns the windows of the Dojo's present and former Clusters, the latest end first.
func Windows(w *world.World) (all []Window) {
	for _, b := range Completed(w) {
		if b.Place == nil {
			continue
		}
		i := slices.IndexFunc(all, func(known Window) bool { return known.equal(*b.Place) })
		if i < 0 {
			all = append(all, Window{Place: *b.Place, From: b.Ended, To: b.Ended, Sure: true})
			continue
		}
		all[i].From = slices.MinFunc([]time.Time{all[i].From, b.Ended}, time.Time.Compare)
		all[i].To = cnpg.Latest(all[i].To, b.Ended)
	}
	all = addStores(w, all)
	now := archive(w.Dojo)
	for i := range all {
		if now != nil && all[i].equal(*now) {
			all[i] = extended(w, all[i])
		}
	}
	slices.SortStableFunc(all, func(a, b Window) int { return b.To.Compare(a.To) })
	return all
}

// storeStatus is a part of ObjectStore.status (plugin-barman-cloud, api/v1/objectstore_types.go).
type storeStatus struct {
	ServerRecoveryWindow map[string]struct {
		First *metav1.Time `json:"firstRecoverabilityPoint,omitempty"`
		Last  *metav1.Time `json:"lastSuccessfulBackupTime,omitempty"`
	} `json:"serverRecoveryWindow,omitempty"`
}

// addStores adds this Dojo's windows from the status of ObjectStores, which Dojos may share. After
// a change of serverName, the status keeps the old window, but barman-cloud deletes old Backups.
func addStores(w *world.World, all []Window) []Window {
	for i := range w.Stores {
		store := &w.Stores[i]
		status := statusOf(store)
		for _, server := range slices.Sorted(maps.Keys(status.ServerRecoveryWindow)) {
			reported := status.ServerRecoveryWindow[server]
			if reported.First == nil || !serves(w.Dojo, server) {
				continue
			}
			parameters := map[string]string{storeKey: store.GetName()}
			place := Place{Plugin: cnpg.BarmanCloud, Parameters: parameters, ServerName: server}
			last := ptr.Deref(reported.Last, *reported.First)
			j := slices.IndexFunc(all, func(known Window) bool { return known.equal(place) })
			if j < 0 {
				all = append(all, Window{Place: place, From: reported.First.Time, To: last.Time, Sure: true})
				continue
			}
			// barman-cloud derives First from the retention policy. Backup objects may be older.
			all[j].From, all[j].To = reported.First.Time, cnpg.Latest(all[j].To, last.Time)
		}
	}
	return all
}

func statusOf(store *unstructured.Unstructured) (s storeStatus) {
	text, err := json.Marshal(store.Object["status"])
	if err == nil {
		_ = json.Unmarshal(text, &s) // a status with other fields counts as empty
	}
	return s
}

func serves(d *corev1api.Dojo, server string) bool {
	if now := archive(d); now != nil && now.ServerName == server {
		return true
	}
	_, ours := number(d, server)
	return ours
}

// extended moves the end of the present window to the end of the WAL archive. Without a WAL
// archive, only the end of a backup is restorable, so the window is the end of the last backup.
func extended(w *world.World, in Window) Window {
	if !archivesLog(w.Dojo) {
		in.From, in.backupsOnly = in.To, true
		return in
	}
	cluster := world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cnpg.ClusterName(w.Dojo))
	if cluster == nil {
		if lost := LostAt(w.Dojo); lost.After(in.To) {
			in.To, in.Sure, in.Open = lost, false, true
		}
		return in
	}
	archiving := meta.FindStatusCondition(cluster.Status.Conditions, string(cnpgv1.ConditionContinuousArchiving))
	switch {
	case archiving != nil && archiving.Status == metav1.ConditionTrue && cnpg.Up(cluster):
		in.To, in.Live, in.Sure = cnpg.Latest(in.To, w.Now), true, false
	case archiving != nil && archiving.Status == metav1.ConditionFalse:
		if since := archiving.LastTransitionTime.Time; since.After(in.To) {
			in.To, in.Sure = since, false
		}
	}
	return in
}

// LostAt returns the earliest time at which the operator may have noticed the loss of the Cluster;
// zero if it is not lost. The condition may have been False before, for another reason.
func LostAt(d *corev1api.Dojo) time.Time {
	c := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionDatabaseReady)
	if c == nil || c.Reason != corev1api.ReasonDatabaseLost {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// Backup describes a Backup of the Dojo's Cluster, or of a former Cluster with the same name.
type Backup struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Ended is zero while the backup runs.
	Ended  time.Time `json:"ended,omitzero"`
	Method string    `json:"method"`
	// Phase is status.phase of the Backup.
	Phase string `json:"phase"`
	Error string `json:"error,omitempty"`
	// Place is nil for a volume snapshot, and if the Backup object does not name the place.
	Place *Place `json:"place,omitempty"`
	// Major is 0 if CloudNativePG does not report it.
	Major int `json:"major,omitempty"`
	// Usable is true if a restore can name this Backup object as its source.
	Usable bool `json:"usable"`
}

// Snapshot reports whether the backup is a volume snapshot, which has no WAL archive.
func (b Backup) Snapshot() bool { return b.Method == string(cnpgv1.BackupMethodVolumeSnapshot) }

// Backups returns all backups, the newest first.
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
