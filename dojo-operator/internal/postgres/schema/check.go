// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"
	"slices"

	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

//go:embed check.sh
var checkScript string

// PlanCheck plans the Job that checks whether Postgres has the restored database.
func PlanCheck(dojo *corev1api.Dojo, s State, clusterUID string, as As, cfg Config) Step {
	p := &planner{dojo: dojo, State: s, config: cfg, task: checkTask(dojo, clusterUID, as, cfg.Users)}
	p.divide()
	p.step.Issue = p.run()
	return p.step
}

func (p *planner) checkFailed(why string) *conditions.Issue {
	reason, advice := corev1api.ReasonSchemaFailed, "The check could not run."
	found := func(pod corev1.Pod) bool {
		ended := container(&pod).Terminated
		return ended != nil && ended.ExitCode == sqlFailed
	}
	if slices.ContainsFunc(p.pods, found) {
		reason, advice = p.task.reason, p.task.advice
	}
	return conditions.Degraded(reason, "%s may be incomplete: %s. %s To repeat the check, delete its Job: "+
		"`kubectl delete job %s -n %s`.",
		p.task.title(), why, advice, p.job.Name, p.dojo.Namespace)
}

func checkTask(dojo *corev1api.Dojo, clusterUID string, as As, users pods.Users) task {
	return task{
		object: "the restored data", digest: digest(checkScript, clusterUID, cnpg.SQLName(dojo)),
		template: podFor(dojo, containerFor(dojo, as, checkScript), users),
		doing:    "looks for the database " + cnpg.SQLName(dojo) + " in",
		reason:   corev1api.ReasonDatabaseNotRestored,
		advice: "No empty database is created instead. Delete the Dojo and its Cluster, and create the Dojo again. Set " +
			"its bootstrap.recovery.database to the status.database.name of the Dojo that was backed up.",
	}
}
