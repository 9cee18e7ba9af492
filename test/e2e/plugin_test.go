// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var openedAt = regexp.MustCompile(`http://localhost:\d+`)

func (w *world) kubectlDojo(ctx context.Context, args ...string) string {
	GinkgoHelper()
	command := w.pluginCommand(ctx, args...)
	command.Stderr = GinkgoWriter
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "kubectl dojo %v\n%s", args, output)
	return string(output)
}

func (w *world) pluginCommand(ctx context.Context, args ...string) *exec.Cmd {
	GinkgoHelper()
	command := exec.CommandContext(ctx, kubectlFolder(ctx)+"/kubectl", append([]string{"dojo"}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig(), programPath(ctx))
	return command
}

// expectPluginReaches tries the commands that use exec, port-forward and logs of the kubelet.
func (w *world) expectPluginReaches(ctx context.Context, dojo string, weapons int) {
	GinkgoHelper()
	step("kubectl dojo psql, open, logs and status")
	Expect(w.kubectlDojo(ctx, "psql", dojo, "--", "-Atc", "select count(*), current_user from weapons")).
		To(MatchRegexp(`^%d\|dojo_`, weapons))
	writes := w.pluginCommand(ctx, "psql", dojo, "--", "-c", "drop table no_such_table")
	said, err := writes.CombinedOutput()
	Expect(err).To(HaveOccurred())
	Expect(string(said)).To(And(ContainSubstring("does not exist"), ContainSubstring("psql has ended with the code 1")))

	open, err := gexec.Start(w.pluginCommand(ctx, "open", dojo, "--port=0"), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	defer func() { open.Kill().Wait(soon) }()
	Eventually(ctx, open.Out).Should(gbytes.Say("Press Ctrl-C to stop forwarding"))
	address := openedAt.FindString(string(open.Out.Contents()))
	Eventually(ctx, func() (string, error) { return get(ctx, address+"/weapon") }).Should(ContainSubstring(`"id"`))
	open.Interrupt()
	Eventually(ctx, open).Should(gexec.Exit(0), "Ctrl-C should end the command")

	w.kubectlDojo(ctx, "logs", dojo, "--tail=5") // the log may be empty
	Expect(w.kubectlDojo(ctx, "logs", dojo, "postgres", "--tail=5")).NotTo(BeEmpty())
	Expect(w.kubectlDojo(ctx, "status", dojo)).To(HavePrefix("READY"))
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// expectRestored restores a deleted Cluster from a backup, and then the database to a time before
// this backup.
func (w *world) expectRestored(ctx context.Context, dojo string) {
	GinkgoHelper()
	Expect(w.addWeapon(ctx, dojo, "before", "Inverted Spear of Heaven")).To(Succeed())
	moment := time.Now().UTC()
	Expect(w.addWeapon(ctx, dojo, "after", "Split Soul Katana")).To(Succeed())
	w.kubectlDojo(ctx, "backup", dojo, "--wait", "-y")

	step("delete the Cluster, and restore it")
	cluster, err := w.postgres(ctx, "Cluster", dojo+"-db")
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Delete(ctx, cluster)).To(Succeed())
	Eventually(ctx, w.condition).WithArguments(dojo, "Degraded").WithTimeout(eventually).
		Should(HavePrefix("True " + corev1api.ReasonDatabaseLost))
	Eventually(ctx, w.volumes).WithArguments(dojo + "-db").WithTimeout(eventually).Should(BeEmpty())
	began := time.Now()
	Expect(w.kubectlDojo(ctx, "restore", dojo, "-y")).To(HaveSuffix("Restored.\n"))
	measured("a lost Cluster is restored in place, and the Dojo Ready: %s", time.Since(began))
	Expect(w.weapons(ctx, dojo)).To(ConsistOf(weapon{"before", "Inverted Spear of Heaven"}, weapon{"after", "Split Soul Katana"}))
	w.awaitReady(ctx, dojo)

	step("restore the database to a point in time")
	w.kubectlDojo(ctx, "backup", dojo, "--wait", "-y")
	began = time.Now()
	Expect(w.kubectlDojo(ctx, "restore", dojo, "--to", moment.Format(time.RFC3339Nano), "-y", "--confirm", dojo)).
		To(HaveSuffix("Restored.\n"))
	measured("a Dojo is back at a moment, in place, and Ready: %s", time.Since(began))
	Expect(w.weapons(ctx, dojo)).To(ConsistOf(weapon{"before", "Inverted Spear of Heaven"}))
	w.awaitReady(ctx, dojo)
}
