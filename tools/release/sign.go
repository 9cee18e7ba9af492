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

// signing says as whom a release is signed. Without a key and an identity it is not.
type signing struct {
	// Cosign is the program that signs.
	Cosign string
	// Key is a file with a private key of cosign, whose password is in COSIGN_PASSWORD. What is signed with a key is in no
	// transparency log.
	Key string
	// Identity is a regular expression of the identity that signs without a key, such as that of a workflow, and Issuer is
	// who vouches for it. Such a signature is in Sigstore's transparency log.
	Identity, Issuer string
}

// bundle is the file with the signature of checksums.txt.
const bundle = "checksums.txt.sigstore.json"

// publicKey is the file with what signatures by a key are verified with.
const publicKey = "cosign.pub"

// signer signs what is released, and verifies each signature as users do.
type signer struct {
	cosign string
	// sign and verify are the arguments that say as whom.
	sign, verify []string
	// environment is beside that of this process.
	environment []string
}

// newSigner returns nil where a release is not to be signed. folder gets the public key, scratch what nobody needs later.
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

// newRehearsal is a signer with a key that is made for it, and forgotten.
func newRehearsal(ctx context.Context, o signing, scratch string) (*signer, error) {
	s := &signer{cosign: o.Cosign, environment: []string{"COSIGN_PASSWORD="}}
	prefix := filepath.Join(scratch, "rehearsal")
	if err := s.run(ctx, "generate-key-pair", "--output-key-prefix="+prefix); err != nil {
		return nil, err
	}
	err := s.useKey(ctx, prefix+".key", scratch, filepath.Join(scratch, publicKey))
	return s, err
}

// useKey signs with a key, and without any service: cosign takes those of Sigstore where it is given none.
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

// run runs cosign. What it prints is shown where it fails.
func (s *signer) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.cosign, args...)
	cmd.Env = append(os.Environ(), s.environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cosign %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// published is what is signed of a release, at the registry that it was pushed to.
type published struct {
	registry  string
	operator  string
	image     *built
	artifacts []*artifact
}

// references are the image and what is beside it, by their digests.
func (p published) references() ([]string, error) {
	all := []string{path.Join(p.registry, p.operator) + "@" + p.image.Digest.String()}
	for _, a := range p.artifacts {
		digest, err := a.digest()
		if err != nil {
			return nil, err
		}
		all = append(all, path.Join(p.registry, a.Repository)+"@"+digest.String())
	}
	return all, nil
}

// bills are the bills of materials, by the image of the platform that each is of.
func (p published) bills(folder string) map[string]string {
	all := map[string]string{}
	for platform, one := range p.image.Platforms {
		file := p.operator + "-" + strings.ReplaceAll(platform, "/", "-") + ".spdx.json"
		all[path.Join(p.registry, p.operator)+"@"+one.Digest.String()] = filepath.Join(folder, "sbom", file)
	}
	return all
}

// release signs all of a release whose files are in folder, and verifies it.
func (s *signer) release(ctx context.Context, p published, folder string) error {
	references, err := p.references()
	if err != nil {
		return err
	}
	for _, reference := range references {
		if err := s.twice(ctx, []string{"sign", "--yes"}, []string{"verify"}, reference); err != nil {
			return err
		}
	}
	for reference, bill := range p.bills(folder) {
		attest := []string{"attest", "--yes", "--type=spdxjson", "--predicate=" + bill}
		if err := s.twice(ctx, attest, []string{"verify-attestation", "--type=spdxjson"}, reference); err != nil {
			return err
		}
	}
	sums, signature := filepath.Join(folder, "checksums.txt"), "--bundle="+filepath.Join(folder, bundle)
	return s.twice(ctx, []string{"sign-blob", "--yes", signature}, []string{"verify-blob", signature}, sums)
}

// twice signs something, then verifies that.
func (s *signer) twice(ctx context.Context, sign, verify []string, what string) error {
	if err := s.run(ctx, slices.Concat(sign, s.sign, []string{what})...); err != nil {
		return err
	}
	return s.run(ctx, slices.Concat(verify, s.verify, []string{what})...)
}

// howToVerify is the part of the notes that says how a signature is verified.
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
