// SPDX-License-Identifier: Apache-2.0

// Package redact replaces secrets in the objects and texts of a support report. It finds the values
// of known Secrets and environment variables. It also finds texts that look like a token, a
// password, or a URL with a token or password. It does no I/O.
//
// If in doubt, it replaces a text. So it may replace a harmless random word.
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

// Mark is the text that replaces a secret.
const Mark = "REDACTED"

const (
	// minKnown is the minimum length of a known value: shorter values also occur in ordinary words.
	minKnown = 6
	// minLine is the minimum length of a single line to search for, if a known value has several
	// lines, such as a private key.
	minLine = 16
)

// Redactor replaces known values, and texts that match a pattern. The zero value has no known
// values, only the patterns.
type Redactor struct {
	known    map[string]bool
	replacer *strings.Replacer // replaces known values; nil if it must be rebuilt
	// Count is the number of replaced secrets.
	Count int
}

// Learn adds values to the known values, together with their usual encodings, such as base64.
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

func forms(text string) []string {
	quoted, _ := json.Marshal(text)
	all := []string{
		text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text)),
	}
	// A longer text may begin with the value. Its base64 then differs from the value's base64 in
	// the last characters. So the result also has the value's base64 without its last four
	// characters.
	for _, encoded := range all[4:] {
		if n := len(encoded) - 4; n >= minLine {
			all = append(all, encoded[:n])
		}
	}
	return all
}

// Text returns a text in which secrets are replaced by [Mark].
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

// replacer returns a Replacer for known values. If several values match at the same position, it
// replaces the longest one.
func replacer(known map[string]bool) *strings.Replacer {
	var pairs []string
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, text := range slices.SortedFunc(maps.Keys(known), longestFirst) {
		pairs = append(pairs, text, Mark)
	}
	return strings.NewReplacer(pairs...)
}

type pattern struct {
	form *regexp.Regexp
	by   string
	// not excludes harmless texts that form matches. It may be nil.
	not *regexp.Regexp
}

var patterns = []pattern{
	{form: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`), by: Mark},
	// The last path segment of a webhook URL is its token
	// (https://discord.com/developers/docs/resources/webhook).
	{form: regexp.MustCompile(`(?i)(/webhooks/)[0-9]+/[A-Za-z0-9_.-]+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)(hooks\.slack\.com/)\S+`), by: "${1}" + Mark},
	// The token of a Discord bot: the base64 of its ID, a timestamp, a signature.
	{form: regexp.MustCompile(`\b[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}`), by: Mark},
	{form: regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[=:][ \t]*\\?["']?)[^\r\n"']+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)\b(bearer|basic)[ :]+[A-Za-z0-9._~+/=-]{8,}`), by: "${1} " + Mark},
	{form: regexp.MustCompile(`(?i)\b(bot|token)[ :]+[A-Za-z0-9._~+/=-]{12,}`), by: "${1} " + Mark, not: prose},
	{form: regexp.MustCompile(`(?i)(--?(?:[a-z]+-)*(?:password|token|secret|key)[= ]+)\S+`), by: "${1}" + Mark},
	// User name and password before the @ in a URL.
	{form: regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']*:[^\s@"']+@`), by: "${1}" + Mark + "@"},
	// name=value, name: value and "name": "value", where the name suggests a secret value.
	{form: regexp.MustCompile(`(?i)((?:[a-z0-9]+[_.-])*(?:pass|passwd|password|passphrase|pwd|secret|token|` +
		`api[_-]?key|access[_-]?key|private[_-]?key|authorization|credentials?|dsn)(?:[_.-][a-z0-9]+)*` +
		`\\?["']?[ \t]*[=:][ \t]*)` +
		`(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&}\\{\[]+)`),
		by: "${1}" + Mark, not: harmless},
	{form: regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), by: Mark},
	{form: regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\b(?:xox[abprs]|glpat|sk|pk)-[A-Za-z0-9-]{16,}`), by: Mark},
	// Long random words with capitals and digits. Kubernetes names, UIDs and digests have no
	// capitals, and words in CamelCase have no digits.
	{form: regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`), by: Mark, not: notRandom},
}

var (
	prose = regexp.MustCompile(`^[A-Za-z]+[ :]+[a-z-]+$`)
	// harmless matches field names that suggest a secret but hold none, such as secretName.
	harmless = regexp.MustCompile(`(?i)secret[_-]?name|secretRef|passwordSecret|tokenExpiration|` +
		`mountServiceAccountToken|credentials-revision|imagePullSecrets|secretKeyRef|credentialsRef|` + Mark)
	notRandom = regexp.MustCompile(`^(?:[^A-Z]*|[^0-9]*|[A-Za-z]+[0-9]{1,2}|[0-9TZ:.+-]+)$`)
)

// ordinary lists keys of a credentials Secret whose values are not secret. These values occur in
// many other texts.
var ordinary = []string{
	"host", "port", "dbname", "user", "username", "DB_ENDPOINT", "DB_READONLY_ENDPOINT", "DB_PORT", "DB_NAME", "DB_USER",
	"namespace", "ca.crt", "tls.crt",
}

// LearnSecret adds the values of a Secret to the known values.
func (r *Redactor) LearnSecret(s *corev1.Secret) {
	for key, value := range s.Data {
		if !slices.Contains(ordinary, key) {
			r.learnValue(string(value))
		}
	}
}

// learnValue adds a value to the known values. If the value is a URL, it also adds the password in
// the URL. If the value is JSON, it also adds the strings in it that may be secret.
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

// learnFields adds the strings in a JSON object to the known values if their field names suggest a
// secret.
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

// secretName matches names of variables, annotations and JSON fields that suggest a secret value.
var secretName = regexp.MustCompile(`(?i)pass|pwd|token|secret|key|cred|auth|dsn|uri|url|webhook|hook|conn`)

// plain matches values that are not secret and occur in many texts: names, hosts, paths, numbers,
// URLs without a password.
var plain = regexp.MustCompile(`^(?:[a-z0-9][a-z0-9.:_-]*|/[A-Za-z0-9./_-]*|[0-9.]+[A-Za-z]*|https?://[^@\s?]*)?$`)

// shown lists prefixes of annotations whose values stay in the report. Object replaces the values
// of all other annotations.
var shown = []string{
	"core.jutsu.com/", "discord.jutsu.com/", "cnpg.io/", "deployment.kubernetes.io/revision", "batch.kubernetes.io/",
	"kubectl.kubernetes.io/restartedAt", "kubectl.kubernetes.io/default-container", "autoscaling.alpha.kubernetes.io/",
}

// Object changes an object in place. It removes the data of a Secret, and managedFields. It
// replaces the values of environment variables, and of annotations without a prefix in shown.
// Replaced values that may be secret become known values, so call Text on the printed object.
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

func (r *Redactor) learnNamed(name, value string) {
	// Do not learn a long JSON value: it is a copy of an object, such as kubectl's annotation with
	// the last applied manifest.
	if json.Valid([]byte(value)) && len(value) > 256 {
		return
	}
	if secretName.MatchString(name) || !plain.MatchString(value) || (&Redactor{}).Text(value) != value {
		r.learnValue(value)
	}
}
