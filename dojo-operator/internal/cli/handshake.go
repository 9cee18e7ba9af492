// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"sync"
)

// psqlScript is a script that reads a password from its input and runs psql with it in the
// environment. It turns the terminal's echo off before it asks, by the marker, so that nothing that
// is typed or sent shows, and on again for psql.
const psqlScript = `stty -echo 2>/dev/null
printf '\001'
IFS= read -r PGPASSWORD || exit 1
stty echo 2>/dev/null
export PGPASSWORD
exec psql "$@"`

// marker announces that the script is ready for the password.
const marker = 0x01

// handshake hands a password to the script: through its input, which is on no command line, in no
// log of the API server, and in no process list.
type handshake struct {
	password string
	in       io.Reader
	out      io.Writer

	once  sync.Once
	ready chan struct{}
	first *bytes.Reader
}

func newHandshake(password string, in io.Reader, out io.Writer) *handshake {
	return &handshake{
		password: password, in: in, out: out, ready: make(chan struct{}), first: bytes.NewReader([]byte(password + "\n")),
	}
}

// Read returns the script's input: first the password, once the script is ready, then the user's.
func (h *handshake) Read(p []byte) (int, error) {
	<-h.ready
	if h.first.Len() > 0 {
		return h.first.Read(p)
	}
	return h.in.Read(p)
}

// Write takes the script's output, without the marker.
func (h *handshake) Write(p []byte) (int, error) {
	rest := p
	select {
	case <-h.ready:
	default:
		if i := bytes.IndexByte(p, marker); i >= 0 {
			rest = append(bytes.Clone(p[:i]), p[i+1:]...)
			h.once.Do(func() { close(h.ready) })
		}
	}
	if _, err := h.out.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}
