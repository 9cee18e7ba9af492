// SPDX-License-Identifier: Apache-2.0

// Package auditlog follows the audit log of a testcluster (its Options.Audit) as it grows.
package auditlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Log is an audit log that is open for reading. It is not safe for use by several goroutines at
// once.
type Log struct {
	file    *os.File
	reader  *bufio.Reader
	partial []byte // the beginning of a line whose end was not there yet
}

// Open opens the audit log in a file, to be read from its beginning.
func Open(path string) (*Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return &Log{file: file, reader: bufio.NewReaderSize(file, 1<<20)}, nil
}

// Each calls f with every line that was completed since the last call: one event in JSON, of type
// audit.k8s.io/v1 Event. The API server logs a request before it ends its answer, and after others
// may see what has changed. What a killed API server has left half written comes as one line with
// what follows. An error of f ends the reading, with that line taken as read. The line is valid
// until f returns.
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
		err = f(l.partial)
		l.partial = l.partial[:0]
		if err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }
