// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const password = "hollow/purple 90"
	values := []string{password, "hollow", "line one of a key\nline two of a key", "abc"}
	for name, line := range map[string]string{
		"plain":                                "login with " + password + " failed",
		"in a URL":                             "dial postgres://app:" + url.QueryEscape(password) + "@pg:5432/app",
		"escaped in a path":                    "GET /" + url.PathEscape(password),
		"base64":                               "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(password)),
		"a line of a longer value":             "cannot parse line two of a key",
		"an unknown password in a URL":         "dial postgres://app:former-hollow@pg:5432/app",
		"an unknown password in an assignment": `{"password": "former-purple"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := redact(line, values)
			for _, secret := range []string{"purple", "hollow", "line two", url.QueryEscape(password),
				base64.StdEncoding.EncodeToString([]byte(password))} {
				if strings.Contains(got, secret) {
					t.Errorf("shows %q: %s", secret, got)
				}
			}
			if !strings.Contains(got, hidden) {
				t.Errorf("hides nothing: %s", got)
			}
		})
	}
	if got := redact("column abc does not exist", values); got != "column abc does not exist" {
		t.Errorf("hides a short value: %s", got)
	}
	if got := redact(strings.Repeat("é", longestLine)+"\x1b[31m", nil); len(got) > longestLine+3 || strings.ContainsRune(got, 0x1b) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestLastLine(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"":                             "",
		"one\ntwo\n\n":                 "two",
		"progress 1%\rprogress 2%":     "progress 2%",
		strings.Repeat("x", cutLog+1):  "",
		strings.Repeat("x", 9) + "\ny": "y",
	} {
		if got := lastLine(log); got != want {
			t.Errorf("%.20q: %q, want %q", log, got, want)
		}
	}
}
