// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var content = []byte("#!/bin/sh\necho downloaded\n" + strings.Repeat("# padding\n", 100_000))

type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // path and Range of each request
}

func newServer(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func whole(file []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
	}
}

func half(more func(r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		more(r)
	}
}

func untilCancelled(r *http.Request) { <-r.Context().Done() }

func released(t *testing.T, base string, file []byte) (build, *provider, *output) {
	t.Helper()
	b := hello(t)
	b.release = release{url: "https://files.example/{version}/hello-{os}-{arch}"}
	said := &output{}
	sum := sha256.Sum256(file)
	p := builder(said)
	p.source = onlyDownload
	p.sums = map[string]string{b.release.of(b.version, platform).url: hex.EncodeToString(sum[:])}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	p.client = client{http: &http.Client{Transport: transport}, mirror: base, stall: time.Minute, hosts: &hosts{}}
	return b, p, said
}

func TestDownload(t *testing.T) {
	t.Parallel()
	halfway := len(content) / 2
	fromHalfway := fmt.Sprintf("bytes=%d-", halfway)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		stall  time.Duration
		part   []byte   // left by an earlier process
		fails  string   // text in the error; "" if the download succeeds
		ranges []string // Range header of each request
		kept   int      // size of the .part file that remains
	}{
		"complete file": {answer: whole(content), ranges: []string{""}},
		"wrong sum":     {answer: whole([]byte("other")), fails: "wrong SHA-256", ranges: []string{""}},
		"not found":     {answer: http.NotFound, fails: "404 Not Found", ranges: []string{""}},
		"unavailable": {
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			fails:  "503 Service Unavailable", ranges: []string{""},
		},
		"truncated": {
			answer: half(func(*http.Request) {}), ranges: []string{""}, kept: halfway,
			fails: fmt.Sprintf("truncated after %d of %d bytes", halfway, len(content)),
		},
		"stalled": {
			answer: half(untilCancelled), stall: 3 * time.Second, ranges: []string{""}, kept: halfway,
			fails: fmt.Sprintf("no byte in 3s, after %d of %d bytes", halfway, len(content)),
		},
		"no answer": {
			answer: func(_ http.ResponseWriter, r *http.Request) { untilCancelled(r) }, stall: 3 * time.Second,
			fails: "is unreachable: no byte in 3s", ranges: []string{""},
		},
		"interrupted download is resumed": {answer: whole(content), part: content[:halfway], ranges: []string{fromHalfway}},
		"server without ranges sends the whole file": {
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) },
			part:   content[:halfway], ranges: []string{fromHalfway},
		},
		".part file has wrong bytes": {
			answer: whole(content), part: bytes.Repeat([]byte("x"), halfway), fails: "wrong SHA-256",
			ranges: []string{fromHalfway},
		},
		"server sends another range than requested": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Range", "bytes 7-9/10")
				w.WriteHeader(http.StatusPartialContent)
			},
			part: content[:halfway], fails: "Content-Range", ranges: []string{fromHalfway}, kept: halfway,
		},
		".part file is complete": {answer: http.NotFound, part: content},
		".part file is too long": {
			answer: whole(content), part: append(slices.Clone(content), "more"...),
			ranges: []string{fmt.Sprintf("bytes=%d-", len(content)+4), ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.answer)
			b, p, said := released(t, s.URL, content)
			if test.stall > 0 {
				p.stall = test.stall
			}
			d, _ := p.download(b)
			if test.part != nil {
				if err := os.WriteFile(d.part, test.part, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			paths, err := p.provide(t.Context(), []build{b})
			if test.fails == "" {
				expectInstalled(t, p, b, paths, err)
			} else if err == nil || !strings.Contains(err.Error(), test.fails) || !strings.Contains(err.Error(), SourceEnv) {
				t.Errorf("want %q in: %v", test.fails, err)
			}
			line := regexp.MustCompile(`(?m)^testcluster: download hello v1\.36\.3 from http://\S+/files\.example/\S+: .*$`)
			if lines := line.FindAllString(said.String(), -1); test.fails != "" &&
				(len(lines) != 1 || !strings.Contains(lines[0], test.fails)) {
				t.Errorf("want one line with %q:\n%s", test.fails, said)
			}
			var requests []string
			for _, r := range test.ranges {
				requests = append(requests, strings.TrimSpace("/"+strings.TrimPrefix(d.url, "https://")+" "+r))
			}
			if got := s.got(); !slices.Equal(got, requests) {
				t.Errorf("requests %q, want %q", got, requests)
			}
			left, _ := os.ReadFile(d.part)
			if len(left) != test.kept {
				t.Errorf("%d bytes left in %s, want %d", len(left), d.part, test.kept)
			}
		})
	}
}

