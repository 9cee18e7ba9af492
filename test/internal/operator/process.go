package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"jutsu.com/operators/test/internal/process"
)

// probeInterval is the time between two looks at whether a process is ready.
const probeInterval = 50 * time.Millisecond

// Process is one running operator. When the program that started it is killed without a word, and its cluster goes with it,
// the operator ends by itself as soon as it cannot renew its lease: within 10 seconds by default.
type Process struct {
	*process.Process
	name            string
	metrics, probes string // host:port
}

// MetricsURL is where it tells its metrics, to whom the API server allows to get /metrics.
func (p *Process) MetricsURL() string { return "https://" + p.metrics + "/metrics" }

// AwaitReady returns nil as soon as the operator reports itself ready, and an error when it ends or the context does.
func (p *Process) AwaitReady(ctx context.Context) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		err := p.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; the last lines of its log %s:\n%s", p.name, context.Cause(ctx), err, p.Log(), p.Tail())
		case <-tick.C:
		}
	}
}

func (p *Process) probe(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.probes+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("readyz: " + response.Status)
	}
	return nil
}
