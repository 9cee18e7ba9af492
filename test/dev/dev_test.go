// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/internal/kubectl"
	"jutsu.com/operators/test/internal/quickstart"
	"jutsu.com/operators/test/testcluster/auditlog"
	"jutsu.com/operators/test/testcluster/project"
)

const (
	waitLimit  = 3 * time.Minute
	upAndReady = "Ctrl-C stops the operators."
)

// cluster has the kinds of CloudNativePG and prometheus-operator, but not of our operators.
type cluster struct {
	*environment.Environment
	kubeconfig string // the name of its context begins like that of a kind cluster
}

func startCluster(t *testing.T, o environment.Options) *cluster {
	t.Helper()
	o.Folder = t.TempDir()
	o.Cluster.ControllerManager, o.Cluster.Nodes, o.Cluster.Audit = true, 1, true
	e, err := environment.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{Environment: e, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	c.rename(t, e.Cluster.Kubeconfig(), c.kubeconfig, "kind-test")
	return c
}

func (c *cluster) rename(t *testing.T, from, to, context string) {
	t.Helper()
	g := NewWithT(t)
	config, err := clientcmd.LoadFromFile(from)
	g.Expect(err).NotTo(HaveOccurred())
	config.Contexts[context] = config.Contexts[config.CurrentContext]
	delete(config.Contexts, config.CurrentContext)
	config.CurrentContext = context
	g.Expect(clientcmd.WriteToFile(*config, to)).To(Succeed())
}

var built = sync.OnceValue(func() error {
	root, err := project.Root()
	if err != nil {
		return err
	}
	build := exec.Command("make", "--no-print-directory", "bin/dev")
	build.Dir, build.Env = root, append(os.Environ(), "MAKEFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("make bin/dev: %w: %s", err, out)
	}
	return nil
})

// command does not rebuild binaries, because other tests use them.
func (c *cluster) command(t *testing.T, line string, variables ...string) (session *gexec.Session, tmp string) {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	if tmp, err = os.MkdirTemp("", "dev-"); err != nil { //nolint:usetesting // the path of a socket must be short
		t.Fatal(err)
	}
	line = regexp.MustCompile(`^make `).ReplaceAllString(line, "make --old-file=build --old-file=bin/dev --no-print-directory ")
	shell := exec.CommandContext(t.Context(), "sh", "-euc", "exec "+line)
	shell.Dir = root
	shell.Env = append(append(os.Environ(), "TMPDIR="+tmp, "MAKEFLAGS=", "ARGS=", "CONTEXT=", "KUBECONFIG="+c.kubeconfig,
		"PATH="+filepath.Dir(kubectl.Path(t))+string(os.PathListSeparator)+os.Getenv("PATH")), variables...)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches the whole process group, as in a terminal
	output := t.Output()
	if session, err = gexec.Start(shell, output, output); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if session.ExitCode() < 0 {
			_ = syscall.Kill(-session.Command.Process.Pid, syscall.SIGKILL)
		}
		<-session.Exited
		_ = os.RemoveAll(tmp)
	})
	return session, tmp
}

// prints returns the output of a command, which must fail if and only if status is not 0.
func (c *cluster) prints(t *testing.T, status int, line string, variables ...string) string {
	t.Helper()
	session, _ := c.command(t, line, variables...)
	NewWithT(t).Eventually(session).WithTimeout(waitLimit).Should(gexec.Exit(), line)
	text := string(session.Out.Contents()) + string(session.Err.Contents())
	if failed := session.ExitCode() != 0; failed != (status != 0) {
		t.Fatalf("exit status %d of %s:\n%s", session.ExitCode(), line, text)
	}
	return text
}

func (c *cluster) anyOf(t *testing.T, line string) string {
	t.Helper()
	session, _ := c.command(t, line)
	NewWithT(t).Eventually(session).WithTimeout(waitLimit).Should(gexec.Exit(), line)
	return string(session.Out.Contents()) + string(session.Err.Contents())
}

