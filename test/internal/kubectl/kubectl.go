// SPDX-License-Identifier: Apache-2.0

// Package kubectl is the kubectl of the version that is pinned, so that what tests print does not
// depend on the machine.
package kubectl

import (
	"os"
	"path/filepath"
	"testing"

	"jutsu.com/operators/test/testcluster/binaries"
)

// Path is where it is. It is downloaded or built where it is not there yet, as all binaries of the test
// cluster are.
func Path(t *testing.T) string {
	t.Helper()
	paths, err := binaries.Locate(t.Context(), nil, binaries.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	return paths[binaries.Kubectl]
}

// OnPath makes it the kubectl of all commands that the test runs.
func OnPath(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", filepath.Dir(Path(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
}
