// SPDX-License-Identifier: Apache-2.0

package sizes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// The CRD has the same limits for spec.postgres.cluster.parameters (postgres_types.go).
const (
	parameterPattern  = `^[a-z_][a-z0-9_]*([.][a-z_][a-z0-9_]*)?$`
	maxParameters     = 64
	maxParameterName  = 63
	maxParameterValue = 256
)

var parameterName = regexp.MustCompile(parameterPattern)

func checkParameters(parameters map[string]string) string {
	if len(parameters) > maxParameters {
		return fmt.Sprintf("there may be at most %d parameters", maxParameters)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if len(name) > maxParameterName || !parameterName.MatchString(name) {
			return fmt.Sprintf("%q is not a valid name of a parameter of Postgres", name)
		}
		if len(parameters[name]) > maxParameterValue {
			return fmt.Sprintf("the value of the parameter %q has more than %d characters", name, maxParameterValue)
		}
	}
	return ""
}
