// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
		"":                               `"" is none of install, dependencies, run (make dev), uninstall`,
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

func TestServedWaitsForABusyAPIServer(t *testing.T) {
	definition := &unstructured.Unstructured{Object: map[string]any{
		"kind":     crd,
		"metadata": map[string]any{"name": "dojos.core.jutsu.com"},
		"spec": map[string]any{"group": "core.jutsu.com", "names": map[string]any{"listKind": "DojoList"},
			"versions": []any{map[string]any{"name": "v1", "storage": true}}},
	}}
	resource := schema.GroupResource{Group: "core.jutsu.com", Resource: "dojos"}
	forbidden := apierrors.NewForbidden(resource, "", errors.New("no rule allows it"))
	for _, c := range []struct {
		name  string
		fails []error
		want  error
	}{
		{"served at once", nil, nil},
		{"busy", []error{apierrors.NewTimeoutError("busy", 1), apierrors.NewTooManyRequests("busy", 1),
			apierrors.NewServerTimeout(resource, "list", 1), apierrors.NewNotFound(resource, "")}, nil},
		{"forbidden", []error{forbidden}, forbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails := c.fails
			list := func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				if len(fails) == 0 {
					return nil
				}
				err := fails[0]
				fails = fails[1:]
				return err
			}
			slow := &target{client: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{List: list}).Build()}
			err := slow.served(t.Context(), []*unstructured.Unstructured{definition}, io.Discard)
			if !errors.Is(err, c.want) || len(fails) > 0 {
				t.Errorf("%v, %d answers are left; want %v", err, len(fails), c.want)
			}
		})
	}
}

func TestAddressTowards(t *testing.T) {
	for _, server := range []string{"https://127.0.0.1:6443", "https://203.0.113.5:6443", "https://localhost:1", "nonsense"} {
		if address := addressTowards(server); net.ParseIP(address) == nil {
			t.Errorf("%s: %q is no address", server, address)
		}
	}
}
