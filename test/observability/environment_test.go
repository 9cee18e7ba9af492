// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

const (
	waitLimit = 3 * time.Minute
	// guildID is the id of the Discord server in the samples.
	guildID = "1401681709430341704"
)

var components = []string{"prometheus", "grafana"}

// stage has the objects of `make run` and a Prometheus that scrapes the ServiceMonitors.
type stage struct {
	*environment.Environment
	discord    *environment.DiscordProcess
	processes  map[string]*environment.Process // process of each operator
	prometheus *prometheus
	ask        func()       // sends some requests to the simulated application
	flood      atomic.Int64 // the number of extra series of the tenant's application
}

// newStage applies no samples, because Prometheus must see all changes that the samples cause.
func newStage(t *testing.T) *stage {
	t.Helper()
	env, err := environment.Start(t.Context(), environment.Options{
		Operators: environment.All, Components: components, Deployed: true,
		Cluster:       testcluster.Options{ControllerManager: true, Nodes: 2},
		CloudNativePG: environment.HealthyPostgres, Prometheus: true, Folder: t.TempDir(),
		Discord: environment.SimulatedDiscord(filepath.Join(t.TempDir(), "discordtest.log"),
			environment.Guild{ID: guildID, Name: "Jujutsu High"}),
	})
	must(t, err)
	t.Cleanup(func() { check(t, env.Stop()) })
	s := &stage{Environment: env, discord: env.Discord.(*environment.DiscordProcess),
		processes: map[string]*environment.Process{}}
	for _, o := range environment.All {
		p, err := s.StartOperator(t.Context(), o, o.Name+".log", "--zap-log-level=error")
		must(t, err)
		must(t, p.AwaitReady(t.Context()))
		s.processes[o.Name] = p
		deployed, err := manifests.CommandOf(s.Deployed(o), o.Name)
		must(t, err)
		NewWithT(t).Expect(deployed.Env).To(ContainElement(HavePrefix("GOMEMLIMIT=")), "a limit for the dashboards")
	}
	s.prometheus = startPrometheus(t, s)
	return s
}

func renderWith(t *testing.T, o environment.Operator, components ...string) []*unstructured.Unstructured {
	t.Helper()
	root, err := project.Root()
	must(t, err)
	objects, err := o.Render(root, "base", components...)
	must(t, err)
	return objects
}

func render(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	path, err := project.Path(folder)
	must(t, err)
	objects, err := manifests.Render(path)
	must(t, err)
	return objects
}

func (s *stage) applySamples(t *testing.T) {
	t.Helper()
	token, err := os.ReadFile(s.discord.TokenFile())
	must(t, err)
	for _, folder := range []string{"deploy/samples", "deploy/samples/discord"} {
		objects := render(t, folder)
		for _, o := range objects {
			switch {
			case o.GetKind() == "Dojo":
				must(t, unstructured.SetNestedField(o.Object, true, "spec", "monitoring", "enabled"))
			case o.GetKind() == "Secret" && o.GetName() == "discord-bot":
				must(t, unstructured.SetNestedField(o.Object, strings.TrimSpace(string(token)), "stringData", "token"))
			}
		}
		must(t, manifests.Apply(t.Context(), s.Admin, objects))
	}
	g := NewWithT(t)
	g.Eventually(func() []string { return s.notReady(t) }).WithTimeout(waitLimit).
		Should(BeEmpty(), "the samples are Ready")
}

func (s *stage) objects(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var found []unstructured.Unstructured
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		must(t, s.Admin.List(t.Context(), list))
		found = append(found, list.Items...)
	}
	return found
}

func (s *stage) notReady(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, o := range s.objects(t) {
		if !meta.IsStatusConditionTrue(conditionsOf(t, &o), conditions.TypeReady) {
			names = append(names, o.GetKind()+"/"+o.GetName())
		}
	}
	return names
}

func (s *stage) reason(t *testing.T, name string) string {
	t.Helper()
	for _, o := range s.objects(t) {
		if ready := meta.FindStatusCondition(conditionsOf(t, &o), conditions.TypeReady); o.GetName() == name &&
			ready != nil {
			return ready.Reason
		}
	}
	return ""
}

func conditionsOf(t *testing.T, o *unstructured.Unstructured) []metav1.Condition {
	t.Helper()
	var as struct {
		Status struct{ Conditions []metav1.Condition }
	}
	decode(t, o.Object, &as)
	return as.Status.Conditions
}

func (s *stage) exerciseOperators(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	s.patch(t, &corev1api.Dojo{ObjectMeta: named("kyoto-jujutsu-high")}, `{"spec":{"database":"Mongo"}}`)
	g.Eventually(func() string { return s.reason(t, "kyoto-jujutsu-high") }).WithTimeout(waitLimit).
		Should(Equal("CredentialsIncomplete"))
	s.patch(t, &corev1.Secret{ObjectMeta: named("dojo-app")}, `{"stringData":{"password":"rotated"}}`)
	s.patch(t, &corev1api.Dojo{ObjectMeta: named("tokyo-jujutsu-high")}, `{"spec":{"replicas":5}}`)
	lost := &v1alpha1.DiscordChannel{ObjectMeta: named("sendai-alerts")}
	lost.Spec.Name, lost.Spec.GroupRef = "sendai-alerts", &v1alpha1.GroupReference{Name: "missing"}
	must(t, s.Admin.Create(t.Context(), lost))
	must(t, s.Admin.Delete(t.Context(), &v1alpha1.DiscordChannel{ObjectMeta: named("kyoto-alerts")}))
	s.byHand(t, "tokyo-alerts", `{"topic":"nonsense"}`)

	g.Eventually(func(g Gomega) {
		g.Expect(s.notReady(t)).To(ConsistOf("Dojo/kyoto-jujutsu-high", "DiscordChannel/sendai-alerts"))
		g.Expect(s.reason(t, "sendai-alerts")).To(Equal("WaitingForGroup"))
		g.Expect(s.events(t)).To(ContainElements("DriftCorrected", "CredentialsRotated"))
		dojo := &corev1api.Dojo{}
		g.Expect(s.Admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "tokyo-jujutsu-high"}, dojo)).
			To(Succeed())
		g.Expect(dojo.Status.ReadyStatus).To(Equal("5/5"))
		gone := &v1alpha1.DiscordChannel{}
		g.Expect(client.IgnoreNotFound(
			s.Admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "kyoto-alerts"}, gone))).To(Succeed())
		g.Expect(gone.Name).To(BeEmpty())
	}).WithTimeout(waitLimit).Should(Succeed(), "the operators should process all changes")
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}
}

func (s *stage) patch(t *testing.T, o client.Object, patch string) {
	t.Helper()
	must(t, s.Admin.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func (s *stage) events(t *testing.T) []string {
	t.Helper()
	var list corev1.EventList
	must(t, s.Admin.List(t.Context(), &list, client.InNamespace(metav1.NamespaceDefault)))
	reasons := make([]string, 0, len(list.Items))
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

func (s *stage) byHand(t *testing.T, name, edit string) {
	t.Helper()
	channel := &v1alpha1.DiscordChannel{}
	must(t, s.Admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, channel))
	token, err := os.ReadFile(s.discord.AdminTokenFile())
	must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch,
		s.discord.APIURL()+"/channels/"+channel.Status.ChannelID, bytes.NewBufferString(edit))
	must(t, err)
	request.Header = http.Header{
		"Authorization": {"Bot " + strings.TrimSpace(string(token))}, "Content-Type": {"application/json"},
		"User-Agent": {"DiscordBot (by hand, 1)"},
	}
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	check(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("edit channel %s by hand: %s", name, answer.Status)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
