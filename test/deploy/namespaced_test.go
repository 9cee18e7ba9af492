// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/cnpgtest"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
	"jutsu.com/operators/test/testcluster/rbacusage"
)

const (
	installSample = "deploy/samples/install"
	tenantsSample = installSample + "/tenants"
	guildID       = "1401681709430341710" // guild of the sample
)

// dojo-operator watches teams, and discord-operator watches teams and platform.
var teams, platform, unwatched = []string{"team-a", "team-b"}, "platform", "team-c"

type namespaced struct {
	cluster   *testcluster.Cluster
	admin     client.Client
	operators map[string]*environment.Process
	discord   *environment.DiscordProcess
}

func startNamespaced(t *testing.T) *namespaced {
	t.Helper()
	g := NewWithT(t)
	n := &namespaced{operators: map[string]*environment.Process{}}
	postgres, err := testcluster.CloudNativePGCRDs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	crds := []string{postgres}
	// The cluster starts with all kinds: for a kind that is added later, Kubernetes enforces a
	// quota only after half a minute.
	for _, o := range environment.All {
		folder, err := o.CRDs()
		g.Expect(err).NotTo(HaveOccurred())
		crds = append(crds, folder)
	}
	n.cluster, err = testcluster.Start(t.Context(),
		testcluster.Options{ControllerManager: true, Nodes: 1, Audit: true, CRDs: crds})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(n.cluster.Stop()).To(Succeed()) })
	n.admin, err = client.New(n.cluster.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	standIn, err := cnpgtest.Start(t.Context(), n.cluster.Config(), environment.HealthyPostgres(n.admin))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(standIn.Stop)
	logs, err := project.Path("out", "test", "deploy", "namespaced")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.RemoveAll(logs)).To(Succeed())
	n.discord, err = environment.StartDiscord(t.Context(), filepath.Join(logs, "discordtest.log"),
		environment.Guild{ID: guildID, Name: "The company"})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(n.discord.Shutdown(context.Background())).To(Succeed()) })

	objects := render(t, n.kustomization(t))
	g.Expect(manifests.Apply(t.Context(), n.admin, manifests.Without(objects, "Deployment", "PodDisruptionBudget"))).
		To(Succeed())
	for _, o := range environment.All {
		p, err := o.Start(t.Context(), n.cluster,
			environment.Command{Objects: objects, Log: filepath.Join(logs, o.Name+".log")})
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { g.Expect(p.Stop(20 * time.Second)).To(Succeed()) })
		g.Expect(p.AwaitReady(t.Context())).To(Succeed())
		n.operators[o.Name] = p
	}
	return n
}

func (n *namespaced) kustomization(t *testing.T) string {
	t.Helper()
	return writeKustomization(t, "install", func(up string) map[string]any {
		return map[string]any{
			"resources":  []string{up + installSample + "/namespaces", up + installSample},
			"components": []string{up + environment.Discord.Folder() + "/components/discord-compatible"},
			"configMapGenerator": []map[string]any{{
				"name": "discord-operator-api", "namespace": environment.Discord.Namespace,
				"literals": []string{"url=" + n.discord.APIURL()},
			}},
			"patches": []map[string]any{{
				"target": map[string]any{"kind": "Deployment", "name": environment.Dojo.Name},
				"patch": "- {op: add, path: /spec/template/spec/containers/0/args/-, value: --discord-api-url=" +
					n.discord.APIURL() + "}",
			}},
		}
	})
}

