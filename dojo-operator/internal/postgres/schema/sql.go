// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

// maxSQL limits the size of all SQL in bytes, because the operator reads the SQL into memory.
const maxSQL = 4 << 20

var errTooLarge = errors.New("too much SQL")

type source struct {
	kind string
	name types.NamespacedName
	key  string
}

func sources(dojo *corev1api.Dojo) (all []source) {
	for _, s := range dojo.Spec.Postgres.InitSQL {
		kind, ref := "ConfigMap", s.ConfigMapKeyRef
		if s.SecretKeyRef != nil {
			kind, ref = "Secret", s.SecretKeyRef
		}
		all = append(all, source{kind, types.NamespacedName{Namespace: dojo.Namespace, Name: ref.Name}, ref.Key})
	}
	return all
}

type object struct {
	kind string
	name types.NamespacedName
}

func read(ctx context.Context, r apply.Reader, all []source) (contents []string, missing string, err error) {
	remaining, texts := maxSQL, map[source]string{}
	known := map[object]bool{}
	for _, source := range all {
		holder := object{source.kind, source.name}
		if !known[holder] {
			known[holder] = true
			if err := holder.read(ctx, r, all, texts, &remaining); err != nil {
				return nil, "", err
			}
		}
		text, found := texts[source]
		if !found {
			return nil, fmt.Sprintf("key %s of the %s %s", source.key, source.kind, source.name), nil
		}
		contents = append(contents, fmt.Sprint(source), text)
	}
	return contents, "", nil
}

// read returns ErrStale for an object that is in the cache, but no longer exists in the API server.
func (o object) read(ctx context.Context, r apply.Reader, all []source, texts map[source]string, remaining *int) error {
	value, err := o.readValues(ctx, r)
	if err != nil {
		return err
	}
	for _, source := range all {
		if _, done := texts[source]; done || source.kind != o.kind || source.name != o.name {
			continue
		}
		text, size, found, err := value(source.key)
		if err != nil {
			return err
		}
		if *remaining -= size; *remaining < 0 {
			return errTooLarge
		}
		if found {
			texts[source] = text
		}
	}
	return nil
}

func (o object) readValues(
	ctx context.Context, r apply.Reader,
) (func(key string) (text string, size int, found bool, err error), error) {
	if o.kind == "Secret" {
		secret, err := r.ReadSecret(ctx, o.name)
		return func(key string) (string, int, bool, error) {
			data, found := secret.Data[key]
			if !found {
				return "", 0, false, nil
			}
			text, err := slowHash(string(secret.UID), data)
			return text, len(data), found, err
		}, err
	}
	var live corev1.ConfigMap
	if err := r.Live.Get(ctx, o.name, &live); apierrors.IsNotFound(err) {
		return nil, apply.ErrStale
	} else if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", o.name, err)
	}
	return func(key string) (string, int, bool, error) {
		if data, found := live.BinaryData[key]; found {
			return string(data), len(data), true, nil
		}
		text, found := live.Data[key]
		return text, len(text), found, nil
	}, nil
}

// hashIterations makes it expensive to guess a password in a Secret's SQL from the public digest.
const hashIterations = 200_000

var hashes = lru.New(4096)

// hashing admits one computation at a time, so that one tenant occupies at most one core.
var hashing sync.Mutex

func slowHash(uid string, data []byte) (string, error) {
	hashing.Lock()
	defer hashing.Unlock()
	key := sha256.Sum256(append([]byte(uid+" "), data...))
	if known, ok := hashes.Get(key); ok {
		return known.(string), nil
	}
	hash, err := pbkdf2.Key(sha256.New, string(data), []byte(uid), hashIterations, sha256.Size)
	if err == nil {
		hashes.Add(key, hex.EncodeToString(hash))
	}
	return hex.EncodeToString(hash), err
}
