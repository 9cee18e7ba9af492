// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/reasons.md explains exactly the reasons of conditions.
func TestEveryReasonIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, kinds := range map[string]struct {
		reasons string
		least   int
	}{
		"Conditions of a Dojo":          {"../../apis/core/v1/reasons.go", 40},
		"Conditions of Discord objects": {"../../apis/discord/v1alpha1/reasons.go", 25},
	} {
		t.Run(heading, func(t *testing.T) {
			want := append(reasonsIn(t, kinds.reasons), reasonsIn(t, "../../libs/conditions/conditions.go")...)
			_, table, _ := strings.Cut(string(text), "\n## "+heading+"\n")
			table, _, _ = strings.Cut(table, "\n## ")
			var got []string
			rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [\\w, ]+ \\| .{10,} \\|$")
			for _, row := range rows.FindAllStringSubmatch(table, -1) {
				got = append(got, row[1])
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if len(want) < kinds.least {
				t.Errorf("only %d reasons were found in the code", len(want))
			}
		})
	}
}

// reasonsIn returns the values of constants with the prefix Reason.
func reasonsIn(t *testing.T, file string) (reasons []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, reason)
		}
		return true
	})
	return reasons
}
