// SPDX-License-Identifier: Apache-2.0

// Command compiled measures the Go source that `make run`, `make test` and `.ci/run` compile with
// an empty cache. It fails if one of them exceeds its budget, for example by a new dependency.
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
