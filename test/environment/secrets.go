// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Secrets is a set of texts that may appear only in Secret objects. It permits concurrent use.
type Secrets struct {
	mu  sync.Mutex
	all []string
}

// Add adds a secret and returns it.
func (s *Secrets) Add(secret string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.all, secret) {
		s.all = append(s.all, secret)
	}
	return secret
}

// In returns a secret that text contains: in plain text, in base64, or as the numbers that Go
// prints for bytes.
func (s *Secrets) In(text string) (secret string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.all {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)),
			fmt.Sprintf("%d", []byte(secret))} {
			if strings.Contains(text, form) {
				return secret, true
			}
		}
	}
	return "", false
}
