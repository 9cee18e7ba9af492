// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestDefinitionsOfOthers(t *testing.T) {
	t.Parallel()
	for file, folder := range map[string]func(context.Context) (string, error){
		"postgresql.cnpg.io_databaseroles.yaml":      CloudNativePGCRDs,
		"monitoring.coreos.com_servicemonitors.yaml": PrometheusOperatorCRDs,
	} {
		path, err := folder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(path, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := HTTPRouteCRD(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := moduleFolder(t.Context(), "kwok", "example.org/nothing"); err == nil {
		t.Error("a module that is not pinned is found")
	}
	if _, err := moduleFolder(t.Context(), "kwok", "sigs.k8s.io/kwok", "nowhere"); err == nil {
		t.Error("a missing folder is found")
	}
}
