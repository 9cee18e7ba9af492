// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/kubectl/term"
)

// Broken leaves those Dojos that a user must look at.
func Broken(dojos []corev1api.Dojo, now time.Time) []corev1api.Dojo {
	return slices.DeleteFunc(slices.Clone(dojos), func(d corev1api.Dojo) bool { return !HeadOf(&d, now).Broken })
}

// List returns a table of Dojos, with their namespaces where asked for.
func List(dojos []corev1api.Dojo, namespaces bool, now time.Time, style term.Style) string {
	rows := [][]string{{"NAME", "HEALTH", "REASON", "PODS", "DATABASE", "LAST-BACKUP", "AGE"}}
	if namespaces {
		rows[0] = slices.Insert(rows[0], 0, "NAMESPACE")
	}
	for i := range dojos {
		row := listRow(&dojos[i], now, style)
		if namespaces {
			row = slices.Insert(row, 0, dojos[i].Namespace)
		}
		rows = append(rows, row)
	}
	return term.Table(rows, 3)
}

func listRow(d *corev1api.Dojo, now time.Time, style term.Style) []string {
	h := HeadOf(d, now)
	reason := h.Reason
	if len(h.Also) > 0 && h.Health != Degraded {
		reason, _, _ = strings.Cut(h.Also[0], ":")
	}
	version, backup := "", ""
	if db := d.Status.Database; db != nil {
		version = "Postgres " + cmp.Or(db.Version, "?")
		if db.NewerVersion != "" {
			version += " (" + db.NewerVersion + " is there)"
		}
		if db.LastBackup != nil {
			backup = term.Age(db.LastBackup.Time.Time, now)
		}
	}
	return []string{
		d.Name, h.Paint(style, string(h.Health)), reason, d.Status.ReadyStatus, version, backup,
		term.Age(d.CreationTimestamp.Time, now),
	}
}