func interrupt(t *testing.T, session *gexec.Session) {
	t.Helper()
	if err := syscall.Kill(-session.Command.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(session).WithTimeout(waitLimit).Should(gexec.Exit())
}

func (c *cluster) section(t *testing.T, title string) {
	t.Helper()
	commands, err := quickstart.Commands(title)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range commands {
		c.prints(t, 0, line)
	}
}

// Fake nodes run no containers, so test/e2e checks the alert that Alertmanager posts.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := startCluster(t, environment.Options{CloudNativePG: environment.HealthyPostgres, Prometheus: true})
	const installing = "How do I install what they need?"
	c.section(t, installing)
	before := c.versions(t)
	c.section(t, installing)
	g.Expect(c.versions(t)).To(Equal(before), "a second installation should change nothing")

	running, err := quickstart.Commands("How do I run the operators?")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(running).To(HaveLen(1))
	line := strings.Replace(running[0], "ARGS=--simulate-discord",
		`ARGS="--simulate-discord --discord-listen=127.0.0.1:0"`, 1) // any free port
	dev, tmp := c.command(t, line)
	g.Eventually(dev).WithTimeout(waitLimit).Should(gbytes.Say(regexp.QuoteMeta(upAndReady)))
	g.Expect(string(dev.Out.Contents())).To(ContainSubstring("Context kind-test: https://127.0.0.1:"))
	c.section(t, "How do I get from there to an alert in Discord?")
	g.Expect(c.prints(t, 0, "kubectl get discordchannel sendai-jujutsu-high-alerts")).To(ContainSubstring("True"))
	for _, target := range []string{"dev", "uninstall"} {
		g.Expect(c.prints(t, 1, "make "+target)).To(MatchRegexp(`holds the Lease dojo-system/\S+ \(renewed \d+s ago\)`))
	}
	c.actsAsServiceAccounts(t)
	interrupt(t, dev)
	g.Expect(string(dev.Out.Contents())).To(ContainSubstring("The objects stay, and everything that `make install` installed."))
	c.expectNoTraces(t, tmp)
	g.Expect(c.prints(t, 1, "make uninstall")).To(And(ContainSubstring("  Dojo default/sendai-jujutsu-high\n"),
		ContainSubstring("  DiscordServer default/jujutsu\n"), ContainSubstring("--keep-kinds")))

	removing, err := quickstart.Commands("How do I remove it all?")
	g.Expect(err).NotTo(HaveOccurred())
	dev, tmp = c.command(t, line)
	g.Eventually(dev).WithTimeout(waitLimit).Should(gbytes.Say(regexp.QuoteMeta(upAndReady)))
	c.prints(t, 0, removing[0])
	interrupt(t, dev)
	c.expectNoTraces(t, tmp)
	for _, line := range removing[1:] {
		c.prints(t, 0, line)
	}
	g.Eventually(func() string { // the API server deletes CustomResourceDefinitions asynchronously
		return c.prints(t, 0, "kubectl get crd,clusterrole,validatingadmissionpolicy -o name")
	}).WithTimeout(waitLimit).ShouldNot(ContainSubstring(".jutsu.com"))
	g.Eventually(func() string { return c.prints(t, 0, "kubectl get namespace -o name") }).WithTimeout(waitLimit).
		ShouldNot(MatchRegexp("dojo-system|discord-system|jutsu-monitoring"))
	g.Expect(c.prints(t, 0, "kubectl get clusters.postgresql.cnpg.io -o name")).To(ContainSubstring("sendai-jujutsu-high-db"),
		"the database should outlive its Dojo")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := startCluster(t, environment.Options{})
	g.Expect(c.prints(t, 1, "make dev")).To(ContainSubstring("dojo-operator is not installed on this cluster"))
	c.prints(t, 0, "make install")

	deployed := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dojo-system", Name: "dojo-operator"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
			},
		},
	}
	g.Expect(c.Admin.Create(t.Context(), deployed)).To(Succeed())
	stop := "kubectl -n dojo-system scale deployment dojo-operator --replicas=0"
	g.Expect(c.prints(t, 1, "make dev")).To(ContainSubstring(stop))
	c.prints(t, 0, stop)
	g.Expect(c.prints(t, 1, "make uninstall")).To(ContainSubstring("but not by make install"))

	jane, err := c.Cluster.UserKubeconfig("jane")
	g.Expect(err).NotTo(HaveOccurred())
	for _, namespace := range []string{"dojo-system", "discord-system"} {
		c.maySee(t, namespace, "jane")
	}
	refused := c.prints(t, 1, "make dev", "KUBECONFIG="+jane)
	g.Expect(refused).To(ContainSubstring("you may not impersonate the ServiceAccount dojo-system/dojo-operator"))
	grants := regexp.MustCompile(`(?m)^  (kubectl -n \S+ create .*)$`).FindAllStringSubmatch(refused, -1)
	g.Expect(grants).To(HaveLen(2), "the commands for the first operator")
	for _, operator := range environment.All {
		for _, grant := range grants {
			c.prints(t, 0, strings.NewReplacer("dojo-system", operator.Namespace, "dojo-operator", operator.Name, "YOU", "jane").
				Replace(grant[1]))
		}
	}
	dev, tmp := c.command(t, "make dev ARGS=--watch-namespaces=default", "KUBECONFIG="+jane)
	g.Eventually(dev).WithTimeout(waitLimit).Should(gbytes.Say(regexp.QuoteMeta(upAndReady)))
	g.Expect(syscall.Kill(-dev.Command.Process.Pid, syscall.SIGKILL)).To(Succeed())
	g.Eventually(processes).WithArguments(tmp).WithTimeout(waitLimit).Should(BeEmpty(), "after SIGKILL")
	g.Eventually(func() ([]string, error) { return filepath.Glob(tmp + "/*") }).WithTimeout(waitLimit).Should(BeEmpty())

	g.Expect(c.Admin.Delete(t.Context(), deployed)).To(Succeed())
	c.prints(t, 0, "kubectl -n dojo-system wait --for=delete pod --all --timeout=2m")
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "dojo-system", Name: "of-a-user"}}
	g.Expect(c.Admin.Create(t.Context(), kept)).To(Succeed())
	g.Eventually(func() string { return c.anyOf(t, "make uninstall ARGS=--keep-kinds") }).WithTimeout(waitLimit).
		Should(ContainSubstring("the namespace dojo-system stays, since it has Secret of-a-user"))
	g.Expect(c.prints(t, 0, "kubectl get crd -o name")).To(ContainSubstring("dojos.core.jutsu.com"))
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := startCluster(t, environment.Options{})
	for range 2 {
		g.Expect(c.prints(t, 0, "make dependencies")).To(And(
			MatchRegexp(`CloudNativePG: applying \S+/releases/cnpg-\S+.yaml`),
			ContainSubstring("Deployment cnpg-system/cnpg-controller-manager is available"),
			MatchRegexp(`prometheus-operator: applying \S+/bundle.yaml`),
			ContainSubstring("Deployment default/prometheus-operator is available")))
	}
	detectedBy := &unstructured.Unstructured{}
	detectedBy.SetAPIVersion("apiextensions.k8s.io/v1")
	detectedBy.SetKind(crd)
	g.Expect(c.Admin.Get(t.Context(), client.ObjectKey{Name: dependenciesToInstall[0].detectedBy}, detectedBy)).To(Succeed())
	detectedBy.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
	g.Expect(c.Admin.Update(t.Context(), detectedBy)).To(Succeed())
	g.Expect(c.prints(t, 0, "make dependencies")).To(ContainSubstring("CloudNativePG: another program has installed it"))
}

