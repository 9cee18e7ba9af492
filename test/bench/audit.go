// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/test/testcluster/auditlog"
)

type request struct {
	AuditID   string    `json:"auditID"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	Verb      string    `json:"verb"`
	UserAgent string    `json:"userAgent"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	} `json:"responseObject"`

	// noop reports whether a successful write changed nothing.
	noop bool
}

func (r *request) resource() string {
	if r.Object.Subresource != "" {
		return r.Object.Resource + "/" + r.Object.Subresource
	}
	return r.Object.Resource
}

const (
	classLease    = "lease"    // leader election
	classRead     = "read"     // get, list, watch
	classEvent    = "event"    // Events
	classStatus   = "status"   // writes to the status of our kinds
	classIntent   = "intent"   // writes of the finalizer to objects of our kinds
	classChild    = "child"    // children: a Dojo's Secret, Deployment, Service ..., a channel's Secret
	classInternal = "internal" // reviews of access to the metrics
)

func (r *request) class() string {
	switch {
	case r.Object.Resource == "leases":
		return classLease
	case slices.Contains([]string{"get", "list", "watch"}, r.Verb):
		return classRead
	case r.Object.Resource == "events":
		return classEvent
	case r.Object.Resource == "tokenreviews", r.Object.Resource == "subjectaccessreviews":
		return classInternal
	case r.Object.Subresource == "status":
		return classStatus
	case r.Object.Resource == "dojos", strings.HasPrefix(r.Object.Resource, "discord"):
		return classIntent
	}
	return classChild
}

func (r *request) write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) && r.class() != classInternal
}

type auditLog struct {
	*auditlog.Log
	agent    string          // the beginning of the operator's user agent
	requests []*request      // of all processes of the operator
	seen     map[string]bool // The keys are audit IDs. The log has two entries for each watch.
	versions map[string]bool // the resourceVersions in the responses to writes
}

func openAuditLog(path, agent string) (*auditLog, error) {
	log, err := auditlog.Open(path)
	if err != nil {
		return nil, err
	}
	return &auditLog{Log: log, agent: agent, seen: map[string]bool{}, versions: map[string]bool{}}, nil
}

func (a *auditLog) add(line []byte) error {
	r := &request{}
	if err := json.Unmarshal(line, r); err != nil {
		return fmt.Errorf("%w in %.200q", err, line)
	}
	if a.seen[r.AuditID] {
		return nil
	}
	a.seen[r.AuditID] = true
	// Every change gets a new resourceVersion. A known one means that the write changed nothing.
	if version := r.Answer.Metadata.ResourceVersion; version != "" && r.write() && r.Status.Code < 300 {
		r.noop = a.versions[version]
		a.versions[version] = true
	}
	if strings.HasPrefix(r.UserAgent, a.agent) {
		a.requests = append(a.requests, r)
	}
	return nil
}

func (a *auditLog) since(moment time.Time) ([]*request, error) {
	if err := a.Each(a.add); err != nil {
		return nil, err
	}
	var found []*request
	for _, r := range a.requests {
		if !r.Received.Before(moment) {
			found = append(found, r)
		}
	}
	return found, nil
}

type tally struct {
	byClass map[string]int
	// byRequest counts requests by verb and resource, such as "patch dojos/status".
	byRequest map[string]int
	noops     int // writes without a change
	refused   int // writes that the API server refused, such as conflicts
}

func (t tally) writes() int {
	return t.byClass[classStatus] + t.byClass[classIntent] + t.byClass[classChild] + t.byClass[classEvent]
}

func count(requests []*request) tally {
	t := tally{byClass: map[string]int{}, byRequest: map[string]int{}}
	for _, r := range requests {
		t.byClass[r.class()]++
		t.byRequest[r.Verb+" "+r.resource()]++
		if r.noop {
			t.noops++
		}
		if r.write() && r.Status.Code >= 400 {
			t.refused++
		}
	}
	return t
}
