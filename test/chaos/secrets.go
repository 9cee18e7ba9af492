// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"jutsu.com/operators/test/environment"
)

type secrets struct{ environment.Secrets }

// shortest is the least length of a secret. Shorter values, which users write by hand, are not
// secret.
const shortest = 12

func (s *secrets) add(secret string) {
	if len(secret) >= shortest {
		s.Add(secret)
	}
}

func (s *secrets) addFrom(key, value string) {
	switch key {
	case "token", "password", "DB_PASS":
		s.add(value)
	case "url": // .../webhooks/ID/TOKEN
		s.add(value)
		s.add(value[strings.LastIndex(value, "/")+1:])
	}
}

func (s *secrets) leaks(t text) (wrong violations) {
	if secret, found := s.In(t.what); found {
		wrong.add("no secret is revealed", t.where, "it holds a secret that begins with %s", secret[:4])
	}
	return wrong
}
