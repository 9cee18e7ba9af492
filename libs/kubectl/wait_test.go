// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

type fastClock struct{ clock.RealClock }

func (c fastClock) NewTicker(time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(time.Millisecond)
}

func TestPoll(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "dojos"}
	for name, c := range map[string]struct {
		err  error
		goes bool
	}{
		"no connection":                       {&url.Error{Op: "Get", URL: "https://k8s", Err: errors.New("connection refused")}, true},
		"too many requests":                   {apierrors.NewTooManyRequests("later", 1), true},
		"an internal error of the API server": {apierrors.NewInternalError(errors.New("etcd")), true},
		"a timeout":                           {apierrors.NewServerTimeout(resource, "get", 1), true},
		"not found":                           {apierrors.NewNotFound(resource, "sendai"), false},
		"forbidden":                           {apierrors.NewForbidden(resource, "sendai", nil), false},
		"another error":                       {errors.New("the backup has failed"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, calls := &Plugin{Options: Options{Clock: fastClock{}}}, 0
			err := p.Poll(t.Context(), time.Minute, func(context.Context) (bool, error) {
				if calls++; calls == 1 {
					return false, c.err
				}
				return true, nil
			})
			if goes := err == nil && calls == 2; goes != c.goes || !c.goes && !errors.Is(err, c.err) {
				t.Errorf("%d calls, then %v", calls, err)
			}
		})
	}
}

func TestPollEnds(t *testing.T) {
	t.Parallel()
	p := &Plugin{Options: Options{Clock: fastClock{}}}
	err := p.Poll(t.Context(), 5*time.Millisecond, func(context.Context) (bool, error) {
		return false, apierrors.NewTooManyRequests("later", 1)
	})
	if !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}
