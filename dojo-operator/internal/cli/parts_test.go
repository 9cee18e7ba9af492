// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
)

func TestLogs(t *testing.T) {
	t.Parallel()
	d := apitest.Sendai()
	s := sendai(t)
	another := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: apitest.Namespace, Name: "sendai-6f7c-z9q", Labels: ownership.Selector(d),
	}}
	of := func(job, name string, day int) *corev1.Pod {
		labels := ownership.Labels(d, ownership.Schema)
		labels["batch.kubernetes.io/job-name"] = job
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: apitest.Namespace, Name: name, Labels: labels, CreationTimestamp: apitest.At(day, 0, 0),
		}}
	}
	s.Put(another, of("old", "old-1", 21), of("new", "new-1", 22), of("new", "new-2", 23))
	for pod, text := range map[string]string{
		"sendai-6f7c-x2p/dojo": "a\nb\n", "sendai-6f7c-z9q/dojo": "c", "new-1/dojo-schema": "first\n",
		"new-2/dojo-schema": "second\n", "sendai-db-1/postgres": "ready to accept connections\n",
	} {
		s.Logs[apitest.Namespace+"/"+pod] = text
	}
	for args, want := range map[string]string{
		"logs sendai":             "sendai-6f7c-x2p | a\nsendai-6f7c-x2p | b\nsendai-6f7c-z9q | c\n",
		"logs sendai application": "sendai-6f7c-x2p | a\nsendai-6f7c-x2p | b\nsendai-6f7c-z9q | c\n",
		"logs sendai schema":      "new-1 | first\nnew-2 | second\n",
		"logs sendai postgres":    "ready to accept connections\n",
	} {
		if got := run(t, s, "", strings.Fields(args)...); got.code != 0 || got.out != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	if got := run(t, s, "", "logs", "sendai", "postgres", "-f", "--tail", "5", "--since", "1m"); got.code != 0 {
		t.Error(got)
	}
	delete(s.Logs, apitest.Namespace+"/sendai-6f7c-z9q/dojo")
	if got := run(t, s, "", "logs", "sendai"); got.code != 1 ||
		!strings.Contains(got.err, "read the log of sendai-6f7c-z9q: container is waiting to start") {
		t.Error(got)
	}
	s.Remove(kinds.Pod, apitest.Namespace, "sendai-db-1")
	if got := run(t, s, "", "logs", "sendai", "postgres"); got.code != 1 || !strings.Contains(got.err, "no pod of a primary or a Job of the Cluster sendai-db was found") {
		t.Error(got)
	}
	s.Put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "filler", Labels: map[string]string{
			world.ClusterLabel: "sendai-db", world.JobRoleLabel: "full-recovery",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "full-recovery"}}},
	})
	s.Logs[apitest.Namespace+"/filler/full-recovery"] = "restoring\n"
	if got := run(t, s, "", "logs", "sendai", "postgres"); got.out != "restoring\n" {
		t.Error(got)
	}
}

