// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func cosign(t *testing.T) string {
	t.Helper()
	program := filepath.Join(checkout(t).root, "bin", "cosign")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: make bin/cosign builds it", err)
	}
	return program
}

func newKey(t *testing.T) string {
	t.Helper()
	t.Setenv("COSIGN_PASSWORD", "not a secret")
	prefix := filepath.Join(t.TempDir(), "test")
	if out, err := exec.CommandContext(t.Context(), cosign(t), "generate-key-pair", "--output-key-prefix="+prefix).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return prefix + ".key"
}

// checkSignatures runs the commands of the release notes. cosign must refuse an unsigned image,
// another key, and changed checksums.
func checkSignatures(t *testing.T, repo, digest, folder string) {
	t.Helper()
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), cosign(t), args...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	valid := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Errorf("cosign %s: %v: %s", args, err, out)
		}
		return out
	}
	refused := func(why string, args ...string) {
		t.Helper()
		if out, err := run(args...); err == nil {
			t.Errorf("%s is accepted: %s", why, out)
		}
	}
	image := repo + "/dojo-operator@" + digest
	notes, err := os.ReadFile(filepath.Join(folder, "notes.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)## Verify\n\n```sh\n(.*)```").FindSubmatch(notes)
	if len(commands) < 2 || !strings.Contains(string(commands[1]), image) {
		t.Fatalf("the notes do not say how to verify %s:\n%s", image, notes)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", string(commands[1]))
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PATH="+filepath.Dir(cosign(t))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s%v: %s", commands[1], err, out)
	}

	key := []string{"--key", publicKey, "--insecure-ignore-tlog"}
	verify := func(what string) []string { return append([]string{"verify", what}, key...) }
	for _, artifact := range []string{
		"/charts/dojo-operator:0.1.0", "/manifests/dojo-operator:v0.1.0", "/dojo-migrate:v0.1.0",
	} {
		valid(verify(repo + artifact)...)
	}
	checkAttestation(t, valid, image, key)
	other, err := name.ParseReference(repo + "/dojo-operator:other")
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(other, unsigned); err != nil {
		t.Fatal(err)
	}
	refused("an image that is not signed", verify(other.String())...)
	refused("another key", "verify", image, "--key", strings.TrimSuffix(newKey(t), ".key")+".pub", "--insecure-ignore-tlog")
	sums := filepath.Join(folder, "checksums.txt")
	text, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "checksums.txt")
	if err := os.WriteFile(changed, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a list of checksums that has changed", append([]string{"verify-blob", changed, "--bundle", bundle}, key...)...)
}

func checkAttestation(t *testing.T, valid func(...string) string, image string, key []string) {
	t.Helper()
	out := valid(append([]string{"verify-attestation", image, "--type", "spdxjson"}, key...)...)
	var envelope struct{ Payload string }
	if err := json.Unmarshal([]byte(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]), &envelope); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	statement, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil || !strings.Contains(string(statement), "sigs.k8s.io/controller-runtime") {
		t.Errorf("the bill of materials does not name what is in it (%v): %.300s", err, statement)
	}
}
