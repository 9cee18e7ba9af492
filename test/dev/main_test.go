// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"install":                        "",
		"install --context=prod":         "",
		"uninstall --keep-kinds":         "",
		"run --watch-namespaces=a,b":     "",
		"run --simulate-discord":         "",
		"":                               `"" is none of install, dependencies, run, uninstall`,
		"destroy":                        `"destroy" is none of`,
		"install now":                    `unexpected argument "now"`,
		"install --keep-kinds":           "only make uninstall takes --keep-kinds",
		"install --simulate-discord":     "make install takes neither --watch-namespaces, --simulate-discord",
		"uninstall --watch-namespaces=a": "make uninstall takes neither --watch-namespaces, --simulate-discord",
		"run --discord-listen=:8065":     "--discord-listen requires --simulate-discord",
		"run --unknown":                  "flag provided but not defined",
	} {
		_, err := parse(strings.Fields(line), io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

func TestLocalClusters(t *testing.T) {
	for at, want := range map[[2]string]bool{
		{"kind-kind", "https://203.0.113.5:6443"}:      true,
		{"k3d-jutsu", "https://0.0.0.0:40001"}:         true,
		{"minikube", "https://192.168.49.2:8443"}:      true,
		{"anything", "https://127.0.0.1:6443"}:         true,
		{"anything", "https://[::1]:6443"}:             true,
		{"anything", "https://localhost:6443"}:         true,
		{"prod", "https://203.0.113.5:6443"}:           false,
		{"prod", "https://localhost.example.com"}:      false,
		{"prod-kind-of", "https://api.example.com"}:    false,
		{"minikube-prod", "https://api.example.com"}:   false,
		{"prod", "://127.0.0.1"}:                       false,
		{"prod", "https://api.example.com/127.0.0.1/"}: false,
	} {
		if got := isLocal(at[0], at[1]); got != want {
			t.Errorf("%v: %t", at, got)
		}
	}
}

func TestRemoteClusterNeedsConfirmation(t *testing.T) {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nothing.Close() })
	far := target{context: "prod", server: "https://203.0.113.5"}
	const want = "name it: make dev CONTEXT=prod"
	if err := far.confirmed(&options{command: "run"}, nothing, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	far.named = true
	if err := far.confirmed(&options{command: "run"}, nothing, io.Discard); err != nil {
		t.Error(err)
	}
	for answer, confirmed := range map[string]bool{"y\n": true, "Yes\n": true, "Prod-EU\n": true, "prod-eu\n": false, "\n": false, "n\n": false, "": false} {
		var out bytes.Buffer
		if err := ask(strings.NewReader(answer), &out, "Prod-EU"); (err == nil) != confirmed {
			t.Errorf("%q: %v", answer, err)
		}
		if !strings.Contains(out.String(), "Go on with Prod-EU? [y/N]") {
			t.Error(out.String())
		}
	}
}

func TestNoContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	t.Setenv("KUBECONFIG", path)
	for name, want := range map[string]string{"": "kubectl has no current context", "prod": `there is no kubectl context "prod"`} {
		if _, err := findTarget(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestHeld(t *testing.T) {
	now := time.Unix(1000, 0)
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(now.Add(-renewed))
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(holder), RenewTime: &at, LeaseDurationSeconds: new(int32(15)),
		}}
	}
	for name, test := range map[string]struct {
		lease *coordinationv1.Lease
		want  string
	}{
		"no Lease":                               {nil, ""},
		"never held":                             {&coordinationv1.Lease{}, ""},
		"held":                                   {lease("pod-1", 3*time.Second), "pod-1"},
		"renewed exactly one lease duration ago": {lease("pod-1", 15*time.Second), "pod-1"},
		"expired":                                {lease("pod-1", 16*time.Second), ""},
		"released":                               {lease("", time.Second), ""},
	} {
		if got, _ := held(test.lease, now); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRefusalListsFewObjects(t *testing.T) {
	var objects []*unstructured.Unstructured
	for range 12 {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": "Dojo"}}
		o.SetNamespace("school")
		o.SetName("tokyo")
		objects = append(objects, o)
	}
	text := refusal(objects).Error()
	if n := strings.Count(text, "  Dojo school/tokyo\n"); n != 10 || !strings.Contains(text, "  and 2 more\n") {
		t.Errorf("%d are listed:\n%s", n, text)
	}
}

func TestAddressTowards(t *testing.T) {
	for _, server := range []string{"https://127.0.0.1:6443", "https://203.0.113.5:6443", "https://localhost:1", "nonsense"} {
		if address := addressTowards(server); net.ParseIP(address) == nil {
			t.Errorf("%s: %q is no address", server, address)
		}
	}
}
