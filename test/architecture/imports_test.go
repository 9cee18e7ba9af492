// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/testcluster/project"
)

const prefix = "jutsu.com/operators/"

var update = flag.Bool("update", false, "write the table into docs/understand/architecture.md")

func TestImports(t *testing.T) {
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	// The tools are not in go.work.
	programs, err := filepath.Glob(filepath.Join(root, "tools", "*", "main.go"))
	if err != nil || programs == nil {
		t.Fatalf("no program of ours in tools: %v", err)
	}
	graph := Graph{}
	list(t, graph, root, filepath.Join(root, "go.work"), prefix+"...")
	for _, program := range programs {
		list(t, graph, filepath.Dir(program), "off", "./...")
	}
	if len(graph) < 100 {
		t.Fatalf("only %d packages found", len(graph))
	}
	for _, violation := range Check(Imports, graph) {
		t.Error(violation)
	}
}

// The value of workspace (GOWORK) is "off" for a module outside go.work.
func list(t *testing.T, graph Graph, folder, workspace, packages string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-f",
		`{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, packages)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK="+workspace)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, &stderr)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name := strings.TrimPrefix(words[0], prefix)
		graph[name] = []string{}
		for _, imported := range words[1:] {
			if imported, ours := strings.CutPrefix(imported, prefix); ours {
				graph[name] = append(graph[name], imported)
			}
		}
	}
}

func TestPage(t *testing.T) {
	page, err := project.Path("docs/understand/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?s)(<!-- imports -->\n+` + "```text\n).*?(```\n)")
	if !shown.Match(content) {
		t.Fatal("docs/understand/architecture.md has no block of text after the mark <!-- imports -->")
	}
	desired := shown.ReplaceAll(content, []byte("${1}"+strings.TrimPrefix(Imports, "\n")+"${2}"))
	if *update {
		if err := os.WriteFile(page, desired, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(desired), string(content)); diff != "" {
		t.Errorf("the page shows another table; run `go test ./architecture -update` in test/:\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	const table = `
[libs]
./conditions: # the meaning of conditions

[dojo/internal] libs/conditions
dojo/cmd/dojo: ./dojo # the program
./dojo: ./postgres{,/cnpg}
    ./workload
./postgres: ./postgres/*
./postgres/{schema,login}: ./postgres/cnpg
./postgres/cnpg ./workload:

[test]
./environment/...: ./environment/...
dojo/internal/{worktest,specs}: ./environment
`
	graph := func() Graph {
		return Graph{
			"libs/conditions": nil, "dojo/cmd/dojo": {"dojo/internal/dojo"},
			"dojo/internal/dojo": {
				"dojo/internal/postgres", "dojo/internal/postgres/cnpg", "dojo/internal/workload", "libs/conditions",
			},
			"dojo/internal/postgres":        {"dojo/internal/postgres/schema", "dojo/internal/postgres/login"},
			"dojo/internal/postgres/schema": {"dojo/internal/postgres/cnpg"}, "dojo/internal/postgres/login": nil,
			"dojo/internal/postgres/cnpg": nil, "dojo/internal/workload": nil,
			"test/environment": {"test/environment/spec"}, "test/environment/spec": nil,
			"dojo/internal/worktest": {"test/environment"}, "dojo/internal/specs": nil,
		}
	}
	for name, c := range map[string]struct {
		table  func(string) string
		change func(Graph)
		want   []string
	}{
		"all imports match the table": {},
		"a package imports its sibling": {
			change: imports("dojo/internal/postgres/schema", "dojo/internal/postgres/login"),
			want: []string{`dojo/internal/postgres/schema imports dojo/internal/postgres/login, ` +
				`which "./postgres/{schema,login}: ./postgres/cnpg" does not allow: ` + move},
		},
		"a package imports its parent": {
			change: imports("dojo/internal/workload", "dojo/internal/dojo"),
			want: []string{`dojo/internal/workload imports dojo/internal/dojo, ` +
				`which "./postgres/cnpg ./workload:" does not allow: ` + move},
		},
		"a library imports an operator": {
			change: imports("libs/conditions", "dojo/internal/workload"),
			want: []string{
				`libs/conditions imports dojo/internal/workload, which "./conditions:" does not allow: ` + move,
			},
		},
		"an import that only another section allows": {
			change: imports("test/environment", "libs/conditions"),
			want: []string{`test/environment imports libs/conditions, ` +
				`which "./environment/...: ./environment/..." does not allow: ` + move},
		},
		"shipped code imports test code, and the table allows it": {
			table:  replaces("./postgres/cnpg ./workload:", "./postgres/cnpg ./workload: test/environment"),
			change: imports("dojo/internal/workload", "test/environment"),
			want: []string{
				"dojo/internal/workload ships and imports test/environment, which does not ship: move the code that both need to libs",
			},
		},
		"shipped code imports a test helper, and the table allows it": {
			table:  replaces("./postgres/cnpg ./workload:", "./postgres/cnpg ./workload: ./worktest"),
			change: imports("dojo/internal/workload", "dojo/internal/worktest"),
			want: []string{
				"dojo/internal/workload ships and imports dojo/internal/worktest, which does not ship: move the code that both need to libs",
			},
		},
		"a new package": {
			change: imports("dojo/internal/postgres/backup"),
			want: []string{"dojo/internal/postgres/backup has no line: " +
				"add it to test/architecture/table.go, with the packages that it may import"},
		},
		"a package with two lines": {
			table: replaces("./postgres/cnpg ./workload:", "./postgres/{cnpg,login} ./workload:"),
			want: []string{`dojo/internal/postgres/login has two lines, "./postgres/{schema,login}: ./postgres/cnpg" ` +
				`and "./postgres/{cnpg,login} ./workload:": remove it from one of them`},
		},
		"the table has a package that does not exist": {
			change: func(g Graph) {
				delete(g, "dojo/internal/postgres/login")
				g["dojo/internal/postgres"] = g["dojo/internal/postgres"][:1]
			},
			want: []string{`"./postgres/{schema,login}: ./postgres/cnpg" names dojo/internal/postgres/login, which matches no package or import any more: remove it`},
		},
		"a line allows an import that does not exist": {
			change: func(g Graph) { g["dojo/internal/postgres/schema"] = nil },
			want: []string{`"./postgres/{schema,login}: ./postgres/cnpg" names dojo/internal/postgres/cnpg, ` +
				`which matches no package or import any more: remove it`},
		},
		"a section allows an import that does not exist": {
			change: func(g Graph) { g["dojo/internal/dojo"] = g["dojo/internal/dojo"][:3] },
			want:   []string{`"dojo/cmd/dojo: ./dojo" names libs/conditions, which matches no package or import any more: remove it`},
		},
		"a line without a colon": {
			table: replaces("./conditions: # the", "./conditions # the"),
			want: []string{
				`"./conditions" has no colon`,
				"libs/conditions has no line: add it to test/architecture/table.go, with the packages that it may import",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, packages := table, graph()
			if c.table != nil {
				text = c.table(text)
			}
			if c.change != nil {
				c.change(packages)
			}
			if diff := cmp.Diff(c.want, Check(text, packages)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const move = "move the code that needs it, or let the caller pass the value"

func imports(name string, more ...string) func(Graph) {
	return func(g Graph) { g[name] = append(g[name], more...) }
}

func replaces(old, by string) func(string) string {
	return func(table string) string { return strings.Replace(table, old, by, 1) }
}

func TestBraces(t *testing.T) {
	for word, want := range map[string]string{
		"a":               "a",
		"a{,/b}":          "a a/b",
		"{a,b}/{c,d}":     "a/c a/d b/c b/d",
		"a{,/{b,c}}":      "a a/b a/c",
		"{a{,/b},c}/...":  "a/... c/... a/b/...",
		"apis/*/v1{,beta": "apis/*/v1{,beta",
	} {
		if got := strings.Join((&section{}).expand(word), " "); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}
