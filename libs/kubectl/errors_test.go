// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	p := &Plugin{Server: "https://k8s", Missing: "Install it.", Roles: func(verb, resource string) string {
		return map[string]string{"get pods/log": "viewer"}[verb+" "+resource]
	}, kinds: []Kind{KindOf(schema.GroupVersion{Group: "example.com", Version: "v1"}, "Class", "classes").Global()}}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	denied := func(verb, resource, group, where string) error {
		return apierrors.NewForbidden(schema.GroupResource{}, "x", fmt.Errorf(
			`User "yuji" cannot %s resource %q in API group %q%s`, verb, resource, group, where))
	}
	for want, err := range map[string]error{
		"": ErrIll, "x": errors.New("x"), "interrupted": fmt.Errorf("wait: %w", context.Canceled),
		"the API server https://k8s does not accept your credentials. Log in again, or name another --context.": apierrors.
			NewUnauthorized("no"),
		"you (yuji) may not get pods/log in the namespace a. Ask an administrator for a RoleBinding to the ClusterRole viewer.": denied(
			"get", "pods/log", "", ` in the namespace "a"`),
		"you (yuji) may not list things.example.com in all namespaces; leave -A out, and name a namespace with -n.": denied(
			"list", "things", "example.com", " at the cluster scope"),
		"you (yuji) may not list classes.example.com.": denied("list", "classes", "example.com", " at the cluster scope"),
	} {
		if got := p.explain(canceled, err); got != want {
			t.Errorf("%v is explained as %q, want %q", err, got, want)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		0: {nil}, 1: {ErrNotConfirmed, errors.New("x")}, 2: {fmt.Errorf("y: %w", Usage("x"))}, 3: {fmt.Errorf("y: %w", ErrIll)},
	} {
		for _, err := range errs {
			if got := ExitCode(err); got != want {
				t.Errorf("%v: %d, want %d", err, got, want)
			}
		}
	}
}
