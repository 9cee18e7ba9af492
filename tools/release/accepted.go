// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

type acceptance struct {
	Kind string
	// Change is the beginning of the finding's description of the change.
	Change string
	Fields []string
	Reason string
}

// These changes came before the first release, so they break no user. Remove the list and the
// baseline when both operators have a release.
var accepted = []acceptance{
	{
		Kind: "dojos.core.jutsu.com v1", Change: "pattern changed",
		Fields: []string{
			"spec.env.items.valueFrom.resourceFieldRef.divisor", "spec.resources.limits.additionalProperties",
			"spec.resources.requests.additionalProperties", "spec.postgres.cluster.resources.limits.additionalProperties",
			"spec.postgres.cluster.resources.requests.additionalProperties",
		},
		Reason: "refuses quantities that no client decodes (1e1.5), or only within hours (1e-999999999)",
	},
	{
		Kind: "dojos.core.jutsu.com v1", Change: "pattern removed",
		Fields: []string{"spec.postgres.cluster.storage.size", "spec.postgres.cluster.walStorage.size"},
		Reason: "a rule with a message replaces the pattern, and refuses the same quantities as the other rules",
	},
	{
		Kind: "dojos.core.jutsu.com v1", Change: "pattern removed",
		Fields: []string{"spec.postgres.cluster.pooler.parameters.additionalProperties"},
		Reason: "a rule with a message replaces the pattern, and also refuses line breaks",
	},
	{
		Kind: "dojos.core.jutsu.com v1", Change: "default value removed",
		Fields: []string{"spec.postgres.cluster.instances"},
		Reason: "the operator's default is 1 too, or that of spec.postgres.cluster.size, which the schema would override",
	},
}

// accept sets the reason in each accepted finding. It fails if the list has a change of the kinds
// that is not among the findings.
func accept(found []finding, kinds []string) error {
	for _, a := range accepted {
		kind, _, _ := strings.Cut(a.Kind, " ")
		if !slices.Contains(kinds, kind) {
			continue
		}
		for _, field := range a.Fields {
			i := slices.IndexFunc(found, func(f finding) bool {
				return f.Breaking && f.Where == a.Kind+" "+field && strings.HasPrefix(f.What, a.Change)
			})
			if i < 0 {
				return fmt.Errorf("tools/release/accepted.go lists %s %s: %s, which is no breaking change: remove it",
					a.Kind, field, a.Change)
			}
			found[i].Accepted = a.Reason
		}
	}
	return nil
}
