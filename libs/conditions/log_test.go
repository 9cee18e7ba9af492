// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/libs/conditions"
)

func TestLogChange(t *testing.T) {
	t.Parallel()
	var lines []string
	sink := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}).GetSink()
	ctx := logf.IntoContext(t.Context(), logr.New(sink).WithValues("namespace", "team-a", "name", "tokyo"))
	var now []metav1.Condition
	for _, step := range []struct {
		worst *conditions.Issue
		logs  string // empty if nothing is logged
	}{
		{conditions.Progressing("WaitingForServer", "It does not exist."), `"from"="" "to"="WaitingForServer"`},
		{conditions.Progressing("WaitingForServer", "It is not available."), ""},
		{conditions.Degraded("Refused", "A name is too long."), `"from"="WaitingForServer" "to"="Refused" "ready"="False" "message"="A name is too long."`},
		{conditions.Degraded("Refused", "A name is too long."), ""},
		{nil, `"from"="Refused" "to"="Reconciled" "ready"="True"`},
		{nil, ""},
		{conditions.Degraded("Refused", "%s", strings.Repeat("x", 5000)), `..."`},
	} {
		before := append([]metav1.Condition(nil), now...)
		conditions.Set(&now, 1, conditions.Usable("OnDiscord", ""), step.worst)
		lines = nil
		conditions.LogChange(ctx, "DiscordChannel", before, now)
		if step.logs == "" && len(lines) > 0 {
			t.Errorf("%+v: %q", step.worst, lines)
		}
		if step.logs != "" && (len(lines) != 1 || !strings.Contains(lines[0], step.logs) || len(lines[0]) > 1500 ||
			!strings.Contains(lines[0], `"namespace"="team-a" "name"="tokyo"`) ||
			!strings.Contains(lines[0], `"kind"="DiscordChannel"`)) {
			t.Errorf("%+v: %q, want one with %s", step.worst, lines, step.logs)
		}
	}
}
