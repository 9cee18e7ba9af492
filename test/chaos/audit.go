package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"jutsu.com/operators/test/internal/operator"
)

// request is what the API server's audit log says of one request: the fields of an audit.k8s.io/v1 Event that matter here.
type request struct {
	Verb, UserAgent string
	ObjectRef       struct{ Resource, Subresource, Name string }
}

func (r *request) String() string {
	agent, _, _ := strings.Cut(r.UserAgent, "/")
	return strings.TrimSuffix(fmt.Sprintf("%s: %s %s/%s %s", agent, r.Verb, r.ObjectRef.Resource, r.ObjectRef.Subresource, r.ObjectRef.Name), " ")
}

// ours reports whether an operator has written something, its Lease and what it asks about others apart.
func (r *request) ours() bool {
	byOperator := strings.HasPrefix(r.UserAgent, operator.Dojo.Name+"/") || strings.HasPrefix(r.UserAgent, operator.Discord.Name+"/")
	return byOperator && slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) &&
		!slices.Contains([]string{"leases", "tokenreviews", "subjectaccessreviews"}, r.ObjectRef.Resource)
}

// auditLog reads the API server's audit log as it grows.
type auditLog struct {
	file    *os.File
	reader  *bufio.Reader
	partial []byte
}

func openAuditLog(path string) (*auditLog, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return &auditLog{file: file, reader: bufio.NewReaderSize(file, 1<<20)}, nil
}

// writes are those of the operators since the last time.
func (a *auditLog) writes() (all []string, err error) {
	for {
		line, err := a.reader.ReadBytes('\n')
		a.partial = append(a.partial, line...)
		if errors.Is(err, io.EOF) {
			return all, nil // the rest of the line comes later
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		var r request
		if json.Unmarshal(a.partial, &r) == nil && r.ours() { // what is not JSON is what a killed API server has left
			all = append(all, r.String())
		}
		a.partial = a.partial[:0]
	}
}
