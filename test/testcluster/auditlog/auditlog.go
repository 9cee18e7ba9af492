// SPDX-License-Identifier: Apache-2.0

// Package auditlog follows the growing audit log of a testcluster (Options.Audit).
package auditlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// eventStart begins each line. It occurs nowhere else: inside a string, its quotes are escaped.
var eventStart = []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1",`)

// Log is an open audit log. It is not safe for concurrent use.
type Log struct {
	file    *os.File
	reader  *bufio.Reader
	partial []byte // a line that is not complete yet
}

// Open opens the audit log in a file. The first call of [Log.Each] begins with the first line.
func Open(path string) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return &Log{file: file, reader: bufio.NewReaderSize(file, 1<<20)}, nil
}

// Each calls f with every line completed since the last call of Each, until f fails. A line is an
// audit.k8s.io/v1 Event, valid until f returns. The API server logs a request before it ends the
// response, possibly after other clients see the change. A killed API server may leave half a line,
// to which the next API server appends. Each omits the half line.
func (l *Log) Each(f func(line []byte) error) error {
	for {
		line, err := l.reader.ReadBytes('\n')
		l.partial = append(l.partial, line...)
		if errors.Is(err, io.EOF) {
			return nil // the rest of the line comes later
		}
		if err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		err = f(l.partial[max(bytes.LastIndex(l.partial, eventStart), 0):])
		l.partial = l.partial[:0]
		if err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }
