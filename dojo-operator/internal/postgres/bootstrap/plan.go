// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// Fields are those that the spec of a new Cluster needs for its data, nil for an empty database; or
// what keeps them from being known, so that no Cluster may be created. A source that does not exist is
// waited for until the deadline has passed.
func Fields(d *corev1api.Dojo, s State, now time.Time, deadline time.Duration) (map[string]any, *conditions.Issue) {
	b := d.BootstrapSource()
	switch {
	case b == nil:
		return nil, nil
	case b.Import != nil:
		return importFields(d, s.Secret, now, deadline)
	case b.Recovery.Backup != nil:
		return backupFields(d, s.Backup, now, deadline)
	case b.Recovery.VolumeSnapshot != nil:
		return fromSnapshots(b.Recovery.VolumeSnapshot), nil
	}
	store, target := b.Recovery.ObjectStore, map[string]any{}
	if at := b.Recovery.TargetTime; at != "" {
		target["targetTime"] = at
	}
	return fromPlugin(store.Plugin.Name, store.Plugin.Parameters, store.ServerName, target), nil
}

func backupFields(
	d *corev1api.Dojo, backup *cnpgv1.Backup, now time.Time, deadline time.Duration,
) (map[string]any, *conditions.Issue) {
	r := d.BootstrapSource().Recovery
	object := fmt.Sprintf("Backup %s/%s", d.Namespace, r.Backup.Name)
	if backup == nil {
		return nil, conditions.WaitUntil(now, d.WaitingSince(object, now), deadline,
			conditions.Progressing(corev1api.ReasonWaitingForBackup, "Waiting for the %s.", object).For(object),
			notUsable(object, "does not exist", "See `kubectl get backups`.").For(object))
	}
	place := backup.Spec.PluginConfiguration
	switch backup.Status.Phase {
	case cnpgv1.BackupPhaseCompleted:
	case cnpgv1.BackupPhaseFailed, cnpgv1.BackupPhaseDefinitionInvalid:
		return nil, notUsable(object, "has failed", "See `kubectl get backups`.")
	default:
		return nil, conditions.Progressing(corev1api.ReasonWaitingForBackup, "Waiting for the %s to complete.", object)
	}
	switch {
	case backup.Spec.Method == cnpgv1.BackupMethodVolumeSnapshot && r.TargetTime != "":
		return nil, notUsable(object, "is a volume snapshot, without the log that targetTime needs", "Leave targetTime out.")
	case backup.Spec.Method == cnpgv1.BackupMethodVolumeSnapshot:
		backup := map[string]any{"name": backup.Name}
		return map[string]any{"bootstrap": map[string]any{"recovery": map[string]any{"backup": backup}}}, nil
	case backup.Spec.Method != cnpgv1.BackupMethodPlugin || place == nil || len(place.Parameters) == 0,
		backup.Status.BackupID == "":
		return nil, notUsable(object, "does not say where it is, in spec.pluginConfiguration.parameters",
			"Restore with recovery.objectStore, which names the place, and a targetTime if need be.")
	}
	target := map[string]any{"backupID": backup.Status.BackupID}
	if r.TargetTime == "" {
		target["targetImmediate"] = true
	} else {
		target["targetTime"] = r.TargetTime
	}
	return fromPlugin(place.Name, place.Parameters, backup.Spec.Cluster.Name, target), nil
}

func notUsable(object, why, remedy string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonBackupNotUsable,
		"The %s %s, so that no Cluster is created. %s A Dojo with another bootstrap is a new one: delete this one, "+
			"which has no data, and create it again.", object, why, remedy)
}

func importFields(
	d *corev1api.Dojo, secret *corev1.Secret, now time.Time, deadline time.Duration,
) (map[string]any, *conditions.Issue) {
	object := fmt.Sprintf("Secret %s/%s", d.Namespace, d.BootstrapSource().Import.SourceSecretRef.Name)
	if secret == nil {
		return nil, conditions.WaitUntil(now, d.WaitingSince(object, now), deadline,
			conditions.Progressing(corev1api.ReasonWaitingForCredentials,
				"Waiting for the %s of bootstrap.import.", object).For(object),
			conditions.Degraded(corev1api.ReasonCredentialsNotFound,
				"The %s of bootstrap.import does not exist, so that no Cluster is created. Create it.", object).For(object))
	}
	if wrong := invalid(secret); wrong != "" {
		return nil, conditions.Degraded(corev1api.ReasonCredentialsIncomplete,
			"The %s of bootstrap.import %s, so that no Cluster is created. It needs host, port, dbname, user (or username) "+
				"and password, and may have sslmode and ca.crt. Correct it.", object, wrong)
	}
	of := func(key string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}, Key: key}
	}
	parameters := map[string]string{}
	for _, key := range []string{"host", "port", "dbname", "sslmode"} {
		if value := string(secret.Data[key]); value != "" {
			parameters[key] = value
		}
	}
	parameters["user"] = string(secret.Data[userKey(secret)])
	var authority *corev1.SecretKeySelector
	if len(secret.Data[authorityKey]) > 0 {
		authority = of(authorityKey)
	}
	return fromConnection(d, parameters["dbname"], connection(parameters, of("password"), authority)), nil
}

// authorityKey has the certificate of the authority that has signed the server's.
const authorityKey = "ca.crt"

