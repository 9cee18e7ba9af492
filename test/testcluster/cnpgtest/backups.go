// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BackupPhase is a value of a Backup's status.phase.
type BackupPhase string

// The phases in which a Backup can stay. The last three are final.
const (
	BackupPending   BackupPhase = "pending"
	BackupStarted   BackupPhase = "started"
	BackupCompleted BackupPhase = "completed"
	BackupFailed    BackupPhase = "failed"
	BackupInvalid   BackupPhase = "invalid backup definition"
)

// Errors of a Backup that cannot begin (CloudNativePG's checkPrerequisites and invokeStart).
const (
	hibernatedError = "cannot backup a hibernated cluster"
	noPluginError   = "cannot proceed with the backup as the cluster has no plugin configured"
	oldPodError     = "requested plugin is not available: " + barmanCloud
)

const (
	lastBackup     = "LastBackupSucceeded" // condition type of a Cluster
	scheduleLabel  = "cnpg.io/scheduled-backup"
	immediateLabel = "cnpg.io/immediateBackup"
)

// SetBackups sets the last phase that a Cluster's Backups reach; default: completed.
func (s *StandIn) SetBackups(namespace, cluster string, phase BackupPhase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backups[namespace+"/"+cluster] = phase
	s.notify()
}

func (s *StandIn) backupsComeTo(namespace, cluster string) BackupPhase {
	s.mu.Lock()
	defer s.mu.Unlock()
	if phase, set := s.backups[namespace+"/"+cluster]; set {
		return phase
	}
	return BackupCompleted
}

func (s *StandIn) playSchedule(ctx context.Context, o *unstructured.Unstructured) error {
	spec, _, _ := unstructured.NestedString(o.Object, "spec", "schedule")
	if len(strings.Fields(spec)) != 6 {
		return s.setStatus(ctx, o, map[string]any{"error": fmt.Sprintf("schedule %q does not have six fields", spec)})
	}
	schedule, err := cron.Parse(spec)
	if err != nil {
		return s.setStatus(ctx, o, map[string]any{"error": err.Error()})
	}
	now := time.Now()
	checked, _, _ := unstructured.NestedString(o.Object, "status", "lastCheckTime")
	immediate, _, _ := unstructured.NestedBool(o.Object, "spec", "immediate")
	last, _ := time.Parse(time.RFC3339, checked)
	switch {
	case checked == "" && !immediate:
		return s.setStatus(ctx, o, map[string]any{"lastCheckTime": now.UTC().Format(time.RFC3339)})
	case checked == "" && !s.mayBegin(ctx, o), checked != "" && now.Before(schedule.Next(last)):
		return nil
	}
	at := now.UTC().Format(time.RFC3339)
	if checked == "" {
		former, err := s.formerImmediate(ctx, o)
		if err != nil {
			return err
		}
		if former != nil {
			return s.setStatus(ctx, o, map[string]any{
				"lastCheckTime": at, "lastScheduleTime": former.CreationTimestamp.UTC().Format(time.RFC3339),
				"nextScheduleTime": schedule.Next(now).UTC().Format(time.RFC3339),
			})
		}
	}
	if err := s.createBackup(ctx, o, now, checked == ""); err != nil {
		return err
	}
	return s.setStatus(ctx, o, map[string]any{
		"lastCheckTime": at, "lastScheduleTime": at, "nextScheduleTime": schedule.Next(now).UTC().Format(time.RFC3339),
	})
}

