package specs_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/operatortest"
)

// The specs run the operator's real binary, built with the race detector, as the ServiceAccount and
// with the permissions, arguments and environment of deploy/ for production, on a real Kubernetes
// API with controllers and fake nodes.
const (
	deployFolder = "../../deploy/dojo-operator"
	// progressDeadline is short, but much longer than a rollout takes on fake nodes.
	progressDeadline = 10 * time.Second
	// enforceOwnerReferences makes the API server as strict as some clusters are: a client that sets
	// blockOwnerDeletion needs the permission to update the finalizers of the owner.
	enforceOwnerReferences = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
	// soon is for what the operator does at once. It is long, since the machine may be busy.
	soon = 30 * time.Second
)

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	operator = &operatortest.Operator{
		Name: "dojo-operator", Namespace: "dojo-system", Lease: "dojo-operator.core.jutsu.com",
		Overlay: deployFolder + "/overlays/production", Folder: "../../out/dojo-operator",
	}
	// optionalCRDs are the folders with the kinds that a cluster may lack.
	optionalCRDs []string
)

func TestDojoOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "dojo-operator")
}

var (
	_ = operator.Guard()
	_ = operator.UsesItsPermissions()
)

// The operator is built once for all processes of the test runner.
var _ = SynchronizedBeforeSuite(func() []byte {
	path, err := gexec.Build("jutsu.com/operators/dojo-operator", "-race")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
	return []byte(path)
}, func(ctx context.Context, path []byte) {
	var err error
	optionalCRDs = foldersOfOptionalCRDs(ctx)
	cluster, err = testcluster.Start(ctx, testcluster.Options{
		ControllerManager: true, Nodes: 3, Audit: true, APIServerArgs: []string{enforceOwnerReferences},
		CRDs: append([]string{deployFolder + "/crds"}, optionalCRDs...), Progress: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(corev1api.AddToScheme(scheme)).To(Succeed())
	config := cluster.Config()
	k8s, err = client.New(config, client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict})
	Expect(err).NotTo(HaveOccurred())

	operator.Binary, operator.Cluster, operator.Client = string(path), cluster, k8s
	deadline := progressDeadline.String()
	operator.Flags = []string{"--progress-deadline=" + deadline, "--database-deadline=" + deadline}
	operator.Install(ctx)
	startCloudNativePG()
	operator.Start(ctx)
	DeferCleanup(func() {
		operator.Stop()
		secrets.ExpectNotLogged(operator)
	})
})
