// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/internal/former"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

const (
	waitLimit = 2 * time.Minute
	// sampleServer is the id of the Discord server in the samples.
	sampleServer = "1401681709430341704"
	// owned is the sample Dojo with its own database and alerts.
	owned = "sendai-jujutsu-high"

	bothUpgraded = "both upgraded"
)

// TestSkew upgrades one operator after the other, then rolls them back. All samples stay Ready, and
// no version changes pods or objects of the other version.
func TestSkew(t *testing.T) {
	s := startSkew(t)
	s.start(environment.Dojo, s.before[environment.Dojo.Name])
	s.start(environment.Discord, s.before[environment.Discord.Name])
	s.applySamples(s.before[environment.Dojo.Name].root)
	s.use("both of the former release")
	for _, step := range []struct {
		name string
		o    environment.Operator
		back bool
	}{
		{"an upgraded dojo-operator beside the former discord-operator", environment.Dojo, false},
		{bothUpgraded, environment.Discord, false},
		{"the former dojo-operator beside an upgraded discord-operator", environment.Dojo, true},
		{"both operators of the former release again", environment.Discord, true},
	} {
		s.run(step.name, func() {
			to := s.now
			if step.back {
				to = s.before[step.o.Name]
			}
			written := s.written()
			s.start(step.o, to)
			s.scale()
			s.Expect(s.written()).To(Equal(written))
			if step.name == bothUpgraded { // the former release may not know this field and some of the samples
				s.applySamples(to.root)
				s.patch(dojoKind, owned, `{"spec":{"rollout":{"minReadySeconds":1}}}`)
			}
			s.use(step.name)
		})
	}
}

type version struct {
	name   string // empty for this checkout
	root   string
	binary string
}

type skew struct {
	*WithT
	*environment.Environment
	t        *testing.T
	logs     string
	token    string
	now      version            // this checkout
	before   map[string]version // former releases, by the operator's name
	running  map[string]*environment.Process
	replicas int
	color    int
}

func startSkew(t *testing.T) *skew {
	t.Helper()
	log.SetLogger(logr.Discard())
	s := &skew{WithT: NewWithT(t), t: t, before: map[string]version{}, running: map[string]*environment.Process{}}
	root, err := project.Root()
	s.Expect(err).NotTo(HaveOccurred())
	s.now.root = root
	for _, o := range environment.All {
		s.before[o.Name] = s.build(o)
	}
	s.logs = t.TempDir()
	var discord *environment.DiscordProcess
	s.Environment, err = environment.Start(t.Context(), environment.Options{
		Operators:     environment.All,
		Cluster:       testcluster.Options{ControllerManager: true, Nodes: 3},
		CloudNativePG: environment.HealthyPostgres, Prometheus: true, Folder: s.logs,
		Discord: func(ctx context.Context) (_ environment.DiscordAPI, err error) {
			discord, err = environment.StartDiscord(ctx, filepath.Join(s.logs, "discordtest.log"),
				environment.Guild{ID: sampleServer, Name: "Jujutsu High"})
			return discord, err
		},
	})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		for _, p := range s.running {
			if t.Failed() {
				t.Logf("the last lines of %s:\n%s", p.Log(), p.Tail())
			}
			s.Expect(p.Stop(environment.Grace)).To(Succeed())
		}
		s.Expect(s.Stop()).To(Succeed())
	})
	token, err := os.ReadFile(discord.TokenFile())
	s.Expect(err).NotTo(HaveOccurred())
	s.token = string(bytes.TrimSpace(token))
	return s
}