func TestTestAlert(t *testing.T) {
	t.Parallel()
	am := kinds.Alertmanager.Object()
	am.SetNamespace("monitoring")
	am.SetName("main")
	am.Object["spec"] = map[string]any{"routePrefix": "/am"}
	for receiver, code := range map[string]int{"team-a/sendai/discord": 0, "null": 3, "silenced": 3} {
		s := sendai(t)
		s.Put(am)
		posted := 0
		s.Proxy = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/am/api/v2/alerts" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			if r.Method == http.MethodPost {
				posted++
				var alerts []postableAlert
				if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil || len(alerts) != 1 ||
					alerts[0].Labels["dojo"] != "sendai" || alerts[0].Labels["namespace"] != "team-a" ||
					alerts[0].EndsAt.Sub(alerts[0].StartsAt).Minutes() != 2 {
					t.Errorf("test-alert posts %v: %v", alerts, err)
				}
				return
			}
			if filters := r.URL.Query()["filter"]; !slices.Contains(filters, `severity="info"`) {
				t.Errorf("alerts of another severity are read: %s", filters)
			}
			state := "active"
			if receiver == "silenced" {
				if state = "suppressed"; r.URL.Query().Get("silenced") == "false" {
					_, _ = fmt.Fprint(w, "[]")
					return
				}
			}
			_, _ = fmt.Fprintf(w, `[{"labels":{"alertname":"DojoTest"},"receivers":[{"name":%q}],"status":{"state":%q}}]`, receiver, state)
		}
		got := run(t, s, "y\n", "test-alert", "sendai")
		if got.code != code || posted != 1 {
			t.Errorf("%s: %s posted %d times", receiver, got, posted)
		}
		expectGolden(t, "test-alert to "+strings.ReplaceAll(receiver, "/", " "), "$ kubectl dojo test-alert sendai\n"+got.String())
	}
	s := sendai(t)
	s.Proxy = func(http.ResponseWriter, *http.Request) { t.Error("a request is sent without the user's consent") }
	if got := run(t, s, "n\n", "test-alert", "sendai", "--alertmanager", "monitoring/am:9093"); got.code != 1 ||
		!strings.Contains(got.out, "Posts to Alertmanager monitoring/am:") {
		t.Error(got)
	}
}

func TestNoPrimary(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	for want, change := range map[string]func(){
		"Its instances: sendai-db-1 (Pending, primary). psql needs the pod of a ready primary: see kubectl dojo status sendai -n team-a": func() {
			pod := &corev1.Pod{}
			s.Get(kinds.Pod, apitest.Namespace, "sendai-db-1", pod)
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
			s.Put(pod)
		},
		"Its instances: none. ": func() { s.Remove(kinds.Pod, apitest.Namespace, "sendai-db-1") },
	} {
		change()
		if got := run(t, s, "", "psql", "sendai"); got.code != 1 || !strings.Contains(got.err, want) ||
			!strings.Contains(got.err, "the Cluster sendai-db has no primary that is ready. ") {
			t.Errorf("%s, want %q", got, want)
		}
		s = sendai(t)
	}
}

// TestPsqlElsewhere asserts that a Cluster in the wrong namespace never gets the password.
func TestPsqlElsewhere(t *testing.T) {
	t.Parallel()
	for host, problem := range map[string]string{
		"sendai-db-rw":                          "has no primary that is ready",
		"sendai-db-rw.team-a":                   "has no primary that is ready",
		"sendai-db-rw.team-a.svc":               "has no primary that is ready",
		"sendai-db-rw.team-a.svc.cluster.local": "has no primary that is ready",
		"sendai-db":                             "is not in a Cluster of CloudNativePG in the namespace team-a",
		"sendai-db-rw.team-b.svc":               "is not in a Cluster of CloudNativePG in the namespace team-a",
		"sendai-db-rw.team-b":                   "is not in a Cluster of CloudNativePG in the namespace team-a",
		"sendai-db-rw.team-a.example.com":       "is not in a Cluster of CloudNativePG in the namespace team-a",
	} {
		s := sendai(t, func(d *corev1api.Dojo) {
			d.Spec.Postgres = nil
			d.Spec.CredentialsRef = &corev1api.SecretReference{Name: "pg-app", Namespace: "team-b"}
		})
		s.Remove(kinds.Pod, apitest.Namespace, "sendai-db-1")
		secret := &corev1.Secret{}
		s.Get(kinds.Secret, apitest.Namespace, "sendai-credentials", secret)
		secret.Data["DB_ENDPOINT"] = []byte(host)
		s.Put(secret)
		if got := run(t, s, "", "psql", "sendai"); got.code != 1 || !strings.Contains(got.err, problem) {
			t.Errorf("%s: %s, want %q", host, got, problem)
		}
	}
}

