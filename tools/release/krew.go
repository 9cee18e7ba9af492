// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"jutsu.com/operators/tools/project/location"
)

// The short descriptions for the index of Krew have at most 50 characters.
var krewTexts = map[string][2]string{
	"kubectl-dojo": {"Show what is wrong with Dojos, and fix it",
		"Lists Dojos with their state and its cause, shows the commands that solve a problem, and rotates\n" +
			"credentials, backs up, restores, upgrades and suspends with one command each. It runs with your\n" +
			"rights and no others.\n"},
	"kubectl-discord": {"Show, plan and export Discord servers",
		"Shows Discord servers and what is wrong with their objects, shows what an apply of manifests would\n" +
			"change on Discord, and prints an existing server as manifests. Only undelete changes something. It\n" +
			"runs with your rights and no others.\n"},
}

func krewManifest(l location.Location, tag, version string, all []plugin) (name, text string, err error) {
	name = strings.TrimPrefix(all[0].Name, "kubectl-")
	var platforms []any
	for _, p := range all {
		platforms = append(platforms, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": p.OS, "arch": p.Arch}},
			"uri":      l.Download(tag, p.File), "sha256": p.sum(), "bin": p.Program,
		})
	}
	texts := krewTexts[all[0].Name]
	out, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
		"metadata": map[string]string{"name": name},
		"spec": map[string]any{
			"version": version, "homepage": l.URL(), "shortDescription": texts[0], "description": texts[1], "platforms": platforms,
		},
	})
	return name, string(out), err
}

func (o releaseOptions) howToPlug(all []plugin) string {
	if len(all) == 0 {
		return ""
	}
	name := strings.TrimPrefix(all[0].Name, "kubectl-")
	text := fmt.Sprintf("\n## kubectl %s\n\nUnpack the archive of your system, %#q for one, into a folder of your `PATH`.\n", name, all[0].File)
	if o.Where.Published() {
		text += fmt.Sprintf("\n```sh\nkubectl krew install --manifest-url=%s\n```\n", o.Where.Download(o.tag(), name+".yaml"))
	}
	return text
}

// Krew's manifest links to the archives, so writeKrew writes nothing if the project has no address.
func writeKrew(folder string, l location.Location, o releaseOptions, all []plugin) error {
	if !l.Published() || len(all) == 0 {
		return nil
	}
	name, text, err := krewManifest(l, o.tag(), o.Version, all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "krew"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "krew", name+".yaml"), []byte(text), 0o644)
}
