// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// routeGateway is how to reach the Gateway.
const routeGateway = "/gateway/bot"

const (
	// failuresOfAnOutage is how many calls have to fail one after the other, before Discord counts
	// as failing: single ones do now and then.
	failuresOfAnOutage = 3
	// outagePace is the time between two calls while Discord fails, of all callers together.
	outagePace = 500 * time.Millisecond
)

// outage slows a Client down while Discord fails: each of a thousand objects may back off by
// itself, and a server that answers 502 at once would still get hundreds of calls in a second. The
// first call that Discord answers ends it. It is safe for concurrent use.
type outage struct {
	mu       sync.Mutex
	now      func() time.Time
	failures int   // one after the other
	last     Error // how the last call failed
	next     time.Time
}

// admit refuses a call, as the last one failed, while another one has been let through a moment
// ago. How to reach the Gateway is asked first, by a caller that backs off by itself: with the
// Gateway everything else comes back.
func (o *outage) admit(cl *call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if o.failures < failuresOfAnOutage || cl.route == routeGateway {
		return nil
	}
	if now.Before(o.next) {
		return &Error{Class: ClassTransient, Op: cl.op, Status: o.last.Status, Message: o.last.Message, unsent: true}
	}
	o.next = now.Add(outagePace)
	return nil
}

// record takes note of how a call ended that was sent. One that its caller has given up says
// nothing.
func (o *outage) record(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := errors.AsType[*Error](err)
	if ok && e.unsent { // a guard has refused it
		return
	}
	if !ok || e.Status != 0 && e.Status < http.StatusInternalServerError {
		o.failures = 0
		return
	}
	o.failures++
	o.last = *e
}
