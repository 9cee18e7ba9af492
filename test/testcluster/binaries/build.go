// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"jutsu.com/operators/test/testcluster/internal/progress"
	"jutsu.com/operators/test/testcluster/process"
	"jutsu.com/operators/test/testcluster/project"
)

const pollInterval = 500 * time.Millisecond

type build struct {
	binary
	name    string
	version string
	hash    string
	source  string // folder of the module that pins the version
	cache   string // folder of all cached binaries
	target  string // path of the finished binary
}

func groups(builds []build) (grouped [][]build) {
	index := map[string]int{}
	for _, b := range builds {
		folder := filepath.Dir(b.target)
		i, ok := index[folder]
		if !ok {
			i = len(grouped)
			index[folder], grouped = i, append(grouped, nil)
		}
		grouped[i] = append(grouped[i], b)
	}
	return grouped
}

type workshop struct {
	*provider
	folder string // in the cache's file system, so that finished binaries can be renamed into the cache
	reaper *process.Reaper
}

// buildAll builds one module after the other, which is faster than parallel builds on few cores.
func (p *provider) buildAll(ctx context.Context, builds []build) (err error) {
	folder, err := os.MkdirTemp(builds[0].cache, unfinished)
	if err != nil {
		return err
	}
	reaper, err := process.NewReaper(folder)
	if err != nil {
		_ = os.RemoveAll(folder)
		return err
	}
	defer func() { err = errors.Join(err, reaper.Clean()) }()

	w := workshop{provider: p, folder: folder, reaper: reaper}
	p.say("building %s from source, once", titles(builds))
	if err := w.fetchModules(ctx, builds); err != nil {
		return err
	}
	for _, group := range groups(builds) {
		if err := w.build(ctx, group); err != nil {
			return fmt.Errorf("build %s in %s: %w", group[0].title(), group[0].source, err)
		}
	}
	return nil
}

// fetchModules uses `go list -deps`, which fetches only imported modules.
func (w workshop) fetchModules(ctx context.Context, builds []build) error {
	groups := groups(builds)
	stop := progress.Every(w.interval, func(since time.Duration) {
		w.say("fetching modules of %s: %d so far, %v", titles(builds), w.fetchedModules(), since)
	})
	defer stop()
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, group := range groups {
		all.Go(func() {
			b := group[0]
			list := []string{"list", "-mod=readonly", "-deps", "-tags=" + b.tags, `-f={{""}}`}
			if err := w.run(ctx, b, "modules", exec.Command("go", append(list, packages(group)...)...), nil); err != nil {
				errs[i] = fmt.Errorf("fetch the modules of %s in %s: %w", b.title(), b.source, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (w workshop) fetchedModules() (n int) {
	logs, _ := filepath.Glob(filepath.Join(w.folder, "*-modules.log")) // the pattern is well-formed
	for _, log := range logs {
		text, _ := os.ReadFile(log) // empty before the command has started
		n += strings.Count(string(text), "go: downloading ")
	}
	return n
}

func (w workshop) build(ctx context.Context, group []build) error {
	began, b := time.Now(), group[0]
	compile, err := project.Path("tools", "compile")
	if err != nil {
		return err
	}
	output := filepath.Join(w.folder, filepath.Base(filepath.Dir(b.target)))
	if err := os.Mkdir(output, 0o755); err != nil {
		return err
	}
	title := "testcluster: " + b.title()
	arguments := append([]string{title, "-mod=readonly", "-trimpath", "-ldflags=" + b.ldflags(), "-tags=" + b.tags,
		"-o=" + output + "/"}, packages(group)...)
	if err := w.run(ctx, b, "build", exec.Command(compile, arguments...), func(line string) {
		if strings.HasPrefix(line, title+": ") {
			_, _ = fmt.Fprintln(w.progress, line)
		}
	}); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.target), 0o755); err != nil {
		return err
	}
	var names []string
	for _, b := range group {
		if err := os.Rename(filepath.Join(output, executable(b.pkg)), b.target); err != nil {
			return err
		}
		names = append(names, b.name)
	}
	w.say("built %s %s in %v", strings.Join(names, ", "), b.version, time.Since(began).Round(time.Second))
	return nil
}

// run runs cmd. If report is not nil, run calls report with the lines of the output, but not always
// with the last lines.
func (w workshop) run(ctx context.Context, b build, step string, cmd *exec.Cmd, report func(line string)) error {
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		"GOTMPDIR="+w.folder, "TMPDIR="+w.folder) // all temporary files are in the folder
	log := filepath.Join(w.folder, filepath.Base(filepath.Dir(b.target))+"-"+step+".log")
	p, err := process.Start(filepath.Base(cmd.Path), log, cmd, w.reaper)
	if err != nil {
		return err
	}
	output, err := os.Open(log)
	if err != nil {
		p.Kill()
		return err
	}
	defer func() { _ = output.Close() }()
	lines, tick := lineReader{from: bufio.NewReader(output)}, time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("interrupted: %w", context.Cause(ctx))
		case <-tick.C:
			if report != nil {
				lines.each(report)
			}
		case <-p.Exited():
			if p.ExitCode() != 0 {
				return p.Err()
			}
			return nil
		}
	}
}

type lineReader struct {
	from *bufio.Reader
	half string // the beginning of an incomplete line
}

func (l *lineReader) each(report func(line string)) {
	for {
		text, err := l.from.ReadString('\n')
		l.half += text
		if err != nil {
			return
		}
		report(strings.TrimSuffix(l.half, "\n"))
		l.half = ""
	}
}

func packages(group []build) (paths []string) {
	for _, b := range group {
		paths = append(paths, b.pkg)
	}
	return paths
}

// majorVersion matches the last element of a module path from version 2 on.
var majorVersion = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

func executable(pkg string) string {
	if majorVersion.MatchString(path.Base(pkg)) {
		pkg = path.Dir(pkg)
	}
	return path.Base(pkg)
}