func expectInstalled(t *testing.T, p *provider, b build, paths map[string]string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	d, _ := p.download(b)
	got, err := os.ReadFile(paths[b.name])
	if err != nil || !bytes.Equal(got, content) || paths[b.name] != d.target {
		t.Errorf("%d bytes at %q, want %d at %q; error %v", len(got), paths[b.name], len(content), d.target, err)
	}
	if info, err := os.Stat(d.target); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
	onlyLockAnd(t, b.cache, filepath.Base(filepath.Dir(d.target)))
	if again, err := p.provide(t.Context(), []build{b}); err != nil || again[b.name] != d.target {
		t.Errorf("again: %v, error %v", again, err)
	}
}

func TestDownloadOfArchive(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	zipped := gzip.NewWriter(&file)
	entries := tar.NewWriter(zipped)
	for name, text := range map[string][]byte{
		"hello-v1.36.3/README.md": []byte("no program"), "hello-v1.36.3/hello": content,
	} {
		if err := entries.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := entries.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := entries.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, whole(file.Bytes()))
	b, p, _ := released(t, s.URL, file.Bytes())
	b.release.member = "hello-{version}/hello"
	paths, err := p.provide(t.Context(), []build{b})
	expectInstalled(t, p, b, paths, err)

	b, p, _ = released(t, s.URL, file.Bytes())
	b.release.member = "bin/hello"
	if _, err := p.provide(t.Context(), []build{b}); err == nil || !strings.Contains(err.Error(), "has no bin/hello") {
		t.Error(err)
	}
}

func TestDownloadResumesAfterTruncation(t *testing.T) {
	t.Parallel()
	first := true
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			half(func(*http.Request) {})(w, r)
			return
		}
		whole(content)(w, r)
	})
	b, p, _ := released(t, s.URL, content)
	if _, err := p.provide(t.Context(), []build{b}); err == nil {
		t.Fatal("no error")
	}
	paths, err := p.provide(t.Context(), []build{b})
	expectInstalled(t, p, b, paths, err)
	if got := s.got(); len(got) != 2 || !strings.HasSuffix(got[1], fmt.Sprintf(" bytes=%d-", len(content)/2)) {
		t.Error(got)
	}
}

func TestDownloadInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	s := newServer(t, half(func(r *http.Request) {
		interrupt()
		untilCancelled(r)
	}))
	b, p, said := released(t, s.URL, content)
	p.source = auto
	if _, err := p.provide(ctx, []build{b}); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
	if strings.Contains(said.String(), "building") || exists(b.target) {
		t.Errorf("it goes on:\n%s", said)
	}
}

func TestProviderBuildsAfterAFailedDownload(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		base   string
		unpin  bool
		reason string
	}{
		"truncated":   {base: newServer(t, half(func(*http.Request) {})).URL, reason: "truncated"},
		"unreachable": {base: closed.URL, reason: "is unreachable: dial tcp"},
		"no sum pinned": {
			base: closed.URL, unpin: true,
			reason: "downloads.txt has no checksum of hello v1.36.3 for " + platform,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p, said := released(t, test.base, content)
			p.source = auto
			if test.unpin {
				p.sums = nil
			}
			paths, err := p.provide(t.Context(), []build{b})
			if err != nil || paths["hello"] != b.target {
				t.Error(paths, err)
			}
			text := said.String()
			if strings.Count(text, test.reason) != 1 || !strings.Contains(text, "built hello v1.36.3") {
				t.Errorf("want %q once:\n%s", test.reason, text)
			}
			onlyLockAnd(t, b.cache, "hello-v1.36.3")
		})
	}
}

