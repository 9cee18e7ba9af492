// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func logged(id, agent, verb, resource string, code int, version string) string {
	resource, subresource, _ := strings.Cut(resource, "/")
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":%q,"stage":"ResponseComplete",`+
		`"verb":%q,"userAgent":%q,`+
		`"objectRef":{"resource":%q,"subresource":%q,"namespace":"bench","name":"x"},`+
		`"responseStatus":{"code":%d},"responseObject":{"metadata":{"resourceVersion":%q}},`+
		`"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}`+"\n", id, verb, agent, resource, subresource, code,
		version)
}

const (
	theOperator = "dojo-operator/v0.1.0"
	another     = "kube-controller-manager/v1.36.3"
)

func TestCount(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  tally
	}{
		"nothing": {want: tally{byClass: map[string]int{}, byRequest: map[string]int{}}},
		"every class": {
			lines: []string{
				logged("1", theOperator, "patch", "secrets", 201, "10"),
				logged("2", theOperator, "patch", "dojos/status", 200, "11"),
				logged("3", theOperator, "create", "events", 201, ""),
				logged("4", theOperator, "get", "secrets", 200, "10"),
				logged("5", theOperator, "update", "leases", 200, ""),
				logged("6", theOperator, "create", "tokenreviews", 201, ""),
				logged("7", theOperator, "patch", "dojos", 200, "12"),
			},
			want: tally{
				byClass: map[string]int{classChild: 1, classStatus: 1, classIntent: 1, classEvent: 1, classRead: 1, classLease: 1,
					classInternal: 1},
				byRequest: map[string]int{"patch secrets": 1, "patch dojos/status": 1, "patch dojos": 1, "create events": 1,
					"get secrets":   1,
					"update leases": 1, "create tokenreviews": 1},
			},
		},
		"requests of other clients do not count": {
			lines: []string{logged("1", another, "update", "deployments", 200, "10"),
				logged("2", "bench/v0", "create", "dojos", 201, "11")},
			want: tally{byClass: map[string]int{}, byRequest: map[string]int{}},
		},
		"a watch is logged twice and counts once": {
			lines: []string{logged("1", theOperator, "watch", "dojos", 200, ""),
				logged("1", theOperator, "watch", "dojos", 200, "")},
			want: tally{byClass: map[string]int{classRead: 1}, byRequest: map[string]int{"watch dojos": 1}},
		},
		"a write that returns the version of the operator's former write is a noop": {
			lines: []string{logged("1", theOperator, "patch", "services", 201, "10"),
				logged("2", theOperator, "patch", "services", 200, "10")},
			want: tally{byClass: map[string]int{classChild: 2}, byRequest: map[string]int{"patch services": 2}, noops: 1},
		},
		"a write that returns the version of another client's write is a noop": {
			lines: []string{logged("1", another, "update", "deployments", 200, "10"),
				logged("2", theOperator, "patch", "deployments", 200, "10")},
			want: tally{byClass: map[string]int{classChild: 1}, byRequest: map[string]int{"patch deployments": 1}, noops: 1},
		},
		"a refused write is not a noop": {
			lines: []string{logged("1", theOperator, "patch", "dojos/status", 200, "10"),
				logged("2", theOperator, "patch", "dojos/status", 409, "")},
			want: tally{byClass: map[string]int{classStatus: 2}, byRequest: map[string]int{"patch dojos/status": 2},
				refused: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := auditLogOf(t, test.lines...)
			requests, err := log.since(time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, count(requests), cmp.AllowUnexported(tally{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSince(t *testing.T) {
	log := auditLogOf(t, logged("1", theOperator, "get", "secrets", 200, ""))
	received := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for moment, want := range map[time.Time]int{received.Add(-time.Second): 1, received: 1,
		received.Add(time.Microsecond): 0} {
		requests, err := log.since(moment)
		if err != nil {
			t.Fatal(err)
		}
		if len(requests) != want {
			t.Errorf("%d requests since %s, want %d", len(requests), moment, want)
		}
	}
}

func TestAuditLogIsNotJSON(t *testing.T) {
	if _, err := auditLogOf(t, "what is this\n").since(time.Time{}); err == nil {
		t.Error("no error")
	}
}

func auditLogOf(t *testing.T, lines ...string) *auditLog {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	for _, line := range append(lines, "") {
		appendTo(t, path, line)
	}
	log, err := openAuditLog(path, "dojo-operator/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
