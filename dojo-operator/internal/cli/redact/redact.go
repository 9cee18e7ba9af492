// SPDX-License-Identifier: Apache-2.0

// Package redact replaces secrets in objects and texts that leave the cluster. It finds known
// values of Secrets and environments, and texts that look like a token, a password, or an address
// with a token or password. It does no I/O.
//
// If it is not certain whether a text is secret, it replaces the text. It may therefore replace a
// harmless random word.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Mark replaces a secret.
const Mark = "REDACTED"

const (
	// minKnown is the minimum length of a value to search for: shorter values are parts of ordinary
	// words.
	minKnown = 6
	// minLine is the minimum length of a line to search for in a value of several lines, such as a
	// private key.
	minLine = 16
)

// Redactor replaces known values, and texts that match patterns of secrets. The zero value knows no
// values, only the patterns.
type Redactor struct {
	known    map[string]bool
	replacer *strings.Replacer // replaces known values; nil if it must be rebuilt
	// Count is the number of secrets taken out.
	Count int
}

// Learn adds values, and encodings in which a text may contain them, to the known values.
func (r *Redactor) Learn(values ...string) {
	for _, value := range values {
		for _, text := range append(strings.Split(value, "\n"), value) {
			text = strings.TrimSpace(text)
			if len(text) < minKnown || text != strings.TrimSpace(value) && len(text) < minLine {
				continue
			}
			if r.known == nil {
				r.known = map[string]bool{}
			}
			for _, form := range forms(text) {
				r.known[form] = true
			}
			r.replacer = nil
		}
	}
}

// forms returns the encodings of a value.
func forms(text string) []string {
	quoted, _ := json.Marshal(text)
	all := []string{
		text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text)),
	}
	// The base64 of a longer text that begins with the value ends differently, so the last
	// characters do not count.
	for _, encoded := range all[4:] {
		if n := len(encoded) - 4; n >= minLine {
			all = append(all, encoded[:n])
		}
	}
	return all
}

// Text returns a text without secrets.
func (r *Redactor) Text(text string) string {
	before := strings.Count(text, Mark)
	if r.replacer == nil {
		r.replacer = replacer(r.known)
	}
	text = r.replacer.Replace(text)
	for _, p := range patterns {
		text = p.form.ReplaceAllStringFunc(text, func(found string) string {
			if p.not != nil && p.not.MatchString(found) {
				return found
			}
			return p.form.ReplaceAllString(found, p.by)
		})
	}
	r.Count += max(strings.Count(text, Mark)-before, 0)
	return text
}

// replacer returns a Replacer of known texts. If several match at one place, it replaces the
// longest.
func replacer(known map[string]bool) *strings.Replacer {
	var pairs []string
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, text := range slices.SortedFunc(maps.Keys(known), longestFirst) {
		pairs = append(pairs, text, Mark)
	}
	return strings.NewReplacer(pairs...)
}

// pattern matches texts that look like a secret.
type pattern struct {
	form *regexp.Regexp
	by   string
	// not matches texts that are no secret although form matches them; nil if there are none.
	not *regexp.Regexp
}

var patterns = []pattern{
	{form: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`), by: Mark},
	// The last part of a webhook's URL is its token
	// (https://discord.com/developers/docs/resources/webhook).
	{form: regexp.MustCompile(`(?i)(/webhooks/)[0-9]+/[A-Za-z0-9_.-]+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)(hooks\.slack\.com/)\S+`), by: "${1}" + Mark},
	// A token of a bot on Discord: its id in base64, a time, a signature.
	{form: regexp.MustCompile(`\b[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}`), by: Mark},
	{form: regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[=:][ \t]*\\?["']?)[^\r\n"']+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)\b(bearer|basic)[ :]+[A-Za-z0-9._~+/=-]{8,}`), by: "${1} " + Mark},
	{form: regexp.MustCompile(`(?i)\b(bot|token)[ :]+[A-Za-z0-9._~+/=-]{12,}`), by: "${1} " + Mark, not: prose},
	{form: regexp.MustCompile(`(?i)(--?(?:[a-z]+-)*(?:password|token|secret|key)[= ]+)\S+`), by: "${1}" + Mark},
	// User and password before the @ of an address.
	{form: regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']*:[^\s@"']+@`), by: "${1}" + Mark + "@"},
	// name=value, name: value and "name": "value", where the name says that the value is secret.
	{form: regexp.MustCompile(`(?i)((?:[a-z0-9]+[_.-])*(?:pass|passwd|password|passphrase|pwd|secret|token|` +
		`api[_-]?key|access[_-]?key|private[_-]?key|authorization|credentials?|dsn)(?:[_.-][a-z0-9]+)*` +
		`\\?["']?[ \t]*[=:][ \t]*)` +
		`(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&}\\{\[]+)`),
		by: "${1}" + Mark, not: harmless},
	{form: regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), by: Mark},
	{form: regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\b(?:xox[abprs]|glpat|sk|pk)-[A-Za-z0-9-]{16,}`), by: Mark},
	// Random words: long, with capitals and digits. Kubernetes names, UIDs and digests have no
	// capitals; words in CamelCase have no digits.
	{form: regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`), by: Mark, not: notRandom},
}

