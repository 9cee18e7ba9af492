// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"jutsu.com/operators/discord-operator/internal/cli/plan"
)

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		args            []string
		prints, problem string
	}{
		"no command":              {prints: "kubectl discord export --help"},
		"help":                    {args: []string{"--help"}, prints: "kubectl discord plan --help"},
		"version":                 {args: []string{"version"}, prints: "kubectl-discord dev"},
		"an unknown command":      {args: []string{"exprt"}, problem: `no command "exprt"; see kubectl discord --help`},
		"export without a server": {args: []string{"export"}, problem: "--server-id is missing"},
		"plan without a file":     {args: []string{"plan"}, problem: "-f is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := run(t.Context(), c.args, &stdout, &stderr)
			if got := fmt.Sprint(err); c.problem == "" && err != nil || !strings.Contains(got, c.problem) {
				t.Errorf("the error is %v, want %q", err, c.problem)
			}
			if !strings.Contains(stdout.String(), c.prints) {
				t.Errorf("prints %q, want %q", stdout.String(), c.prints)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	for want, err := range map[int]error{0: nil, 1: errors.New("x"), 2: fmt.Errorf("team-a: %w", plan.ErrDiffers)} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
