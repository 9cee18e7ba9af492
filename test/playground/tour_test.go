// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"jutsu.com/operators/test/testcluster/project"
)

// takeTour expects the outputs in the tutorial, and that the Dojos finally have the same state as
// before the tour.
func takeTour(t *testing.T, g *WithT) {
	t.Helper()
	steps := tourOf(t)
	g.Expect(len(steps)).To(BeNumerically(">=", 10), "commands in the tour")
	before := dojosNow()
	for _, step := range steps {
		t.Log("$", step.command)
		output, err := shell(step.command, waitLimit)
		g.Expect(err).NotTo(HaveOccurred(), "`%s` prints %s", step.command, output)
		if step.prints != "" { // the printed state may need a moment
			g.Eventually(func() string {
				output, _ := shell(step.command, waitLimit)
				return withoutLayout(output)
			}).WithTimeout(waitLimit).WithPolling(200*time.Millisecond).Should(Equal(withoutLayout(step.prints)),
				"the output of `%s`", step.command)
		}
	}
	g.Eventually(dojosNow).WithTimeout(waitLimit).WithPolling(200 * time.Millisecond).Should(Equal(before))
}

func dojosNow() string {
	output, err := shell("kubectl get dojos --all-namespaces -o wide && "+
		`kubectl get deployments -o jsonpath='{..containers[*].image}'`, waitLimit)
	if err != nil {
		return err.Error()
	}
	return withoutLayout(output)
}

type step struct{ command, prints string }

func tourOf(t *testing.T) (steps []step) {
	t.Helper()
	file, err := project.Path("docs", "learn", "tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(text), "\n## A tour\n")
	_, tour, _ = strings.Cut(tour, "\n```console\n")
	tour, _, found := strings.Cut(tour, "```\n")
	if !found {
		t.Fatal("docs/learn/tutorial.md has no tour")
	}
	for line := range strings.Lines(tour) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: strings.TrimSpace(command)})
		} else if len(steps) > 0 {
			steps[len(steps)-1].prints += line
		}
	}
	return steps
}

var age = regexp.MustCompile(`\b(\d+[dhms])+\b`)

func withoutLayout(text string) string {
	return strings.Join(strings.Fields(age.ReplaceAllString(text, "AGE")), " ")
}
