// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

const (
	// longestLine is the maximum number of bytes of a log line in the status.
	longestLine = 300
	// The kubelet copies at most the last 2 KiB of a log into the status. A single line of more
	// than cutLog bytes may begin inside a Secret's value, and redact would not find the rest.
	cutLog = 2000
	// shortestSecret: redact keeps shorter values, because they occur in ordinary words.
	shortestSecret = 4
	hidden         = "***"
)

// public lists keys of the Dojo's own Secret with values that are not secret, so redact keeps them.
var public = []string{"DB_ENDPOINT", "DB_PORT", "DB_NAME", "DB_USER", "DB_READONLY_ENDPOINT"}

// logEnd returns the value of LogEnd. If the status already has the failure, logEnd returns "" and
// reads no Secrets.
func (s *State) logEnd(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) string {
	job := s.job()
	if job == nil || !ended(job, batchv1.JobFailed) || s.recordedFor(dojo, job) != nil {
		return ""
	}
	line := lastLine(pods.TerminationMessage(s.podsOf(job)))
	if line == "" {
		return ""
	}
	values, err := secretValues(ctx, r, dojo, s.Target.SecretName)
	if err != nil {
		return "" // better no line than a line with a secret
	}
	return redact(line, values)
}

func lastLine(log string) string {
	log = strings.TrimSpace(log)
	at := strings.LastIndexAny(log, "\r\n")
	if at < 0 && len(log) > cutLog {
		return ""
	}
	return strings.TrimSpace(log[at+1:])
}

func secretValues(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, own string,
) (values []string, err error) {
	for _, name := range secretNames(dojo, own) {
		var secret corev1.Secret
		err := r.Live.Get(ctx, types.NamespacedName{Namespace: dojo.Namespace, Name: name}, &secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for key, value := range secret.Data {
			if name != own || !slices.Contains(public, key) {
				values = append(values, string(value))
			}
		}
	}
	return values, nil
}

func secretNames(dojo *corev1api.Dojo, own string) []string {
	names := []string{own}
	for i := range dojo.Spec.Env {
		if from := dojo.Spec.Env[i].ValueFrom; from != nil && from.SecretKeyRef != nil {
			names = append(names, from.SecretKeyRef.Name)
		}
	}
	for _, from := range dojo.Spec.EnvFrom {
		if from.SecretRef != nil {
			names = append(names, from.SecretRef.Name)
		}
	}
	for _, v := range dojo.Spec.Volumes {
		if v.Secret != nil {
			names = append(names, v.Secret.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var (
	inURL      = regexp.MustCompile(`(://[^/\s:@]*:)[^@\s]+@`)
	assignment = regexp.MustCompile(`(?i)((?:password|passwd|pwd|secret|token|api_?key)["']?\s*[:=]\s*)\S+`)
)

// redact hides values and their lines, also if URL- or base64-encoded.
func redact(line string, values []string) string {
	var all []string
	for _, value := range values {
		for _, part := range append(strings.Split(value, "\n"), value) {
			if part = strings.TrimSpace(part); len(part) >= shortestSecret {
				all = append(all, part, url.QueryEscape(part), url.PathEscape(part),
					base64.StdEncoding.EncodeToString([]byte(part)), base64.RawURLEncoding.EncodeToString([]byte(part)))
			}
		}
	}
	// Hide longer values first, because a shorter value may be a part of a longer one.
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range all {
		line = strings.ReplaceAll(line, value, hidden)
	}
	line = inURL.ReplaceAllString(line, "${1}"+hidden+"@")
	line = assignment.ReplaceAllString(line, "${1}"+hidden)
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, ""))
	if len(line) > longestLine {
		line = strings.ToValidUTF8(line[:longestLine], "") + "..."
	}
	return line
}
