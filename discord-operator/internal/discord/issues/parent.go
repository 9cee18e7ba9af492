// SPDX-License-Identifier: Apache-2.0

package issues

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/libs/conditions"
)

// Parent is a server or group that an object needs.
type Parent struct {
	Kind string // such as DiscordServer
	metav1.Object
}

// WaitFor returns the issue of a wait for the parent. Other namespaces do not see cause.Message.
func (p Parent) WaitFor(reason, by, fact string, cause *metav1.Condition) *conditions.Issue {
	name, foreign := Name(p.Object, by), by != p.GetNamespace()
	switch {
	case foreign && cause != nil && cause.Reason != "":
		return conditions.Progressing(reason, "%s %s %s (%s). Ask its owner.", p.Kind, name, fact, cause.Reason)
	case foreign:
		return conditions.Progressing(reason, "%s %s %s. Ask its owner.", p.Kind, name, fact)
	case cause != nil && cause.Message != "" && cause.Reason != "":
		return conditions.Progressing(reason, "%s %s %s (%s): %s", p.Kind, name, fact, cause.Reason, cause.Message)
	case cause != nil && cause.Message != "":
		return conditions.Progressing(reason, "%s %s %s: %s", p.Kind, name, fact, cause.Message)
	}
	return conditions.Progressing(reason, "%s %s %s yet.", p.Kind, name, fact)
}
