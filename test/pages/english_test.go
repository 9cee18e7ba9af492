// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jutsu.com/operators/test/testcluster/project"
)

const riddleBudget = 40

var riddle = regexp.MustCompile(
	`(?i)\b(is|are)\s+(what|whether|why|who|how|those)\b|those\s+(that|who)|of\s+which|whose\s+turn|\bamid\b|be\s+had\b`)

var titled = []string{"It", "Describe", "DescribeTable", "Context", "When", "Entry", "t.Run"}

func TestSentencesNameTheirSubject(t *testing.T) {
	places := slices.Concat(riddlesOfCode(t), riddlesOfPages(t))
	for _, place := range places {
		t.Log(place)
	}
	if t.Logf("%d of %d", len(places), riddleBudget); len(places) > riddleBudget {
		t.Errorf("%d riddles, at most %d are accepted: write subject, verb, object, with the name of the thing",
			len(places), riddleBudget)
	}
}

// printed matches output of commands and generated tables.
var printed = regexp.MustCompile(console.String() + "|" + fields.String())

func riddlesOfPages(t *testing.T) (places []string) {
	t.Helper()
	for _, page := range written(t) {
		prose := printed.ReplaceAllStringFunc(text(t, page), func(block string) string {
			return strings.Repeat("\n", strings.Count(block, "\n"))
		})
		places = append(places, riddles(page, 1, prose)...)
	}
	return places
}

func riddlesOfCode(t *testing.T) (places []string) {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "out", "node_modules", "testdata"}, name):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		files++
		found, err := riddlesOfFile(file, name)
		places = append(places, found...)
		return err
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files: %v", files, err)
	}
	return places
}

func riddlesOfFile(file, name string) (places []string, err error) {
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	for _, comment := range parsed.Comments {
		var lines []string // joined below, because a phrase may continue on the next line
		for _, line := range comment.List {
			lines = append(lines, strings.TrimPrefix(line.Text, "//"))
		}
		places = append(places, riddles(name, positions.Position(comment.Pos()).Line, strings.Join(lines, "\n"))...)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && slices.Contains(titled, called(call)) && len(call.Args) > 0 {
			places = append(places, riddles(name, positions.Position(call.Pos()).Line, title(call.Args[0]))...)
		}
		return true
	})
	return places, nil
}

func called(call *ast.CallExpr) string {
	switch function := call.Fun.(type) {
	case *ast.Ident:
		return function.Name
	case *ast.SelectorExpr:
		if of, ok := function.X.(*ast.Ident); ok {
			return of.Name + "." + function.Sel.Name
		}
	}
	return ""
}

func title(argument ast.Expr) (text string) {
	ast.Inspect(argument, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text += strings.Trim(literal.Value, "\"`")
		}
		return true
	})
	return text
}

// riddles returns the matches of riddle in a text that begins at the given line of the file.
func riddles(file string, line int, text string) (places []string) {
	for _, at := range riddle.FindAllStringIndex(text, -1) {
		phrase := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
		places = append(places, fmt.Sprintf("%s:%d: %s", file, line+strings.Count(text[:at[0]], "\n"), phrase))
	}
	return places
}

func TestRiddles(t *testing.T) {
	source := `// SPDX-License-Identifier: Apache-2.0

// Package x, of
// which one is: fine, what is this?
package x

/* It is
those
that */
func test() {
	t.Run("a "+"thing that is "+ name +"what", nil) // Amid this.
	It("tells whose turn it is", nil)
	By("those who are not titles")
}
`
	file := filepath.Join(t.TempDir(), "x.go")
	write(t, file, source)
	got, err := riddlesOfFile(file, "x.go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"x.go:3: of which", "x.go:7: is those", "x.go:11: Amid", "x.go:11: is what", "x.go:12: whose turn",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
