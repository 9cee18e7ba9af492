// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"
)

// guarded refuses to list in some namespaces.
type guarded struct {
	client.Reader
	err map[string]error
	// granted reports whether all errors have ended.
	granted atomic.Bool
}

func (g *guarded) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if g.granted.Load() {
		return nil
	}
	return g.err[o.Namespace]
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "dojos"}, "", errors.New("no Role"))

func TestForbiddenNamespacesAreOmitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err         map[string]error
		watch, omit []string
	}{
		"all are permitted":  {nil, []string{"a", "b", "c"}, nil},
		"one is forbidden":   {map[string]error{"b": errForbidden}, []string{"a", "c"}, []string{"b"}},
		"all are forbidden":  {map[string]error{"a": errForbidden, "b": errForbidden, "c": errForbidden}, []string{"a", "b", "c"}, nil},
		"one is unreachable": {map[string]error{"b": context.DeadlineExceeded}, []string{"a", "b", "c"}, nil},
	} {
		p := probe{&guarded{err: c.err}, corev1.SchemeGroupVersion.WithKind("Dojo")}
		watch, omit := p.split(t.Context(), []string{"a", "b", "c"})
		if diff := cmp.Diff([][]string{c.watch, c.omit}, [][]string{watch, omit}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheProcessEndsOnceANamespaceIsPermitted(t *testing.T) {
	t.Parallel()
	reader := &guarded{err: map[string]error{"b": errForbidden}}
	p := probe{reader, corev1.SchemeGroupVersion.WithKind("Dojo")}
	ended := make(chan error)
	go func() { ended <- p.awaitOmitted(t.Context(), []string{"b"}, time.Millisecond) }()
	select {
	case err := <-ended:
		t.Fatalf("it ends although the namespace is forbidden: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	reader.granted.Store(true)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "restart to watch the namespaces b:") {
		t.Error(err)
	}

	reader.granted.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.awaitOmitted(ctx, []string{"b"}, time.Millisecond); err != nil {
		t.Errorf("at the end of the process: %v", err)
	}
}
