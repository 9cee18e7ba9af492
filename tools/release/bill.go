// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

type spdxPackage struct {
	ID         string              `json:"SPDXID"`
	Name       string              `json:"name"`
	Version    string              `json:"versionInfo,omitempty"`
	Location   string              `json:"downloadLocation"`
	Analyzed   bool                `json:"filesAnalyzed"`
	License    string              `json:"licenseConcluded"`
	Declared   string              `json:"licenseDeclared"`
	Copyright  string              `json:"copyrightText"`
	Checksums  []map[string]string `json:"checksums,omitempty"`
	References []map[string]string `json:"externalRefs,omitempty"`
}

// bill returns an SBOM (SPDX 2.3) of a program. It lists the modules that the go command has
// recorded in the program.
func bill(p plugin, sum [32]byte, info *debug.BuildInfo, at time.Time) ([]byte, error) {
	const nothing = "NOASSERTION"
	program := spdxPackage{
		ID: "SPDXRef-program", Name: p.Name, Version: versionOf(p.File), Location: nothing, License: "Apache-2.0", Declared: "Apache-2.0",
		Copyright: nothing,
		Checksums: []map[string]string{{"algorithm": "SHA256", "checksumValue": hex.EncodeToString(sum[:])}},
	}
	packages := []spdxPackage{program}
	relations := []map[string]string{relation("SPDXRef-DOCUMENT", "DESCRIBES", program.ID)}
	for i, module := range append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...) {
		one := spdxPackage{
			ID: fmt.Sprintf("SPDXRef-module-%d", i), Name: module.Path, Version: module.Version, Location: nothing, License: nothing,
			Declared: nothing, Copyright: nothing, References: []map[string]string{{
				"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl(module),
			}},
		}
		packages = append(packages, one)
		relations = append(relations, relation(program.ID, "DEPENDS_ON", one.ID))
	}
	return json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": p.File,
		"documentNamespace": fmt.Sprintf("https://spdx.org/spdxdocs/%s-%x", p.File, sum),
		"creationInfo":      map[string]any{"created": at.UTC().Format(time.RFC3339), "creators": []string{"Tool: tools/release"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
}

func versionOf(file string) string {
	_, rest, _ := strings.Cut(file, "_")
	version, _, _ := strings.Cut(rest, "_")
	return version
}

// purl returns the package URL of a module. Vulnerability scanners know Go's standard library by
// the name "stdlib".
func purl(m *debug.Module) string {
	if m.Path == "std" {
		return "pkg:golang/stdlib@" + strings.TrimPrefix(m.Version, "go")
	}
	return "pkg:golang/" + m.Path + "@" + m.Version
}

func relation(from, kind, to string) map[string]string {
	return map[string]string{"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to}
}
