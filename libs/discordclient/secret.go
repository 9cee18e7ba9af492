// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

const redacted = "[redacted]"

// Secret is a token or a webhook's URL. It prints as "[redacted]"; only [Secret.Reveal] returns it.
type Secret struct {
	// text is a pointer, because fmt prints unexported fields without calling their methods.
	text *string
}

// NewSecret wraps the text of a secret. An empty text gives the zero value.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text, for a request's header or a Kubernetes Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether two secrets have the same text.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// Format implements [fmt.Formatter]: for every verb "[redacted]", or nothing for the zero value.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// MarshalText keeps the secret out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a secret, such as a webhook's token.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// LogValue keeps the secret out of structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

var (
	webhookToken = regexp.MustCompile(`(webhooks(?:/|%2[fF])\d+(?:/|%2[fF]))[^\s"'/?&#\\]+`)
	// botToken matches three parts in base64url, the first an encoded user id.
	botToken = regexp.MustCompile(`[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{20,}`)
)

func redact(text string, secrets ...Secret) string {
	for _, s := range secrets {
		if !s.IsZero() {
			text = strings.ReplaceAll(text, s.Reveal(), redacted)
		}
	}
	text = webhookToken.ReplaceAllString(text, "${1}"+redacted)
	return botToken.ReplaceAllString(text, redacted)
}
