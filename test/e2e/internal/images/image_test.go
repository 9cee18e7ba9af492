// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestSecurityUpdatesAreInstalledOnce(t *testing.T) {
	script := securePostgresScript()
	if strings.Count(script, securityUpdates) != 1 || strings.Count(script, "\ninside usermod") != 1 {
		t.Error(script)
	}
}

func TestWriteLayer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"/opt/bin/program": program, "/link": "-> opt/bin/program"}
	var one, other bytes.Buffer
	for _, out := range []*bytes.Buffer{&one, &other} {
		if err := writeLayer(out, files); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), other.Bytes()) {
		t.Error("the same files gave different bytes")
	}
	var found []string
	for archive := tar.NewReader(&one); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, header.FileInfo().Mode().String()+" "+header.Name)
	}
	if diff := cmp.Diff([]string{"Lrwxrwxrwx link", "drwxr-xr-x opt/", "drwxr-xr-x opt/bin/",
		"-rwxr-xr-x opt/bin/program"}, found); diff != "" {
		t.Error(diff)
	}
}

// Our registry serves an image even if a manifest names another registry.
func TestRegistryServesAnyRegistryName(t *testing.T) {
	registry, err := StartRegistry(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = registry.Stop() }()
	pushed, err := Image{Name: "example.test/some/program:1",
		Entrypoint: []string{"/program"}}.Push(registry.Address("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{registry.Address("127.0.0.1") + "/some/program:1", pushed} {
		parsed, err := name.ParseReference(reference)
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(parsed)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"/program"}, config.Config.Entrypoint); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOtherMachinesCannotPush(t *testing.T) {
	handler := allowLocalPushes(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for what, want := range map[string]int{"127.0.0.1:1 PUT": 200, "10.244.0.7:1 GET": 200, "10.244.0.7:1 PUT": 403,
		"10.244.0.7:1 DELETE": 403} {
		from, method, _ := bytes.Cut([]byte(what), []byte(" "))
		request := httptest.NewRequest(string(method), "/v2/", http.NoBody)
		request.RemoteAddr = string(from)
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, request); answer.Code != want {
			t.Errorf("%s: %d, want %d", what, answer.Code, want)
		}
	}
}
