// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"jutsu.com/operators/test/testcluster/project"
)

const (
	// waitLimit covers a start of Kubernetes beside another suite: that took 3 minutes on two slow cores.
	waitLimit = 10 * time.Minute
	// upAndReady matches the last line that the program prints before it waits for Ctrl-C.
	upAndReady = `export KUBECONFIG=\S+\n`
)

var (
	program string
	ownLog  string // log of the libraries in this test process
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "playground-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		ownLog = filepath.Join(folder, "new", "playground.log")
		if err := logTo(ownLog); err != nil { // controller-runtime keeps only the first logger that it gets
			panic(err)
		}
		if program, err = gexec.Build("jutsu.com/operators/test/playground"); err != nil {
			panic(err)
		}
		defer gexec.CleanupBuildArtifacts()
		return m.Run()
	}())
}

type playground struct {
	*gexec.Session
	tmp string
}

func startPlayground(t *testing.T, args ...string) *playground {
	t.Helper()
	return startCommand(t, exec.Command(program, args...))
}

func startCommand(t *testing.T, command *exec.Cmd) *playground {
	t.Helper()
	tmp, err := os.MkdirTemp("", "pg-") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	command.Env = append(os.Environ(), "TMPDIR="+tmp)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output := t.Output()
	session, err := gexec.Start(command, output, output)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// If the command is make, a SIGKILL of make alone would leave the playground, which keeps the
		// pipes open. The session would then not end.
		if session.ExitCode() < 0 {
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		}
		<-session.Exited
		_ = os.RemoveAll(tmp)
	})
	return &playground{Session: session, tmp: tmp}
}

func (p *playground) expectNoTraces(g *WithT) {
	// After a SIGKILL, the folder and the operators disappear only some time later.
	g.Eventually(func() ([]string, error) { return filepath.Glob(p.tmp + "/*") }).WithTimeout(waitLimit).
		Should(BeEmpty())
	g.Eventually(p.processes).WithTimeout(waitLimit).WithPolling(100 * time.Millisecond).Should(BeEmpty())
}

// processes finds the processes of the playground by TMPDIR, which child processes inherit.
func (p *playground) processes() map[string]int {
	found := map[string]int{}
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // empty on systems without /proc
	for _, environment := range environments {
		text, err := os.ReadFile(environment)
		if err != nil || !bytes.Contains(text, []byte("TMPDIR="+p.tmp+"\x00")) {
			continue // the process has ended or belongs to another user
		}
		folder := filepath.Dir(environment)
		name, _ := os.ReadFile(filepath.Join(folder, "comm"))
		found[string(bytes.TrimSpace(name))], _ = strconv.Atoi(filepath.Base(folder))
	}
	return found
}

func TestTwoPlaygroundsInParallel(t *testing.T) {
	g := NewWithT(t)
	first, second := startPlayground(t, "--once"), startPlayground(t, "--once")
	for _, p := range []*playground{first, second} {
		g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(0))
		g.Expect(p).To(gbytes.Say(`STAND-IN: no containers run here, so a program`))
		g.Expect(string(p.Out.Contents())).To(And(
			ContainSubstring("This is a simulation: nothing of it is on the real Discord."),
			ContainSubstring("dojo/tokyo-jujutsu-high Ready=True 3/3 Reconciled"),
			ContainSubstring("dojo/sendai-jujutsu-high Ready=True 1/1 Reconciled"),
			ContainSubstring("dojo/team-a/nagoya-jujutsu-high Ready=True 1/1 Reconciled"),
			ContainSubstring("dojo/team-b/osaka-jujutsu-high Ready=True 1/1 Reconciled"),
			ContainSubstring("discordserver/platform/company Ready=True Reconciled"),
			ContainSubstring("discordchannel/team-a/nagoya-jujutsu-high-alerts Ready=True Reconciled"),
			ContainSubstring("discordchannel/team-b/osaka-jujutsu-high-alerts Ready=True Reconciled"),
			ContainSubstring("discordserver/jujutsu Ready=True Reconciled"),
			ContainSubstring("discordgroup/staff Ready=True Reconciled"),
			ContainSubstring("discordchannel/tokyo-alerts Ready=True Reconciled"),
			ContainSubstring("discordchannel/sendai-jujutsu-high-alerts Ready=True Reconciled"),
		))
		g.Expect(p).To(gbytes.Say(`All samples are Ready`))
		g.Expect(p).To(gbytes.Say(`Everything is stopped`))
		g.Expect(string(p.Err.Contents())).To(BeEmpty())
		p.expectNoTraces(g)
	}
}

