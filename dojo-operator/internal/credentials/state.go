// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Keys are the keys that each Dojo's own Secret has. The application reads them as environment
// variables.
var Keys = []string{hostKey, "DB_PORT", "DB_NAME", "DB_USER", "DB_PASS"}

var mongoKeys = append(slices.Clone(Keys), URIKey)

const hostKey = "DB_ENDPOINT"

// ReadOnlyKey is the additional key for a database with standbys: the host of the standbys.
const ReadOnlyKey = "DB_READONLY_ENDPOINT"

// Optional returns keys that the Dojo's own Secret may lack.
func Optional(dojo *corev1api.Dojo) []string {
	if dojo.Spec.Postgres == nil {
		return nil
	}
	return []string{ReadOnlyKey}
}

// Name returns the name of the Dojo's own Secret.
func Name(dojo *corev1api.Dojo) string { return dojo.Name + "-credentials" }

// Config has the operator's flags. Empty Namespaces means all namespaces.
type Config struct {
	ProgressDeadline time.Duration
	Namespaces       []string
}

func (c Config) watches(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// State has the observed Secrets. A missing Secret is nil.
type State struct {
	Now time.Time
	// Nonce becomes the revision of changed credentials.
	Nonce string
	// Source has the metadata of the source Secret Name, Own the metadata of the Dojo's own Secret.
	Name types.NamespacedName
	Hosts
	Source, Own *metav1.PartialObjectMetadata
	// SourceSecret and OwnSecret are nil while Own is an unaltered copy of Source.
	SourceSecret, OwnSecret *corev1.Secret
}

// Hosts has the host of the standbys, and the host of the Pooler, which replaces the host in the
// source Secret. An empty host is not used.
type Hosts struct {
	ReadOnly string
	Pooler   string
}

// Generated is the source Secret of a Dojo with spec.postgres. A missing Secret is nil.
type Generated struct {
	Name types.NamespacedName
	Hosts
	Secret *metav1.PartialObjectMetadata
}

// ObserveOwn returns the metadata of the Secret that has the name of the Dojo's own Secret; nil if
// there is none. Another owner may have created the Secret.
func ObserveOwn(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (*metav1.PartialObjectMetadata, error) {
	own := types.NamespacedName{Namespace: dojo.Namespace, Name: Name(dojo)}
	return apply.Get(ctx, r, "Secret", own, apply.Metadata("v1", "Secret"))
}

// Observe reads the credentials. generated is nil for a Dojo with spec.credentialsRef.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, generated *Generated, cfg Config, now time.Time,
) (s State, err error) {
	s = State{Now: now, Nonce: rand.Text(), Name: dojo.CredentialsSource()}
	own := types.NamespacedName{Namespace: dojo.Namespace, Name: Name(dojo)}
	if s.Own, err = ObserveOwn(ctx, r, dojo); err != nil {
		return s, err
	}
	if generated != nil {
		s.Name, s.Source, s.Hosts = generated.Name, generated.Secret, generated.Hosts
	} else if cfg.watches(s.Name.Namespace) {
		s.Source, err = apply.Get(ctx, r, "Secret", s.Name, apply.Metadata("v1", "Secret"))
		if err != nil {
			return s, err
		}
	}
	if s.Source == nil || !ownership.Shared(dojo, s.Source) {
		return s, nil
	}
	if s.Conflict(dojo) != nil || copied(dojo, s.Own, s.Source, s.Hosts) {
		return s, err
	}
	// If the Secret own exists but the cache lacks it, the planned POST fails, and the operator skips
	// the writes that depend on the POST.
	if s.SourceSecret, err = r.ReadSecret(ctx, s.Name); err != nil || s.Own == nil {
		return s, err
	}
	s.OwnSecret, err = r.ReadSecret(ctx, own)
	return s, err
}

// Conflict returns an issue if another owner's Secret has the name of the Dojo's own Secret.
func (s *State) Conflict(dojo *corev1api.Dojo) *conditions.Issue {
	return ownership.NameConflict(dojo, "Secret", s.Own)
}
