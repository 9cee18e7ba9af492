// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// upstream is controller-gen's pattern of a resource.Quantity. It matches exponents that clients
// cannot decode ("1e1.5"), and some whose decoding takes hours ("1e-999999999").
const upstream = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// bounded matches the same quantities with exponents of at most three digits.
const bounded = `^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$`

// boundQuantity replaces the pattern of a quantity. It removes the pattern of a field with a rule
// of its own: the rule's message is a sentence, while the error of a pattern only quotes the
// pattern.
//
// Quantities within lists and maps keep a pattern. Older API servers ignore the maxLength of an
// int-or-string when they estimate the cost of a rule, and would refuse the definition.
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
