// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// A comment "//align:keep PATH REASON" in a go.mod excludes a library, or all below PATH/.
const keep = "//align:keep "

// A raised library may require newer versions of other libraries, so align repeats its work, up to
// this number of rounds.
const rounds = 5

// align raises each library, in each module that compiles it, to the newest version in any module. It
// skips libraries that an //align:keep comment names.
func align(root string, out io.Writer) error {
	folders, err := moduleFolders(root)
	if err != nil {
		return err
	}
	for round := range rounds {
		raised, err := raise(root, folders, func(folder string, wanted []string) {
			_, _ = fmt.Fprintf(out, "round %d, %s: %s\n", round+1, folder, strings.Join(wanted, " "))
		})
		if err != nil {
			return err
		}
		if raised == 0 {
			return tidy(root, folders)
		}
	}
	return fmt.Errorf("versions still differ after %d rounds", rounds)
}

func raise(root string, folders []string, report func(folder string, wanted []string)) (raised int, err error) {
	used := map[string]map[string]string{}
	for _, folder := range folders {
		// A module inherits the raised requirements of the project's modules that it requires.
		if err := inModule(filepath.Join(root, folder), "mod", "tidy"); err != nil {
			return 0, err
		}
		if used[folder], err = libraries(filepath.Join(root, folder)); err != nil {
			return 0, err
		}
	}
	newest := newestOf(used)
	for _, folder := range folders {
		wanted, err := toRaise(filepath.Join(root, folder), used[folder], newest)
		if err != nil {
			return 0, err
		}
		if len(wanted) == 0 {
			continue
		}
		raised += len(wanted)
		report(folder, wanted)
		// `go get PATH@VERSION` would enforce VERSION, but another module may require a higher one.
		edit := []string{"mod", "edit"}
		for _, library := range wanted {
			edit = append(edit, "-require="+library)
		}
		if err := inModule(filepath.Join(root, folder), edit...); err != nil {
			return 0, err
		}
	}
	return raised, nil
}

func tidy(root string, folders []string) error {
	cmd := exec.Command("go", "work", "sync")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go work sync: %w", err)
	}
	for _, folder := range folders {
		if err := inModule(filepath.Join(root, folder), "mod", "tidy"); err != nil {
			return err
		}
	}
	return nil
}

func moduleFolders(root string) (folders []string, err error) {
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*go.mod")
	cmd.Dir = root
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		if folder := filepath.Dir(strings.TrimSpace(line)); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders, err
}

func libraries(folder string) (map[string]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=Module", "./...", "tool")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list what %s compiles: %w: %s", folder, err, stderr.String())
	}
	versions := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return versions, nil
		} else if err != nil {
			return nil, err
		}
		m := p.Module
		switch {
		case m == nil || m.Version == "" || m.Replace != nil && m.Replace.Version == "": // a module of the project
		case m.Replace != nil:
			versions[m.Path] = m.Replace.Version
		default:
			versions[m.Path] = m.Version
		}
	}
}

func newestOf(used map[string]map[string]string) map[string]string {
	newest := map[string]string{}
	for _, versions := range used {
		for path, version := range versions {
			if newest[path] == "" || semver.Compare(version, newest[path]) > 0 {
				newest[path] = version
			}
		}
	}
	return newest
}

// toRaise lists libraries, as PATH@VERSION, that are newer in another module, except the libraries
// that keep excludes.
func toRaise(folder string, used, newest map[string]string) (wanted []string, err error) {
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return nil, err
	}
	var kept []string
	for lines := bufio.NewScanner(bytes.NewReader(mod)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), keep); ok {
			path, _, _ := strings.Cut(rest, " ")
			kept = append(kept, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(used)) {
		isKept := func(keep string) bool {
			return path == keep || strings.HasSuffix(keep, "/") && strings.HasPrefix(path, keep)
		}
		if !slices.ContainsFunc(kept, isKept) && semver.Compare(used[path], newest[path]) < 0 {
			wanted = append(wanted, path+"@"+newest[path])
		}
	}
	return wanted, nil
}

func inModule(folder string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s in %s: %w", args[0], folder, err)
	}
	return nil
}
