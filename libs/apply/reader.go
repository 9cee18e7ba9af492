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

// Reader reads what a plan is made from.
type Reader struct {
	// Cache reads what watches have shown.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Expectations are our own writes that the cache has to show.
	Expectations *expectations.Set
	// Unchanged are the objects that their last write could not bring into sync.
	Unchanged Unchanged
}

// Get reads an object from the cache into the given one. It returns nil where there is none, and
// ErrStale where the cache does not show our last write of it yet.
func Get[L Live](ctx context.Context, r Reader, kind string, name types.NamespacedName, into L) (L, error) {
	var absent L
	err := r.Cache.Get(ctx, name, into)
	if client.IgnoreNotFound(err) != nil {
		return absent, fmt.Errorf("get %s %s: %w", kind, name, err)
	}
	shown := metav1.Object(into)
	if err != nil {
		shown, into = nil, absent
	}
	if !r.Expectations.Satisfied(expectations.Key{Kind: kind, NamespacedName: name}, shown) {
		return absent, ErrStale
	}
	return into, nil
}

// Metadata returns empty metadata of a kind of which the cache holds the metadata alone.
func Metadata(apiVersion, kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
}

// As turns a value of the Kubernetes API into another type with the same fields. Both are types of
// the API server's own JSON, so that it cannot fail on what the API server has admitted.
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

// ReadSecret reads a whole Secret from the API server; ErrStale where it has gone since the cache
// last saw it.
func (r Reader) ReadSecret(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := r.Live.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return nil, ErrStale
	} else if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return &secret, nil
}

// ConfirmAbsent asks the API server for a Secret that the cache does not have and that would be
// created now with something random in it: over one of ours that the cache shows late, even after
// ErrStale has given up, it would be another password than the one in use. It returns the metadata
// of the Secret, nil where there is none.
func (r Reader) ConfirmAbsent(ctx context.Context, name types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	live := Metadata("v1", "Secret")
	if err := r.Live.Get(ctx, name, live); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return live, nil
}
