// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/internal/netpol"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

var _ = Describe("Two teams of the sample that share one Discord server", longest, func() {
	It("see the alerts of their own Dojos only", func(ctx SpecContext) {
		platform := newWorld(ctx, "platform")
		a, b := &team{newWorld(ctx, "team-a"), "nagoya-jujutsu-high"}, &team{newWorld(ctx, "team-b"), "osaka-jujutsu-high"}
		both := []*team{a, b}
		step("the Dojo of each team has an image that does not exist")
		applyTenants(ctx, map[string]*world{"platform": platform, "team-a": a.world, "team-b": b.world})

		step("each team's alert shows in its own channel")
		for _, t := range both {
			Eventually(ctx, func() (string, error) { return t.condition(ctx, t.name, "AlertsReady") }).
				WithTimeout(eventually).Should(HavePrefix("True "))
		}
		for _, t := range both {
			Eventually(ctx, t.alerts).WithTimeout(eventually).Should(ContainElement("🔥 DojoDegraded · " + t.dojoName()))
		}
		Expect(channelsOnDiscord(ctx, TenantsGuild)).To(ConsistOf(HaveField("Name", "Alerts"),
			HaveField("Name", a.name+"-alerts"), HaveField("Name", b.name+"-alerts")))

		step("each team repairs its Dojo")
		for _, t := range both {
			t.patch(ctx, t.name, `{"spec":{"image":null}}`)
		}
		for _, t := range both {
			t.awaitReady(ctx, t.name)
			Eventually(ctx, t.alerts).WithTimeout(eventually).
				Should(ContainElement("✅ Resolved: DojoDegraded · " + t.dojoName()))
		}
		for _, t := range both { // after the last alert of both teams
			Eventually(ctx, t.alerts).Should(HaveEach(HaveSuffix(" · "+t.dojoName())), "no alert of the other team")
			t.expectMentions(ctx)
		}

		step("the NetworkPolicies of team a, which this node does not enforce, refuse connections of team b")
		a.expectConfined(ctx, b)
	}, SpecTimeout(2*eventually))
})

type team struct {
	*world
	name string // of the Dojo
}

func (t *team) dojoName() string { return t.namespace + "/" + t.name }

func (t *team) alerts(ctx context.Context) ([]string, error) {
	dojo, err := t.dojo(ctx, t.name)
	if err != nil {
		return nil, err
	}
	return titles(ctx, dojo.Status.Alerts.ChannelID)
}

var onCall = []any{
	map[string]any{"userId": "80351110224678912", "severities": []any{"warning"}},
	map[string]any{"roleId": "1401681709430341704"},
}

// expectMentions expects that each warning mentions only the user who is on call for warnings, and
// links to Alertmanager's form for a new silence. The message of a resolved alert has no mention
// and no such link.
func (t *team) expectMentions(ctx context.Context) {
	GinkgoHelper()
	dojo, err := t.dojo(ctx, t.name)
	Expect(err).NotTo(HaveOccurred())
	var posted []message
	Eventually(ctx, func() error { // retries, because Discord may rate-limit reads
		posted, err = messages(ctx, dojo.Status.Alerts.ChannelID)
		return err
	}).Should(Succeed())
	for _, m := range posted {
		Expect(m.Embeds).To(HaveLen(1))
		if resolved := strings.HasPrefix(m.Embeds[0].Title, "✅"); resolved {
			Expect(m.Content).To(BeEmpty())
			Expect(m.Embeds[0].Description).NotTo(ContainSubstring("silences"))
			continue
		}
		Expect(strings.TrimSpace(m.Content)).To(Equal("<@80351110224678912>"))
		Expect(m.Embeds[0].Description).To(ContainSubstring("/#/silences/new?filter=%7Balertname%3D%22Dojo"))
	}
}

