// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"jutsu.com/operators/tools/project/location"
)

type project struct {
	repository
	t      *testing.T
	origin repository
}

const workspace = "go 1.26.4\n\nuse (\n\t./apis\n\t./discord-operator\n\t./dojo-operator\n\t./libs/apply\n" +
	"\t./libs/conditions\n\t./libs/discordclient\n\t./libs/kubectl\n\t./libs/manager\n\t./test/discordtest\n" +
	"\t./test/environment\n\t./test/testcluster\n)\n"

// shared lists the modules that have one version in common.
var shared = []string{
	"apis", "libs/apply", "libs/conditions", "libs/discordclient", "libs/kubectl", "libs/manager", "test/discordtest",
	"test/environment", "test/testcluster",
}

func releaseTags(operator, version string) []string {
	tags := []string{operator + "/" + version}
	for _, module := range shared {
		tags = append(tags, module+"/"+version)
	}
	slices.Sort(tags)
	return tags
}

// newProject commits a copy of the released modules with changelogs of v0.1.0 and v0.2.0.
func newProject(t *testing.T) *project {
	t.Helper()
	folder := t.TempDir()
	p := &project{t: t, repository: repository{filepath.Join(folder, "clone")}, origin: repository{filepath.Join(folder, "origin")}}
	p.run(folder, "init", "--quiet", "--bare", p.origin.root)
	p.run(folder, "init", "--quiet", p.root)
	here := checkout(t).root
	for _, part := range []string{
		"apis", "libs", "deploy", "dojo-operator", "discord-operator", "test/discordtest", "test/environment", "test/testcluster",
	} {
		if err := os.CopyFS(filepath.Join(p.root, part), os.DirFS(filepath.Join(here, part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"project.yaml", "LICENSE"} {
		text, err := os.ReadFile(filepath.Join(here, file))
		if err != nil {
			t.Fatal(err)
		}
		p.write(file, string(text))
	}
	p.write("go.work", workspace)
	p.write(".gitignore", "/out/\n")
	for _, operator := range operators {
		p.write(operator+"/CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n- third\n\n## [0.2.0] - 2026-02-01\n\n- second\n\n## [0.1.0] - 2026-01-01\n\n- first\n")
	}
	p.run(p.root, "remote", "add", "origin", p.origin.root)
	p.commit("all")
	return p
}

func (p *project) run(folder string, args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (p *project) write(file, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, file), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) commit(message string) {
	p.t.Helper()
	p.run(p.root, "add", "--all")
	p.run(p.root, "commit", "--quiet", "--allow-empty", "--message", message)
}

func (p *project) breakAPI() {
	p.t.Helper()
	const file = "deploy/dojo-operator/crds/core.jutsu.com_dojos.yaml"
	text, err := os.ReadFile(filepath.Join(p.root, file))
	if err != nil {
		p.t.Fatal(err)
	}
	changed := regexp.MustCompile(`(?m)^( +)accountId:\n`).ReplaceAllString(string(text), "${1}ownerId:\n")
	if changed == string(text) {
		p.t.Fatalf("%s has no accountId", file)
	}
	p.write(file, changed)
}

func (p *project) tags(of repository) []string {
	p.t.Helper()
	found, err := of.lines(p.t.Context(), "tag", "--list")
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

func (p *project) release(o releaseOptions) (string, error) {
	p.t.Helper()
	var out bytes.Buffer
	o.Platforms = []string{"linux/amd64"} // TestImage builds for all platforms
	if o.Plugins == nil {
		o.Plugins = []string{"linux/amd64"}
	}
	if o.Where.Repo == "" {
		o.Where = location.Location{Repo: "jutsu.com/operators", Registry: "registry.invalid"}
	}
	err := publishRelease(p.t.Context(), p.repository, &out, o)
	return out.String(), err
}

func TestMain(m *testing.M) {
	for key, value := range map[string]string{
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.invalid", "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@example.invalid",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
	} {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func TestRefusedReleases(t *testing.T) {
	const dojo, repo = "dojo-operator", "registry.invalid/jutsu"
	wanted := releaseOptions{Operator: dojo, Version: "v0.2.0", Repo: repo}
	for name, test := range map[string]struct {
		before func(*project)
		o      releaseOptions
		want   string
	}{
		"no version":                               {o: releaseOptions{Operator: dojo, DryRun: true}, want: "give it as VERSION=v1.2.3"},
		"an incomplete version":                    {o: releaseOptions{Operator: dojo, Version: "v0.2", DryRun: true}, want: "give it as VERSION=v1.2.3"},
		"no registry":                              {o: releaseOptions{Operator: dojo, Version: "v0.2.0"}, want: "IMAGE_REPO=ghcr.io/you"},
		"a version that the changelog lacks":       {o: releaseOptions{Operator: dojo, Version: "v0.3.0", Repo: repo}, want: "dojo-operator/CHANGELOG.md: it says nothing of v0.3.0"},
		"uncommitted changes":                      {before: func(p *project) { p.write("new", "") }, o: wanted, want: "first commit these changes:\n?? new"},
		"released from this clone":                 {before: func(p *project) { p.run(p.root, "tag", dojo+"/v0.2.0"); p.commit("next") }, o: wanted, want: "take the next version"},
		"an old version":                           {before: func(p *project) { p.run(p.root, "tag", dojo+"/v0.3.0"); p.commit("next") }, o: wanted, want: "v0.2.0 is not newer than v0.3.0"},
		"released from another clone":              {before: releasedElsewhere, o: wanted, want: "the tag dojo-operator/v0.2.0 is there already"},
		"a breaking change since the last release": {before: breaksSince(dojo + "/v0.1.0"), o: wanted, want: "has a breaking change since dojo-operator/v0.1.0"},
		"a breaking change since the release before a prerelease": {before: breaksSince(dojo+"/v0.0.1", dojo+"/v0.1.0-rc.1"), o: wanted, want: "since dojo-operator/v0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			if test.before != nil {
				test.before(p)
			}
			before := p.tags(p.repository)
			out, err := p.release(test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q; it printed:\n%s", err, test.want, out)
			}
			if diff := cmp.Diff(before, p.tags(p.repository)); diff != "" {
				t.Errorf("tags (-before +after):\n%s", diff)
			}
			if _, err := os.Stat(filepath.Join(p.root, "out")); err == nil {
				t.Error("something was built")
			}
		})
	}
}

func releasedElsewhere(p *project) {
	p.run(p.root, "tag", "--annotate", "--message", "x", "dojo-operator/v0.2.0")
	p.run(p.root, "push", "--quiet", "origin", "dojo-operator/v0.2.0")
	p.run(p.root, "tag", "--delete", "dojo-operator/v0.2.0")
	p.commit("next")
}

func breaksSince(tags ...string) func(*project) {
	return func(p *project) {
		for _, tag := range tags {
			p.run(p.root, "tag", tag)
		}
		p.breakAPI()
		p.commit("break the API")
	}
}

func TestCompatIgnoresTheOtherOperator(t *testing.T) {
	p := newProject(t)
	var out bytes.Buffer
	check := func(operator string) error { return checkCompat(t.Context(), p.repository, &out, operator, "") }
	if err := check("dojo-operator"); err != nil || !strings.Contains(out.String(), "there is no release yet (no tag dojo-operator/v*)") {
		t.Errorf("without a tag: %v: %s", err, &out)
	}
	p.run(p.root, "tag", "discord-operator/v0.1.0")
	breaksSince("dojo-operator/v0.1.0")(p)
	if err := check("discord-operator"); err != nil {
		t.Errorf("the other operator's API breaks: %v", err)
	}
	if err := check("dojo-operator"); err == nil || !strings.Contains(out.String(), "BREAKING dojos.core.jutsu.com v1 spec.accountId") {
		t.Errorf("the API breaks: %v: %s", err, &out)
	}
}

func TestDryRun(t *testing.T) {
	p := newProject(t)
	out, err := p.release(releaseOptions{
		Operator: "discord-operator", Version: "v0.3.0", DryRun: true, Sign: signing{Cosign: cosign(t)},
		Plugins: []string{"linux/amd64", "windows/amd64"}, // only two, because the build for a platform takes minutes
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"takes the notes under \"Unreleased\"; a release would fail: discord-operator/CHANGELOG.md: it says nothing of v0.3.0",
		"  signed and verified: the image, the chart, the manifests, the bills of materials and checksums.txt\n",
		"Dry run: nothing was pushed, except on this machine", "  push discord-operator:v0.3.0@sha256:",
		"  push charts/discord-operator:0.3.0\n", "  push manifests/discord-operator:v0.3.0\n", "  git tag, on a commit that requires the shared modules at v0.3.0: apis/v0.3.0 ",
		" discord-operator/v0.3.0\n", "  git push --atomic origin refs/tags/apis/v0.3.0 ", " refs/tags/discord-operator/v0.3.0\n",
		"  NO manifest for Krew: the project has no address", "Next: ",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("it does not say %q:\n%s", line, out)
		}
	}
	if tags := append(p.tags(p.repository), p.tags(p.origin)...); len(tags) > 0 {
		t.Errorf("it tags: %v", tags)
	}
	checkFiles(t, p, "discord-operator", "0.3.0", "- third\n")
	checkPlugins(t, p, "discord-operator", "v0.3.0", []string{"linux/amd64", "windows/amd64"})
}

func checkFiles(t *testing.T, p *project, operator, version, noted string) {
	t.Helper()
	released, err := filepath.Glob(filepath.Join(p.root, "out", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(p.root, "out", "release", operator)}, released); diff != "" {
		t.Errorf("folders in out (-want +got):\n%s", diff)
	}
	folder := filepath.Join(p.root, "out", "release", operator)
	text := func(file string) string {
		t.Helper()
		found, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(found)
	}
	if !strings.HasPrefix(text("notes.md"), noted) {
		t.Errorf("the notes are not of the changelog: %s", text("notes.md"))
	}
	install := text("install.yaml")
	if namespace, deployment := strings.Index(install, "kind: Namespace\n"), strings.Index(install, "kind: Deployment\n"); namespace < 0 || deployment < namespace {
		t.Errorf("the namespace is at %d, the Deployment at %d", namespace, deployment)
	}
	for _, other := range operators {
		if other != operator && strings.Contains(install, "name: "+other+"\n") {
			t.Errorf("install.yaml holds something of %s", other)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "checksums.txt")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, file := range []string{
		"image.tar", "install.yaml", "notes.md", "sbom/" + operator + "-linux-amd64.spdx.json",
		operator + "-manifests.tgz", operator + "-" + version + ".tgz", operator + "-bundle.tgz",
	} {
		if !strings.Contains(text("checksums.txt"), "  "+file+"\n") {
			t.Errorf("no checksum of %s", file)
		}
	}
}

// A repeated release gives the same image and tags, and nothing of the other operator.
func TestRelease(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.Default())))
	t.Cleanup(server.Close)
	repo := strings.TrimPrefix(server.URL, "http://") + "/jutsu"
	p := newProject(t)
	first := releaseOptions{
		Operator: "dojo-operator", Version: "v0.1.0", Repo: repo, Sign: signing{Cosign: cosign(t), Key: newKey(t)},
		Where: location.Location{Repo: testRepo, Registry: "registry.invalid"},
	}
	var digests []string
	for range 2 {
		out, err := p.release(first)
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		digests = append(digests, regexp.MustCompile(`@sha256:[0-9a-f]{64}`).FindString(out))
		checkFiles(t, p, "dojo-operator", "0.1.0", "- first\n")
		install, err := os.ReadFile(filepath.Join(p.root, "out", "release", "dojo-operator", "install.yaml"))
		if err != nil || !strings.Contains(string(install), "image: "+repo+"/dojo-operator"+digests[0]) {
			t.Errorf("install.yaml (%v) does not name the image %s", err, digests[0])
		}
		for _, at := range []repository{p.repository, p.origin} {
			if diff := cmp.Diff(releaseTags("dojo-operator", "v0.1.0"), p.tags(at)); diff != "" {
				t.Errorf("tags of %s (-want +got):\n%s", at.root, diff)
			}
		}
	}
	if digests[0] != digests[1] || digests[0] == "" {
		t.Errorf("released twice, the images are %v", digests)
	}
	repository, err := name.NewRepository(repo + "/dojo-operator")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Get(repository.Tag("v0.1.0"), remote.WithContext(t.Context())); err != nil {
		t.Errorf("the image is not pushed: %v", err)
	}
	pushed, err := remote.Catalog(t.Context(), repository.Registry)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(pushed)
	want := []string{
		"jutsu/charts/dojo-operator", "jutsu/dojo-migrate", "jutsu/dojo-operator", "jutsu/manifests/dojo-operator",
	}
	if diff := cmp.Diff(want, pushed); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	install, err := os.ReadFile(filepath.Join(p.root, "out", "release", "dojo-operator", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("users verify its signatures", func(t *testing.T) {
		checkSignatures(t, repo, strings.TrimPrefix(digests[0], "@"), filepath.Join(p.root, "out", "release", "dojo-operator"))
	})
	migrate := regexp.MustCompile(`--migrate-image=(` + regexp.QuoteMeta(repo) +
		`/dojo-migrate:v0\.1\.0@sha256:[0-9a-f]{64})\n`).FindSubmatch(install)
	if migrate == nil {
		t.Fatalf("install.yaml does not name the image of dojo-migrate:\n%s", install)
	}
	t.Run("Helm pulls its chart", func(t *testing.T) {
		checkChart(t, repo, repo+"/dojo-operator:v0.1.0"+digests[0], string(migrate[1]))
	})
	t.Run("Flux pulls its manifests", func(t *testing.T) { checkManifests(t, repo, string(install)) })
	t.Run("its plugin runs", func(t *testing.T) { checkPlugins(t, p, "dojo-operator", "v0.1.0", []string{"linux/amd64"}) })
	t.Run("the workflow repeats the release from the tag", func(t *testing.T) { checkFromTag(t, p, first) })
}
