package main_test

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

// Every reason that a condition can have is explained in docs/operations.md, and no other.
func TestEveryReasonIsExplained(t *testing.T) {
	var want []string
	for _, file := range []string{"../apis/discord/v1alpha1/reasons.go", "../libs/conditions/conditions.go"} {
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
				want = append(want, reason)
			}
			return true
		})
	}
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Conditions of Discord objects\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [\\w, ]+ \\| .{10,} \\|$").FindAllStringSubmatch(table, -1) {
		got = append(got, row[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(want) < 25 {
		t.Errorf("only %d reasons were found in the code", len(want))
	}
}
