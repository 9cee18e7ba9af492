// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// resume returns the command to resume the Dojo, and, if a deletion waits, to keep the Dojo's data.
func resume(dojo *corev1api.Dojo) string {
	command := fmt.Sprintf("`kubectl annotate dojos.core.jutsu.com %s -n %s %s-`",
		dojo.Name, dojo.Namespace, corev1api.PausedAnnotation)
	if dojo.DeletionTimestamp == nil || !cnpg.Reclaims(dojo) {
		return fmt.Sprintf("To resume: %s.", command)
	}
	return fmt.Sprintf("To keep the data: `%s`. To continue the deletion: %s. Unless the reclaimPolicy is "+
		"Retain, the database is then deleted with its data.", cnpg.RetainCommand(dojo), command)
}

func paused(dojo *corev1api.Dojo) bool { return dojo.Annotations[corev1api.PausedAnnotation] == "true" }

// pause omits the writes of p, keeps the writes of guards, and reports the pause.
func pause(dojo *corev1api.Dojo, p, guards apply.Plan) apply.Plan {
	names, parts := pending(p)
	if dojo.DeletionTimestamp != nil {
		issue := conditions.Degraded(corev1api.ReasonPaused,
			"The Dojo is being deleted and is paused, so neither it nor its data is deleted. %s", resume(dojo))
		return apply.Join(apply.Plan{Issues: append(ofAllParts(*issue), p.Issues...)}, guards)
	}
	var issues []conditions.Issue
	for _, part := range parts {
		issue := conditions.Progressing(corev1api.ReasonPaused, "The Dojo is paused. Pending writes: %s. %s",
			abbreviate(names), resume(dojo))
		issue.Part = part
		issues = append(issues, *issue)
	}
	return apply.Join(apply.Plan{Issues: append(issues, p.Issues...)}, guards)
}

func pending(p apply.Plan) (names, parts []string) {
	add := func(key expectations.Key, part string) {
		names = append(names, key.Kind+" "+key.Name)
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	for _, o := range p.Apply {
		add(o.Key, o.Part)
	}
	for _, old := range slices.Concat(p.Delete, p.Abandon) {
		add(old.Key, "")
	}
	if p.Finalizers != nil {
		add(expectations.Key{Kind: "the", NamespacedName: types.NamespacedName{Name: "finalizer"}}, "")
	}
	return names, parts
}

func abbreviate(names []string) string {
	const most = 10
	if rest := len(names) - most; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), rest)
	}
	return strings.Join(names, ", ")
}

func setPaused(dojo *corev1api.Dojo, all *[]metav1.Condition) {
	conditions.SetPaused(all, dojo.Generation, paused(dojo),
		"The Dojo is paused: the operator updates its status, but does not change its objects, except to stop "+
			"Alertmanager from posting to a webhook URL that the operator has not checked. "+resume(dojo))
}
