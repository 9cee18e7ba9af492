// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Secrets holds texts, such as passwords, that may appear only in Secret objects. The zero value is
// ready for concurrent use.
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

// In returns the first secret that text contains. It finds three forms of a secret: plain text,
// base64 (the form of bytes in JSON), and a list of numbers (the form in which Go prints bytes).
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
