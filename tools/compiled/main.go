// SPDX-License-Identifier: Apache-2.0

// Command compiled reports the amount of Go source that `make run`, `make test` and `.ci/run`
// compile with an empty cache. It also reports the libraries that they compile in several versions.
// It compiles nothing itself.
//
// A package counts once for each way to compile it. The compiler must run again for another version
// of the package or of an import, for another set of files, and for the race detector.
//
// The command fails if a make target exceeds its budget. This reveals a change with a new
// dependency, or with a second version of a library.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compiled:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	root := flag.String("root", ".", "folder of the project, which holds go.work")
	most := flag.Int("most", 15, "number of libraries to list per target")
	raise := flag.Bool("align", false, "raise each library to the newest version that a module requires, and report afterwards")
	flag.Parse()
	absolute, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	if *raise {
		if err := align(absolute, out); err != nil {
			return err
		}
	}
	lists, err := listAll(absolute, targets)
	if err != nil {
		return err
	}
	var above []string
	for _, t := range targets {
		s := sum(t, lists)
		s.write(out, t, *most)
		if s.total() > t.budget {
			above = append(above, t.name)
		}
	}
	if len(above) > 0 {
		return fmt.Errorf("%v compile more than their budget: align the versions (make align), "+
			"or raise the budget in tools/compiled/targets.go and say why in the commit", above)
	}
	return nil
}
