// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/apply/expectations"
)

// Reader reads the objects from which a reconcile computes its [Plan].
type Reader struct {
	Cache        client.Reader // reads from the informers' cache
	Live         client.Reader // reads from the API server
	Expectations *expectations.Set
	Unchanged    Unchanged
}

// Get reads a cached object: nil if it is missing, ErrStale if the cache lacks our last write.
func Get[L Live](ctx context.Context, r Reader, kind string, name types.NamespacedName, into L) (L, error) {
	var absent L
	err := r.Cache.Get(ctx, name, into)
	if client.IgnoreNotFound(err) != nil {
		return absent, fmt.Errorf("get %s %s: %w", kind, name, err)
	}
	observed := metav1.Object(into)
	if err != nil {
		observed, into = nil, absent
	}
	if !r.Expectations.Satisfied(expectations.Key{Kind: kind, NamespacedName: name}, observed) {
		return absent, ErrStale
	}
	return into, nil
}

// Metadata returns an empty object of a kind that is cached as metadata only.
func Metadata(apiVersion, kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
}

// As converts a value to another type with the same JSON fields. It panics if the conversion fails.
func As[T any](in any) T {
	var out T
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// ReadSecret reads a whole Secret from the API server. It returns ErrStale if the Secret is gone.
func (r Reader) ReadSecret(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := r.Live.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return nil, ErrStale
	} else if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return &secret, nil
}

// ConfirmAbsent reads a Secret's metadata from the API server, and returns nil if the Secret is
// missing. If it read a lagging cache, the operator would create a second random password.
func (r Reader) ConfirmAbsent(ctx context.Context, name types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	live := Metadata("v1", "Secret")
	if err := r.Live.Get(ctx, name, live); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return live, nil
}