func TestSourceDecidesOnMissingBinaries(t *testing.T) {
	t.Parallel()
	t.Run("build sends no request", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, whole(content))
		b, p, _ := released(t, s.URL, content)
		p.source = onlyBuild
		paths, err := p.provide(t.Context(), []build{b})
		if err != nil || paths["hello"] != b.target || len(s.got()) > 0 {
			t.Error(paths, err, s.got())
		}
	})
	for name, test := range map[string]struct {
		change func(*build, *provider)
		reason string
	}{
		"no checksum is pinned": {func(_ *build, p *provider) { p.sums = nil }, "hello v1.36.3: downloads.txt has no checksum"},
		"the project publishes no binary": {
			func(b *build, _ *provider) { b.release = release{} }, "hello v1.36.3: the project publishes no binary",
		},
	} {
		t.Run("download, "+name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, whole(content))
			b, p, _ := released(t, s.URL, content)
			test.change(&b, p)
			_, err := p.provide(t.Context(), []build{b})
			if err == nil || !strings.Contains(err.Error(), test.reason) || len(s.got()) > 0 {
				t.Error(err, s.got())
			}
			onlyLockAnd(t, b.cache)
		})
	}
}

func TestUnreachableHostCostsOneWait(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) { untilCancelled(r) })
	b, p, said := released(t, s.URL, content)
	p.stall = 300 * time.Millisecond
	var builds []build
	for _, name := range []string{"a", "b", "c"} {
		one := b
		one.name, one.target = name, filepath.Join(filepath.Dir(b.target), name)
		builds = append(builds, one)
	}
	for range 2 {
		if _, err := p.provide(t.Context(), builds); err == nil || !strings.Contains(err.Error(), "no byte in 300ms") {
			t.Error(err)
		}
	}
	if n := strings.Count(said.String(), "is unreachable"); n != 1 {
		t.Errorf("reported %d times:\n%s", n, said)
	}
	if got := s.got(); len(got) > 3 {
		t.Errorf("requests after the first wait: %v", got)
	}
}

func TestDownloadReportsProgress(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		half(func(*http.Request) { <-proceed })(w, r)
		_, _ = w.Write(content[len(content)/2:])
	})
	b, p, said := released(t, s.URL, content)
	p.interval = 10 * time.Millisecond
	done := make(chan error, 1)
	go func() {
		_, err := p.provide(t.Context(), []build{b})
		done <- err
	}()
	eventually(t, func() error {
		if !strings.Contains(said.String(), "testcluster: downloaded 0.5 MB of 1.0 MB, ") {
			return fmt.Errorf("no progress in %s", said)
		}
		return nil
	})
	close(proceed)
	if err := <-done; err != nil || !strings.Contains(said.String(), "testcluster: downloaded hello v1.36.3 in ") {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestDownloadByProxy(t *testing.T) {
	t.Parallel()
	var host string
	proxy := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		host = r.URL.Host // a proxy gets the whole URL
		whole(content)(w, r)
	})
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, p, _ := released(t, "http://mirror.invalid", content)
	p.http.Transport.(*http.Transport).Proxy = http.ProxyURL(address)
	paths, err := p.provide(t.Context(), []build{b})
	expectInstalled(t, p, b, paths, err)
	if host != "mirror.invalid" {
		t.Errorf("the proxy was asked for a file of %q", host)
	}
}

