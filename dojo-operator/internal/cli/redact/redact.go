// SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets out of objects and texts that leave the cluster. It knows two ways:
// the values that Secrets and environments are known to have, wherever they stand, and the forms
// that tokens, passwords and addresses with either have. It is pure.
//
// When in doubt it takes out too much: a random word that is none is a small loss.
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
	// minKnown is the length of the shortest value that is looked for: shorter ones are parts of
	// ordinary words.
	minKnown = 6
	// minLine is the same for a line of a value with several, such as a private key.
	minLine = 16
)

// Redactor takes out what it knows. The zero value knows forms alone.
type Redactor struct {
	known    map[string]bool
	replacer *strings.Replacer // of known; nil when it has to be made
	// Count is the number of secrets taken out.
	Count int
}

// Learn makes a value known, with the forms in which it may stand in a text.
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

// forms returns the ways in which a value is written.
func forms(text string) []string {
	quoted, _ := json.Marshal(text)
	all := []string{
		text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text)),
	}
	for _, encoded := range all[4:] { // within a longer text its last characters are others
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

// replacer takes out known texts, of several at one place the longest.
func replacer(known map[string]bool) *strings.Replacer {
	var pairs []string
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, text := range slices.SortedFunc(maps.Keys(known), longestFirst) {
		pairs = append(pairs, text, Mark)
	}
	return strings.NewReplacer(pairs...)
}

// pattern matches a form of secrets.
type pattern struct {
	form *regexp.Regexp
	by   string
	// not matches exceptions; nil for none.
	not *regexp.Regexp
}

var patterns = []pattern{
	{form: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`), by: Mark},
	// https://discord.com/developers/docs/resources/webhook: the last part is the token.
	{form: regexp.MustCompile(`(?i)(/webhooks/)[0-9]+/[A-Za-z0-9_.-]+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)(hooks\.slack\.com/)\S+`), by: "${1}" + Mark},
	// A token of a bot on Discord: its id in base64, a time, a signature.
	{form: regexp.MustCompile(`\b[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}`), by: Mark},
	{form: regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[=:][ \t]*\\?["']?)[^\r\n"']+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)\b(bearer|basic)[ :]+[A-Za-z0-9._~+/=-]{8,}`), by: "${1} " + Mark},
	{form: regexp.MustCompile(`(?i)\b(bot|token)[ :]+[A-Za-z0-9._~+/=-]{12,}`), by: "${1} " + Mark, not: prose},
	{form: regexp.MustCompile(`(?i)(--?(?:[a-z]+-)*(?:password|token|secret|key)[= ]+)\S+`), by: "${1}" + Mark},
	// What stands before the @ of an address.
	{form: regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']*:[^\s@"']+@`), by: "${1}" + Mark + "@"},
	// name=value, name: value and "name": "value", where the name says what it is.
	{form: regexp.MustCompile(`(?i)((?:[a-z0-9]+[_.-])*(?:pass|passwd|password|passphrase|pwd|secret|token|` +
		`api[_-]?key|access[_-]?key|private[_-]?key|authorization|credentials?|dsn)(?:[_.-][a-z0-9]+)*` +
		`\\?["']?[ \t]*[=:][ \t]*)` +
		`(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&}\\{\[]+)`),
		by: "${1}" + Mark, not: harmless},
	{form: regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), by: Mark},
	{form: regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\b(?:xox[abprs]|glpat|sk|pk)-[A-Za-z0-9-]{16,}`), by: Mark},
	// Random words: long, of capitals and digits, often with small letters. Names in Kubernetes, UIDs
	// and digests have no capitals, and words in CamelCase no digits.
	{form: regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`), by: Mark, not: notRandom},
}

var (
	prose = regexp.MustCompile(`^[A-Za-z]+[ :]+[a-z-]+$`)
	// harmless are fields whose names only sound like secrets.
	harmless = regexp.MustCompile(`(?i)secret[_-]?name|secretRef|passwordSecret|tokenExpiration|` +
		`mountServiceAccountToken|credentials-revision|imagePullSecrets|secretKeyRef|credentialsRef|` + Mark)
	notRandom = regexp.MustCompile(`^(?:[^A-Z]*|[^0-9]*|[A-Za-z]+[0-9]{1,2}|[0-9TZ:.+-]+)$`)
)

// ordinary are keys of a database's Secret whose values are no secrets, and would be found all
// over.
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

// learnValue makes a value known, and the passwords in it where it is an address or an object.
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

// learnFields makes those texts within an object known whose field says that they are secret.
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

// secretName is a name of a variable or an annotation whose value is worth looking for in other
// texts.
var secretName = regexp.MustCompile(`(?i)pass|pwd|token|secret|key|cred|auth|dsn|uri|url|webhook|hook|conn`)

// plain are values that are found all over: names, hosts, paths, numbers, addresses without a
// password.
var plain = regexp.MustCompile(`^(?:[a-z0-9][a-z0-9.:_-]*|/[A-Za-z0-9./_-]*|[0-9.]+[A-Za-z]*|https?://[^@\s?]*)?$`)

// shown are prefixes of annotations whose values are shown; of others only the names are.
var shown = []string{
	"core.jutsu.com/", "discord.jutsu.com/", "cnpg.io/", "deployment.kubernetes.io/revision", "batch.kubernetes.io/",
	"kubectl.kubernetes.io/restartedAt", "kubectl.kubernetes.io/default-container", "autoscaling.alpha.kubernetes.io/",
}

// Object takes out of an object, in place, what may be secret by where it stands: the values of
// environments, annotations of others, all of a Secret, and managedFields. What it takes out of
// environments and annotations it learns, so that it is found in other texts too; call Text on what
// is printed of the object.
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

// variable takes the value of a variable of an environment.
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

// learnNamed makes a value known whose name says that it is secret, or which looks like it.
func (r *Redactor) learnNamed(name, value string) {
	if json.Valid([]byte(value)) && len(value) > 256 { // a copy of an object, such as kubectl keeps
		return
	}
	if secretName.MatchString(name) || !plain.MatchString(value) || (&Redactor{}).Text(value) != value {
		r.learnValue(value)
	}
}
