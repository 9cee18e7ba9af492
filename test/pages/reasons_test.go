// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"jutsu.com/operators/test/testcluster/project"
)

const reasonsPage = "docs/reasons.md"

// docs/reasons.md has a section for each reason of a condition or an event, and no other section.
func TestReasons(t *testing.T) {
	known := reasons(t)
	if len(known) < 130 {
		t.Fatalf("only %d reasons found", len(known))
	}
	sections := sectionsOf(text(t, reasonsPage))
	for reason, where := range known {
		if sections[reason] == "" {
			t.Errorf("%s has no section ### %s, a reason of %s", reasonsPage, reason, where)
		}
	}
	for section, body := range sections {
		if known[section] == "" {
			t.Errorf("%s has the section %s, which is no reason", reasonsPage, section)
		}
		if !regexp.MustCompile("(?s)^\n\n[^-].*\n\n- \\*First:\\* `kubectl [^`]+`\n- \\*Then:\\* .*").MatchString(body) {
			t.Errorf("%s: the section %s lacks a meaning, *First:* `kubectl ...` or *Then:*", reasonsPage, section)
		}
	}
}

func sectionsOf(page string) map[string]string {
	all := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^### `).Split(page, -1)[1:] {
		name, body, _ := strings.Cut(section, "\n")
		if _, twice := all[name]; twice {
			name += " (twice)"
		}
		all[name] = "\n" + body
	}
	return all
}

// TestReasons finds only constants, so no reason may be a literal.
func TestReasonsAreConstants(t *testing.T) {
	for file, tree := range shipped(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name := methodOf(call)
			if name != "Degraded" && name != "Progressing" && name != "Unverified" {
				return true
			}
			if reason, ok := literal(call.Args[0]); ok {
				t.Errorf("%s: the reason %q is no constant", file, reason)
			}
			return true
		})
	}
}

// reasons maps each reason to the file that defines or uses the reason.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for file, tree := range shipped(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if reason, ok := literal(at(n.Values, i)); ok && strings.HasPrefix(name.Name, "Reason") {
						all[reason] = file
					}
				}
			case *ast.CallExpr:
				for _, arg := range n.Args {
					if reason, ok := literal(arg); ok && recordsEvent(methodOf(n)) && camelCase.MatchString(reason) {
						all[reason] = file
						break
					}
				}
			}
			return true
		})
	}
	return all
}

var camelCase = regexp.MustCompile(`^([A-Z][a-z]+)+$`)

func recordsEvent(name string) bool { return name == "Event" || name == "event" || name == "Normal" }

func methodOf(call *ast.CallExpr) string {
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

func at(values []ast.Expr, i int) ast.Expr {
	if i < len(values) {
		return values[i]
	}
	return nil
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(l.Value)
	return value, err == nil
}

func shipped(t *testing.T) map[string]*ast.File {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*ast.File{}
	for _, folder := range []string{"apis/core", "apis/discord", "libs/conditions", "dojo-operator/internal", "discord-operator/internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch name := entry.Name(); {
			case err != nil:
				return err
			case entry.IsDir() && (name == "cli" || strings.HasSuffix(name, "test")):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			relative, _ := filepath.Rel(root, path)
			all[relative] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// ambiguous matches kinds that exist in other projects too, or that kubectl may not know.
var ambiguous = regexp.MustCompile(`\b(clusters?|databases?|databaseroles?|backups?|scheduledbackups?|poolers?|dojos?|` +
	`discord(servers?|groups?|channels?|roles?)|httproutes?|gateways?|ingress(es)?|crds?)( |,|$)`)

// Commands in messages and on the page use full names of ambiguous resources, and have a namespace
// unless they are about the whole cluster.
func TestCommands(t *testing.T) {
	commands := commandsOf(text(t, reasonsPage), reasonsPage)
	for file, tree := range shipped(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if message, ok := joined(e); ok {
					maps.Copy(commands, commandsOf(message, file))
					return false
				}
			}
			return true
		})
	}
	if len(commands) < 80 {
		t.Fatalf("only %d commands found", len(commands))
	}
	plugin := sources(t, "dojo-operator/internal/cli")
	for command, where := range commands {
		words := strings.Fields(command)
		switch {
		case len(words) > 2 && words[1] == "dojo":
			if !strings.Contains(plugin, strconv.Quote(words[2])) {
				t.Errorf("%s: there is no %q", where, command)
			}
		case len(words) > 1 && words[1] != "discord" && ambiguous.MatchString(strings.Join(words[1:], " ")):
			t.Errorf("%s: %q has no full name of a resource", where, command)
		}
		clusterWide := strings.Contains(command, " -A") || strings.Contains(command, "customresourcedefinitions") ||
			strings.HasPrefix(command, "kubectl describe namespace ")
		if !clusterWide && !strings.Contains(command, " -n ") {
			t.Errorf("%s: %q names no namespace", where, command)
		}
	}
}

var loss = regexp.MustCompile(`\bloses |\b(is|are) then lost|the data (is|can be) lost`)

// In a message, a solution that loses data comes last.
func TestLossComesLast(t *testing.T) {
	losses := 0
	for file, tree := range shipped(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			message, ok := joined(e)
			if !ok {
				return true
			}
			if at := loss.FindStringIndex(message); at != nil {
				losses++
				if after := message[at[1]:]; strings.Contains(after, "`") || strings.Contains(after, ". ") {
					t.Errorf("%s: a way out comes after the loss: %s", file, message)
				}
			}
			return false
		})
	}
	if losses < 5 {
		t.Errorf("only %d losses found", losses)
	}
}

func commandsOf(message, where string) map[string]string {
	all := map[string]string{}
	for _, quoted := range regexp.MustCompile("(?s)(?:`|^)(kubectl [a-z-]+ [^`]+)(?:`|$)").FindAllStringSubmatch(message, -1) {
		all[strings.Join(strings.Fields(quoted[1]), " ")] = where
	}
	return all
}

// joined returns the text of a literal or of a concatenation, with %s for other operands.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literal(e)
	case *ast.BinaryExpr:
		left, l := joined(e.X)
		right, r := joined(e.Y)
		if e.Op != token.ADD || !l && !r {
			return "", false
		}
		if !l {
			left = "%s"
		}
		if !r {
			right = "%s"
		}
		return left + right, true
	}
	return "", false
}

func sources(t *testing.T, folder string) string {
	t.Helper()
	path, err := project.Path(folder)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

func TestCommandsAreFound(t *testing.T) {
	for command, want := range map[string]bool{
		"kubectl describe cluster x -n y":                     true,
		"kubectl get dojos,discordchannels -n y":              true,
		"kubectl describe clusters.postgresql.cnpg.io x -n y": false,
		"kubectl logs job/x -n y":                             false,
	} {
		if got := ambiguous.MatchString(command); got != want {
			t.Errorf("%s: ambiguous is %v", command, got)
		}
	}
}
