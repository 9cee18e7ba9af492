// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// controller-gen's pattern of a resource.Quantity matches exponents that clients cannot decode
// ("1e1.5"), or only within hours ("1e-999999999").
const upstream = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// bounded allows only exponents of at most three digits.
const bounded = `^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$`

// boundQuantity bounds the pattern. If a CEL rule contains the bounded pattern, boundQuantity
// deletes the pattern, because a rule has a readable message. Quantities within lists and maps have
// no rule: older API servers ignore maxLength when they estimate the cost of a rule.
func boundQuantity(schema map[string]any) {
	if schema["pattern"] != upstream {
		return
	}
	schema["pattern"] = bounded
	rules, _ := schema["x-kubernetes-validations"].([]any)
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		if text, _ := rule["rule"].(string); strings.Contains(text, bounded) {
			delete(schema, "pattern")
		}
	}
}
