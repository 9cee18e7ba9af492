// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
)

const waitLimit = 2 * time.Minute

type installation struct {
	operator

	cluster *testcluster.Cluster
	admin   client.Client
}

func startCluster(t *testing.T) *testcluster.Cluster {
	t.Helper()
	g := NewWithT(t)
	prometheus, err := testcluster.PrometheusOperatorCRDs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	cluster, err := testcluster.Start(t.Context(),
		testcluster.Options{ControllerManager: true, Nodes: 2, CRDs: []string{prometheus}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop()).To(Succeed()) })
	return cluster
}

func (i *installation) helm(t *testing.T) *action.Configuration {
	t.Helper()
	settings := cli.New()
	settings.KubeConfig = i.cluster.Kubeconfig()
	settings.SetNamespace(i.Namespace)
	configuration := action.NewConfiguration()
	NewWithT(t).Expect(configuration.Init(settings.RESTClientGetter(), i.Namespace, "secret")).To(Succeed())
	return configuration
}

// install does the same as `helm install --create-namespace --wait`, unless adjust changes that.
func (i *installation) install(t *testing.T, adjust func(*action.Install), values map[string]any) *release.Release {
	t.Helper()
	g := NewWithT(t)
	install := action.NewInstall(i.helm(t))
	install.ReleaseName, install.Namespace, install.CreateNamespace = i.Name, i.Namespace, true
	install.ServerSideApply, install.WaitStrategy, install.Timeout = true, kube.StatusWatcherStrategy, waitLimit
	if adjust != nil {
		adjust(install)
	}
	found, err := install.RunWithContext(t.Context(), load(t, i.operator), values)
	g.Expect(err).NotTo(HaveOccurred())
	return found.(*release.Release)
}

// upgrade does the same as `helm upgrade --wait`.
func (i *installation) upgrade(t *testing.T, values map[string]any) {
	t.Helper()
	g := NewWithT(t)
	upgrade := action.NewUpgrade(i.helm(t))
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = i.Namespace, kube.StatusWatcherStrategy, waitLimit
	found, err := upgrade.RunWithContext(t.Context(), i.Name, load(t, i.operator), values)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.(*release.Release).Info.Status).To(Equal(common.StatusDeployed))
}

func (i *installation) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	var found appsv1.Deployment
	key := client.ObjectKey{Namespace: i.Namespace, Name: i.Name}
	NewWithT(t).Expect(i.admin.Get(t.Context(), key, &found)).To(Succeed())
	return &found
}

func (i *installation) exists(t *testing.T, apiVersion, kind, namespace, name string) bool {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	err := i.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	NewWithT(t).Expect(client.IgnoreNotFound(err)).To(Succeed())
	return !apierrors.IsNotFound(err)
}

func TestInstall(t *testing.T) {
	cluster := startCluster(t)
	admin, err := client.New(cluster.Config(), client.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, team := range []string{"team-a", "team-b"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}
		NewWithT(t).Expect(admin.Create(t.Context(), namespace)).To(Succeed())
	}
	for _, o := range operators {
		i := &installation{operator: o, cluster: cluster, admin: admin}
		t.Run(o.Name, func(t *testing.T) {
			t.Run("Helm installs the chart and prints its notes", i.isInstalled)
			t.Run("an upgrade to the same chart changes nothing", i.isUnchanged)
			t.Run("an upgrade enables the chart's options", i.isUpgraded)
			t.Run("an uninstall keeps only the chart's kinds", i.isUninstalled)
			t.Run("an install takes over objects that kubectl has applied", i.takesOver)
		})
	}
}

