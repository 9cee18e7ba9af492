package operatortest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// soon is how long a process may take to become ready or to end: a moment, but the machine may be busy.
const soon = 30 * time.Second

// Process is one process of an operator.
type Process struct {
	session         *gexec.Session
	metrics, probes string
	log             *os.File
	changed         bool // it has other flags than usual
}

func (p *Process) start(ctx context.Context, command *exec.Cmd) {
	ginkgo.GinkgoHelper()
	var err error
	p.session, err = gexec.Start(command, p.log, p.log)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Eventually(ctx, p.ready).WithTimeout(soon).Should(gomega.Succeed(), "the operator's /readyz")
}

func (p *Process) ready(ctx context.Context) error {
	if p.ended() {
		return gomega.StopTrying(p.obituary())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.probes+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz answers %s", answer.Status)
	}
	return nil
}

func (p *Process) ended() bool { return p.session.ExitCode() != -1 }

// obituary tells how an operator that should run has ended.
func (p *Process) obituary() string {
	lines := strings.Split(strings.TrimSpace(string(p.session.Err.Contents())), "\n")
	why := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "WARNING: DATA RACE")
	})
	if why < 0 {
		why = max(0, len(lines)-10)
	}
	return fmt.Sprintf("the operator has ended with code %d; see %s:\n%s", p.session.ExitCode(), p.log.Name(),
		strings.Join(lines[why:min(len(lines), why+20)], "\n"))
}

// Stop ends the process as Kubernetes does and expects it to leave in peace.
func (p *Process) Stop() {
	ginkgo.GinkgoHelper()
	p.session.Signal(syscall.SIGTERM)
	gomega.Eventually(p.session).WithTimeout(soon).Should(gexec.Exit(0), func() string {
		return "the operator should leave on SIGTERM without an error or a data race: " + p.obituary()
	})
	gomega.Expect(p.log.Close()).To(gomega.Succeed())
}

func (p *Process) kill() {
	ginkgo.GinkgoHelper()
	p.session.Kill()
	gomega.Eventually(p.session).WithTimeout(soon).Should(gexec.Exit(), "the operator should be gone after SIGKILL")
	gomega.Expect(p.log.Close()).To(gomega.Succeed())
}

// Scrape asks the operator for its metrics with a token, or as a stranger where there is none.
func (o *Operator) Scrape(ctx context.Context, token string) (code int, text string) {
	ginkgo.GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+o.process.metrics+"/metrics", nil)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	selfSigned := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // as the certificate is unless --metrics-cert-dir gives another
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: selfSigned, DisableKeepAlives: true}}
	var answer *http.Response
	gomega.Eventually(ctx, func() error { // they are served a moment after the probes
		answer, err = insecure.Do(request) //nolint:bodyclose // it is, below
		return err
	}).WithTimeout(soon).Should(gomega.Succeed())
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return answer.StatusCode, string(body)
}
