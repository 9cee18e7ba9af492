// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const noRoots = "TEST_WITHOUT_ROOTS"

// The operator knows the web's certificate authorities even if its image contains none.
func TestRoots(t *testing.T) {
	if os.Getenv(noRoots) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRoots$", "-test.v") // a process reads the authorities only once
		cmd.Env = append(os.Environ(), noRoots+"=1", "SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		return
	}
	known := 0
	for root := range bundle.Roots() {
		authority, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := authority.Verify(x509.VerifyOptions{}); err == nil {
			known++
		}
	}
	if known < 50 {
		t.Errorf("%d authorities are known, too few for the web", known)
	}
}