var (
	prose = regexp.MustCompile(`^[A-Za-z]+[ :]+[a-z-]+$`)
	// harmless matches names of fields that hold no secret, such as secretName.
	harmless = regexp.MustCompile(`(?i)secret[_-]?name|secretRef|passwordSecret|tokenExpiration|` +
		`mountServiceAccountToken|credentials-revision|imagePullSecrets|secretKeyRef|credentialsRef|` + Mark)
	notRandom = regexp.MustCompile(`^(?:[^A-Z]*|[^0-9]*|[A-Za-z]+[0-9]{1,2}|[0-9TZ:.+-]+)$`)
)

// ordinary are keys of a database's Secret whose values are not secret, and occur in many other
// texts.
var ordinary = []string{
	"host", "port", "dbname", "user", "username", "DB_ENDPOINT", "DB_READONLY_ENDPOINT", "DB_PORT", "DB_NAME", "DB_USER",
	"namespace", "ca.crt", "tls.crt",
}

// LearnSecret makes the values of a Secret known.
func (r *Redactor) LearnSecret(s *corev1.Secret) {
	for key, value := range s.Data {
		if !slices.Contains(ordinary, key) {
			r.learnValue(string(value))
		}
	}
}

// learnValue makes a value known. If the value is an address or a JSON object, it makes the
// passwords in it known too.
func (r *Redactor) learnValue(value string) {
	r.Learn(value)
	if at, err := url.Parse(strings.TrimSpace(value)); err == nil && at.User != nil {
		password, _ := at.User.Password()
		r.Learn(password)
	}
	var object any
	if json.Unmarshal([]byte(value), &object) == nil {
		r.learnFields("", object)
	}
}

// learnFields makes texts within a JSON object known if the name of their field sounds secret.
func (r *Redactor) learnFields(field string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			r.learnFields(name, inner)
		}
	case []any:
		for _, inner := range value {
			r.learnFields(field, inner)
		}
	case string:
		if secretName.MatchString(field) {
			r.Learn(value)
		}
	}
}

// secretName matches names of variables, annotations and JSON fields that suggest a secret.
var secretName = regexp.MustCompile(`(?i)pass|pwd|token|secret|key|cred|auth|dsn|uri|url|webhook|hook|conn`)

// plain matches values that occur in many texts: names, hosts, paths, numbers, addresses without a
// password.
var plain = regexp.MustCompile(`^(?:[a-z0-9][a-z0-9.:_-]*|/[A-Za-z0-9./_-]*|[0-9.]+[A-Za-z]*|https?://[^@\s?]*)?$`)

// shown are prefixes of annotations whose values are kept. Other annotations lose their values.
var shown = []string{
	"core.jutsu.com/", "discord.jutsu.com/", "cnpg.io/", "deployment.kubernetes.io/revision", "batch.kubernetes.io/",
	"kubectl.kubernetes.io/restartedAt", "kubectl.kubernetes.io/default-container", "autoscaling.alpha.kubernetes.io/",
}

// Object changes an object in place. It removes the data of a Secret, and managedFields. It
// replaces the values of environment variables, and of annotations without a prefix in shown. It
// also adds replaced values that may be secret to the known values, so call Text on the printed
// object.
func (r *Redactor) Object(o map[string]any) {
	if o["kind"] == "Secret" {
		for _, field := range []string{"data", "stringData", "immutable"} {
			delete(o, field)
		}
	}
	if metadata, ok := o["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	r.value("", o)
}

func (r *Redactor) value(field string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if field == "annotations" || field == "podAnnotations" || field == "inheritedMetadata" {
			r.annotations(value)
		}
		for name, inner := range value {
			r.value(name, inner)
		}
	case []any:
		for _, inner := range value {
			if variable, ok := inner.(map[string]any); ok && field == "env" {
				r.variable(variable)
			}
			r.value(field, inner)
		}
	}
}

// variable learns and removes the value of an environment variable.
func (r *Redactor) variable(variable map[string]any) {
	name, _ := variable["name"].(string)
	if value, ok := variable["value"].(string); ok && value != "" {
		r.learnNamed(name, value)
		variable["value"] = Mark
		r.Count++
	}
}

func (r *Redactor) annotations(all map[string]any) {
	for name, value := range all {
		text, ok := value.(string)
		if !ok || slices.ContainsFunc(shown, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		r.learnNamed(name, text)
		all[name] = Mark
		r.Count++
	}
}

// learnNamed makes a value known if its name sounds secret or the value looks secret.
func (r *Redactor) learnNamed(name, value string) {
	// The value is a copy of an object, such as kubectl's annotation with the last applied
	// manifest.
	if json.Valid([]byte(value)) && len(value) > 256 {
		return
	}
	if secretName.MatchString(name) || !plain.MatchString(value) || (&Redactor{}).Text(value) != value {
		r.learnValue(value)
	}
}
