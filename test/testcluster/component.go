// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"jutsu.com/operators/test/testcluster/process"
)

const (
	probeInterval = 50 * time.Millisecond
	// readyTimeout allows for a loaded machine, which takes ten times as long as an idle one.
	readyTimeout = 2 * time.Minute
)

type component struct {
	name   string
	bin    string
	args   []string
	dir    string
	log    string
	ready  func(ctx context.Context) error // returns nil when the component serves
	died   func(error)                     // called at an unexpected end
	reaper *process.Reaper

	process  *process.Process
	expected atomic.Bool // true during the start and after kill: died is then not called
}

func (c *component) start(ctx context.Context) error {
	cmd := exec.Command(c.bin, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+c.dir) // otherwise kwok would read the user's configuration too
	c.expected.Store(true)
	p, err := process.Start(c.name, c.log, cmd, c.reaper)
	if err != nil {
		return err
	}
	c.process = p
	go func() {
		<-p.Exited()
		if !c.expected.Load() {
			c.died(p.Err())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := p.Await(ctx, c.ready); err != nil {
		return err
	}
	c.expected.Store(false)
	return nil
}

func (c *component) kill() {
	if c.process != nil {
		c.expected.Store(true)
		c.process.Kill()
	}
}
