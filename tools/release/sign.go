// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// signing selects the signer. Without key and identity, only a dry run is signed.
type signing struct {
	Cosign string
	// Key is a file with cosign's private key, and its password is in COSIGN_PASSWORD. Signatures
	// with a key are not in a transparency log.
	Key string
	// Identity is a regular expression for a keyless signer (a GitHub workflow), and Issuer is its
	// OIDC issuer. Sigstore's transparency log records keyless signatures.
	Identity, Issuer string
}

const bundle = "checksums.txt.sigstore.json"

const publicKey = "cosign.pub"

type signer struct {
	cosign       string
	sign, verify []string
	environment  []string
}

// newSigner returns nil without Key and Identity. With Key, it writes the public key to folder.
func newSigner(ctx context.Context, o signing, scratch, folder string) (*signer, error) {
	s := &signer{cosign: o.Cosign}
	switch {
	case o.Key != "":
		err := s.useKey(ctx, o.Key, scratch, filepath.Join(folder, publicKey))
		return s, err
	case o.Identity != "":
		s.verify = []string{"--certificate-identity-regexp=" + o.Identity, "--certificate-oidc-issuer=" + o.Issuer}
		return s, nil
	}
	return nil, nil
}

func newRehearsal(ctx context.Context, o signing, scratch string) (*signer, error) {
	s := &signer{cosign: o.Cosign, environment: []string{"COSIGN_PASSWORD="}}
	prefix := filepath.Join(scratch, "rehearsal")
	if err := s.run(ctx, "generate-key-pair", "--output-key-prefix="+prefix); err != nil {
		return nil, err
	}
	err := s.useKey(ctx, prefix+".key", scratch, filepath.Join(scratch, publicKey))
	return s, err
}

// useKey disables the Sigstore services that cosign uses by default.
func (s *signer) useKey(ctx context.Context, key, scratch, public string) error {
	if err := s.run(ctx, "public-key", "--key="+key, "--outfile="+public); err != nil {
		return err
	}
	config := filepath.Join(scratch, "signing-config.json")
	s.sign = []string{"--key=" + key, "--signing-config=" + config}
	s.verify = []string{"--key=" + public, "--insecure-ignore-tlog"}
	return s.run(ctx, "signing-config", "create", "--no-default-fulcio", "--no-default-oidc", "--no-default-rekor",
		"--no-default-tsa", "--out="+config)
}

func (s *signer) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.cosign, args...)
	cmd.Env = append(os.Environ(), s.environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cosign %s: %w\n%s", args[0], err, out)
	}
	return nil
}

type published struct {
	registry  string
	images    []*built // the operator's image first
	artifacts []*artifact
	plugins   []plugin // listed in checksums.txt, which is signed
}

func (p published) references() ([]string, error) {
	var all []string
	for _, image := range p.images {
		all = append(all, path.Join(p.registry, image.Program)+"@"+image.Digest.String())
	}
	for _, a := range p.artifacts {
		digest, err := a.digest()
		if err != nil {
			return nil, err
		}
		all = append(all, path.Join(p.registry, a.Repository)+"@"+digest.String())
	}
	return all, nil
}

// sboms maps the image of each platform to the file of its SBOM.
func (p published) sboms(folder string) map[string]string {
	all := map[string]string{}
	for _, image := range p.images {
		for platform, one := range image.Platforms {
			file := image.Program + "-" + strings.ReplaceAll(platform, "/", "-") + ".spdx.json"
			all[path.Join(p.registry, image.Program)+"@"+one.Digest.String()] = filepath.Join(folder, "sbom", file)
		}
	}
	return all
}

func (s *signer) release(ctx context.Context, p published, folder string) error {
	references, err := p.references()
	if err != nil {
		return err
	}
	for _, reference := range references {
		if err := s.signAndVerify(ctx, []string{"sign", "--yes"}, []string{"verify"}, reference); err != nil {
			return err
		}
	}
	for reference, bill := range p.sboms(folder) {
		attest := []string{"attest", "--yes", "--type=spdxjson", "--predicate=" + bill}
		if err := s.signAndVerify(ctx, attest, []string{"verify-attestation", "--type=spdxjson"}, reference); err != nil {
			return err
		}
	}
	sums, signature := filepath.Join(folder, "checksums.txt"), "--bundle="+filepath.Join(folder, bundle)
	return s.signAndVerify(ctx, []string{"sign-blob", "--yes", signature}, []string{"verify-blob", signature}, sums)
}

func (s *signer) signAndVerify(ctx context.Context, sign, verify []string, what string) error {
	if err := s.run(ctx, slices.Concat(sign, s.sign, []string{what})...); err != nil {
		return err
	}
	return s.run(ctx, slices.Concat(verify, s.verify, []string{what})...)
}

func (o signing) howToVerify(reference string) string {
	who := fmt.Sprintf("--certificate-identity-regexp '%s' \\\n  --certificate-oidc-issuer %s", o.Identity, o.Issuer)
	switch {
	case o.Key != "":
		who = "--key " + publicKey + " --insecure-ignore-tlog"
	case o.Identity == "":
		return ""
	}
	_, digest, _ := strings.Cut(reference, "@")
	repository, _, _ := splitReference(reference)
	return fmt.Sprintf("\n## Verify\n\n```sh\ncosign verify %s \\\n  %s\ncosign verify-blob checksums.txt --bundle %s \\\n  %s\n"+
		"sha256sum --check --ignore-missing checksums.txt\n```\n", repository+"@"+digest, who, bundle, who)
}
