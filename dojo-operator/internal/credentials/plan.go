// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"k8s.io/apimachinery/pkg/api/equality"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// Access has the planned write of the Dojo's own Secret, and its keys except [ReadOnlyKey]. An
// empty Revision means that there are no credentials for pods.
type Access struct {
	Plan     apply.Plan
	Revision string
	Keys     []string
}

// Plan copies the source into the Dojo's own Secret, or keeps the copy if the source is unusable.
func Plan(dojo *corev1api.Dojo, s State, usable bool, cfg Config) (a Access) {
	a.Keys = keysOf(dojo, s.Own)
	if s.Own != nil {
		a.Revision = s.Own.GetAnnotations()[ownership.RevisionAnnotation]
	}
	if !usable {
		return a
	}
	if issue := sourceIssue(dojo, s, cfg); issue != nil || s.SourceSecret == nil {
		a.Plan.Report(issue)
		return a
	}
	data, issue := translate(dojo, s.SourceSecret)
	if issue != nil {
		a.Plan.Report(issue)
		return a
	}
	a.Keys = keysWith(dojo, "")
	if s.ReadOnly != "" {
		data[ReadOnlyKey] = []byte(s.ReadOnly)
	}
	if s.Pooler != "" {
		data[hostKey] = []byte(s.Pooler)
	}
	same := s.OwnSecret != nil && equality.Semantic.DeepEqual(ownedKeys(s.OwnSecret.Data), data)
	if a.Revision == "" || !same {
		a.Revision = s.Nonce
	}
	record := recordOf(dojo, s.SourceSecret, s.Hosts)
	secret := apply.Write(ownership.FieldOwner, s.Own, apply.Typed(secretFor(dojo, data, record, a.Revision)))
	secret.Rotation = s.Own != nil && !same && copiedVersion(s.Own) != versionOf(s.SourceSecret)
	a.Plan.Add(secret)
	return a
}
