// SPDX-License-Identifier: Apache-2.0

package mounted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderFollowsItsFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func(files map[string][]byte) int { return len(files) }
	f, err := Read(path, count)
	if err != nil || f.Current() != 0 {
		t.Fatalf("an empty folder: %v, %v", f.Current(), err)
	}
	write("..data", "the kubelet's")
	if changed, err := f.reload(); changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	write("Mine", "{instances: 1, storage: 1Gi}")
	if changed, err := f.reload(); !changed || err != nil || f.Current() != 1 {
		t.Errorf("changed %v, %v: %v", changed, err, f.Current())
	}
	if changed, err := f.reload(); changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	write("Large", strings.Repeat("#", maxFile+1))
	if changed, err := f.reload(); changed || err == nil || f.Current() != 1 {
		t.Errorf("a huge file: changed %v, %v: %v", changed, err, f.Current())
	}
	if none, err := Read(filepath.Join(path, "missing"), count); err != nil || none.Current() != 0 {
		t.Errorf("no folder: %v", err)
	}
	if Fixed(3).Current() != 3 {
		t.Error("a fixed value has changed")
	}
}
