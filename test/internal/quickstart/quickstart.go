// SPDX-License-Identifier: Apache-2.0

// Package quickstart reads the commands of docs/learn/quickstart.md for tests.
package quickstart

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"jutsu.com/operators/test/testcluster/project"
)

var blocks = regexp.MustCompile("(?s)```sh\n(.*?)```")

// Commands returns the commands in a section's sh blocks. It joins lines that end with a backslash.
func Commands(section string) ([]string, error) {
	path, err := project.Path("docs", "learn", "quickstart.md")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, after, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		return nil, fmt.Errorf("docs/learn/quickstart.md has no section %q", section)
	}
	within, _, _ := strings.Cut(after, "\n## ")
	var commands []string
	for _, block := range blocks.FindAllStringSubmatch(within, -1) {
		joined := strings.ReplaceAll(block[1], "\\\n", "")
		for line := range strings.Lines(joined) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				commands = append(commands, line)
			}
		}
	}
	if len(commands) == 0 {
		return nil, fmt.Errorf("the section %q of docs/learn/quickstart.md has no commands", section)
	}
	return commands, nil
}