// Operators that watch some namespaces send no request about another namespace, except their own.
func TestNamespaced(t *testing.T) {
	t.Parallel()
	n := startNamespaced(t)
	g := NewWithT(t)
	g.Expect(n.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unwatched}})).To(Succeed())
	tenants := n.applyTenants(t)
	there := slices.DeleteFunc(slices.Clone(tenants), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Dojo" // the API server has no kinds of prometheus-operator yet, and Dojos wait for them
	})
	var elsewhere []*unstructured.Unstructured
	for _, namespace := range append(slices.Clone(teams), unwatched) {
		for _, o := range teamObjects(t, namespace) {
			// Until the status of a new quota is known, the API server refuses all objects that the
			// quota counts.
			g.Eventually(func() error { return n.admin.Create(t.Context(), o) }).WithTimeout(waitLimit).
				Should(Succeed(), "%s %s", o.GetKind(), o.GetName())
			switch {
			case o.GetKind() == "Secret":
			case namespace == unwatched:
				elsewhere = append(elsewhere, o)
			default:
				there = append(there, o)
			}
		}
	}
	for _, o := range there {
		g.Eventually(n.condition(t, o, "Ready")).WithTimeout(waitLimit).
			Should(Equal("True"), "%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	}

	t.Run("a quota refuses a DiscordServer of a team", n.refusesServers)
	t.Run("the operator uses kinds that are installed after its start", n.takesUpKinds)
	t.Run("the alerts of each team's Dojo have a channel of their own", func(t *testing.T) { n.showsAlerts(t, tenants) })
	t.Run("NetworkPolicies limit the clients of a team's pods", n.confinesTeams)
	t.Run("a Dojo may not use a Secret of an unwatched namespace", n.readsNoOtherSecret)
	t.Run("the garbage collector deletes a Secret that the operator may not delete", n.leavesSecretsToTheGarbageCollector)
	for _, o := range elsewhere {
		g.Expect(n.condition(t, o, "Ready")()).
			To(BeEmpty(), "%s %s/%s is not watched", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	for _, o := range environment.All {
		t.Run(o.Name+" sends requests about its own and the watched namespaces only", func(t *testing.T) { n.expectConfined(t, o) })
	}
}

func (n *namespaced) applyTenants(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	token, err := os.ReadFile(n.discord.TokenFile())
	g.Expect(err).NotTo(HaveOccurred())
	objects := render(t, tenantsSample)
	for _, o := range objects {
		if o.GetKind() == "Secret" {
			o.Object["stringData"] = map[string]any{"token": string(token)}
		}
	}
	g.Eventually(func() error { return manifests.Apply(t.Context(), n.admin, objects) }).WithTimeout(waitLimit).
		Should(Succeed(), "once the quotas' objects are counted")
	return manifests.Without(objects, "Secret")
}

func teamObjects(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	of := func(apiVersion, kind, name string, content map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: content}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetNamespace(namespace)
		o.SetName(name)
		return o
	}
	all := []*unstructured.Unstructured{
		of("core.jutsu.com/v1", "Dojo", "tokyo", map[string]any{"spec": map[string]any{
			"accountId": "Masamichi Yaga", "title": "Tokyo", "credentialsRef": map[string]any{"name": "dojo-app"},
		}}),
		of("discord.jutsu.com/v1alpha1", "DiscordChannel", "tokyo", map[string]any{"spec": map[string]any{
			"groupRef": map[string]any{"name": "alerts", "namespace": platform}, "name": namespace,
			"webhook": map[string]any{"name": "alertmanager"},
		}}),
	}
	for _, o := range render(t, "deploy/samples") {
		if o.GetKind() == "Secret" {
			o.SetNamespace(namespace)
			all = append(all, o)
		}
	}
	return all
}

func (n *namespaced) condition(t *testing.T, o *unstructured.Unstructured, kind string) func() string {
	return func() string { return n.field(t, o, kind, "status") }
}

func (n *namespaced) field(t *testing.T, o *unstructured.Unstructured, kind, field string) string {
	t.Helper()
	live := o.DeepCopy()
	if err := n.admin.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return c[field].(string)
		}
	}
	return ""
}

func (n *namespaced) refusesServers(t *testing.T) {
	server := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"tokenSecretRef": map[string]any{"name": "discord-bot"}, "serverId": guildID,
	}}}
	server.SetAPIVersion("discord.jutsu.com/v1alpha1")
	server.SetKind("DiscordServer")
	server.SetNamespace(teams[0])
	server.SetName("own")
	NewWithT(t).Expect(n.admin.Create(t.Context(), server)).To(MatchError(ContainSubstring("exceeded quota: jutsu")))
}

