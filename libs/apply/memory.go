// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"

	"k8s.io/utils/lru"
)

const (
	knownParts = 1024
	maxPart    = 512
)

var parts = lru.New(knownParts)

type partKey struct {
	kind    reflect.Type
	content string
}

// Share returns an equal part from an earlier call if it is still remembered, or else part. Cached
// objects are immutable, so they may share parts.
func Share[T any, P interface {
	*T
	Marshal() ([]byte, error)
}](part P) P {
	if part == nil {
		return nil
	}
	content, err := part.Marshal()
	if err != nil || len(content) > maxPart {
		return part
	}
	return knownPart(reflect.TypeFor[T](), string(content), part)
}

// ShareStrings replaces each string by an equal string from an earlier call if that string is still
// remembered, to save memory.
func ShareStrings[S ~string](all ...*S) {
	for _, s := range all {
		if *s != "" && len(*s) <= maxPart {
			*s = S(knownPart(reflect.TypeFor[string](), string(*s), string(*s)))
		}
	}
}

func knownPart[T any](kind reflect.Type, content string, part T) T {
	key := partKey{kind, content}
	if known, ok := parts.Get(key); ok {
		return known.(T)
	}
	parts.Add(key, part)
	return part
}
