// SPDX-License-Identifier: Apache-2.0

// Package location reads and writes project.yaml: the addresses of the repository and the images.
package location

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// File is the name of project.yaml in the project's root.
const File = "project.yaml"

// nowhere is a placeholder for users. It has two parts, so that a move of the project does not
// rewrite it.
const nowhere = "ghcr.io" + "/you"

// Location is the content of project.yaml.
type Location struct {
	// Repo is the prefix of module paths. In the form host/owner/name, it is also an address.
	Repo string
	// Registry is the registry and path of images, as in the image Registry/dojo-operator.
	Registry string
}

var (
	repos      = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*\.[a-z]+(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)
	registries = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)+$`)
)

// New returns a Location. If registry is empty, New derives it from the repository's host, such as
// ghcr.io from github.com.
func New(repo, registry string) (Location, error) {
	l := Location{Repo: repo, Registry: registry}
	if !repos.MatchString(repo) {
		return l, fmt.Errorf("REPO=%q is no repository: give it as REPO=github.com/owner/name", repo)
	}
	if l.Registry == "" {
		host, owned, _ := strings.Cut(strings.ToLower(repo), "/")
		switch {
		case !l.Published():
			l.Registry = nowhere
		case host == "github.com":
			l.Registry = "ghcr.io/" + owned
		case host == "gitlab.com":
			l.Registry = "registry.gitlab.com/" + owned
		default:
			return l, fmt.Errorf("the registry of %s is unknown: set REGISTRY=host/owner/name", host)
		}
	}
	if !registries.MatchString(l.Registry) {
		return l, fmt.Errorf("REGISTRY=%q is no repository of images: give it as REGISTRY=ghcr.io/owner/name", l.Registry)
	}
	return l, nil
}

// Read reads the project.yaml of a root folder.
func Read(root string) (Location, error) {
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return Location{}, err
	}
	return Parse(string(text))
}

// Parse parses the text of a project.yaml.
func Parse(text string) (l Location, err error) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case key == "repo":
			l.Repo = value
		case key == "registry":
			l.Registry = value
		case key != "" && !strings.HasPrefix(key, "#"):
			return Location{}, fmt.Errorf("%s: unknown key %q", File, key)
		}
	}
	if l.Repo == "" || l.Registry == "" {
		return Location{}, errors.New(File + " lacks repo or registry")
	}
	return New(l.Repo, l.Registry)
}

// Published reports whether the repository has an address on the internet.
func (l Location) Published() bool { return strings.Count(l.Repo, "/") >= 2 }

// URL returns the address of the repository, or "".
func (l Location) URL() string {
	if !l.Published() {
		return ""
	}
	return "https://" + l.Repo
}

// Files returns the address of the root folder on main, to which callers append a path. If the
// repository is not published, the address leads nowhere.
func (l Location) Files() string {
	if !l.Published() {
		return "https://" + l.Repo + "/"
	}
	return l.at("branch", "main")
}

// Docs returns the address of the folder docs at a tag, or "".
func (l Location) Docs(tag string) string {
	if !l.Published() {
		return ""
	}
	return l.at("tag", tag) + "docs"
}

func (l Location) at(kind, name string) string {
	host, _, _ := strings.Cut(l.Repo, "/")
	switch {
	case host == "github.com":
		return l.URL() + "/blob/" + name + "/"
	case strings.HasPrefix(host, "gitlab."):
		return l.URL() + "/-/blob/" + name + "/"
	}
	return l.URL() + "/src/" + kind + "/" + name + "/" // Gitea and Forgejo
}

// Download returns the address of a file of a release, or "".
func (l Location) Download(tag, file string) string {
	host, _, _ := strings.Cut(l.Repo, "/")
	switch {
	case !l.Published():
		return ""
	case strings.HasPrefix(host, "gitlab."):
		return l.URL() + "/-/releases/" + url.PathEscape(tag) + "/downloads/" + file
	}
	return l.URL() + "/releases/download/" + url.PathEscape(tag) + "/" + file
}

// Module returns the path of the module in a folder below the root.
func (l Location) Module(folder string) string { return path.Join(l.Repo, folder) }

// Issues returns the address of the list of issues, or "".
func (l Location) Issues() string {
	host, _, _ := strings.Cut(l.Repo, "/")
	switch {
	case !l.Published():
		return ""
	case strings.HasPrefix(host, "gitlab."):
		return l.URL() + "/-/issues"
	}
	return l.URL() + "/issues"
}
