package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster/manifests"
)

// operatorProcess is the operator as a process of its own.
type operatorProcess struct {
	session         *gexec.Session
	metrics, probes string
	log             *os.File
	extra           []string
}

func operatorLog() string {
	name := fmt.Sprintf("operator-%d.log", GinkgoParallelProcess())
	return filepath.Join("..", "out", "dojo-operator", name)
}

// startOperator starts the operator and waits until it is ready, which does not mean that it leads.
func startOperator(ctx context.Context, extra ...string) *operatorProcess {
	GinkgoHelper()
	kubeconfig, err := cluster.ServiceAccountKubeconfig(ctx, "dojo-system", "dojo-operator")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(filepath.Dir(operatorLog()), 0o755)).To(Succeed())
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if operator == nil {
		flags |= os.O_TRUNC
	}
	log, err := os.OpenFile(operatorLog(), flags, 0o644)
	Expect(err).NotTo(HaveOccurred())
	o := &operatorProcess{metrics: freeAddress(), probes: freeAddress(), log: log, extra: extra}
	production, err := manifests.CommandOf(deployed, "dojo-operator")
	Expect(err).NotTo(HaveOccurred())
	// What differs: the cluster is reached from outside, several operators share a machine, nobody waits as long as people do, and the log tells all,
	// so that a secret in it would be found. Of a flag given twice the last counts.
	command := exec.Command(binary, slices.Concat(production.Args, []string{
		"--kubeconfig=" + kubeconfig, "--leader-election-namespace=dojo-system",
		"--metrics-bind-address=" + o.metrics, "--health-probe-bind-address=" + o.probes,
		"--progress-deadline=" + progressDeadline.String(), "--database-deadline=" + progressDeadline.String(), "--zap-log-level=debug",
	}, extra)...)
	command.Env = slices.Concat(os.Environ(), production.Env, []string{"GORACE=halt_on_error=1"})
	o.session, err = gexec.Start(command, log, log)
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, o.ready).Should(Succeed(), "the operator's /readyz")
	return o
}

func (o *operatorProcess) ready() error {
	if o.session.ExitCode() != -1 {
		return StopTrying(fmt.Sprintf("the operator has ended with code %d; see %s", o.session.ExitCode(), operatorLog()))
	}
	answer, err := http.Get("http://" + o.probes + "/readyz")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz answers %s", answer.Status)
	}
	return nil
}

// stop ends the operator as Kubernetes does and expects it to leave in peace.
func (o *operatorProcess) stop() {
	GinkgoHelper()
	o.session.Signal(syscall.SIGTERM)
	Eventually(o.session).WithTimeout(soon).Should(gexec.Exit(0), "the operator should leave on SIGTERM without an error or a data race")
	Expect(o.log.Close()).To(Succeed())
}

// kill ends the operator as a crash does. Its lease goes too, so that the next one need not wait until it runs out: a short lease would, but
// an operator that does not get to renew it on a busy machine leaves.
func (o *operatorProcess) kill() {
	GinkgoHelper()
	o.session.Kill()
	Eventually(o.session).WithTimeout(soon).Should(gexec.Exit(), "the operator should be gone after SIGKILL")
	Expect(o.log.Close()).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "dojo-system", Name: "dojo-operator.core.jutsu.com"}}
	Expect(client.IgnoreNotFound(k8s.Delete(context.Background(), lease))).To(Succeed())
}

func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// operatorWrites returns what the operator has written in a namespace, as "patch deployments/tokyo" and the like, out of the API server's
// audit log. Events are not counted.
func operatorWrites(namespace string) []string {
	GinkgoHelper()
	var writes []string
	for _, e := range operatorRequests() {
		if e.ObjectRef == nil || e.ObjectRef.Namespace != namespace || e.ObjectRef.Resource == "events" ||
			!slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb) {
			continue
		}
		writes = append(writes, strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Name+"/"+e.ObjectRef.Subresource, "/"))
	}
	return writes
}

func operatorRequests() []auditv1.Event {
	GinkgoHelper()
	file, err := os.Open(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	var events []auditv1.Event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), `"userAgent":"dojo-operator/`) {
			continue
		}
		var e auditv1.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil { // the last line may be half written
			events = append(events, e)
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return events
}
