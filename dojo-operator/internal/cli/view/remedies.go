// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"time"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl/term"
)

// Remedy is a command that fixes a problem of a Dojo or shows its cause.
type Remedy struct {
	// Label is "Safe", "Careful" (loses data) or "See" (shows the cause).
	Label   string `json:"label"`
	Command string `json:"command"`
	Note    string `json:"note,omitempty"`
}

// Remedies returns commands for the state of a Dojo. Commands that lose data come last.
func Remedies(w *world.World, h Head) []Remedy {
	d := w.Dojo
	run := func(command string, rest ...any) string {
		return fmt.Sprintf("kubectl dojo %s %s -n %s", fmt.Sprintf(command, rest...), d.Name, d.Namespace)
	}
	see := func(command, note string) []Remedy { return []Remedy{{"See", command, note}} }
	kubectl := func(verb, kind, name string) string {
		return fmt.Sprintf("kubectl %s %s %s -n %s", verb, kind, name, d.Namespace)
	}
	switch h.Reason {
	case corev1api.ReasonDatabaseLost:
		return lost(w, run)
	case corev1api.ReasonSchemaFailed, corev1api.ReasonSchemaStalled:
		return see(run("logs")+" schema", "the SQL's output")
	case corev1api.ReasonReleaseFailed:
		return []Remedy{{"Safe", kubectl("annotate", "dojos.core.jutsu.com", d.Name) + " --overwrite " +
			corev1api.RetryReleaseAnnotation + "=$(date +%s)", "retry, once the cause is fixed"}}
	case corev1api.ReasonCrashLoopBackOff:
		return see(run("logs")+" --previous", "what the application wrote before it ended")
	case corev1api.ReasonImagePullBackOff, corev1api.ReasonUnschedulable, corev1api.ReasonReplicasUnavailable,
		corev1api.ReasonProgressDeadlineExceeded, corev1api.ReasonReplicaFailure, corev1api.ReasonErrImageNeverPull,
		corev1api.ReasonCreateContainerConfigError, corev1api.ReasonCreateContainerError, corev1api.ReasonRunContainerError:
		return see(run("tree"), "the pods, and why they are not ready")
	case corev1api.ReasonRolloutFailed:
		return see(kubectl("describe", "dojos.core.jutsu.com", d.Name), "which image failed, and why")
	case corev1api.ReasonDeploymentPaused:
		return []Remedy{{"Safe", kubectl("rollout resume", "deployments.apps", d.Name), ""}}
	case corev1api.ReasonDatabaseFailed, corev1api.ReasonClusterNotReady, corev1api.ReasonRestoreFailed,
		corev1api.ReasonImportFailed, corev1api.ReasonUpgradeFailed:
		return see(run("logs")+" postgres", "the log of Postgres")
	case corev1api.ReasonUpgradeNeedsBackup, corev1api.ReasonUpgradeBackupFailed:
		return see(run("backups"), "the backups that exist")
	case corev1api.ReasonPrometheusOperatorNotInstalled, corev1api.ReasonDiscordOperatorNotInstalled,
		corev1api.ReasonCloudNativePGNotInstalled, corev1api.ReasonCloudNativePGNotReadable,
		corev1api.ReasonGatewayAPINotInstalled, notObserved:
		return see("kubectl dojo check -n "+d.Namespace, "what the cluster lacks")
	case corev1api.ReasonSuspended, corev1api.ReasonSuspending:
		return []Remedy{{"Safe", run("resume"), "starts the Dojo again"}}
	case corev1api.ReasonPaused:
		return paused(d, kubectl)
	}
	return nil
}

func paused(d *corev1api.Dojo, kubectl func(verb, kind, name string) string) []Remedy {
	resume := kubectl("annotate", "dojos.core.jutsu.com", d.Name) + " " + corev1api.PausedAnnotation + "-"
	if d.DeletionTimestamp == nil || !cnpg.Reclaims(d) {
		return []Remedy{{"Safe", resume, ""}}
	}
	return []Remedy{
		{"Safe", cnpg.RetainCommand(d), "keeps the data when the Dojo is deleted"},
		{"Careful", resume, "deletes the Dojo and its database, with the data"},
	}
}

func lost(w *world.World, run func(string, ...any) string) (all []Remedy) {
	switch ok, former := recovery.Restorable(w); {
	case ok && former:
		all = append(all, Remedy{"Careful", run("restore"), newest(w, " in a former archive")})
	case ok:
		all = append(all, Remedy{"Safe", run("restore"), newest(w, "")})
	}
	return append(all, Remedy{"Careful", run("accept-loss"), "a new database without the lost data"})
}

// newest describes the latest restorable data. The parameter where is empty, or names the archive.
func newest(w *world.World, where string) string {
	lostAt := recovery.LostAt(w.Dojo)
	windows := recovery.Windows(w)
	if len(windows) > 0 && !windows[0].Sure {
		end := term.Moment(windows[0].To, w.Now)
		if windows[0].Open {
			end += " or later"
		}
		return fmt.Sprintf("newest data: about %s, the end of the write-ahead log", end)
	}
	at := time.Time{}
	if len(windows) > 0 {
		at = windows[0].To
	} else if all := recovery.Completed(w); len(all) > 0 {
		at = all[0].Ended
	}
	note := "newest data: " + term.Moment(at, w.Now) + where
	if lostAt.After(at) {
		note += fmt.Sprintf(", %s of data lost", term.Age(at, lostAt))
	}
	return note
}
