// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"jutsu.com/operators/test/testcluster/project"
)

var (
	// namesTests matches a table row that ends with test names in backticks, or "not offered".
	namesTests  = regexp.MustCompile(`(?m)^\| [^|]* \| [^|]* \| (` + "`" + `[^|]*` + "`" + `|not offered) \|$`)
	inBackticks = regexp.MustCompile("`([^`]+)`")
)

// On two pages, each table row names existing tests (functions, or words of the titles of specs and
// subtests) or "not offered".
func TestBoundariesHaveTests(t *testing.T) {
	tests := sourcesOfTests(t)
	descriptions := titlesIn(tests)
	for page, heading := range map[string]string{
		"docs/platform/multi-tenancy.md": "\n## Which boundaries are there",
		"docs/contribute/conventions.md": "# Which conventions are followed",
	} {
		t.Run(page, func(t *testing.T) {
			g := NewWithT(t)
			_, after, found := strings.Cut(text(t, page), heading)
			g.Expect(found).To(BeTrue())
			section, _, _ := strings.Cut(after, "\n## ")
			rows := namesTests.FindAllStringSubmatch(section, -1)
			g.Expect(rows).NotTo(BeEmpty())
			g.Expect(rows).To(HaveLen(strings.Count(section, "\n| ")-strings.Count(section, "\n|---")), "each row names a test")
			for _, row := range rows {
				for _, name := range inBackticks.FindAllStringSubmatch(row[1], -1) {
					if !isTest(tests, descriptions, name[1]) {
						t.Errorf("%s names the test %q, which does not exist: %s", page, name[1], row[0])
					}
				}
			}
		})
	}
}

var title = regexp.MustCompile(`\b(It|Describe|Entry|t\.Run)\("([^"\n]*)`)

func titlesIn(sources string) string {
	var all strings.Builder
	for _, found := range title.FindAllStringSubmatch(sources, -1) {
		all.WriteString(found[2] + "\n")
	}
	return all.String()
}

func isTest(sources, descriptions, name string) bool {
	if strings.HasPrefix(name, "Test") {
		return strings.Contains(sources, "\nfunc "+name+"(t *testing.T)")
	}
	return strings.Contains(descriptions, name)
}

func TestIsTest(t *testing.T) {
	const sources = "\nfunc TestOne(t *testing.T) {\n\tIt(\"does this and that\", func() {\n\tt.Run(\"so\", f)\n// It is that\n"
	for name, want := range map[string]bool{
		"TestOne": true, "TestO": false, "TestTwo": false, "this and": true, "so": true, "is that": false, "func": false,
	} {
		if isTest(sources, titlesIn(sources), name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func sourcesOfTests(t *testing.T) string {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		all.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