func (n *namespaced) showsAlerts(t *testing.T, tenants []*unstructured.Unstructured) {
	g := NewWithT(t)
	channels := map[string]bool{}
	for _, o := range tenants {
		if o.GetKind() != "Dojo" {
			continue
		}
		g.Eventually(n.condition(t, o, "Ready")).WithTimeout(waitLimit).Should(Equal("True"), o.GetNamespace())
		g.Expect(n.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		id, _, _ := unstructured.NestedString(o.Object, "status", "alerts", "channelId")
		g.Expect(id).NotTo(BeEmpty())
		channels[id] = true
	}
	g.Expect(channels).To(HaveLen(len(teams)))
}

func (n *namespaced) takesUpKinds(t *testing.T) {
	g := NewWithT(t)
	prometheus, err := testcluster.PrometheusOperatorCRDs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = envtest.InstallCRDs(n.cluster.Config(),
		envtest.CRDInstallOptions{Paths: []string{prometheus}, MaxTime: waitLimit})
	g.Expect(err).NotTo(HaveOccurred())
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1",
		Kind: "ServiceMonitor"})
	for _, namespace := range teams {
		n.patch(t, namespace, `{"spec":{"monitoring":{"enabled":true}}}`)
		g.Eventually(func() error {
			return n.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "tokyo"}, monitor)
		}).WithTimeout(waitLimit).Should(Succeed())
	}
}

func (n *namespaced) readsNoOtherSecret(t *testing.T) {
	dojo := n.patch(t, "team-a", `{"spec":{"credentialsRef":{"namespace":"`+unwatched+`"}}}`)
	g := NewWithT(t)
	g.Eventually(n.condition(t, dojo, "Degraded")).WithTimeout(waitLimit).Should(Equal("True"))
	g.Expect(n.field(t, dojo, "Degraded", "message")).
		To(ContainSubstring("team-c/dojo-app is in a namespace that this operator does not watch"))
}

func (n *namespaced) leavesSecretsToTheGarbageCollector(t *testing.T) {
	g := NewWithT(t)
	name := client.ObjectKey{Namespace: "team-a", Name: "tokyo-webhook"}
	g.Expect(n.admin.Get(t.Context(), name, &corev1.Secret{})).To(Succeed())
	c := &unstructured.Unstructured{}
	c.SetAPIVersion("discord.jutsu.com/v1alpha1")
	c.SetKind("DiscordChannel")
	c.SetNamespace(name.Namespace)
	c.SetName("tokyo")
	without := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"webhook":null}}`))
	g.Expect(n.admin.Patch(t.Context(), c, without)).To(Succeed())
	g.Eventually(func() error { return n.admin.Get(t.Context(), name, &corev1.Secret{}) }).WithTimeout(waitLimit).
		Should(MatchError(apierrors.IsNotFound, "not found"))
}

func (n *namespaced) patch(t *testing.T, namespace, merge string) *unstructured.Unstructured {
	t.Helper()
	dojo := &unstructured.Unstructured{}
	dojo.SetAPIVersion("core.jutsu.com/v1")
	dojo.SetKind("Dojo")
	dojo.SetNamespace(namespace)
	dojo.SetName("tokyo")
	if err := n.admin.Patch(t.Context(), dojo,
		client.RawPatch("application/merge-patch+json", []byte(merge))); err != nil {
		t.Fatal(err)
	}
	return dojo
}

// expectConfined expects no refused request and no request about an unrelated namespace.
func (n *namespaced) expectConfined(t *testing.T, o environment.Operator) {
	t.Helper()
	g := NewWithT(t)
	requests, err := rbacusage.Requests(n.cluster.AuditLog(), o.Namespace, o.Name)
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[string]bool{}
	for i := range requests {
		e := &requests[i]
		if rbacusage.Refused(e) {
			t.Errorf("refused: %s %s", e.Verb, e.RequestURI)
		}
		if e.ObjectRef == nil { // a path without an object
			continue
		}
		seen[e.ObjectRef.Namespace] = true
		if e.ObjectRef.Namespace == "" && e.ObjectRef.Resource != "customresourcedefinitions" {
			t.Errorf("asks for all namespaces: %s %s", e.Verb, e.RequestURI)
		}
	}
	delete(seen, "")
	want := map[string]bool{teams[0]: true, teams[1]: true, o.Namespace: true}
	if o == environment.Discord {
		want[platform] = true
	}
	g.Expect(seen).To(Equal(want))
	log, err := os.ReadFile(n.operators[o.Name].Log())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.ToLower(string(log))).NotTo(Or(ContainSubstring("forbidden"), ContainSubstring("unknown namespace")))
}
