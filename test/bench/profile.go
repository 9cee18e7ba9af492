// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"k8s.io/client-go/kubernetes"

	"jutsu.com/operators/test/environment"
)

// A process cannot end a CPU profile early, so the bench merges short profiles (slices). Slices of
// the API server are longer, because a slice costs the API server more CPU time.
const (
	slice          = 2 * time.Second
	apiServerSlice = 5 * time.Second
)

type process struct {
	*environment.Process
	profiles string // host:port
}

func (p *process) get(ctx context.Context, query string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.profiles+"/debug/pprof/"+query, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile %s: %s: %.200s", query, response.Status, text)
	}
	return text, err
}

func (p *process) liveHeap(ctx context.Context) float64 {
	return must(heapAlloc(string(must(p.get(ctx, "heap?gc=1&debug=1")))))
}

func heapAlloc(text string) (float64, error) {
	_, rest, _ := strings.Cut(text, "\n# HeapAlloc = ")
	number, _, _ := strings.Cut(rest, "\n")
	bytes, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("HeapAlloc of a heap profile: %w", err)
	}
	return bytes, nil
}

// fetch gets a profile. query is the URL's part after /debug/pprof/.
type fetch func(ctx context.Context, query string) ([]byte, error)

// profiled writes the CPU profile of work (FILE.cpu.pb.gz) and all allocations since the start of
// the process (FILE.allocs.pb.gz). 100 samples per second of CPU time do not distort the figures.
func (p *process) profiled(ctx context.Context, file string, work func()) {
	fetch(p.get).during(ctx, file, slice, work)
}

// apiServerProfiled runs work. It writes profiles only with --profile-api-server, because
// symbolizing costs the API server CPU time.
func (b *bench) apiServerProfiled(ctx context.Context, s *stage, file string, work func()) {
	if !b.profileAPIServer {
		work()
		return
	}
	rest := must(kubernetes.NewForConfig(s.Cluster.Config())).Discovery().RESTClient()
	get := func(ctx context.Context, query string) ([]byte, error) {
		name, parameters, _ := strings.Cut(query, "?")
		request := rest.Get().AbsPath("/debug/pprof", name)
		if key, value, found := strings.Cut(parameters, "="); found {
			request.Param(key, value)
		}
		return request.DoRaw(ctx)
	}
	fetch(get).during(ctx, file, apiServerSlice, work)
}

func (get fetch) during(ctx context.Context, file string, slice time.Duration, work func()) {
	over := make(chan struct{})
	result := make(chan error, 1)
	var slices []*profile.Profile
	go func() {
		result <- func() error {
			for {
				one, err := get.cpu(ctx, slice)
				if err != nil {
					return err
				}
				slices = append(slices, one)
				select {
				case <-over:
					return nil
				default:
				}
			}
		}()
	}()
	func() {
		defer close(over)
		work()
	}()
	check(<-result)
	check(get.keep(ctx, file, slices))
}

func (get fetch) cpu(ctx context.Context, slice time.Duration) (*profile.Profile, error) {
	text, err := get(ctx, fmt.Sprintf("profile?seconds=%d", int(slice.Seconds())))
	if err != nil {
		return nil, err
	}
	return profile.ParseData(text)
}

func (get fetch) keep(ctx context.Context, file string, slices []*profile.Profile) error {
	whole, err := profile.Merge(slices)
	if err != nil {
		return fmt.Errorf("put a profile together: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	out, err := os.OpenFile(file+".cpu.pb.gz", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := whole.Write(out); err != nil {
		_ = out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	allocs, err := get(ctx, "allocs")
	if err != nil {
		return err
	}
	return os.WriteFile(file+".allocs.pb.gz", allocs, 0o600)
}

func (p *process) keepHeap(ctx context.Context, file string) error {
	heap, err := p.get(ctx, "heap?gc=1")
	if err != nil {
		return err
	}
	return os.WriteFile(file+".heap.pb.gz", heap, 0o600)
}
