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

// Hold limits the changes of pods.
type Hold struct {
	// Image keeps the image of running pods while the database is migrating: a new one may need the
	// SQL.
	Image bool
	// Pods keeps all of the pods' template but the revision of the credentials, and the Deployment
	// from being created, until the release step has run. Serving is the image of the template if
	// not empty: the last one whose step has run.
	Pods    bool
	Serving string
}

// Plan plans the application.
func Plan(dojo *corev1api.Dojo, s State, access Credentials, hold Hold, cfg Config) (p apply.Plan) {
	if access.Revision = revision(s, access); access.Revision == "" {
		return p // pods without credentials would only fail
	}
	if live := image(s.Deployment); hold.Image && live != "" {
		cfg.Image, dojo = live, dojo.DeepCopy()
		dojo.Spec.Image = ""
	}
	if deployment := planDeployment(dojo, s, access, hold, cfg); deployment != nil {
		deployment.After = []expectations.Key{expectations.KeyOf("Secret", dojo.Namespace, access.SecretName)}
		p.Add(deployment)
		// The running pods have the old spec. The Deployment's own events bring us back.
		p.Report(conditions.Progressing(corev1api.ReasonRollingOut, "%s.", readyCount(s.Deployment, s.Replicas(dojo))))
	} else if s.Deployment != nil {
		p.Report(rolloutIssue(dojo, s, cfg))
	}
	p.Add(planService(dojo, s))
	planBudget(dojo, s, &p)
	planScaler(dojo, s, &p)
	return p
}

// Served reports whether there should be a Service: pods can have credentials.
func Served(s State, access Credentials) bool { return revision(s, access) != "" }

func revision(s State, access Credentials) string {
	if access.Revision == "" && s.Deployment != nil {
		return s.Deployment.Spec.Template.Annotations[ownership.RevisionAnnotation]
	}
	return access.Revision
}
