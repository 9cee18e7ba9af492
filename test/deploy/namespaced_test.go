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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/manifests"
	"jutsu.com/operators/libs/testcluster/project"
	"jutsu.com/operators/libs/testcluster/rbacusage"
	"jutsu.com/operators/test/environment"
)

const (
	installSample = "deploy/samples/install"
	guildID       = "1401681709430341704"
)

// The namespaces of the sample, and one that it does not name.
var teams, unwatched = []string{"team-a", "team-b"}, "team-c"

// namespaced is a cluster on which both operators run as deploy/samples/install says, with another
// Discord: with those arguments, and with those Roles alone.
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
	var err error
	n.cluster, err = testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true, Nodes: 1, Audit: true})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(n.cluster.Stop()).To(Succeed()) })
	n.admin, err = client.New(n.cluster.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	logs, err := project.Path("out", "test", "deploy", "namespaced")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.RemoveAll(logs)).To(Succeed())
	n.discord, err = environment.StartDiscord(t.Context(), guildID, "Jujutsu High",
		filepath.Join(logs, "discordtest.log"))
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

// kustomization is what a user would write who has this sample and another Discord.
func (n *namespaced) kustomization(t *testing.T) string {
	t.Helper()
	return writeKustomization(t, "install", func(up string) map[string]any {
		return map[string]any{
			"resources":  []string{up + installSample},
			"components": []string{up + environment.Discord.Folder() + "/components/discord-compatible"},
			"configMapGenerator": []map[string]any{{
				"name": "discord-operator-api", "namespace": environment.Discord.Namespace,
				"literals": []string{"url=" + n.discord.APIURL()},
			}},
		}
	})
}

// TestNamespaced shows that operators which may act in some namespaces alone work there, and ask
// for nothing anywhere else.
func TestNamespaced(t *testing.T) {
	n := startNamespaced(t)
	g := NewWithT(t)
	g.Expect(n.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unwatched}})).To(Succeed())
	token, err := os.ReadFile(n.discord.TokenFile())
	g.Expect(err).NotTo(HaveOccurred())
	var there, elsewhere []*unstructured.Unstructured
	for _, namespace := range append(slices.Clone(teams), unwatched) {
		for _, o := range inhabitants(t, namespace, string(token)) {
			g.Expect(n.admin.Create(t.Context(), o)).To(Succeed(), "%s %s", o.GetKind(), o.GetName())
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

	t.Run("kinds that appear later are taken up", n.takesUpKinds)
	t.Run("a Secret of a namespace that is not watched is not read", n.readsNoOtherSecret)
	for _, o := range elsewhere {
		g.Expect(n.condition(t, o, "Ready")()).
			To(BeEmpty(), "%s %s/%s is not watched", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	for _, o := range environment.All {
		t.Run(o.Name+" asks for nothing else", func(t *testing.T) { n.expectConfined(t, o) })
	}
}

// inhabitants are what a team has: the samples' Dojo with its credentials, and a Discord server
// with a channel.
func inhabitants(t *testing.T, namespace, token string) []*unstructured.Unstructured {
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
		of("v1", "Secret", "discord-bot", map[string]any{"stringData": map[string]any{"token": token}}),
		of("core.jutsu.com/v1", "Dojo", "tokyo", map[string]any{"spec": map[string]any{
			"accountId": "Masamichi Yaga", "title": "Tokyo", "credentialsRef": map[string]any{"name": "dojo-app"},
		}}),
		of("discord.jutsu.com/v1alpha1", "DiscordChannel", "tokyo", map[string]any{"spec": map[string]any{
			"serverRef": map[string]any{"name": "jujutsu"}, "name": namespace,
			"webhook": map[string]any{"name": "alertmanager"},
		}}),
	}
	if namespace != "team-b" { // one object alone may manage a server; team-c's would be Degraded if it were watched
		all = append(all, of("discord.jutsu.com/v1alpha1", "DiscordServer", "jujutsu", map[string]any{"spec": map[string]any{
			"tokenSecretRef": map[string]any{"name": "discord-bot"}, "serverId": guildID,
		}}))
	} else {
		all = slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "DiscordChannel" })
	}
	for _, o := range render(t, "deploy/samples") {
		if o.GetKind() == "Secret" {
			o.SetNamespace(namespace)
			all = append(all, o)
		}
	}
	return all
}

// condition returns a function that reads the status of a condition; empty while there is none.
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

// patch changes the Dojo of a team.
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

// expectConfined goes through all that an operator has asked the API server for.
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
		if e.ObjectRef == nil { // what the API server serves
			continue
		}
		seen[e.ObjectRef.Namespace] = true
		if e.ObjectRef.Namespace == "" && e.ObjectRef.Resource != "customresourcedefinitions" {
			t.Errorf("asks for all namespaces: %s %s", e.Verb, e.RequestURI)
		}
	}
	delete(seen, "")
	g.Expect(seen).To(Equal(map[string]bool{teams[0]: true, teams[1]: true, o.Namespace: true}))
	log, err := os.ReadFile(n.operators[o.Name].Log())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.ToLower(string(log))).NotTo(Or(ContainSubstring("forbidden"), ContainSubstring("unknown namespace")))
}
