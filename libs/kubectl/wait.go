// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	// pollInterval is the pause of Poll, which does not watch: a watch would need the right
	// "watch".
	pollInterval = time.Second
	// followInterval is for the flag -w.
	followInterval = 2 * time.Second
	// clearScreen moves the cursor to the top left and erases the screen.
	clearScreen = "\x1b[H\x1b[J"
)

// Follow calls read every two seconds and prints changed text, until an interrupt or an error.
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

// ErrTimeout means that the timeout of [Plugin.Poll] has ended.
var ErrTimeout = errors.New("timed out")

// Poll calls done every second until done returns true or an error that is not transient. After the
// timeout, Poll returns [ErrTimeout].
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