func (i *installation) isInstalled(t *testing.T) {
	g := NewWithT(t)
	found := i.install(t, nil, nil)
	g.Expect(found.Info.Status).To(Equal(common.StatusDeployed))
	g.Expect(found.Info.Notes).To(And(
		ContainSubstring("installed in the namespace "+i.Namespace+".\n"), ContainSubstring("The name of the image is a placeholder"),
		ContainSubstring("kubectl -n "+i.Namespace+" rollout status deployment/"+i.Name),
		ContainSubstring("kubectl label namespace "+i.Namespace+" pod-security.kubernetes.io/enforce=restricted")))
	deployment := i.deployment(t)
	g.Expect(deployment.Status.AvailableReplicas).To(Equal(int32(2)))
	g.Expect(deployment.Labels).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "Helm"))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Namespace}}
	restricted := client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`))
	g.Expect(i.admin.Patch(t.Context(), namespace, restricted)).To(Succeed())
}

func (i *installation) isUnchanged(t *testing.T) {
	before := i.deployment(t)
	i.upgrade(t, nil)
	NewWithT(t).Expect(i.deployment(t).Generation).To(Equal(before.Generation))
}

func (i *installation) isUpgraded(t *testing.T) {
	g := NewWithT(t)
	const rbac = "rbac.authorization.k8s.io/v1"
	g.Expect(i.exists(t, rbac, "ClusterRole", "", i.Name)).To(BeTrue())
	g.Expect(i.exists(t, rbac, "Role", "team-a", i.Name)).To(BeFalse())
	values := valuesFor(valuePaths(t, i.operator)...)
	values["replicas"] = 3
	values["platformUsers"] = false // OpenShift chooses the users of pods, and this cluster does not
	i.upgrade(t, values)
	deployment := i.deployment(t)
	g.Expect(deployment.Status.AvailableReplicas).To(Equal(int32(3)))
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(ContainElement(HavePrefix("--watch-namespaces=")))
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		g.Expect(i.exists(t, rbac, kind, "", i.Name)).To(BeFalse(), "no cluster-wide right should remain")
	}
	for _, team := range []string{"team-a", "team-b"} {
		g.Expect(i.exists(t, rbac, "Role", team, i.Name)).To(BeTrue())
		g.Expect(i.exists(t, rbac, "RoleBinding", team, i.Name)).To(BeTrue())
	}
	g.Expect(i.exists(t, "monitoring.coreos.com/v1", "ServiceMonitor", i.Namespace, i.Name)).To(BeTrue())
	g.Expect(i.exists(t, "networking.k8s.io/v1", "NetworkPolicy", i.Namespace, i.Name)).To(BeTrue())
}

func (i *installation) isUninstalled(t *testing.T) {
	g := NewWithT(t)
	uninstall := action.NewUninstall(i.helm(t))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, waitLimit
	_, err := uninstall.Run(i.Name)
	g.Expect(err).NotTo(HaveOccurred())
	for name := range parsed(t, templated(t, i.operator, load(t, i.operator), nil).Manifest) {
		part := strings.Split(name, "/")
		isKind := part[0] == "CustomResourceDefinition"
		g.Expect(i.exists(t, versionOf(part[0]), part[0], part[1], part[2])).To(Equal(isKind), name)
	}
}

func versionOf(kind string) string {
	for version, kinds := range map[string][]string{
		"apiextensions.k8s.io/v1": {"CustomResourceDefinition"},
		"apps/v1":                 {"Deployment"},
		"policy/v1":               {"PodDisruptionBudget"},
		"admissionregistration.k8s.io/v1": {
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
		"rbac.authorization.k8s.io/v1": {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	} {
		if slices.Contains(kinds, kind) {
			return version
		}
	}
	return "v1"
}

func (i *installation) takesOver(t *testing.T) {
	g := NewWithT(t)
	objects, err := manifests.Render(folderOf(t, i.operator) + "/overlays/production")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifests.Apply(t.Context(), i.admin, objects)).To(Succeed())
	before := i.deployment(t)
	i.install(t, func(install *action.Install) {
		install.CreateNamespace, install.TakeOwnership, install.ForceConflicts = false, true, true
	}, nil)
	deployment := i.deployment(t)
	g.Expect(deployment.Labels).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "Helm"))
	g.Expect(cmp.Diff(before.Spec, deployment.Spec)).To(BeEmpty(), "the pods should not roll")
}
