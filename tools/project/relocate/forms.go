// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"strings"

	"jutsu.com/operators/tools/project/location"
)

// The links above GitHub's issue forms must be absolute.
const forms = ".github/ISSUE_TEMPLATE/config.yml"

var links = []struct{ name, page, about string }{
	{"A vulnerability", "SECURITY.md", "Report it privately, never in an issue."},
	{"A condition that I do not understand", "docs/reasons.md", "Each reason of a condition, and what to do about it."},
	{"An alert of an operator", "docs/alerts.md", "What each alert means, and what to do about it."},
}

func contactLinks(l location.Location) string {
	var text strings.Builder
	text.WriteString("# GitHub shows these links above the forms. `make relocate` writes this file.\nblank_issues_enabled: false\n")
	if !l.Published() {
		text.WriteString("contact_links: []\n")
		return text.String()
	}
	text.WriteString("contact_links:\n")
	for _, link := range links {
		text.WriteString("  - name: " + link.name + "\n    url: " + l.Files() + link.page + "\n    about: " + link.about + "\n")
	}
	return text.String()
}
