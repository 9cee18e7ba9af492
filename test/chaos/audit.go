// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/auditlog"
)

type request struct {
	Verb, UserAgent string
	ObjectRef       struct{ Resource, Subresource, Name string }
}

func (r *request) String() string {
	agent, _, _ := strings.Cut(r.UserAgent, "/")
	return strings.TrimSuffix(fmt.Sprintf("%s: %s %s/%s %s", agent, r.Verb, r.ObjectRef.Resource, r.ObjectRef.Subresource,
		r.ObjectRef.Name), " ")
}

// ours reports whether an operator sent a write, except of a Lease, a TokenReview or a
// SubjectAccessReview.
func (r *request) ours() bool {
	byOperator := strings.HasPrefix(r.UserAgent, environment.Dojo.Name+"/") ||
		strings.HasPrefix(r.UserAgent, environment.Discord.Name+"/")
	return byOperator && slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) &&
		!slices.Contains([]string{"leases", "tokenreviews", "subjectaccessreviews"}, r.ObjectRef.Resource)
}

func writesIn(log *auditlog.Log) (all []string, err error) {
	err = log.Each(func(line []byte) error {
		var r request
		if json.Unmarshal(line, &r) == nil && r.ours() { // an API server that was killed may leave an incomplete line
			all = append(all, r.String())
		}
		return nil
	})
	return all, err
}
