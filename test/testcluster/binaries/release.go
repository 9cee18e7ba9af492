// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// release describes the files of a project, with the variables {version}, {os} and {arch}.
type release struct {
	url    string // of the binary, or of a .tar.gz that contains it
	member string // path within the .tar.gz; "" for a plain binary
	sums   string // URL of the checksum; "" if not published
}

const githubRelease = "https://github.com/%s/releases/download/{version}/"

var (
	etcdFiles   = fmt.Sprintf(githubRelease, "etcd-io/etcd")
	etcdRelease = release{
		url:    etcdFiles + "etcd-{version}-{os}-{arch}.tar.gz",
		member: "etcd-{version}-{os}-{arch}/etcd",
		sums:   etcdFiles + "SHA256SUMS",
	}
	kwokRelease = release{url: fmt.Sprintf(githubRelease, "kubernetes-sigs/kwok") + "kwok-{os}-{arch}"}
)

func kubernetesRelease(name string) release {
	url := "https://dl.k8s.io/{version}/bin/{os}/{arch}/" + name
	return release{url: url, sums: url + ".sha256"}
}

func (r release) of(version, platform string) release {
	goos, arch, _ := strings.Cut(platform, "/")
	fill := strings.NewReplacer("{version}", version, "{os}", goos, "{arch}", arch).Replace
	return release{url: fill(r.url), member: fill(r.member), sums: fill(r.sums)}
}

const platform = runtime.GOOS + "/" + runtime.GOARCH

type download struct {
	release
	title  string // name and version of the binary
	sum    string // SHA-256 of the file
	part   string // path of the unfinished download
	target string // path of the finished binary
}

// download returns false if no checksum of the binary is pinned.
func (p *provider) download(b build) (download, bool) {
	r := b.release.of(b.version, platform)
	sum, ok := p.sums[r.url]
	if !ok {
		return download{}, false
	}
	target := b.path(sum[:12])
	return download{
		release: r, title: b.name + " " + b.version, sum: sum, target: target,
		part: filepath.Join(b.cache, b.name+"-"+filepath.Base(filepath.Dir(target))+".part"),
	}, true
}

//go:embed downloads.txt
var downloads string

var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  (https://\S+)$`)

func parseSums(text string) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := sumLine.FindStringSubmatch(line)
		if fields == nil {
			return nil, fmt.Errorf("downloads.txt: want SHA256, two spaces and an https URL: %q", line)
		}
		sums[fields[2]] = fields[1]
	}
	return sums, nil
}
