// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/internal/quickstart"
	"jutsu.com/operators/test/testcluster/project"
)

// The deployed operators stop first, because `make dev` requires that.
var _ = Describe("A new user with docs/learn/quickstart.md", Serial, func() {
	It("runs the page's commands, "+
		"and gets an alert and its resolved message in the simulated Discord", func(ctx SpecContext) {
		for _, o := range environment.All {
			runOperators(ctx, o, 0)
			DeferCleanup(func(ctx SpecContext) { runOperators(ctx, o, 2) }, NodeTimeout(eventually))
		}
		began, shell := time.Now(), newShell(ctx)
		shell.section(ctx, "How do I install what they need?")
		progress("quickstart: installed after %.0f s", time.Since(began).Seconds())

		running, err := quickstart.Commands("How do I run the operators?")
		Expect(err).NotTo(HaveOccurred())
		// The simulated Discord of `make dev` does not know the bot tokens of other specs, so the
		// operators of `make dev` watch only the namespace default.
		dev := shell.start(ctx, strings.Replace(running[0], "ARGS=--simulate-discord",
			`ARGS="--simulate-discord --watch-namespaces=default"`, 1))
		DeferCleanup(func() {
			if dev.ExitCode() < 0 {
				_ = syscall.Kill(-dev.Command.Process.Pid, syscall.SIGKILL)
			}
		})
		Eventually(ctx, dev).WithTimeout(eventually).Should(gbytes.Say("Ctrl-C stops the operators."))
		progress("quickstart: the operators run after %.0f s", time.Since(began).Seconds())
		DeferCleanup(func(ctx SpecContext) {
			shell.run(ctx, "kubectl delete dojos,discordchannels,discordroles,discordgroups,discordservers "+
				"--all --namespace=default")
			shell.run(ctx, "kubectl delete clusters.postgresql.cnpg.io --all --namespace=default")
			shell.run(ctx, "kubectl delete secret discord-bot")
			shell.run(ctx, "kubectl delete -k deploy/samples/monitoring")
			Expect(syscall.Kill(-dev.Command.Process.Pid, syscall.SIGINT)).To(Succeed())
			Eventually(ctx, dev).WithTimeout(soon).Should(gexec.Exit())
		}, NodeTimeout(eventually))

		shell.section(ctx, "How do I get from there to an alert in Discord?")
		page := regexp.MustCompile(`on the real Discord: (\S+)`).FindStringSubmatch(string(dev.Out.Contents()))
		Expect(page).NotTo(BeNil())
		channel := strings.TrimSpace(shell.run(ctx, "kubectl get dojo sendai-jujutsu-high -o jsonpath='{.status.alerts.channelId}'"))
		const title = "DojoDown · default/sendai-jujutsu-high"
		// Prometheus does not scrape the operators of `make dev`. So DojoDown fires only for a Dojo
		// that was up within the last hour.
		Eventually(ctx, func() string {
			return shell.run(ctx, "kubectl get --raw '/api/v1/namespaces/jutsu-monitoring/services/prometheus-operated:web/"+
				"proxy/api/v1/query?query="+url.QueryEscape(`up{service="sendai-jujutsu-high"} == 1`)+"'")
		}).WithTimeout(eventually).Should(ContainSubstring(`"sendai-jujutsu-high"`))
		shell.run(ctx, "kubectl scale dojo sendai-jujutsu-high --replicas=0")
		shell.run(ctx, "kubectl wait --for=delete pod --timeout=2m "+
			"-l app.kubernetes.io/name=dojo,app.kubernetes.io/instance=sendai-jujutsu-high")
		shell.run(ctx, `kubectl patch dojo sendai-jujutsu-high --type=merge -p `+
			`'{"spec":{"replicas":1,"image":"registry.invalid/dojo:1"}}'`)
		Eventually(ctx, titlesAt).WithArguments(page[1], channel).WithTimeout(6*time.Minute).
			Should(ContainElement("🔥 "+title), "the rule waits for two minutes, then Alertmanager posts")
		progress("quickstart: the alert is in Discord after %.0f s", time.Since(began).Seconds())
		shell.run(ctx, `kubectl patch dojo sendai-jujutsu-high --type=merge -p '{"spec":{"image":null}}'`)
		Eventually(ctx, titlesAt).WithArguments(page[1], channel).WithTimeout(eventually).
			Should(ContainElement("✅ Resolved: " + title))
	}, SpecTimeout(20*time.Minute))
})

func runOperators(ctx context.Context, o environment.Operator, replicas int32) {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: o.Namespace, Name: o.Name}
	Expect(k8s.Get(ctx, key, deployment)).To(Succeed())
	scale := client.MergeFrom(deployment.DeepCopy())
	deployment.Spec.Replicas = &replicas
	Expect(k8s.Patch(ctx, deployment, scale)).To(Succeed())
	Eventually(ctx, func() (appsv1.DeploymentStatus, error) {
		return deployment.Status, k8s.Get(ctx, key, deployment)
	}).WithTimeout(eventually).Should(And(HaveField("ObservedGeneration", deployment.Generation),
		HaveField("Replicas", replicas), HaveField("ReadyReplicas", replicas)))
}

type shell struct{ variables []string }

func newShell(ctx context.Context) shell {
	GinkgoHelper()
	c, err := clientcmd.LoadFromFile(kubeconfigPath)
	Expect(err).NotTo(HaveOccurred())
	c.Contexts["kind-e2e"], c.CurrentContext = c.Contexts[c.CurrentContext], "kind-e2e"
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*c, path)).To(Succeed())
	return shell{append(os.Environ(), "KUBECONFIG="+path, "PATH="+kubectlFolder(ctx)+":"+os.Getenv("PATH"),
		"MAKEFLAGS=", "ARGS=", "CONTEXT=")} // unset variables that make has set for this test
}

func (s shell) start(_ context.Context, line string) *gexec.Session {
	GinkgoHelper()
	root, err := project.Root()
	Expect(err).NotTo(HaveOccurred())
	step("%s", line)
	command := exec.Command("sh", "-euc", "exec "+line)
	command.Dir, command.Env = root, s.variables
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches the whole process group, as in a terminal
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return session
}

func (s shell) run(ctx context.Context, line string) string {
	GinkgoHelper()
	session := s.start(ctx, line)
	Eventually(ctx, session).WithTimeout(10*time.Minute).Should(gexec.Exit(0), line)
	return string(session.Out.Contents())
}

func (s shell) section(ctx context.Context, title string) {
	GinkgoHelper()
	commands, err := quickstart.Commands(title)
	Expect(err).NotTo(HaveOccurred())
	for _, line := range commands {
		s.run(ctx, line)
	}
}

func titlesAt(ctx context.Context, page, channel string) ([]string, error) {
	path, err := project.Path("out", "dev", "discord-bot.token")
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var messages []message
	err = askAs(ctx, strings.TrimSpace(string(token)), page, "/channels/"+channel+"/messages", &messages)
	return titlesOf(messages), err
}
