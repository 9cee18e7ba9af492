// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestChannelAddress(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(r.Srv.URL() + "/channels/1/2")
	rig.Check(t, err)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusFound || res.Header.Get("Location") != "/#/1/2" {
		t.Errorf("%s to %q", res.Status, res.Header.Get("Location"))
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	r.Must(200, "GET", "/users/@me", nil)
	res, err := http.Get(r.Srv.URL() + "/calls")
	rig.Check(t, err)
	defer func() { _ = res.Body.Close() }()
	var got map[string]int
	rig.Check(t, json.NewDecoder(res.Body).Decode(&got))
	if d := cmp.Diff(map[string]int{"GET /users/@me": 1}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

type obj = rig.Obj
