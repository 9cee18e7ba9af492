// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Credentials are what the pods read.
type Credentials struct {
	// SecretName is the Secret in the Dojo's namespace, and Keys are its keys: environment
	// variables of the same names. It may lack Optional ones, and the pods then have no such variable.
	SecretName     string
	Keys, Optional []string
	// Revision rolls the pods when it changes. Where it is empty, pods that run keep theirs and
	// none are started.
	Revision string
}

// Plan decides about the application. While its database is migrating, pods that run keep their
// image: a new one may need what the SQL creates.
func Plan(d *corev1api.Dojo, s State, access Credentials, migrating bool, cfg Config) (p apply.Plan) {
	if access.Revision = revision(s, access); access.Revision == "" {
		return p // pods without credentials would only fail
	}
	if live := image(s.Deployment); migrating && live != "" {
		cfg.Image, d = live, d.DeepCopy()
		d.Spec.Image = ""
	}
	if deployment := planDeployment(d, s, access, cfg); deployment != nil {
		deployment.After = []expectations.Key{expectations.KeyOf("Secret", d.Namespace, access.SecretName)}
		p.Add(deployment)
		// What serves now serves the old spec: the Deployment's own events bring us back.
		p.Report(conditions.Progressing(corev1api.ReasonRollingOut, "%s.", readyCount(s.Deployment, s.Replicas(d))))
	} else {
		p.Report(rolloutIssue(d, s, cfg))
	}
	p.Add(planService(d, s))
	planBudget(d, s, &p)
	planScaler(d, s, &p)
	return p
}

// Served reports whether there is to be a Service: not before pods can have credentials.
func Served(s State, access Credentials) bool { return revision(s, access) != "" }

// revision is that of the credentials, or of those that the pods have where it is not known.
func revision(s State, access Credentials) string {
	if access.Revision == "" && s.Deployment != nil {
		return s.Deployment.Spec.Template.Annotations[ownership.RevisionAnnotation]
	}
	return access.Revision
}
