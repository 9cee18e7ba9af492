// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
)

func sourceIssue(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	switch {
	case s.Name.Name == "": // the Dojo is older than the schema that requires the field
		return conditions.Degraded(corev1api.ReasonCredentialsNotFound,
			"spec.credentialsRef is not set. Name the Secret that holds the database credentials.")
	case !cfg.watches(s.Name.Namespace):
		return conditions.Degraded(corev1api.ReasonCredentialsNotShared,
			"The Secret %s is in a namespace that this operator does not watch. Name a Secret in a namespace that it "+
				"watches, such as %s.", s.Name, dojo.Namespace)
	case s.Source == nil && s.Name.Namespace == dojo.Namespace:
		return missing(dojo, s, cfg)
	case s.Source == nil || !ownership.Shared(dojo, s.Source),
		s.SourceSecret != nil && !ownership.Shared(dojo, s.SourceSecret): // revoked while the cache lags
		return notShared(dojo, s)
	}
	return nil
}

func missing(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	object := "Secret " + s.Name.String()
	return conditions.WaitUntil(s.Now, dojo.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForCredentials,
			"Waiting for the %s with the database credentials.", object).For(object),
		conditions.Degraded(corev1api.ReasonCredentialsNotFound,
			"The %s does not exist. Create it, or name another in spec.credentialsRef.", object).For(object))
}

// notShared does not reveal if the Secret exists in the other namespace.
func notShared(dojo *corev1api.Dojo, s State) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonCredentialsNotShared,
		"The Secret %s does not exist or is not shared with this namespace. Ask the owner of the Secret to run "+
			"`kubectl annotate secret %s -n %s %s=%s`, or to add this namespace to the list in an existing annotation.",
		s.Name, s.Name.Name, s.Name.Namespace, corev1api.AllowedNamespacesAnnotation, dojo.Namespace)
}
