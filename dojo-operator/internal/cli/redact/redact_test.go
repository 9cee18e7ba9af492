// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"POST https://discord.com/api/webhooks/140/aB-9_x 404": "POST https://discord.com/api/webhooks/REDACTED 404",
		"password=x, next":                  "password=REDACTED, next",
		"DB_PASS: 'a b'":                    "DB_PASS: REDACTED",
		`{"apiKey":"a b","n":1}`:            `{"apiKey":REDACTED,"n":1}`,
		`msg="{\"token\":\"a b\",\"n\":1}"`: `msg="{\"token\":REDACTED,\"n\":1}"`,
		"postgres://u:p@h:5432/db":          "postgres://REDACTED@h:5432/db",
		"Authorization: Digest a b, c":      "Authorization: REDACTED",
		"bearer abcdefgh":                   "bearer REDACTED",
		"run --discord-token abc now":       "run --discord-token REDACTED now",
		"- --db-password\n- blue-horse-7\n": "- --db-password\n- REDACTED\n",
		`["--db-password", "blue-horse-7"]`: `["--db-password", REDACTED]`,
		"ROLE r PASSWORD 'blue-horse-7' x":  "ROLE r PASSWORD 'REDACTED' x",
		"AKIAIOSFODNN7EXAMPLE":              "REDACTED",
		"ghp_0123456789abcdefghij":          "REDACTED",
		"a nonce aB3dE5gH7jK9mN1pQ2rS":      "a nonce REDACTED",
	} {
		if got := (&Redactor{}).Text(text); got != want {
			t.Errorf("%s\nis %s\nwant %s", text, got, want)
		}
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"passwordSecret:\n  name: sendai-db\n", "secretName: sendai-credentials", "imagePullSecrets: [a]",
		"image: ghcr.io/cloudnative-pg/postgresql:18.1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"uid: 0b9d3c5e-7f1a-4b2c-8d3e-9f0a1b2c3d4e", "2026-11-24T02:45:00.123456Z", "ContinuousArchivingSuccess",
		"https://discord.com/channels/1401681709430341704/1573721983001034752", "the token is invalid", "a bot understands commands",
		"https://sendai.example.org/path", "- name: registry-secret\n- name: b\n", "role dojo_team_a_sendai", "sendai-db-20261124010000", "AutoscalingInactive",
		"http://sendai:8080/", "no password for the role", "core.jutsu.com/rotate-password",
	} {
		if got := (&Redactor{}).Text(text); got != text {
			t.Errorf("%s\nis %s", text, got)
		}
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	r := &Redactor{}
	r.LearnSecret(&corev1.Secret{Data: map[string][]byte{
		"password": []byte("correct horse\n"), "host": []byte("sendai-db-rw"), "short": []byte("abc"), "more": []byte("correct horse battery"),
		"uri": []byte("postgresql://u:in-the-address@h/db"), "tls.key": []byte("head\nthe-second-line-of-a-key\ntail"),
	}})
	encoded := base64.StdEncoding.EncodeToString([]byte("correct horse battery, and more"))
	text := strings.Join([]string{
		"correct horse battery!", "correct horse.", "correct+horse", "in-the-address", "the-second-line-of-a-key", "abc sendai-db-rw head",
		encoded,
	}, "\n")
	want := "REDACTED!\nREDACTED.\nREDACTED\nREDACTED\nREDACTED\nabc sendai-db-rw head\n"
	got := r.Text(text)
	if !strings.HasPrefix(got, want) || strings.Contains(got, encoded[:24]) {
		t.Error(cmp.Diff(want, got))
	}
	if r.Count < 6 {
		t.Errorf("the Redactor counts %d", r.Count)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	r := &Redactor{}
	o := map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name": "x", "managedFields": []any{"y"}, "annotations": map[string]any{
				"core.jutsu.com/paused": "true", "example.org/token": "of-an-annotation", "example.org/team": "tokyo",
			},
		},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": []any{
			map[string]any{"name": "PASSWORD", "value": "of-a-variable"}, map[string]any{"name": "LEVEL", "value": "debug"},
			map[string]any{"name": "EMPTY"}, map[string]any{"name": "REF", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s"}}},
		}}}},
	}
	r.Object(o)
	want := map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{"name": "x", "annotations": map[string]any{
			"core.jutsu.com/paused": "true", "example.org/token": Mark, "example.org/team": Mark,
		}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": []any{
			map[string]any{"name": "PASSWORD", "value": Mark}, map[string]any{"name": "LEVEL", "value": Mark},
			map[string]any{"name": "EMPTY"}, map[string]any{"name": "REF", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s"}}},
		}}}},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	if got := r.Text("of-an-annotation of-a-variable tokyo debug"); got != "REDACTED REDACTED tokyo debug" {
		t.Errorf("the Redactor changes the text to: %s", got)
	}
	secret := map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"a": "b"}, "stringData": 1}
	r.Object(secret)
	if diff := cmp.Diff(map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "s"}}, secret); diff != "" {
		t.Error(diff)
	}
}
