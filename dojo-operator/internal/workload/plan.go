// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Credentials names the Secret and the keys of the pods' environment. Optional keys may be missing.
type Credentials struct {
	SecretName     string
	Keys, Optional []string
	// A new Revision replaces the pods. An empty Revision keeps pods and creates no Deployment.
	Revision string
}

// Hold delays changes of the pods.
type Hold struct {
	// Image keeps the running image: a new image may need SQL that has not run yet.
	Image bool
	// Pods keeps the pod template, except its revision and image, until the release step succeeds.
	// Serving is the image of the last successful step, or empty for the present image.
	Pods    bool
	Serving string
}

// Plan plans the Deployment, the Service, the PodDisruptionBudget and the HorizontalPodAutoscaler.
func Plan(dojo *corev1api.Dojo, s State, access Credentials, hold Hold, cfg Config) (p apply.Plan) {
	if access.Revision = revision(s, access); access.Revision == "" {
		return p // pods without credentials would only fail
	}
	refused := recordedRefusal(dojo, s.Deployment, cfg)
	if refused != nil {
		p.Report(refusalIssue(refused, s, dojo))
	} else if hold.Pods && dojo.RollsBack() {
		// The former image serves until the release step of the next image has run.
		refused = refusalOf(s.Deployment)
	}
	deployment := planImage(dojo, s, access, refused, hold, cfg)
	if failed := newRefusal(dojo, s, cfg); deployment == nil && failed != nil && !hold.Image && !hold.Pods {
		p.Report(refusalIssue(failed, s, dojo))
		deployment = planImage(dojo, s, access, failed, hold, cfg)
	}
	if deployment != nil {
		deployment.After = []expectations.Key{expectations.KeyOf("Secret", dojo.Namespace, access.SecretName)}
		p.Add(deployment)
		// The pods still have the old spec. Events of the Deployment cause the next reconcile.
		p.Report(conditions.Progressing(corev1api.ReasonRollingOut, "%s.", readyCount(s.Deployment, s.Replicas(dojo))))
	} else if s.Deployment != nil {
		p.Report(rolloutIssue(dojo, s, cfg))
	}
	p.Add(planService(dojo, s))
	planBudget(dojo, s, &p)
	planScaler(dojo, s, &p)
	return p
}

func planImage(
	dojo *corev1api.Dojo, s State, access Credentials, refused *refusal, hold Hold, cfg Config,
) *apply.Object {
	serving := Image(dojo, cfg)
	if refused != nil {
		serving, hold.Serving = refused.Former, refused.Former
	} else if live := image(s.Deployment); hold.Image && live != "" {
		serving = live
	}
	return planDeployment(dojo, s, access, serving, refused, hold, cfg)
}

// Served reports whether pods can have credentials, so that a Service should exist.
func Served(s State, access Credentials) bool { return revision(s, access) != "" }

func revision(s State, access Credentials) string {
	if access.Revision == "" && s.Deployment != nil {
		return s.Deployment.Spec.Template.Annotations[ownership.RevisionAnnotation]
	}
	return access.Revision
}