// TestPassword asserts that the script reads the password from stdin, and that psql reads the rest.
func TestPassword(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	psql := "#!/bin/sh\necho \"$PGUSER $PGDATABASE $PGOPTIONS $PGPASSWORD $*\"\nexec cat\n"
	if err := os.WriteFile(filepath.Join(folder, "psql"), []byte(psql), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{Data: map[string][]byte{
		"DB_NAME": []byte("school"), "DB_USER": []byte("tokyo"), "DB_PASS": []byte("p4ss $word\\"),
	}}
	command := psqlCommand(secret, []string{"-c", "select 1"}, true)
	if text := strings.Join(command, " "); strings.Contains(text, "p4ss") {
		t.Errorf("the password is on the command line: %s", text)
	}
	var out bytes.Buffer
	hand := newHandshake(string(secret.Data["DB_PASS"]), strings.NewReader("select 2;\n"), &out)
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
	c.Stdin, c.Stdout = hand, hand
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	const want = "tokyo school -c default_transaction_read_only=on p4ss $word\\ -c select 1\nselect 2;\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestHandshakeWaits asserts that the password is sent only after the marker.
func TestHandshakeWaits(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	hand := newHandshake("x", strings.NewReader("typed"), &out)
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(hand)
		read <- string(text)
	}()
	for _, part := range []string{"Defaulted container\n", "\x01", "psql (18.1)\x01"} {
		select {
		case text := <-read:
			t.Fatalf("the handshake has sent %q before the marker", text)
		default:
		}
		if n, err := hand.Write([]byte(part)); err != nil || n != len(part) {
			t.Errorf("%d bytes of %q written: %v", n, part, err)
		}
	}
	if got := <-read; got != "x\ntyped" {
		t.Errorf("the handshake sends %q", got)
	}
	if got := out.String(); got != "Defaulted container\npsql (18.1)\x01" {
		t.Errorf("the user sees %q", got)
	}
}

func TestReadyPod(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9}, {Name: "http", ContainerPort: 8080}},
	}}}}
	for want, target := range map[int32]intstr.IntOrString{
		8080: intstr.FromString("http"), 3000: intstr.FromInt32(3000), 0: intstr.FromString("other"),
	} {
		if got := containerPort(pod, target); got != want {
			t.Errorf("%v is the port %d", target, got)
		}
	}
	s := sendai(t)
	s.Remove(kinds.Pod, apitest.Namespace, "sendai-6f7c-x2p")
	if got := run(t, s, "", "open", "sendai", "--port", "0"); got.code != 1 || !strings.Contains(got.err, "sendai has no ready pod") {
		t.Error(got)
	}
	s.Remove(kinds.Service, apitest.Namespace, "sendai")
	if got := run(t, s, "", "open", "sendai", "--port", "0"); got.code != 1 || !strings.Contains(got.err, "sendai has no Service yet") {
		t.Error(got)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, several()...)
	for args, want := range map[string]string{
		"__complete status o":          "others\noutage\n:4\n",
		"__complete logs sendai ":      "application\nschema\npostgres\n:4\n",
		"__complete list -o ":          "json\nyaml\n:4\n",
		"__complete status sendai ":    ":4\n",
		"__complete status zzz":        ":4\n",
		"__complete accept":            "accept-loss\tAccept that the data of a lost Cluster is gone, and begin anew\n:4\n",
		"__complete status -n team-b ": "osaka\n:4\n",
	} {
		words := strings.Split(args, " ")
		file := s.Kubeconfig(t, apitest.Namespace)
		got := runWith(t.Context(), "", "", append(words[:1:1], append([]string{"--kubeconfig", file}, words[1:]...)...)...)
		if got.code != 0 || got.out != want {
			t.Errorf("%q: %s, want %q", args, got, want)
		}
	}
	if got := run(t, s, "", "completion", "bash"); got.code != 0 || !strings.Contains(got.out, "kubectl-dojo") {
		t.Error(got)
	}
}