// build uses -trimpath, so that the temporary path does not prevent use of the Go cache.
func (s *skew) build(o environment.Operator) version {
	s.t.Helper()
	r, err := former.CheckOut(s.t.Context(), o.Name, filepath.Join(s.t.TempDir(), o.Name))
	s.Expect(err).NotTo(HaveOccurred())
	v := version{name: r.Version, root: r.Folder, binary: filepath.Join(r.Folder, "bin", o.Name)}
	build := exec.CommandContext(s.t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w -X main.version="+v.name,
		"-o="+v.binary, "./cmd/"+o.Name)
	build.Dir = filepath.Join(r.Folder, o.Name)
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := build.CombinedOutput()
	s.Expect(err).NotTo(HaveOccurred(), "%s", out)
	return v
}

func (s *skew) run(name string, step func()) {
	outer, outerT := s.WithT, s.t
	if s.t.Failed() {
		return
	}
	s.t.Run(name, func(t *testing.T) {
		s.WithT, s.t = NewWithT(t), t
		step()
	})
	s.WithT, s.t = outer, outerT
}

// start replaces the running operator by version v with its CRDs and permissions.
func (s *skew) start(o environment.Operator, v version) {
	s.t.Helper()
	ctx := s.t.Context()
	if p := s.running[o.Name]; p != nil {
		s.Expect(p.Stop(environment.Grace)).To(Succeed())
	}
	objects, err := o.Render(v.root, "base")
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(manifests.Apply(ctx, s.Admin, manifests.Without(objects, "Deployment", "PodDisruptionBudget"))).To(Succeed())
	output := filepath.Join(s.logs, o.Name+cmp.Or(v.name, "-now")+".log")
	p, err := o.Start(ctx, s.Cluster, environment.Command{Binary: v.binary, Log: output, Args: []string{
		"--discord-api-url=" + s.Discord.APIURL(), "--zap-encoder=console",
	}})
	s.Expect(err).NotTo(HaveOccurred())
	s.running[o.Name] = p
	s.Expect(p.AwaitReady(ctx)).To(Succeed())
	if v.name != "" {
		text, err := os.ReadFile(output)
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(text).To(MatchRegexp(`starting.*"version": "` + regexp.QuoteMeta(v.name) + `"`))
	}
}

func (s *skew) applySamples(root string) {
	s.t.Helper()
	for _, folder := range []string{"deploy/samples/discord", "deploy/samples"} {
		objects, err := manifests.Render(filepath.Join(root, folder))
		s.Expect(err).NotTo(HaveOccurred())
		for _, o := range objects {
			if o.GetKind() == "Secret" && o.GetName() == "discord-bot" {
				o.Object["stringData"] = map[string]any{"token": s.token}
			}
		}
		s.Expect(manifests.Apply(s.t.Context(), s.Admin, objects)).To(Succeed())
	}
	s.awaitReady()
}

// use edits no channel, because Discord allows only two changes of a topic in ten minutes.
func (s *skew) use(name string) {
	s.t.Helper()
	login, _, _ := unstructured.NestedString(s.get(dojoKind, owned).Object, "status", "database", "login")
	s.patch(dojoKind, owned, `{"metadata":{"annotations":{"core.jutsu.com/rotate-password":%q}}}`, name)
	s.color += 0x10
	s.patch(roleKind, "on-call", `{"spec":{"color":"#0000%02X"}}`, s.color)
	s.Eventually(func() map[string]any {
		database, _, _ := unstructured.NestedMap(s.get(dojoKind, owned).Object, "status", "database")
		return database
	}).WithTimeout(waitLimit).Should(And(HaveKeyWithValue("login", Not(Equal(login))), Not(HaveKey("formerLogin"))))
	s.awaitReady()
}

// scale makes a change that is reported as reconciled only if the operator works.
func (s *skew) scale() {
	s.t.Helper()
	s.replicas = (s.replicas + 1) % 2
	for _, o := range s.list(dojoKind) {
		s.patch(dojoKind, o.GetName(), `{"spec":{"replicas":%d}}`, 2+s.replicas)
	}
	for _, kind := range []schema.GroupVersionKind{channelKind, groupKind} {
		for _, o := range s.list(kind) {
			if o.GetOwnerReferences() == nil {
				s.patch(kind, o.GetName(), `{"spec":{"position":%d}}`, 2+s.replicas)
			}
		}
	}
	s.awaitReady()
}

