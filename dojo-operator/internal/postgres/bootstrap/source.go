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
	"jutsu.com/operators/libs/conditions"
)

func fieldsFor(
	dojo *corev1api.Dojo, s State, now time.Time, deadline time.Duration,
) (map[string]any, *conditions.Issue) {
	b := dojo.BootstrapSource()
	switch {
	case b == nil:
		return nil, nil
	case b.Import != nil:
		return importFields(dojo, s.Secret, now, deadline)
	case b.Recovery.Backup != nil:
		return backupFields(dojo, s.Backup, now, deadline)
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
	dojo *corev1api.Dojo, backup *cnpgv1.Backup, now time.Time, deadline time.Duration,
) (map[string]any, *conditions.Issue) {
	r := dojo.BootstrapSource().Recovery
	object := fmt.Sprintf("Backup %s/%s", dojo.Namespace, r.Backup.Name)
	if backup == nil {
		return nil, conditions.WaitUntil(now, dojo.WaitingSince(object, now), deadline,
			conditions.Progressing(corev1api.ReasonWaitingForBackup, "Waiting for the %s.", object).For(object),
			notUsable(dojo, object, "does not exist", seeBackups(dojo)).For(object))
	}
	plugin := backup.Spec.PluginConfiguration
	switch backup.Status.Phase {
	case cnpgv1.BackupPhaseCompleted:
	case cnpgv1.BackupPhaseFailed, cnpgv1.BackupPhaseDefinitionInvalid:
		return nil, notUsable(dojo, object, "has failed", seeBackups(dojo))
	default:
		return nil, conditions.Progressing(corev1api.ReasonWaitingForBackup, "Waiting for the %s to complete.", object)
	}
	switch {
	case backup.Spec.Method == cnpgv1.BackupMethodVolumeSnapshot && r.TargetTime != "":
		return nil, notUsable(dojo, object, "is a volume snapshot, without the write-ahead log that targetTime needs",
			"Leave targetTime out.")
	case backup.Spec.Method == cnpgv1.BackupMethodVolumeSnapshot:
		backup := map[string]any{"name": backup.Name}
		return map[string]any{"bootstrap": map[string]any{"recovery": map[string]any{"backup": backup}}}, nil
	case backup.Spec.Method != cnpgv1.BackupMethodPlugin || plugin == nil || len(plugin.Parameters) == 0,
		backup.Status.BackupID == "":
		return nil, notUsable(dojo, object,
			"lacks spec.pluginConfiguration.parameters or status.backupId, which a restore needs",
			"Restore with bootstrap.recovery.objectStore, and with a targetTime if you need one.")
	}
	target := map[string]any{"backupID": backup.Status.BackupID}
	if r.TargetTime == "" {
		target["targetImmediate"] = true
	} else {
		target["targetTime"] = r.TargetTime
	}
	return fromPlugin(plugin.Name, plugin.Parameters, backup.Spec.Cluster.Name, target), nil
}

func seeBackups(dojo *corev1api.Dojo) string {
	return fmt.Sprintf("To list all Backups: `kubectl get backups.postgresql.cnpg.io -n %s`.", dojo.Namespace)
}

func notUsable(dojo *corev1api.Dojo, object, why, remedy string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonBackupNotUsable,
		"The %s %s, so no Cluster is created. %s To change spec.postgres.cluster.bootstrap, delete this Dojo, which has no "+
			"data: `kubectl delete dojos.core.jutsu.com %s -n %s`. Then create the Dojo again.",
		object, why, remedy, dojo.Name, dojo.Namespace)
}

func importFields(
	dojo *corev1api.Dojo, secret *corev1.Secret, now time.Time, deadline time.Duration,
) (map[string]any, *conditions.Issue) {
	object := fmt.Sprintf("Secret %s/%s", dojo.Namespace, dojo.BootstrapSource().Import.SourceSecretRef.Name)
	if secret == nil {
		return nil, conditions.WaitUntil(now, dojo.WaitingSince(object, now), deadline,
			conditions.Progressing(corev1api.ReasonWaitingForCredentials,
				"Waiting for the %s of bootstrap.import.", object).For(object),
			conditions.Degraded(corev1api.ReasonCredentialsNotFound,
				"The %s of bootstrap.import does not exist, so no Cluster is created. Create the Secret.", object).For(object))
	}
	if wrong := describeInvalid(secret); wrong != "" {
		return nil, conditions.Degraded(corev1api.ReasonCredentialsIncomplete,
			"The %s of bootstrap.import %s, so no Cluster is created. The Secret needs host, port, dbname, user (or "+
				"username) and password; sslmode and ca.crt are optional. Correct the Secret.", object, wrong)
	}
	keyRef := func(key string) *corev1.SecretKeySelector {
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
		authority = keyRef(authorityKey)
	}
	return fromConnection(dojo, parameters["dbname"], connection(parameters, keyRef("password"), authority)), nil
}

const authorityKey = "ca.crt"

func userKey(secret *corev1.Secret) string {
	if len(secret.Data["user"]) == 0 && len(secret.Data["username"]) > 0 {
		return "username"
	}
	return "user"
}

// maxValueLength is the maximum length of a host name (RFC 1035). Names in Postgres are shorter.
const maxValueLength = 253

// describeInvalid says why a Secret cannot be used. It never quotes a value.
func describeInvalid(secret *corev1.Secret) string {
	for _, key := range []string{"host", "port", "dbname", userKey(secret), "password"} {
		if len(secret.Data[key]) == 0 {
			return fmt.Sprintf("has no value under the key %q", key)
		}
	}
	for _, key := range []string{"host", "dbname", userKey(secret)} {
		value := string(secret.Data[key])
		if len(value) > maxValueLength || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Sprintf("has a value under the key %q that is too long, or has a control character", key)
		}
	}
	if port, err := strconv.ParseUint(string(secret.Data["port"]), 10, 16); err != nil || port == 0 {
		return `has no port number (1 to 65535) under the key "port"`
	}
	if host := string(secret.Data["host"]); strings.ContainsFunc(host, unicode.IsSpace) || strings.HasPrefix(host, "/") {
		return `has no host name or IP address under the key "host"`
	}
	if strings.Contains(string(secret.Data["dbname"]), "*") {
		return `has a wildcard under the key "dbname" instead of the name of one database`
	}
	switch string(secret.Data["sslmode"]) {
	case "", "disable", "allow", "prefer", "require", "verify-ca", "verify-full":
		return ""
	}
	return `has a value under the key "sslmode" other than "disable", "allow", "prefer", "require", "verify-ca" and ` +
		`"verify-full"`
}
