// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl"
)

func sendai(t *testing.T, changes ...func(*corev1api.Dojo)) *apitest.Server {
	t.Helper()
	d := apitest.Sendai(changes...)
	return apitest.New(t, append(apitest.Children(d), d)...)
}

func lost(t *testing.T) *apitest.Server {
	t.Helper()
	s := sendai(t, apitest.Lost)
	s.Remove(kinds.Cluster, apitest.Namespace, "sendai-db")
	s.Remove(kinds.Pod, apitest.Namespace, "sendai-db-1")
	s.Put(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "e1"}, Type: "Warning", Reason: "DatabaseLost",
		InvolvedObject: corev1.ObjectReference{Kind: "Dojo", Name: "sendai"}, LastTimestamp: apitest.At(24, 2, 51),
		Message: "The Cluster team-a/sendai-db is gone, with the data of the Dojo, and no empty one is created in its place.",
	}, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "e2"}, Type: "Normal", Reason: "Other",
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "of-others"}, LastTimestamp: apitest.At(24, 2, 52),
	})
	return s
}

func several() []client.Object {
	named := func(name string, changes ...func(*corev1api.Dojo)) client.Object {
		d := apitest.Sendai(changes...)
		d.Name = name
		return d
	}
	elsewhere := apitest.Sendai()
	elsewhere.Namespace, elsewhere.Name = "team-b", "osaka"
	condition := func(kind, status, reason, message string) func(*corev1api.Dojo) {
		return apitest.Set(apitest.Condition(kind, status, reason, message, apitest.At(24, 2, 0)))
	}
	return []client.Object{
		apitest.Sendai(), elsewhere, named("lost", apitest.Lost),
		named("new", func(d *corev1api.Dojo) {
			d.Status = corev1api.DojoStatus{ObservedGeneration: -1}
			d.CreationTimestamp = metav1.NewTime(apitest.Now)
		}),
		named("unread", func(d *corev1api.Dojo) { d.Generation = 2 }),
		named("outage", condition(conditions.TypeReady, "False", corev1api.ReasonReplicasUnavailable, "0 of 1 pods are ready."),
			condition(conditions.TypeProgressing, "True", corev1api.ReasonReplicasUnavailable, "0 of 1 pods are ready."),
			condition(conditions.TypeAvailable, "False", corev1api.ReasonNoReadyReplicas, "No pod is ready.")),
		named("rolling", condition(conditions.TypeReady, "False", corev1api.ReasonRollingOut, "0 of 1 pods are ready."),
			condition(conditions.TypeProgressing, "True", corev1api.ReasonRollingOut, "0 of 1 pods are ready.")),
		named("backups-fail", condition(corev1api.ConditionBackupSucceeded, "False", corev1api.ReasonBackupFailed, "exit status 2")),
		named("asleep", condition(conditions.TypeReady, "True", corev1api.ReasonSuspended, "It is suspended."),
			condition(conditions.TypeAvailable, "False", corev1api.ReasonSuspended, "It is suspended.")),
		named("deleted", func(d *corev1api.Dojo) {
			d.DeletionTimestamp, d.Finalizers = new(apitest.At(24, 2, 54)), []string{"x"}
		}, condition(conditions.TypeReady, "False", corev1api.ReasonTakingFinalBackup, "A backup runs."),
			condition(conditions.TypeProgressing, "True", corev1api.ReasonTakingFinalBackup, "A backup runs.")),
		named("others", func(d *corev1api.Dojo) {
			d.Spec.Postgres, d.Status.Database = nil, nil
			d.Spec.CredentialsRef = &corev1api.SecretReference{Name: "dojo-app"}
		}),
	}
}

func TestSee(t *testing.T) {
	t.Parallel()
	all := func(t *testing.T) *apitest.Server { return apitest.New(t, several()...) }
	ready := func(t *testing.T) *apitest.Server { return sendai(t) }
	blind := func(t *testing.T) *apitest.Server {
		s := sendai(t)
		s.Deny("get secrets", "list pods", "get clusters.postgresql.cnpg.io", "list backups.postgresql.cnpg.io")
		s.Uninstall("objectstores.barmancloud.cnpg.io", "httproutes.gateway.networking.k8s.io")
		return s
	}
	for name, c := range map[string]struct {
		server func(*testing.T) *apitest.Server
		args   string
		code   int
	}{
		"list":                  {all, "list", 0},
		"list everywhere":       {all, "list -A", 0},
		"list broken":           {all, "list --broken", 3},
		"list nothing broken":   {ready, "list --broken", 0},
		"list as yaml":          {ready, "list -o yaml", 0},
		"status ready":          {ready, "status sendai", 0},
		"status lost":           {lost, "status sendai", 3},
		"status blind":          {blind, "status sendai", 0},
		"status as json":        {lost, "status sendai -o json", 3},
		"status new":            {all, "status new", 0},
		"status unread":         {all, "status unread", 3},
		"status outage":         {all, "status outage", 3},
		"status backups fail":   {all, "status backups-fail", 3},
		"status asleep":         {all, "status asleep", 0},
		"status deleted":        {all, "status deleted", 0},
		"status others":         {all, "status others", 0},
		"tree ready":            {ready, "tree sendai", 0},
		"tree lost":             {lost, "tree sendai", 3},
		"tree blind":            {blind, "tree sendai", 0},
		"tree as yaml":          {lost, "tree sendai -o yaml", 3},
		"backups":               {ready, "backups sendai", 0},
		"backups lost":          {lost, "backups sendai", 0},
		"backups none":          {all, "backups new", 3},
		"backups as json":       {ready, "backups sendai -o json", 0},
		"version":               {ready, "version", 0},
		"restore plan in place": {ready, `restore sendai --to 02:45 --plan`, 0},
		"restore plan lost":     {lost, "restore sendai --plan", 0},
		"restore plan beside":   {ready, "restore sendai --to 02:45 --as past --plan", 0},
		"restore plan backup":   {ready, "restore sendai --backup sendai-db-20261122010000 --as past --plan", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.server(t)
			got := run(t, s, "", strings.Fields(c.args)...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d", got.code, c.code)
			}
			expectGolden(t, name, "$ kubectl dojo "+c.args+"\n"+got.String())
			if writes := s.Writes(); len(writes) > 0 {
				t.Errorf("the command has written %v", writes)
			}
		})
	}
}