var (
	dojoKind    = schema.GroupVersionKind{Group: "core.jutsu.com", Version: "v1", Kind: "Dojo"}
	channelKind = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordChannel"}
	groupKind   = channelKind.GroupVersion().WithKind("DiscordGroup")
	roleKind    = channelKind.GroupVersion().WithKind("DiscordRole")
	serverKind  = channelKind.GroupVersion().WithKind("DiscordServer")
)

func (s *skew) awaitReady() {
	s.t.Helper()
	s.Eventually(func() (not []string) {
		for _, kind := range []schema.GroupVersionKind{dojoKind, channelKind, groupKind, roleKind, serverKind} {
			for _, o := range s.list(kind) {
				observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
				ready := readyOf(&o)
				if observed != o.GetGeneration() || ready["status"] != "True" {
					not = append(not, fmt.Sprintf("%s %s of generation %d (%d observed): %s: %s", kind.Kind, o.GetName(),
						o.GetGeneration(), observed, ready["reason"], ready["message"]))
				}
			}
		}
		return not
	}).WithTimeout(waitLimit).Should(BeEmpty())
}

func readyOf(o *unstructured.Unstructured) map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, _ := c.(map[string]any); c["type"] == "Ready" {
			return c
		}
	}
	return nil
}

// written maps each object to its UID and its generation. For a Secret, written takes the
// resourceVersion, and for Discord kinds the result of onDiscord. written omits the generations of
// PrometheusRules, because alert texts differ between versions, and of Deployments and ReplicaSets,
// which the test scales.
func (s *skew) written() map[string]string {
	s.t.Helper()
	found := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"},
		{Group: "postgresql.cnpg.io", Version: "v1", Kind: "DatabaseRole"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		{Group: "monitoring.coreos.com", Version: "v1alpha1", Kind: "AlertmanagerConfig"},
		channelKind, groupKind, roleKind,
	} {
		objects := s.list(kind)
		s.Expect(objects).NotTo(BeEmpty(), kind.Kind)
		for _, o := range objects {
			said := fmt.Sprintf("generation %d", o.GetGeneration())
			switch kind.Kind {
			case "Secret":
				said = "version " + o.GetResourceVersion()
			case "Deployment", "ReplicaSet", "PrometheusRule":
				said = "there"
			case channelKind.Kind, groupKind.Kind, roleKind.Kind:
				said = s.onDiscord(&o)
			}
			found[kind.Kind+" "+o.GetName()] = said + " of " + string(o.GetUID())
		}
	}
	return found
}

// onDiscord returns the Discord ids in the status. It adds the generation only if the object has an
// owner, because the test edits Discord objects without an owner.
func (s *skew) onDiscord(o *unstructured.Unstructured) string {
	var said []string
	for _, field := range []string{"channelId", "groupId", "roleId"} {
		id, _, _ := unstructured.NestedString(o.Object, "status", field)
		said = append(said, id)
	}
	if o.GetOwnerReferences() != nil {
		said = append(said, fmt.Sprintf("generation %d", o.GetGeneration()))
	}
	return strings.Join(said, " ")
}

func (s *skew) list(kind schema.GroupVersionKind) []unstructured.Unstructured {
	s.t.Helper()
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind)
	s.Expect(s.Admin.List(s.t.Context(), &list, client.InNamespace("default"))).To(Succeed())
	return slices.Clone(list.Items)
}

func (s *skew) get(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	s.Expect(s.Admin.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, o)).To(Succeed())
	return o
}

func (s *skew) patch(kind schema.GroupVersionKind, name, patch string, args ...any) {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace("default")
	o.SetName(name)
	s.Expect(s.Admin.Patch(s.t.Context(), o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, patch, args...)))).
		To(Succeed())
}