// formerImmediate returns the oldest immediate Backup of deleted ScheduledBackups with o's name, or
// nil. After such a Backup, CloudNativePG does not make a new immediate Backup, even if the Cluster
// was deleted since.
func (s *StandIn) formerImmediate(
	ctx context.Context, o *unstructured.Unstructured,
) (*metav1.PartialObjectMetadata, error) {
	var all metav1.PartialObjectMetadataList
	all.SetGroupVersionKind(gvk("BackupList"))
	labels := client.MatchingLabels{scheduleLabel: o.GetName(), immediateLabel: "true"}
	if err := s.client.List(ctx, &all, client.InNamespace(o.GetNamespace()), labels); err != nil || len(all.Items) == 0 {
		return nil, err
	}
	first := slices.MinFunc(all.Items, func(a, b metav1.PartialObjectMetadata) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return &first, nil
}

// mayBegin reports whether an immediate Backup begins. For the method plugin, CloudNativePG
// does not wait for a healthy Cluster (internal/controller/scheduledbackup_controller.go).
func (s *StandIn) mayBegin(ctx context.Context, o *unstructured.Unstructured) bool {
	if method, _, _ := unstructured.NestedString(o.Object, "spec", "method"); method == "plugin" {
		return true
	}
	cluster, up, err := s.cluster(ctx, o)
	if err != nil || !up {
		return false
	}
	phase, _, _ := unstructured.NestedString(cluster.Object, "status", "phase")
	return phase == healthy
}

func (s *StandIn) createBackup(
	ctx context.Context, schedule *unstructured.Unstructured, now time.Time, immediate bool,
) error {
	backup := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	backup.SetGroupVersionKind(gvk("Backup"))
	backup.SetNamespace(schedule.GetNamespace())
	backup.SetName(schedule.GetName() + "-" + now.UTC().Format("20060102150405"))
	cluster, _, _ := unstructured.NestedString(schedule.Object, "spec", "cluster", "name")
	backup.SetLabels(map[string]string{
		clusterLabel: cluster, scheduleLabel: schedule.GetName(), immediateLabel: strconv.FormatBool(immediate),
	})
	for _, field := range []string{"cluster", "method", "pluginConfiguration"} {
		if value, found, _ := unstructured.NestedFieldCopy(schedule.Object, "spec", field); found {
			_ = unstructured.SetNestedField(backup.Object, value, "spec", field)
		}
	}
	return client.IgnoreAlreadyExists(s.client.Create(ctx, backup))
}

func (s *StandIn) playBackup(ctx context.Context, o *unstructured.Unstructured) error {
	phase := phaseOf(o)
	if slices.Contains([]BackupPhase{BackupCompleted, BackupFailed, BackupInvalid}, phase) {
		return nil
	}
	name, _, _ := unstructured.NestedString(o.Object, "spec", "cluster", "name")
	to := s.backupsComeTo(o.GetNamespace(), name)
	if to == BackupInvalid {
		return s.setStatus(ctx, o, map[string]any{
			"phase": string(to), "error": "cannot use the plugin method without plugins",
		})
	}
	cluster, up, err := s.cluster(ctx, o)
	if err != nil {
		return err
	}
	if cluster != nil && phaseOfCluster(cluster) == unknownPlugin {
		return nil
	}
	if reason := s.refusal(o, cluster, phase); reason != "" {
		if err := s.setStatus(ctx, o, map[string]any{"phase": string(BackupFailed), "error": reason}); err != nil {
			return err
		}
		return s.setLastBackup(ctx, cluster, "False", "LastBackupFailed", reason)
	}
	if phase != BackupStarted {
		if !up || to == BackupPending || s.waitsForOther(ctx, o, name) {
			return s.setStatus(ctx, o, map[string]any{"phase": string(BackupPending)})
		}
		return s.startBackup(ctx, o, cluster)
	}
	if cluster == nil || to == BackupStarted {
		return nil
	}
	return s.endBackup(ctx, o, cluster, to)
}

func (s *StandIn) startBackup(ctx context.Context, o, cluster *unstructured.Unstructured) error {
	if err := s.setLastBackup(ctx, cluster, "False", "BackupStarted", "New Backup starting up"); err != nil {
		return err
	}
	s.copyRows(o, cluster)
	status := map[string]any{
		"phase": string(BackupStarted), "reconciliationStartedAt": time.Now().UTC().Format(time.RFC3339),
	}
	if data, ok, _ := unstructured.NestedMap(cluster.Object, "status", "pgDataImageInfo"); ok {
		status["majorVersion"] = data["majorVersion"]
	}
	return s.setStatus(ctx, o, status)
}

func (s *StandIn) endBackup(ctx context.Context, o, cluster *unstructured.Unstructured, to BackupPhase) error {
	result := map[string]any{"phase": string(to), "stoppedAt": time.Now().UTC().Format(time.RFC3339)}
	if to == BackupFailed {
		result["error"] = backupError
		if err := s.setStatus(ctx, o, result); err != nil {
			return err
		}
		return s.setLastBackup(ctx, cluster, "False", "LastBackupFailed", backupError)
	}
	result["backupId"] = time.Now().UTC().Format("20060102T150405")
	if err := s.setStatus(ctx, o, result); err != nil {
		return err
	}
	return s.setLastBackup(ctx, cluster, "True", "LastBackupSucceeded", "Backup was successful")
}

// backupError is the only message that CloudNativePG gives about an unreachable object store.
const backupError = "rpc error: code = Unknown desc = exit status 2"

func phaseOf(backup *unstructured.Unstructured) BackupPhase {
	phase, _, _ := unstructured.NestedString(backup.Object, "status", "phase")
	return BackupPhase(phase)
}

// refusal returns the error that fails a Backup, or "". Hibernation fails even a started Backup.
func (s *StandIn) refusal(backup, cluster *unstructured.Unstructured, phase BackupPhase) string {
	if cluster == nil {
		return ""
	}
	method, _, _ := unstructured.NestedString(backup.Object, "spec", "method")
	switch pods := s.instancesOf(cluster); {
	case cluster.GetAnnotations()[hibernation] == "on":
		return hibernatedError
	case method != "plugin" || phase == BackupStarted:
		return ""
	case len(pluginsOf(cluster)) == 0:
		return noPluginError
	case pods.roll.of == cluster.GetUID() && pods.roll.plugins != fmt.Sprint(pluginsOf(cluster)):
		return oldPodError
	}
	return ""
}

// waitsForOther reports whether another Backup of the Cluster, older or started, has neither
// completed nor failed (waitIfOtherBackupsRunning in internal/controller/backup_controller.go).
func (s *StandIn) waitsForOther(ctx context.Context, o *unstructured.Unstructured, cluster string) bool {
	return slices.ContainsFunc(s.list(ctx, "Backup", o.GetNamespace()), func(other unstructured.Unstructured) bool {
		of, _, _ := unstructured.NestedString(other.Object, "spec", "cluster", "name")
		ended := slices.Contains([]BackupPhase{BackupCompleted, BackupFailed}, phaseOf(&other))
		at := other.GetCreationTimestamp()
		older := cmp.Or(at.Compare(o.GetCreationTimestamp().Time), strings.Compare(other.GetName(), o.GetName())) < 0
		return of == cluster && other.GetName() != o.GetName() && !ended && (older || phaseOf(&other) == BackupStarted)
	})
}

func (s *StandIn) setLastBackup(
	ctx context.Context, cluster *unstructured.Unstructured, status, reason, message string,
) error {
	return s.setStatus(ctx, cluster, map[string]any{
		"conditions": withCondition(cluster, lastBackup, status, reason, message, time.Now()),
	})
}

// forgetBackups deletes completed Backups with a former serverName (name in the object store), as
// the plugin barman-cloud does. The backups in the object store stay.
func (s *StandIn) forgetBackups(ctx context.Context, cluster *unstructured.Unstructured) error {
	plugins, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "plugins")
	if len(plugins) == 0 {
		return nil
	}
	now := placeOf(plugins[0].(map[string]any), cluster.GetName())
	var all unstructured.UnstructuredList
	all.SetGroupVersionKind(gvk("BackupList"))
	if err := s.client.List(ctx, &all, client.InNamespace(cluster.GetNamespace())); err != nil {
		return err
	}
	for i := range all.Items {
		b := &all.Items[i]
		of, _, _ := unstructured.NestedString(b.Object, "spec", "cluster", "name")
		plugin, _, _ := unstructured.NestedMap(b.Object, "spec", "pluginConfiguration")
		former := b.GetCreationTimestamp().Time.Before(cluster.GetCreationTimestamp().Time) // from an earlier Cluster
		if of != cluster.GetName() || plugin == nil || former || phaseOf(b) != BackupCompleted || placeOf(plugin, of) == now {
			continue
		}
		if err := client.IgnoreNotFound(s.client.Delete(ctx, b)); err != nil {
			return err
		}
	}
	return nil
}

func placeOf(plugin map[string]any, cluster string) string {
	if name, _, _ := unstructured.NestedString(plugin, "parameters", "serverName"); name != "" {
		return name
	}
	return cluster
}
