// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// controller-gen's pattern of a resource.Quantity matches exponents that clients cannot decode
// ("1e1.5"), or only within hours ("1e-999999999").
const upstream = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// bounded allows only exponents of at most three digits.
const bounded = `^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$`

// A CEL rule replaces the pattern if possible, because its message is a sentence. Older API servers
// ignore maxLength when they estimate the cost of a rule. So quantities within lists and maps keep
// the pattern.
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