func userKey(secret *corev1.Secret) string {
	if len(secret.Data["user"]) == 0 && len(secret.Data["username"]) > 0 {
		return "username"
	}
	return "user"
}

// maxValue is the length in bytes of the longest name of a host (RFC 1035), and more than that of any
// name in Postgres.
const maxValue = 253

// invalid is what is wrong with the Secret of an import, empty for nothing. It never quotes a value.
func invalid(secret *corev1.Secret) string {
	for _, key := range []string{"host", "port", "dbname", userKey(secret), "password"} {
		if len(secret.Data[key]) == 0 {
			return fmt.Sprintf("has no value under the key %q", key)
		}
	}
	for _, key := range []string{"host", "dbname", userKey(secret)} {
		value := string(secret.Data[key])
		if len(value) > maxValue || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Sprintf("has a value under the key %q that is too long, or has a control character", key)
		}
	}
	if port, err := strconv.ParseUint(string(secret.Data["port"]), 10, 16); err != nil || port == 0 {
		return `has no port number (1 to 65535) under the key "port"`
	}
	if host := string(secret.Data["host"]); strings.ContainsFunc(host, unicode.IsSpace) || strings.HasPrefix(host, "/") {
		return `has no name of a host under the key "host"`
	}
	if strings.Contains(string(secret.Data["dbname"]), "*") {
		return `has a wildcard under the key "dbname", and not the name of one database`
	}
	switch string(secret.Data["sslmode"]) {
	case "", "disable", "allow", "prefer", "require", "verify-ca", "verify-full":
		return ""
	}
	return `has under the key "sslmode" none of disable, allow, prefer, require, verify-ca and verify-full`
}

// Mismatch is the issue with a Cluster that exists and was not made from what the Dojo says; nil where
// it was, and where there is nothing to compare.
func Mismatch(d *corev1api.Dojo, live *cnpgv1.Cluster) *conditions.Issue {
	origin := Origin(d)
	if origin == "" || live == nil || live.Annotations[corev1api.OriginAnnotation] == origin {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonOriginMismatch,
		"The Cluster %s/%s exists, and its data did not come from %q, as bootstrap says, so it is not used. For the data "+
			"that it has, delete the Dojo and create it without bootstrap. To replace that data, delete the Cluster. If it is "+
			"what you have restored yourself, `kubectl annotate cluster %s --overwrite %s=%q`.",
		d.Namespace, live.Name, origin, live.Name, corev1api.OriginAnnotation, origin)
}

// Filled reports whether a Cluster may have data of the Dojo: it is the Dojo's, and what should come from
// elsewhere has come.
func Filled(d *corev1api.Dojo, live *cnpgv1.Cluster) bool {
	return live != nil && Mismatch(d, live) == nil && (d.BootstrapSource() == nil || filled(live))
}

// maxTime is how long CloudNativePG may fill a Cluster: as long as a large database may take.
const maxTime = 6 * time.Hour

// Progress is how far a Cluster is whose data comes from elsewhere; nil where it has its data, and
// where none has to come. Where no Job works on it, it has until the deadline.
func Progress(
	d *corev1api.Dojo, live *cnpgv1.Cluster, s State, now time.Time, deadline time.Duration,
) *conditions.Issue {
	b := d.BootstrapSource()
	if b == nil || live == nil || filled(live) {
		return nil
	}
	object := fmt.Sprintf("data of the Cluster %s/%s", live.Namespace, live.Name)
	waiting, failed := corev1api.ReasonRestoring, corev1api.ReasonRestoreFailed
	verb, hint := "restored", ""
	if b.Import != nil {
		waiting, failed, verb = corev1api.ReasonImporting, corev1api.ReasonImportFailed, "imported"
	} else if b.Recovery.TargetTime != "" {
		hint = " A targetTime is later than the end of a backup, and earlier than the last transaction in the log."
	}
	job := cnpg.BootstrapJobs(d)[0]
	if s.Job != nil {
		job = s.Job.Name
	}
	cannot := func(why string) *conditions.Issue {
		return conditions.Degraded(failed, "The %s cannot be %s from %s: %s. See `kubectl logs job/%s --all-containers` and "+
			"`kubectl describe cluster %s`.%s CloudNativePG tries several times; to start over, `kubectl delete cluster %s`, "+
			"which has no data yet. For another bootstrap, delete the Dojo and that Cluster, and create the Dojo again.",
			object, verb, Origin(d), why, job, live.Name, hint, live.Name).For(object)
	}
	switch {
	case s.Job != nil && s.Job.Status.Failed > 0:
		return cannot(fmt.Sprintf("pods of the Job %s have failed (%d)", job, s.Job.Status.Failed))
	case live.Status.Phase == cnpgv1.PhaseUnrecoverable:
		return cannot("its Job has given up")
	case s.Job != nil && s.Job.Status.Active > 0:
		deadline = maxTime
	}
	phase := ""
	if live.Status.Phase != "" {
		phase = ": " + live.Status.Phase
	}
	return conditions.WaitUntil(now, d.WaitingSince(object, now), deadline,
		conditions.Progressing(waiting, "The %s is being %s from %s%s.", object, verb, Origin(d), phase).For(object),
		cannot(fmt.Sprintf("it has taken more than %s%s", deadline, phase)))
}
