// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

func planDeletion(dojo *corev1api.Dojo, s State, cfg Config) apply.Plan {
	steps := []func() apply.Plan{
		func() apply.Plan { return issueOnly(postgres.Unreadable(dojo, s.Postgres, cfg.Postgres)) },
		func() apply.Plan { return postgres.Keep(dojo, s.Postgres) },
	}
	if cnpg.Reclaims(dojo) {
		steps = append(steps,
			func() apply.Plan { return issueOnly(postgres.InUse(dojo, s.Postgres)) },
			func() apply.Plan { return planStop(dojo, s, cfg) },
			func() apply.Plan { return postgres.FinalBackup(dojo, s.Postgres, cfg.Postgres) },
			func() apply.Plan { return postgres.Drop(dojo, s.Postgres, cfg.Postgres) })
	}
	var plan apply.Plan
	for _, step := range steps {
		next := step()
		plan = apply.Join(plan, next)
		if len(next.Issues) > 0 {
			return plan.ForPart(corev1api.ConditionDatabaseReady)
		}
	}
	plan.Finalizers = withoutFinalizer(dojo)
	return plan
}

func issueOnly(issue *conditions.Issue) (p apply.Plan) {
	p.Report(issue)
	return p
}

func planStop(dojo *corev1api.Dojo, s State, cfg Config) (p apply.Plan) {
	now, deadline, live := s.Workload.Now, cfg.Postgres.Deadline, s.Workload.Deployment
	if live != nil && ownership.Conflicts(dojo, live) && ownership.LabelledFor(dojo.Name, live) {
		return issueOnly(conditions.Degraded(corev1api.ReasonDeletionStalled,
			"The Dojo is being deleted with its data, but pods of the Deployment %s may still use the data. The operator "+
				"does not delete this Deployment, for example because the Dojo was deleted with --cascade=orphan. Delete the "+
				"Deployment with `kubectl delete deployment %s -n %s`, or set spec.postgres.reclaimPolicy to Retain.",
			live.Name, live.Name, dojo.Namespace))
	}
	if live != nil && !ownership.Conflicts(dojo, live) {
		since := now
		if live.DeletionTimestamp == nil {
			p.Delete = append(p.Delete, apply.Delete("Deployment", live))
		} else {
			since = live.DeletionTimestamp.Time
		}
		p.Report(cnpg.Deleting(now, since, deadline, "the application to stop",
			fmt.Sprintf("Find out which finalizer keeps the Deployment %s, and why.", live.Name)))
		return p
	}
	if p = apply.Join(s.Postgres.Schema.Stop(), s.Release.Stop()); p.Delete != nil {
		p.Report(cnpg.Deleting(now, now, deadline, "the Jobs of the schema and of the release step to end", ""))
		return p
	}
	if remaining := slices.Concat(s.Workload.Pods, s.Postgres.Schema.Alive(), s.Release.Alive()); len(remaining) > 0 {
		p.Report(cnpg.Deleting(now, stoppingSince(dojo, remaining), deadline, "all pods to end",
			fmt.Sprintf("These pods can still write to the database: %s. Check whether their nodes are Ready, or "+
				"delete the pods.", names(remaining))))
	}
	return p
}

func stoppingSince(dojo *corev1api.Dojo, pods []corev1.Pod) time.Time {
	since := dojo.DeletionTimestamp.Time
	for i := range pods {
		if asked := pods[i].DeletionTimestamp; asked != nil && asked.After(since) {
			since = asked.Time
		}
	}
	return since
}

func names(pods []corev1.Pod) string {
	var all []string
	for i := range pods {
		all = append(all, pods[i].Name)
	}
	slices.Sort(all)
	if len(all) > 5 {
		all = append(all[:5], "...")
	}
	return strings.Join(all, ", ")
}

func hasFinalizer(dojo *corev1api.Dojo) bool {
	return slices.Contains(dojo.Finalizers, corev1api.DatabaseFinalizer)
}

func withoutFinalizer(dojo *corev1api.Dojo) []string {
	ours := func(f string) bool { return f == corev1api.DatabaseFinalizer }
	return slices.DeleteFunc(append([]string{}, dojo.Finalizers...), ours)
}
