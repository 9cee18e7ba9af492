// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const routeGateway = "/gateway/bot"

const (
	outageThreshold = 3
	outageInterval  = 500 * time.Millisecond
)

// outage slows a Client down from the third failure in a row until Discord responds. The back-off
// of each object is not enough: a thousand objects would send hundreds of calls per second.
type outage struct {
	mu       sync.Mutex
	now      func() time.Time
	failures int // consecutive
	last     Error
	next     time.Time // when the next call is admitted
}

// admit admits one call per outageInterval during an outage.
func (o *outage) admit(cl *call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.refusal(cl)
	if err == nil && o.slows(cl) {
		o.next = o.now().Add(outageInterval)
	}
	return err
}

// withdraw lets the next call replace an admitted call that is not sent.
func (o *outage) withdraw(cl *call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.slows(cl) {
		o.next = time.Time{}
	}
}

// peek returns the error that admit would return now.
func (o *outage) peek(cl *call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refusal(cl)
}

func (o *outage) refusal(cl *call) error {
	if !o.slows(cl) || !o.now().Before(o.next) {
		return nil
	}
	return &Error{Class: ClassTransient, Op: cl.op, Status: o.last.Status, Message: o.last.Message, unsent: true}
}

// slows reports whether an outage slows the call. It exempts the look-up of the Gateway, because
// package gateway backs off by itself.
func (o *outage) slows(cl *call) bool {
	return o.failures >= outageThreshold && cl.route != routeGateway
}

// record ignores a call that its caller cancelled, because it shows nothing about Discord.
func (o *outage) record(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := errors.AsType[*Error](err)
	if ok && e.unsent { // Options.Guard refused the call, so the next call may take its place
		o.next = time.Time{}
		return
	}
	if !ok || e.Status != 0 && e.Status < http.StatusInternalServerError {
		o.failures = 0
		return
	}
	o.failures++
	o.last = *e
}