func TestOnceReportsObjectsThatAreNotReady(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := startPlayground(t, "--once", "--timeout=1ns")
	g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(1))
	g.Expect(string(p.Err.Contents())).To(And(
		ContainSubstring("not all samples are Ready after 1ns"),
		MatchRegexp(`dojo/sendai-jujutsu-high Ready=(-|False)`), // this Dojo's database starts late
		MatchRegexp(`(?s)the last lines of \S+/dojo-operator.log:\n.*INFO.*`+
			`the last lines of \S+/discord-operator.log:\n.*INFO`),
	))
	p.expectNoTraces(g)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		after  string
		signal os.Signal
		exit   int
	}{
		"while the cluster starts":              {after: "Starting Kubernetes", signal: os.Interrupt, exit: 1},
		"while the operator starts":             {after: "Installing", signal: os.Interrupt, exit: 1},
		"while the operator starts, by SIGKILL": {after: "Installing", signal: syscall.SIGKILL, exit: 128 + int(syscall.SIGKILL)},
		"before all samples are Ready":          {args: []string{"--once"}, after: "Applying", signal: os.Interrupt, exit: 1},
		"when it is up, by Ctrl-C":              {after: upAndReady, signal: os.Interrupt, exit: 0},
		"when it is up, by SIGTERM":             {after: upAndReady, signal: syscall.SIGTERM, exit: 0},
		"when it is up, by SIGKILL":             {after: upAndReady, signal: syscall.SIGKILL, exit: 128 + int(syscall.SIGKILL)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := startPlayground(t, test.args...)
			g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say(test.after))
			p.Signal(test.signal)
			g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(test.exit))
			if test.exit == 1 {
				g.Expect(p.Err).To(gbytes.Say("interrupted"))
			}
			p.expectNoTraces(g)
		})
	}
}

func TestTerminatedMakeStopsPlayground(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root, err := project.Root()
	g.Expect(err).NotTo(HaveOccurred())
	// --old-file prevents make from rebuilding the binaries, because other tests use them.
	p := startCommand(t, exec.Command("make", "-C", root, "--old-file=build", "--old-file=testcluster", "run"))
	g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say(upAndReady))
	p.Terminate()
	g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say("Everything is stopped"))
	g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(128 + int(syscall.SIGTERM)))
	p.expectNoTraces(g)
}

func TestPlaygroundEndsWithAnyProcess(t *testing.T) {
	t.Parallel()
	const ofAnOperator = `"controllerKind"` // each log line about an object has this text
	for name, log := range map[string]string{"dojo-operator": ofAnOperator, "discord-operator": ofAnOperator,
		"discordtest": "Simulated Discord is up"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := startPlayground(t)
			g.Eventually(p).WithTimeout(waitLimit).Should(gbytes.Say(upAndReady))
			pid, ok := p.processes()[name[:min(15, len(name))]] // Linux keeps only 15 characters of the name
			if !ok {
				t.Skip("needs /proc to find the process")
			}
			g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
			g.Eventually(p.Session).WithTimeout(waitLimit).Should(gexec.Exit(1))
			g.Expect(string(p.Err.Contents())).To(And(ContainSubstring("has ended: "), ContainSubstring(log)))
			p.expectNoTraces(g)
		})
	}
}
