// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// kubectl explain wraps descriptions at 76 columns, except lines without a space, such as URLs.
func TestDescriptionsFitKubectlExplain(t *testing.T) {
	for kind, schema := range ourKinds(t) {
		fields(field{JSONSchemaProps: schema}, func(f field) {
			for line := range strings.SplitSeq(f.Description, "\n") {
				if utf8.RuneCountInString(line) > 76 && strings.Contains(line, " ") {
					t.Errorf("%s%s has a line of more than 76 columns: %s", kind, f.path, line)
				}
			}
		})
	}
}
