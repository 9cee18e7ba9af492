package main

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
)

// words are all secrets that there ever were: tokens of the bot, URLs and tokens of webhooks, passwords of databases.
type words struct {
	mu  sync.Mutex
	all []string
}

// shortest is how long a secret has to be to be looked for: shorter ones are what edits by hand have written.
const shortest = 12

func (s *words) add(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(word) >= shortest && !slices.Contains(s.all, word) {
		s.all = append(s.all, word)
	}
}

// secret takes up the value of a key of a Secret, where that is a secret.
func (s *words) secret(key, value string) {
	switch key {
	case "token", "password", "DB_PASS":
		s.add(value)
	case "url": // of a webhook: .../webhooks/ID/TOKEN
		s.add(value)
		s.add(value[strings.LastIndex(value, "/")+1:])
	}
}

// leaks looks for every secret in a text, also as JSON writes bytes.
func (s *words) leaks(t text) []violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, word := range s.all {
		for _, form := range []string{word, base64.StdEncoding.EncodeToString([]byte(word))} {
			if strings.Contains(t.what, form) {
				return []violation{{"no secret is revealed", t.where, "it holds a secret that begins with " + word[:4]}}
			}
		}
	}
	return nil
}
