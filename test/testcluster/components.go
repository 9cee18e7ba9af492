// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/process"
)

// The components for Kill and Restart. Each component has the name of its binary.
const (
	Etcd              = binaries.Etcd
	APIServer         = binaries.APIServer
	ControllerManager = binaries.ControllerManager
	Scheduler         = binaries.Scheduler
	Kwok              = binaries.Kwok
)

// CertificateAuthority is the file in Cluster.Dir with the CA of client and server certificates.
const CertificateAuthority = "ca.crt"

const (
	serviceRange = "10.96.0.0/12"
	// kubernetesService is the first address of serviceRange, which the Service `kubernetes` gets.
	kubernetesService = "10.96.0.1"

	kubeletClient = "kube-apiserver-kubelet-client"
)

const (
	etcdSocket = "etcd.sock"
	// maxSocketPath is the longest path of a Unix socket on macOS, in bytes. Linux allows 4 more.
	maxSocketPath = 103
)

// Kubernetes' default ClusterRoleBindings grant rights to the first two users by their names.
var identities = map[string]struct {
	user   string
	groups []string
}{
	ControllerManager: {user: "system:kube-controller-manager"},
	Scheduler:         {user: "system:kube-scheduler"},
	Kwok:              {user: "kwok", groups: []string{"system:masters"}},
}

//go:embed audit-policy.yaml
var auditPolicy []byte

//go:embed scheduler.yaml
var schedulerConfig []byte

//go:embed kwok.yaml
var kwokConfig []byte

func (o Options) components() []string {
	names := []string{Etcd, APIServer}
	if o.ControllerManager {
		names = append(names, ControllerManager)
	}
	if o.Scheduler || o.Nodes > 0 {
		names = append(names, Scheduler)
	}
	if o.Nodes > 0 {
		names = append(names, Kwok)
	}
	return names
}

func (c *Cluster) args(name string) []string {
	switch name {
	case Etcd:
		return c.etcdArgs()
	case APIServer:
		return c.apiServerArgs()
	case ControllerManager:
		return c.controllerManagerArgs()
	case Scheduler:
		return []string{
			"--config=" + c.file("scheduler.yaml"),
			"--bind-address=127.0.0.1", "--permit-port-sharing", "--secure-port=" + c.schedulerPort.String(),
			"--tls-cert-file=" + c.file("serving.crt"), "--tls-private-key-file=" + c.file("serving.key"),
			"--authentication-skip-lookup",
		}
	case Kwok:
		return []string{
			"--kubeconfig=" + c.file("kwok.kubeconfig"), "--config=" + c.file("kwok.yaml"),
			"--manage-all-nodes=true",
			"--node-lease-duration-seconds=0", // no leases, so that an idle cluster writes nothing
			"--node-ip=10.0.0.1", "--cidr=10.128.0.1/9",
		}
	}
	panic("testcluster: no component " + name)
}

// etcd listens on Unix sockets, so it needs no ports, and other users cannot reach it.
func (c *Cluster) etcdArgs() []string {
	// etcd requires host:port, and uses it as the name of a socket in the working directory.
	const peer = "unix://etcd-peer.sock:0"
	return []string{
		"--name=testcluster", "--data-dir=" + c.file("etcd"),
		"--listen-client-urls=" + c.etcdURL(), "--advertise-client-urls=" + peer, // clients ignore this URL
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=testcluster=" + peer,
		"--unsafe-no-fsync", // the data need not survive a crash of the machine
		"--log-level=warn",
		"--quota-backend-bytes=8589934592",
	}
}

func (c *Cluster) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=127.0.0.1", "--permit-port-sharing", "--secure-port=" + c.apiPort.String(),
		"--tls-cert-file=" + c.file("serving.crt"), "--tls-private-key-file=" + c.file("serving.key"),
		"--client-ca-file=" + c.file(CertificateAuthority),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file("service-account.key"),
		"--service-account-signing-key-file=" + c.file("service-account.key"),
		// 127.0.0.1 is not a valid address for the Service `kubernetes`
		"--endpoint-reconciler-type=none",
		// no leases, so that an idle cluster writes nothing; a single API server needs none
		"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
	}
	if !c.options.ControllerManager {
		// Without controllers, nothing creates ServiceAccounts or removes the taint not-ready.
		args = append(args, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	}
	if c.options.Address != "" {
		args = append(args, "--bind-address=0.0.0.0", "--advertise-address="+c.options.Address,
			"--endpoint-reconciler-type=master-count",
			"--kubelet-client-certificate="+c.file("kubelet-client.crt"), "--kubelet-client-key="+c.file("kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP")
	}
	if c.options.Audit {
		args = append(args, "--audit-policy-file="+c.file("audit-policy.yaml"), "--audit-log-path="+c.AuditLog(),
			"--audit-log-maxsize=100000") // in megabytes; one file, never rotated
	}
	return append(args, c.options.APIServerArgs...)
}

func (c *Cluster) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + c.file(ControllerManager+".kubeconfig"),
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials=true", // each controller has its own name and rights
		"--root-ca-file=" + c.file(CertificateAuthority),
		"--service-account-private-key-file=" + c.file("service-account.key"),
		// The client's rate limit must not slow down a benchmark.
		"--kube-api-qps=5000", "--kube-api-burst=10000",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20", "--concurrent-statefulset-syncs=20",
		"--concurrent-endpoint-syncs=20", "--concurrent-service-endpoint-syncs=20",
		"--concurrent-gc-syncs=40", "--concurrent-namespace-syncs=20",
		// Short intervals, because tests wait for them.
		"--horizontal-pod-autoscaler-sync-period=2s",
		"--resource-quota-sync-period=30s",
		// Fake nodes have no heartbeat; see kwok.yaml.
		"--node-monitor-grace-period=8760h",
	}
}

// probe returns a check that a component does its work, not only that it runs.
func (c *Cluster) probe(name string) func(context.Context) error {
	switch name {
	case Etcd:
		return c.etcdServes
	case APIServer:
		return c.apiServerServes
	case ControllerManager:
		return func(ctx context.Context) error { // a controller creates this ServiceAccount
			_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err
		}
	case Scheduler:
		return func(ctx context.Context) error { return process.Serves(ctx, c.scrape, c.schedulerPort.url()+"/readyz") }
	case Kwok:
		return c.nodesReady
	}
	panic("testcluster: no component " + name)
}

func (c *Cluster) etcdServes(ctx context.Context) error {
	socket := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", c.file(etcdSocket))
		}}
	return process.Serves(ctx, &http.Client{Transport: socket}, "http://etcd/readyz")
}

// apiServerServes also requires the namespace default, which the API server creates a moment after
// it is ready.
func (c *Cluster) apiServerServes(ctx context.Context) error {
	if err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	_, err := c.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("no namespace %s yet: %w", metav1.NamespaceDefault, err)
	}
	return err
}

func (c *Cluster) etcdURL() string { return "unix://" + c.file(etcdSocket) }

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }
