// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	// pollInterval is the time between two readings while a command waits. A watch would need an
	// additional right.
	pollInterval = time.Second
	// followInterval is the time between two readings while a user watches.
	followInterval = 2 * time.Second
	// clearScreen moves the cursor of a terminal to the top and erases what is below.
	clearScreen = "\x1b[H\x1b[J"
)

// Follow shows a text again whenever it changes, until the user interrupts it.
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

// ErrTimeout ends a wait that has taken too long.
var ErrTimeout = errors.New("it has taken too long")

// Poll calls done until it returns true or an error, or until the timeout.
func (p *Plugin) Poll(ctx context.Context, timeout time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	ticker := p.Clock.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if context.Cause(ctx) == nil && (ok || err != nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C():
		}
	}
}