// expectConfined evaluates the NetworkPolicies itself, because the node does not enforce them.
func (t *team) expectConfined(ctx context.Context, other *team) {
	GinkgoHelper()
	var policies networkingv1.NetworkPolicyList
	Expect(k8s.List(ctx, &policies, client.InNamespace(t.namespace))).To(Succeed())
	dojo := peerOf(ctx, t.namespace, "app.kubernetes.io/name=dojo")
	job := peerOf(ctx, t.namespace, "app.kubernetes.io/name=dojo-schema")
	database := peerOf(ctx, t.namespace, "cnpg.io/podRole=instance")
	prometheus := peerOf(ctx, "monitoring", "app.kubernetes.io/name=prometheus")
	prometheus.NamespaceLabels["metrics"] = "enabled" // an administrator of a real platform would set this label
	http := dojo.Pod.Spec.Containers[0].Ports[0].ContainerPort
	for _, c := range []struct {
		who      string
		from, to netpol.Peer
		port     int32
		want     bool
	}{
		{"Prometheus", prometheus, dojo, http, true},
		{"another team's Dojo", peerOf(ctx, other.namespace, "app.kubernetes.io/name=dojo"), dojo, http, false},
		{"the Dojo", dojo, database, 5432, true},
		{"its Job", job, database, 5432, true},
		{"CloudNativePG", peerOf(ctx, "cnpg-system", "app.kubernetes.io/name=cloudnative-pg"), database, 8000, true},
		{"another instance", database, database, 8000, true},
		{"Prometheus", prometheus, database, 9187, true},
		{"another team's Dojo", peerOf(ctx, other.namespace, "app.kubernetes.io/name=dojo"), database, 5432, false},
		{"another team's database", peerOf(ctx, other.namespace, "cnpg.io/podRole=instance"), database, 5432, false},
		{"Prometheus", prometheus, database, 5432, false},
	} {
		Expect(netpol.Allows(policies.Items, c.from, c.to, c.port)).
			To(Equal(c.want), "%s to port %d of pod %s", c.who, c.port, c.to.Pod.Name)
	}
}

func peerOf(ctx context.Context, namespace, label string) netpol.Peer {
	GinkgoHelper()
	selector, err := labels.Parse(label)
	Expect(err).NotTo(HaveOccurred())
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})).
		To(Succeed())
	Expect(pods.Items).NotTo(BeEmpty(), "pods with %s in %s", label, namespace)
	var in corev1.Namespace
	Expect(k8s.Get(ctx, client.ObjectKey{Name: namespace}, &in)).To(Succeed())
	return netpol.Peer{Pod: &pods.Items[0], NamespaceLabels: in.Labels}
}

func applyTenants(ctx context.Context, worlds map[string]*world) {
	GinkgoHelper()
	for _, folder := range []string{"namespaces", "tenants"} {
		path, err := project.Path("deploy", "samples", "install", folder)
		Expect(err).NotTo(HaveOccurred())
		objects, err := manifests.Render(path)
		Expect(err).NotTo(HaveOccurred())
		objects = manifests.Without(objects, "Namespace")
		for _, o := range objects {
			o.SetNamespace(worlds[o.GetNamespace()].namespace)
			switch o.GetKind() {
			case "Secret":
				o.Object["stringData"] = map[string]any{"token": installed.Bot}
			case "Dojo":
				Expect(unstructured.SetNestedField(o.Object, worlds["platform"].namespace,
					"spec", "alerts", "discord", "groupRef", "namespace")).To(Succeed())
				Expect(unstructured.SetNestedSlice(o.Object, onCall, "spec", "alerts", "discord", "mentions")).To(Succeed())
				Expect(unstructured.SetNestedField(o.Object, "jutsu/no-such-image:1", "spec", "image")).To(Succeed())
			}
		}
		Eventually(ctx, func() error { return manifests.Apply(ctx, k8s, objects) }).
			Should(Succeed(), "the apply should succeed once Kubernetes has counted the objects in the quotas")
	}
}
