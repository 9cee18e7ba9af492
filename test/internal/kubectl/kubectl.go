// SPDX-License-Identifier: Apache-2.0

// Package kubectl provides a pinned kubectl for tests.
package kubectl

import (
	"os"
	"path/filepath"
	"testing"

	"jutsu.com/operators/test/testcluster/binaries"
)

// Path returns the path of the pinned kubectl, and installs kubectl if necessary.
func Path(t *testing.T) string {
	t.Helper()
	paths, err := binaries.Locate(t.Context(), nil, binaries.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	return paths[binaries.Kubectl]
}

// OnPath puts the pinned kubectl on the PATH of the running test.
func OnPath(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", filepath.Dir(Path(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
}
