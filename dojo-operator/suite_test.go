package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/testcluster"
)

// The specs drive the operator's real binary, built with the race detector, as the ServiceAccount and with the permissions
// that deploy/ gives it, against a real Kubernetes API whose controllers run and whose nodes are fake.
const (
	deployFolder = "../deploy/dojo-operator"
	// progressDeadline is short enough to be waited for, and much longer than a rollout takes on fake nodes.
	progressDeadline = 10 * time.Second
	// soon is for what the operator does at once; generous, since the machine may be busy.
	soon = 30 * time.Second
)

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	binary   string
	operator *operatorProcess
	// optionalCRDs are the folders with the kinds that a cluster may or may not have.
	optionalCRDs []string
)

func TestDojoOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "dojo-operator")
}

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	binary, err = gexec.Build("jutsu.com/operators/dojo-operator", "-race")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)

	optionalCRDs = foldersOfOptionalCRDs(ctx)
	cluster, err = testcluster.Start(ctx, testcluster.Options{
		ControllerManager: true, Nodes: 3, Audit: true, CRDs: append([]string{deployFolder + "/crds"}, optionalCRDs...), Progress: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(corev1api.AddToScheme(scheme)).To(Succeed())
	config := cluster.Config()
	k8s, err = client.New(config, client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict})
	Expect(err).NotTo(HaveOccurred())

	install(ctx, "namespace.yaml", "service_account.yaml", "role.yaml", "role_binding.yaml", "metrics_reader.yaml")
	playCloudNativePG()
	operator = startOperator(ctx)
	DeferCleanup(func() {
		operator.stop()
		expectNoSecretTold()
	})
})

var _ = ReportAfterSuite("keep what explains a failure", func(report Report) {
	if !report.SuiteSucceeded && cluster != nil {
		_, _ = fmt.Fprintln(os.Stderr, "the operator's log: "+operatorLog())
	}
})

// install creates the objects of deploy/dojo-operator/base that the operator needs when it runs outside the cluster.
func install(ctx context.Context, files ...string) {
	GinkgoHelper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(deployFolder, "base", file))
		Expect(err).NotTo(HaveOccurred())
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			for _, o := range []client.Object{
				&corev1.Namespace{}, &corev1.ServiceAccount{}, &rbacv1.ClusterRole{}, &rbacv1.Role{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.RoleBinding{},
			} {
				kind := fmt.Sprintf("%T", o)
				if !strings.Contains(document, "\nkind: "+kind[strings.LastIndex(kind, ".")+1:]+"\n") {
					continue
				}
				Expect(yaml.Unmarshal([]byte(document), o)).To(Succeed())
				Expect(k8s.Create(ctx, o)).To(Succeed())
			}
		}
	}
}
