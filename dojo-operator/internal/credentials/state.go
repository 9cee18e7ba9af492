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

// Keys are the keys of the Dojo's own Secret: the environment that the application reads.
var Keys = []string{hostKey, "DB_PORT", "DB_NAME", "DB_USER", "DB_PASS"}

const hostKey = "DB_ENDPOINT"

// ReadOnlyKey is one more, of a database that has standbys.
const ReadOnlyKey = "DB_READONLY_ENDPOINT"

// Optional are the keys that the Dojo's own Secret may have too: whether it has them may change, and
// the pods must not roll before it does.
func Optional(d *corev1api.Dojo) []string {
	if d.Spec.Postgres == nil {
		return nil
	}
	return []string{ReadOnlyKey}
}

// Name is the name of the Dojo's own Secret.
func Name(d *corev1api.Dojo) string { return d.Name + "-credentials" }

// Config is what the operator's flags say.
type Config struct {
	// ProgressDeadline is how long the source may be missing before the Dojo is Degraded.
	ProgressDeadline time.Duration
	// Namespaces are those that are watched; none means all.
	Namespaces []string
}

func (c Config) watches(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// State is what there is of the credentials. What does not exist is nil.
type State struct {
	Now time.Time
	// Nonce is a random word for a new revision.
	Nonce string
	// Name is the name of the source; empty where the spec names none.
	Name types.NamespacedName
	Hosts
	// Source and Own are the metadata of the source and of the Dojo's own Secret.
	Source, Own *metav1.PartialObjectMetadata
	// SourceSecret and OwnSecret are read only where Own is not an unaltered copy of Source.
	SourceSecret, OwnSecret *corev1.Secret
}

// Hosts are those of a database that are not in the source.
type Hosts struct {
	// ReadOnly is that of the standbys; empty where there are none.
	ReadOnly string
	// Pooler is the one to connect to instead of the source's; empty for the source's.
	Pooler string
}

// Generated is the source of a Dojo with spec.postgres: the Secret with the password of its
// database.
type Generated struct {
	Name types.NamespacedName
	Hosts
	// Secret is its metadata, nil where it does not exist.
	Secret *metav1.PartialObjectMetadata
}

// ObserveOwn reads the metadata of the Dojo's own Secret, nil where it does not exist.
func ObserveOwn(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (*metav1.PartialObjectMetadata, error) {
	own := types.NamespacedName{Namespace: d.Namespace, Name: Name(d)}
	return apply.Get(ctx, r, "Secret", own, apply.Metadata("v1", "Secret"))
}

// Observe reads the credentials: those that were generated, nil where spec.credentialsRef names
// them.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, generated *Generated, cfg Config, now time.Time,
) (s State, err error) {
	s = State{Now: now, Nonce: rand.Text(), Name: d.CredentialsSource()}
	own := types.NamespacedName{Namespace: d.Namespace, Name: Name(d)}
	if s.Own, err = ObserveOwn(ctx, r, d); err != nil {
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
	if s.Source == nil || !ownership.Shared(d, s.Source) {
		return s, nil
	}
	// Where the cache does not show one that exists, its POST fails, and nothing is written that comes after it.
	if s.Conflict(d) != nil || copied(d, s.Own, s.Source, s.Hosts) {
		return s, err
	}
	if s.SourceSecret, err = r.ReadSecret(ctx, s.Name); err != nil || s.Own == nil {
		return s, err
	}
	s.OwnSecret, err = r.ReadSecret(ctx, own)
	return s, err
}

// Conflict is the issue with a foreign Secret that has the name of the Dojo's own.
func (s *State) Conflict(d *corev1api.Dojo) *conditions.Issue {
	return ownership.NameConflict(d, "Secret", s.Own)
}
