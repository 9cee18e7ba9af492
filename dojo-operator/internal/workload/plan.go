// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Credentials names the environment variables of pods. The Secret may lack Optional keys.
type Credentials struct {
	SecretName     string
	Keys, Optional []string
	// A new Revision rolls the pods. While it is empty, running pods keep theirs and none start.
	Revision string
}

// Plan keeps the image of running pods while the database is migrating: a new one may need the SQL.
func Plan(dojo *corev1api.Dojo, s State, access Credentials, migrating bool, cfg Config) (p apply.Plan) {
	if access.Revision = revision(s, access); access.Revision == "" {
		return p // pods without credentials would only fail
	}
	refused := recordedRefusal(dojo, s.Deployment, cfg)
	deployment := planImage(dojo, s, access, refused, migrating, cfg)
	if failed := newRefusal(dojo, s, cfg); deployment == nil && failed != nil && !migrating {
		refused, deployment = failed, planImage(dojo, s, access, failed, migrating, cfg)
	}
	if refused != nil {
		p.Report(refusalIssue(refused, s, dojo))
	}
	if deployment != nil {
		deployment.After = []expectations.Key{expectations.KeyOf("Secret", dojo.Namespace, access.SecretName)}
		p.Add(deployment)
		// The running pods have the old spec. The Deployment's own events bring us back.
		p.Report(conditions.Progressing(corev1api.ReasonRollingOut, "%s.", readyCount(s.Deployment, s.Replicas(dojo))))
	} else {
		p.Report(rolloutIssue(dojo, s, cfg))
	}
	p.Add(planService(dojo, s))
	planBudget(dojo, s, &p)
	planScaler(dojo, s, &p)
	return p
}

// planImage plans the Deployment with the image that is to serve.
func planImage(
	dojo *corev1api.Dojo, s State, access Credentials, refused *refusal, migrating bool, cfg Config,
) *apply.Object {
	serving := desiredImage(dojo, cfg)
	if refused != nil {
		serving = refused.Former
	} else if live := image(s.Deployment); migrating && live != "" {
		serving = live
	}
	return planDeployment(dojo, s, access, serving, refused, cfg)
}

// Served reports whether there should be a Service: pods can have credentials.
func Served(s State, access Credentials) bool { return revision(s, access) != "" }

func revision(s State, access Credentials) string {
	if access.Revision == "" && s.Deployment != nil {
		return s.Deployment.Spec.Template.Annotations[ownership.RevisionAnnotation]
	}
	return access.Revision
}
