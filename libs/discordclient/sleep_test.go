// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In a synctest bubble, time passes only while goroutines sleep.
func TestNothingSleeps(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) transportFunc {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"60"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
	}
	for name, inner := range map[string]transportFunc{
		"success":               answer(200, `{"id":"1"}`),
		"refused by Discord":    answer(429, `{"message":"slow down","retry_after":60}`),
		"refused by Cloudflare": answer(429, `<html>`),
		"bad gateway":           answer(502, `<html>`),
		"server error":          answer(500, `{"code":0,"message":"500: Internal Server Error"}`),
		"token refused":         answer(401, `{"code":0,"message":"401: Unauthorized"}`),
		"broken connection":     func(*http.Request) (*http.Response, error) { return nil, errors.New("broken pipe") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Options{Token: NewSecret("token"), Transport: inner})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				for range 60 { // more calls than the limits allow in a second
					_, _ = c.CreateChannel(t.Context(), "1", ChannelCreate{Name: "a"}, "")
					_, _ = c.GetChannel(t.Context(), "1")
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("the calls slept for %v", took)
				}
			})
		})
	}
}

func TestTheTokenIsSent(t *testing.T) {
	t.Parallel()
	var sent string
	c, err := New(Options{Token: NewSecret("token"), Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get("Authorization")
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"id":"1"}`)), Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetChannel(t.Context(), "1"); err != nil || sent != "Bot token" {
		t.Errorf("Discord got %q, %v", sent, err)
	}
}
