// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	for key, value := range s.StringData {
		if !slices.Contains(ordinary, key) {
			r.learnValue(value)
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
