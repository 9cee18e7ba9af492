// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"jutsu.com/operators/test/environment"
)

// secrets are all that there ever were: tokens of the bot, URLs and tokens of webhooks, passwords
// of databases.
type secrets struct{ environment.Secrets }

// shortest is how long a secret has to be to be searched for: shorter ones are what edits by hand
// have written.
const shortest = 12

func (s *secrets) add(secret string) {
	if len(secret) >= shortest {
		s.Add(secret)
	}
}

// addFrom adds the value of a key of a Secret, where that is a secret.
func (s *secrets) addFrom(key, value string) {
	switch key {
	case "token", "password", "DB_PASS":
		s.add(value)
	case "url": // of a webhook: .../webhooks/ID/TOKEN
		s.add(value)
		s.add(value[strings.LastIndex(value, "/")+1:])
	}
}

// leaks searches a text for every secret.
func (s *secrets) leaks(t text) (wrong violations) {
	if secret, found := s.In(t.what); found {
		wrong.add("no secret is revealed", t.where, "it holds a secret that begins with %s", secret[:4])
	}
	return wrong
}
