// SPDX-License-Identifier: Apache-2.0

// Package kubectl provides a pinned version of kubectl, so that tests do not depend on the kubectl
// of the machine.
package kubectl

import (
	"os"
	"path/filepath"
	"testing"

	"jutsu.com/operators/test/testcluster/binaries"
)

// Path returns the path of the pinned kubectl. It downloads or builds kubectl if it is missing.
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
