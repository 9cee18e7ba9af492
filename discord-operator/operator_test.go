package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/auditlog"
	"jutsu.com/operators/libs/testcluster/manifests"
)

// operatorProcess is the operator as a process of its own.
type operatorProcess struct {
	session         *gexec.Session
	metrics, probes string
	log             *os.File
}

func operatorLog() string {
	name := fmt.Sprintf("operator-%d.log", GinkgoParallelProcess())
	return filepath.Join("..", "out", "discord-operator", name)
}

// startOperator starts the operator and waits until it is ready, which does not mean that it leads.
func startOperator(ctx context.Context, extra ...string) *operatorProcess {
	GinkgoHelper()
	kubeconfig, err := cluster.ServiceAccountKubeconfig(ctx, "discord-system", "discord-operator")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(filepath.Dir(operatorLog()), 0o755)).To(Succeed())
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if operator == nil {
		flags |= os.O_TRUNC
	}
	log, err := os.OpenFile(operatorLog(), flags, 0o644)
	Expect(err).NotTo(HaveOccurred())
	o := &operatorProcess{metrics: freeAddress(ctx), probes: freeAddress(ctx), log: log}
	production, err := manifests.CommandOf(deployed, "discord-operator")
	Expect(err).NotTo(HaveOccurred())
	// What differs: the cluster is reached from outside, several operators share a machine, which may be too busy for ten seconds to renew a lease
	// or to end a pass, nobody waits as long as people do, and the log tells all, so that a secret in it would be found. Of a flag given twice the last
	// counts.
	command := exec.Command(binary, slices.Concat(production.Args, []string{
		"--kubeconfig=" + kubeconfig, "--leader-election-namespace=discord-system", "--lease-duration=2m", "--lease-renew-deadline=1m", "--shutdown-timeout=25s",
		"--metrics-bind-address=" + o.metrics, "--health-probe-bind-address=" + o.probes,
		"--discord-api-url=" + discord.APIURL(), "--recovery-wait=" + recoveryWait.String(), "--zap-log-level=debug",
	}, extra)...)
	command.Env = slices.Concat(os.Environ(), production.Env, []string{"GORACE=halt_on_error=1"})
	o.session, err = gexec.Start(command, log, log)
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, o.ready).Should(Succeed(), "the operator's /readyz")
	return o
}

// restartOperator ends the operator in peace and starts it again with further flags, until the spec is over.
func restartOperator(ctx context.Context, extra ...string) {
	GinkgoHelper()
	operator.stop()
	operator = startOperator(ctx, extra...)
	if len(extra) > 0 {
		DeferCleanup(func(ctx context.Context) { restartOperator(ctx) })
	}
}

func (o *operatorProcess) ready() error {
	if o.ended() {
		return StopTrying(o.obituary())
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

func (o *operatorProcess) ended() bool { return o.session.ExitCode() != -1 }

// obituary tells how an operator that should run has ended.
func (o *operatorProcess) obituary() string {
	lines := strings.Split(strings.TrimSpace(string(o.session.Err.Contents())), "\n")
	why := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "WARNING: DATA RACE")
	})
	if why < 0 {
		why = max(0, len(lines)-10)
	}
	return fmt.Sprintf("the operator has ended with code %d; see %s:\n%s", o.session.ExitCode(), operatorLog(),
		strings.Join(lines[why:min(len(lines), why+20)], "\n"))
}

// An operator that ends by itself fails the spec in which it does, and none of those that come after.
var (
	_ = BeforeEach(func(ctx context.Context) {
		if operator.ended() {
			dropLease(ctx)
			operator = startOperator(ctx)
		}
	})
	_ = AfterEach(func() {
		if operator.ended() {
			Fail(operator.obituary())
		}
	})
)

// stop ends the operator as Kubernetes does and expects it to leave in peace.
func (o *operatorProcess) stop() {
	GinkgoHelper()
	o.session.Signal(syscall.SIGTERM)
	Eventually(o.session).WithTimeout(soon).Should(gexec.Exit(0), func() string {
		return "the operator should leave on SIGTERM without an error or a data race: " + o.obituary()
	})
	Expect(o.log.Close()).To(Succeed())
}

// kill ends the operator as a crash does, but that the next one need not wait until its lease runs out.
func (o *operatorProcess) kill() {
	GinkgoHelper()
	o.session.Kill()
	Eventually(o.session).WithTimeout(soon).Should(gexec.Exit(), "the operator should be gone after SIGKILL")
	Expect(o.log.Close()).To(Succeed())
	dropLease(context.Background())
}

// anotherDiscord gives the operator another Discord and further flags, until the spec is over. Worlds that are made from now on are there.
func anotherDiscord(ctx context.Context, o discordtest.Options, flags ...string) {
	GinkgoHelper()
	operator.stop()
	before := discord
	discord = discordtest.New(o)
	Expect(discord.Start()).To(Succeed())
	operator = startOperator(ctx, flags...)
	DeferCleanup(func(ctx context.Context) {
		operator.stop()
		discord.Close()
		discord = before
		operator = startOperator(ctx)
	})
}

// dropLease takes the lease from an operator that is gone without giving it back.
func dropLease(ctx context.Context) {
	GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "discord-system", Name: "discord-operator.discord.jutsu.com"}}
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, lease))).To(Succeed())
}

func freeAddress(ctx context.Context) string {
	GinkgoHelper()
	address, err := testcluster.FreeAddress(ctx)
	Expect(err).NotTo(HaveOccurred())
	return address
}

// operatorWrites returns what the operator has written in a namespace, as "patch discordchannels/alerts/status" and the like, out of
// the API server's audit log. Events are not counted.
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

// operatorRequests are the operator's requests to the API server so far, oldest first.
func operatorRequests() []auditv1.Event {
	GinkgoHelper()
	audited.Lock()
	defer audited.Unlock()
	if audited.log == nil {
		var err error
		audited.log, err = auditlog.Open(cluster.AuditLog())
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(audited.log.Each(func(line []byte) error {
		if !bytes.Contains(line, []byte(`"userAgent":"discord-operator/`)) {
			return nil
		}
		var e auditv1.Event
		err := json.Unmarshal(line, &e)
		audited.events = append(audited.events, e)
		return err
	})).To(Succeed())
	return audited.events
}

// audited is what was read of the audit log so far.
var audited struct {
	sync.Mutex
	log    *auditlog.Log
	events []auditv1.Event
}