// net/http reads the proxy's variables only once per process, so the test compares functions.
func TestClientUsesProxyAndMirror(t *testing.T) {
	c, err := newClient()
	if err != nil {
		t.Fatal(err)
	}
	proxy := c.http.Transport.(*http.Transport).Proxy
	if fmt.Sprintf("%p", proxy) != fmt.Sprintf("%p", http.ProxyFromEnvironment) {
		t.Error("the transport has another proxy function")
	}
	t.Setenv(MirrorEnv, "https://mirror.example/releases/")
	c, err = newClient()
	got, want := c.address("https://dl.k8s.io/v1/x"), "https://mirror.example/releases/dl.k8s.io/v1/x"
	if err != nil || got != want {
		t.Errorf("%s, want %s; error %v", got, want, err)
	}
}

func TestReleases(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]release{
		APIServer: {
			url:  "https://dl.k8s.io/v1.2.3/bin/linux/arm64/kube-apiserver",
			sums: "https://dl.k8s.io/v1.2.3/bin/linux/arm64/kube-apiserver.sha256",
		},
		Etcd: {
			url:    "https://github.com/etcd-io/etcd/releases/download/v1.2.3/etcd-v1.2.3-linux-arm64.tar.gz",
			member: "etcd-v1.2.3-linux-arm64/etcd",
			sums:   "https://github.com/etcd-io/etcd/releases/download/v1.2.3/SHA256SUMS",
		},
		Kwok: {url: "https://github.com/kubernetes-sigs/kwok/releases/download/v1.2.3/kwok-linux-arm64"},
	} {
		if got := table[name].release.of("v1.2.3", "linux/arm64"); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestSums(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", sha256.Size)
	sums, err := parseSums("# a comment\n\n" + sum + "  https://files.example/a\n")
	if err != nil || len(sums) != 1 || sums["https://files.example/a"] != sum {
		t.Error(sums, err)
	}
	for _, wrong := range []string{
		sum, sum + " https://files.example/a", sum + "  files.example/a", "0a  https://files.example/a",
	} {
		if _, err := parseSums(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	if _, err := parseSums(downloads); err != nil {
		t.Error(err)
	}
}

func TestSumsArePinned(t *testing.T) {
	sums, err := parseSums(downloads)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(ControlPlane(), Kubectl, Kubelet, Proxy) {
		b, err := newBuild(name)
		if err != nil {
			t.Fatal(err)
		}
		if url := b.release.of(b.version, "linux/amd64").url; sums[url] == "" {
			t.Errorf("downloads.txt has no checksum of %s: run bin/testcluster pin", url)
		}
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	sum := func(n int) string { return strings.Repeat(fmt.Sprintf("%02d", n), sha256.Size) }
	hash := sha256.Sum256(content)
	files := map[string]string{
		"/own.example/tool.sha256":  sum(1), // without a newline, like the files of dl.k8s.io
		"/list.example/SHA256SUMS":  sum(2) + "  other.tar.gz\n" + sum(3) + "  tool.tar.gz\n",
		"/none.example/tool":        string(content),
		"/wrong.example/SHA256SUMS": "<html>",
	}
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	})
	_, p, said := released(t, s.URL, content)
	text, err := p.pin(t.Context(), []release{
		{url: "https://own.example/tool", sums: "https://own.example/tool.sha256"},
		{url: "https://list.example/tool.tar.gz", sums: "https://list.example/SHA256SUMS"},
		{url: "https://none.example/tool"},
		{url: "https://gone.example/tool"},
	})
	want := sumsHeader + sum(3) + "  https://list.example/tool.tar.gz\n" +
		hex.EncodeToString(hash[:]) + "  https://none.example/tool\n" + sum(1) + "  https://own.example/tool\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}
	if !strings.Contains(said.String(), "no checksum for https://gone.example/tool: 404 Not Found") {
		t.Error(said)
	}
	if sums, err := parseSums(string(text)); err != nil || len(sums) != 3 {
		t.Error(sums, err)
	}
	wrong := release{url: "https://wrong.example/tool", sums: "https://wrong.example/SHA256SUMS"}
	if _, err := p.pin(t.Context(), []release{wrong}); err == nil || !strings.Contains(err.Error(), "no SHA-256 sum of tool") {
		t.Error(err)
	}
}
