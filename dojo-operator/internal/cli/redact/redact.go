// SPDX-License-Identifier: Apache-2.0

// Package redact removes secrets from the objects and texts of a support report: values of known
// Secrets and environment variables, and texts that look like a token or password. In doubt, it
// replaces a text, so it may replace a harmless random word. It does no I/O.
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
	// minKnown is the minimum length of a known value: shorter values occur in ordinary words.
	minKnown = 6
	// minLine is the minimum length of one line of a known value, such as a private key.
	minLine = 16
)

// Redactor replaces known values and texts that match a pattern. The zero value knows no values.
type Redactor struct {
	known    map[string]bool
	replacer *strings.Replacer // replaces known values; nil if it must be rebuilt

	Count int
}

// Learn adds values and their usual encodings, such as base64, to the known values.
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
	// In the base64 of a longer text that begins with the value, the last characters of the value's
	// base64 differ. So also match the base64 without them.
	for _, encoded := range all[4:] {
		if n := len(encoded) - 4; n >= minLine {
			all = append(all, encoded[:n])
		}
	}
	return all
}

// Text returns a text with its secrets replaced by [Mark].
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

// replacer replaces the longest of several known values at one position.
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
	// not matches harmless texts, which Text does not replace. nil matches no text.
	not *regexp.Regexp
}

var patterns = []pattern{
	{form: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`), by: Mark},
	// The last path segment is a token (https://discord.com/developers/docs/resources/webhook).
	{form: regexp.MustCompile(`(?i)(/webhooks/)[0-9]+/[A-Za-z0-9_.-]+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)(hooks\.slack\.com/)\S+`), by: "${1}" + Mark},
	// The token of a Discord bot: the base64 of its ID, a timestamp, a signature.
	{form: regexp.MustCompile(`\b[A-Za-z0-9_-]{18,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}`), by: Mark},
	{form: regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[=:][ \t]*\\?["']?)[^\r\n"']+`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`(?i)\b(bearer|basic)[ :]+[A-Za-z0-9._~+/=-]{8,}`), by: "${1} " + Mark},
	{form: regexp.MustCompile(`(?i)\b(bot|token)[ :]+[A-Za-z0-9._~+/=-]{12,}`), by: "${1} " + Mark, not: prose},
	{form: regexp.MustCompile(`(?i)(--?(?:[a-z]+-)*(?:password|token|secret|key)[= ]+)\S+`), by: "${1}" + Mark},
	// The same flag and its value as two items of a YAML or JSON list.
	{form: regexp.MustCompile(`(?i)((?:^|[\s"'\[,])--?(?:[a-z]+-)*(?:password|token|secret|key)["']?` +
		`(?:[ \t]*\n[ \t]*- +|,[ \t\n]*))(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',\]]+)`),
		by: "${1}" + Mark, not: harmless},
	// SQL, such as CREATE ROLE ... PASSWORD '...'.
	{form: regexp.MustCompile(`(?i)(\bpassword[ \t]+\\?')(?:[^'\n]|'')*`), by: "${1}" + Mark},
	{form: regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']*:[^\s@"']+@`), by: "${1}" + Mark + "@"},
	// name=value, name: value and "name": "value", if the name suggests a secret value.
	{form: regexp.MustCompile(`(?i)((?:[a-z0-9]+[_.-])*(?:pass|passwd|password|passphrase|pwd|secret|token|` +
		`api[_-]?key|access[_-]?key|private[_-]?key|authorization|credentials?|dsn)(?:[_.-][a-z0-9]+)*` +
		`\\?["']?[ \t]*[=:][ \t]*)` +
		`(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&}\\{\[]+)`),
		by: "${1}" + Mark, not: harmless},
	{form: regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), by: Mark},
	{form: regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`), by: Mark},
	{form: regexp.MustCompile(`\b(?:xox[abprs]|glpat|sk|pk)-[A-Za-z0-9-]{16,}`), by: Mark},
	// Random words. notRandom excludes texts without capitals, such as Kubernetes names, UIDs and
	// digests, and texts without digits, such as CamelCase.
	{form: regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`), by: Mark, not: notRandom},
}

var (
	prose = regexp.MustCompile(`^[A-Za-z]+[ :]+[a-z-]+$`)
	// harmless matches names that suggest a secret, but have no secret value, such as secretName.
	harmless = regexp.MustCompile(`(?i)secret[_-]?name|secretRef|passwordSecret|tokenExpiration|` +
		`mountServiceAccountToken|credentials-revision|imagePullSecrets|secretKeyRef|credentialsRef|` + Mark)
	notRandom = regexp.MustCompile(`^(?:[^A-Z]*|[^0-9]*|[A-Za-z]+[0-9]{1,2}|[0-9TZ:.+-]+)$`)
)

// ordinary lists keys of Secrets with values that are not secret and occur in many texts.
var ordinary = []string{
	"host", "port", "dbname", "user", "username", "DB_ENDPOINT", "DB_READONLY_ENDPOINT", "DB_PORT", "DB_NAME", "DB_USER",
	"namespace", "ca.crt", "tls.crt",
}

// LearnSecret adds the values of a Secret to the known values, except those of ordinary keys.
func (r *Redactor) LearnSecret(s *corev1.Secret) {
	for key, value := range s.Data {
		if !slices.Contains(ordinary, key) {
			r.learnValue(string(value))
		}
	}
}

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

var secretName = regexp.MustCompile(`(?i)pass|pwd|token|secret|key|cred|auth|dsn|uri|url|webhook|hook|conn`)

// plain matches common values that are not secret: names, hosts, paths, numbers and URLs.
var plain = regexp.MustCompile(`^(?:[a-z0-9][a-z0-9.:_-]*|/[A-Za-z0-9./_-]*|[0-9.]+[A-Za-z]*|https?://[^@\s?]*)?$`)

// shown lists prefixes of annotations that stay in the report.
var shown = []string{
	"core.jutsu.com/", "discord.jutsu.com/", "cnpg.io/", "deployment.kubernetes.io/revision", "batch.kubernetes.io/",
	"kubectl.kubernetes.io/restartedAt", "kubectl.kubernetes.io/default-container", "autoscaling.alpha.kubernetes.io/",
}

// Object redacts an object in place: Secret data, environment variables, most annotations and
// managedFields. It learns values that may be secret, so call Text on the printed object.
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
	// Do not learn long JSON: it is a copy of an object, such as kubectl's last applied manifest.
	if json.Valid([]byte(value)) && len(value) > 256 {
		return
	}
	if secretName.MatchString(name) || !plain.MatchString(value) || (&Redactor{}).Text(value) != value {
		r.learnValue(value)
	}
}
