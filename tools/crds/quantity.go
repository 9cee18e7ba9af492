// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// upstream is the pattern that controller-gen writes for a resource.Quantity. It matches exponents
// that clients cannot decode ("1e1.5"), and exponents that take hours to decode ("1e-999999999").
const upstream = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// bounded matches the same quantities as upstream, but only exponents of at most three digits.
const bounded = `^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$`

// boundQuantity replaces the pattern of a quantity by bounded. If the field has a CEL rule that
// contains bounded, boundQuantity removes the pattern. The message of a rule is a sentence, while
// the error of a pattern only quotes the pattern.
//
// Quantities within lists and maps have a pattern and no rule, because older API servers ignore the
// maxLength of an int-or-string when they estimate the cost of a rule. They would refuse a
// CustomResourceDefinition with such a rule.
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
