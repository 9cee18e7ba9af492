// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"archive/tar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jutsu.com/operators/test/testcluster/project"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string][]string{
		"kind": {"kind load image-archive out/image/dojo-operator/image.tar --name mine\n"},
		"k3d":  {"k3d image import out/image/discord-operator/image.tar --cluster mine\n"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			copyProgram(t, filepath.Join(root, "tools", "load"), filepath.Join(folder, "tools", "load"))
			write(t, filepath.Join(folder, "bin", program), "#!/bin/sh\necho "+program+" \"$@\"\n")
			for _, operator := range []string{"dojo-operator", "discord-operator"} {
				archiveOf(t, filepath.Join(folder, "out", "image", operator, "image.tar"), operator)
			}
			archiveOf(t, filepath.Join(folder, "out", "image", "dojo-operator", "dojo-migrate.tar"), "dojo-migrate")
			cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "tools", "load"), program, "mine")
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want = append(want, "helm install discord-operator deploy/charts/discord-operator --namespace discord-system ",
				"    --set image.repository=docker.io/library/dojo-operator --set image.tag=v0.1.0"+
					" --set flags.migrate-image=docker.io/library/dojo-migrate:v0.1.0\n")
			for _, line := range want {
				if !strings.Contains(string(out), line) {
					t.Errorf("it does not say %q:\n%s", line, out)
				}
			}
		})
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, string(text))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// archiveOf writes an image archive that has only an index.
func archiveOf(t *testing.T, file, operator string) {
	t.Helper()
	var archive strings.Builder
	w := tar.NewWriter(&archive)
	index := `{"manifests":[{"annotations":{"io.containerd.image.name":"docker.io/library/` + operator + `:v0.1.0"}}]}`
	if err := w.WriteHeader(&tar.Header{Name: "index.json", Mode: 0o644, Size: int64(len(index))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(index)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, file, archive.String())
}
