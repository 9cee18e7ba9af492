// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	// pollInterval is the time between two reads of the object that a command waits for. A watch
	// would need the additional right "watch".
	pollInterval = time.Second
	// followInterval is the time between two reads while a user follows the output (flag -w).
	followInterval = 2 * time.Second
	// clearScreen moves the terminal's cursor to the top left and erases the rest of the screen.
	clearScreen = "\x1b[H\x1b[J"
)

// Follow calls read every two seconds and prints the returned text if it has changed. It ends
// without an error when the user interrupts the command.
func (p *Plugin) Follow(ctx context.Context, read func(context.Context) (string, error)) error {
	ticker := p.Clock.NewTicker(followInterval)
	defer ticker.Stop()
	last := ""
	for {
		text, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if text != last {
			if p.Style.Colour {
				p.Print(clearScreen)
			} else if last != "" {
				p.Print("%s\n", strings.Repeat("-", 80))
			}
			p.Print("%s", text)
			last = text
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// ErrTimeout is the error of [Plugin.Poll] after its timeout.
var ErrTimeout = errors.New("timed out")

// Poll calls done every second until done returns true or an error. Poll continues if the API
// server does not answer, is overloaded or fails. After the timeout, Poll returns [ErrTimeout].
func (p *Plugin) Poll(ctx context.Context, timeout time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	ticker := p.Clock.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if context.Cause(ctx) == nil && (ok || err != nil) && !transient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C():
		}
	}
}