func (c *cluster) maySee(t *testing.T, namespace, user string) {
	t.Helper()
	g, named := NewWithT(t), metav1.ObjectMeta{Namespace: namespace, Name: "see"}
	g.Expect(c.Admin.Create(t.Context(), &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps", "coordination.k8s.io"}, Verbs: []string{"get"},
			Resources: []string{"serviceaccounts", "deployments", "leases"}},
	}})).To(Succeed())
	g.Expect(c.Admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
}

func (c *cluster) versions(t *testing.T) map[string]string {
	t.Helper()
	g, versions := NewWithT(t), map[string]string{}
	for _, o := range environment.All {
		objects, err := installed(o)
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			g.Expect(c.Admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
			if object.GetKind() != "ValidatingAdmissionPolicy" && object.GetKind() != crd { // their status changes
				versions[object.GetKind()+" "+object.GetName()] = object.GetResourceVersion()
			}
		}
	}
	return versions
}

// actsAsServiceAccounts expects that the operators sent each request as their ServiceAccount, and
// that the API server forbade none.
func (c *cluster) actsAsServiceAccounts(t *testing.T) {
	t.Helper()
	g, requests := NewWithT(t), map[string]int{}
	log, err := auditlog.Open(c.Cluster.AuditLog())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	g.Expect(log.Each(func(line []byte) error {
		var event struct {
			UserAgent, RequestURI string
			ImpersonatedUser      struct{ Username string }
			ResponseStatus        struct{ Code int }
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		for _, o := range environment.All {
			if strings.HasPrefix(event.UserAgent, o.Name+"/") {
				requests[o.Name]++
				g.Expect(event.ImpersonatedUser.Username).To(Equal(serviceAccount(o)), string(line))
				g.Expect(event.ResponseStatus.Code).NotTo(Equal(403), string(line))
			}
		}
		return nil
	})).To(Succeed())
	for _, o := range environment.All {
		g.Expect(requests[o.Name]).To(BeNumerically(">", 10), o.Name)
	}
}

func (c *cluster) expectNoTraces(t *testing.T, tmp string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(filepath.Glob(tmp + "/*")).To(BeEmpty())
	g.Expect(processes(tmp)).To(BeEmpty())
	for _, o := range environment.All {
		g.Expect(c.prints(t, 0, "kubectl get lease -n "+o.Namespace)).To(ContainSubstring("No resources found"))
	}
}

func processes(tmp string) (found []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, environment := range environments {
		text, err := os.ReadFile(environment)
		if err == nil && bytes.Contains(text, []byte("TMPDIR="+tmp+"\x00")) {
			found = append(found, environment)
		}
	}
	return found
}
