// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// probeTimeout limits the requests of a probe, so that a slow API server does not delay the
	// start for long.
	probeTimeout = 10 * time.Second
	// probeInterval is the interval in which the operator probes the namespaces that it omits.
	probeInterval = 15 * time.Second
)

// probe finds the namespaces that the operator may not read.
type probe struct {
	reader client.Reader
	kind   schema.GroupVersionKind // the kind that the operator lists
}

// omitForbidden removes each forbidden namespace from f.Namespaces, and returns a runnable that waits
// until one of them is permitted.
func (f *Flags) omitForbidden(
	ctx context.Context, kubeconfig *rest.Config, scheme *runtime.Scheme, kind client.Object,
) (omission, error) {
	nothing := omission(func(context.Context) error { return nil })
	if len(f.Namespaces) < 2 {
		return nothing, nil
	}
	reader, err := client.New(kubeconfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	gvk, err := apiutil.GVKForObject(kind, scheme)
	if err != nil {
		return nil, err
	}
	p := probe{reader, gvk}
	var omitted []string
	if f.Namespaces, omitted = p.split(ctx, f.Namespaces); omitted == nil {
		return nothing, nil
	}
	return func(ctx context.Context) error { return p.awaitOmitted(ctx, omitted, probeInterval) }, nil
}

// permitted reports whether the API server allows the operator to list the kind in a namespace. It
// returns true after any other error, because the watch repeats the request.
func (p probe) permitted(ctx context.Context, namespace string) bool {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(p.kind.GroupVersion().WithKind(p.kind.Kind + "List"))
	return !apierrors.IsForbidden(p.reader.List(ctx, list, client.InNamespace(namespace), client.Limit(1)))
}

// split divides the listed namespaces into the namespaces to watch and the namespaces to omit. The
// cache never syncs while it watches a forbidden namespace. So if split omitted none, a team that
// deletes its namespace with the operator's Role would prevent the operator's next start in all
// namespaces. If all namespaces are forbidden, split omits none, because the Roles may be created
// later than the operator.
func (p probe) split(ctx context.Context, namespaces []string) (watch, omit []string) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, namespace := range namespaces {
		if p.permitted(ctx, namespace) {
			watch = append(watch, namespace)
		} else {
			omit = append(omit, namespace)
		}
	}
	if watch == nil {
		return slices.Clone(namespaces), nil
	}
	return watch, omit
}

// awaitOmitted returns an error, which ends the process, once a namespace is permitted again. After
// the restart, the operator watches it.
func (p probe) awaitOmitted(ctx context.Context, omitted []string, interval time.Duration) error {
	ctrl.Log.Error(errors.New("forbidden"), "The operator omits namespaces that it may not read. Create its Role in "+
		"them, or remove them from --watch-namespaces.", "namespaces", omitted, "resource", p.kind.GroupKind().String())
	var found []string
	err := wait.PollUntilContextCancel(ctx, interval, false, func(ctx context.Context) (bool, error) {
		for _, namespace := range omitted {
			if p.permitted(ctx, namespace) && ctx.Err() == nil {
				found = append(found, namespace)
			}
		}
		return len(found) > 0, nil
	})
	if err != nil {
		return nil //nolint:nilerr // the process ends
	}
	return fmt.Errorf("restart to watch the namespaces %s: the operator may read them now", strings.Join(found, ", "))
}

// omission runs on a standby too.
type omission func(context.Context) error

func (o omission) Start(ctx context.Context) error { return o(ctx) }
func (omission) NeedLeaderElection() bool          { return false }