func TestTreeShowsTrouble(t *testing.T) {
	t.Parallel()
	d := apitest.Sendai(func(d *corev1api.Dojo) {
		d.Spec.Exposure = &corev1api.Exposure{Ingress: &corev1api.IngressExposure{}}
	})
	s := apitest.New(t, append(apitest.Children(d), d)...)
	pod := &corev1.Pod{}
	s.Get(kinds.Pod, apitest.Namespace, "sendai-6f7c-x2p", pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "dojo", Image: "dojo:9", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
	}}}
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "sendai"}}
	database := &cnpgv1.Database{}
	s.Get(kinds.Database, apitest.Namespace, "sendai-db", database)
	database.Status = cnpgv1.DatabaseStatus{Applied: new(false), ObservedGeneration: 1, Message: "role does not exist"}
	going := &corev1.Secret{}
	s.Get(kinds.Secret, apitest.Namespace, "sendai-credentials", going)
	going.DeletionTimestamp, going.Finalizers = new(apitest.At(24, 2, 0)), []string{"x"}
	s.Put(pod, foreign, database, going)
	expectGolden(t, "tree trouble", run(t, s, "", "tree", "sendai").String())
}

func TestStatusKnowsFiringAlerts(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	am := kinds.Alertmanager.Object()
	am.SetNamespace("monitoring")
	am.SetName("main")
	s.Put(am)
	s.Proxy = func(w http.ResponseWriter, r *http.Request) {
		if filters := r.URL.Query()["filter"]; !slices.Contains(filters, `dojo="sendai"`) ||
			!slices.Contains(filters, `namespace="team-a"`) || r.URL.Path != "/api/v2/alerts" {
			t.Errorf("%s asks for %v", r.URL.Path, filters)
		}
		if q := r.URL.Query(); q.Get("silenced") != "false" || q.Get("inhibited") != "false" {
			t.Errorf("%v asks for suppressed alerts", q)
		}
		_, _ = w.Write([]byte(`[{"labels":{"alertname":"DojoDown"}},{"labels":{"alertname":"DojoDegraded"}}]`))
	}
	if got := run(t, s, "", "status", "sendai"); !strings.Contains(got.out, "2 firing: DojoDegraded, DojoDown") {
		t.Error(got)
	}
	s.Proxy = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[]`)) }
	if got := run(t, s, "", "status", "sendai"); !strings.Contains(got.out, "none firing") {
		t.Error(got)
	}
	s.Deny("get services/proxy")
	if got := run(t, s, "", "status", "sendai"); strings.Contains(got.out, "firing") || got.code != 0 {
		t.Error(got)
	}
}

func TestStatusFollows(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &syncBuffer{said: make(chan struct{}, 100)}
	done := make(chan int)
	kubeconfig := s.Kubeconfig(t, apitest.Namespace)
	go func() { done <- runInto(ctx, out, kubeconfig, "status", "sendai", "-w") }()
	<-out.said
	s.Put(apitest.Sendai(apitest.Lost))
	for !strings.Contains(out.String(), "DEGRADED  DatabaseLost") {
		<-out.said
	}
	cancel()
	if code := <-done; code != 0 {
		t.Errorf("status -w ends with %d", code)
	}
	if text := out.String(); !strings.HasPrefix(text, "READY  Reconciled") || strings.Count(text, "READY") != 1 {
		t.Errorf("status -w should print each state once: %s", text)
	}
}

func runInto(ctx context.Context, out *syncBuffer, kubeconfig string, args ...string) int {
	return Run(ctx, append([]string{"--kubeconfig", kubeconfig}, args...), kubectl.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out},
		Env:       func(string) string { return "" }, Clock: stillClock,
	})
}

type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
	said chan struct{}
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said <- struct{}{}
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
