// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest/contract"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestTheContractFindsViolations(t *testing.T) {
	t.Parallel()
	c := contract.FromEnv(t)
	for name, tc := range map[string]struct {
		method, path, request, response string
		status                          int
		want                            []string
	}{
		"valid response":                 {"GET", "/api/v10/gateway", "", `{"url":"wss://gateway.discord.gg"}`, 200, nil},
		"valid response in v9":           {"GET", "/api/v9/gateway", "", `{"url":"wss://gateway.discord.gg"}`, 200, nil},
		"missing field":                  {"GET", "/api/v10/gateway", "", `{}`, 200, []string{"response"}},
		"wrong type":                     {"GET", "/api/v10/gateway", "", `{"url":7}`, 200, []string{"response"}},
		"error without message":          {"GET", "/api/v10/channels/1", "", `{"code":10003}`, 404, []string{"response"}},
		"empty name":                     {"POST", "/api/v10/guilds/1/channels", `{"name":""}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"no name":                        {"POST", "/api/v10/guilds/1/channels", `{"type":0}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"slowmode too long":              {"POST", "/api/v10/guilds/1/channels", `{"name":"a","rate_limit_per_user":99999}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"misspelt request field":         {"POST", "/api/v10/guilds/1/channels", `{"name":"a","tpoic":"b"}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"misspelt field in a list":       {"PATCH", "/api/v10/guilds/1/channels", `[{"id":"1","place":1}]`, ``, 204, []string{"request"}},
		"misspelt field in a union":      {"PATCH", "/api/v10/channels/1", `{"name":"a","tpoic":"b"}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"misspelt field of an overwrite": {"PATCH", "/api/v10/channels/1", `{"permission_overwrites":[{"id":"1","type":0,"alow":"1"}]}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"misspelt answer field":          {"GET", "/api/v10/gateway", "", `{"url":"wss://gateway.discord.gg","ulr":""}`, 200, []string{"response"}},
		"misspelt error field":           {"GET", "/api/v10/channels/1", "", `{"code":10003,"message":"x","eror":1}`, 404, []string{"response"}},
		"200 for a create":               {"POST", "/api/v10/guilds/1/channels", `{"name":"a"}`, `{"id":"1","type":0,"guild_id":"1","name":"a","position":0,"flags":0}`, 200, []string{"response"}},
		"200 of an unknown path":         {"GET", "/api/v10/guilds/1/nonsense", "", `{}`, 200, []string{"request", "response"}},

		"error codes as text":                 {"POST", "/api/v10/guilds/1/channels", `{"name":"a"}`, `{"code":50035,"message":"x","errors":{"name":{"_errors":[{"code":"A","message":"b"}]}}}`, 400, nil},
		"error codes as text, no message":     {"POST", "/api/v10/guilds/1/channels", `{"name":"a"}`, `{"code":50035,"message":"x","errors":{"name":{"_errors":[{"code":"A"}]}}}`, 400, []string{"response"}},
		"permission bits as text":             {"PUT", "/api/v10/channels/1/permissions/2", `{"type":0,"allow":"1024","deny":"0"}`, ``, 204, nil},
		"permission bits as a word":           {"PUT", "/api/v10/channels/1/permissions/2", `{"type":0,"allow":"all"}`, ``, 204, []string{"request"}},
		"permission bits as text, wrong type": {"PUT", "/api/v10/channels/1/permissions/2", `{"type":7,"allow":"1024"}`, ``, 204, []string{"request"}},
		"a media channel":                     {"POST", "/api/v10/guilds/1/channels", `{"name":"a","type":16}`, `{"id":"1","type":16,"guild_id":"1","name":"a","position":0,"flags":0}`, 201, nil},
		"unknown type of channel":             {"POST", "/api/v10/guilds/1/channels", `{"name":"a","type":17}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"a proxy's 502":                       {"GET", "/api/v10/gateway", "", `bad gateway`, 502, nil},
		"creating a guild":                    {"POST", "/api/v10/guilds", `{"name":"ab"}`, `{"code":20001,"message":"x"}`, 403, nil},
		"deleting a guild":                    {"DELETE", "/api/v10/guilds/1", "", `{"code":20001,"message":"x"}`, 403, nil},
		"404 of an unknown path":              {"GET", "/api/v10/nonsense", "", `{"code":0,"message":"404: Not Found"}`, 404, []string{"request"}},
		"404 of a known path, no message":     {"GET", "/api/v10/channels/1", "", `{"code":10003}`, 404, []string{"response"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequest(tc.method, "https://discord.com"+tc.path, strings.NewReader(tc.request))
			rig.Check(t, err)
			if tc.request != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			var got []string
			client := &http.Client{Transport: c.Transport(canned{tc.status, tc.response}, func(v contract.Violation) {
				t.Log(v)
				if !slices.Contains(got, v.Side) {
					got = append(got, v.Side)
				}
			})}
			res, err := client.Do(req)
			rig.Check(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			rig.Check(t, err)
			if d := cmp.Diff(tc.want, got); d != "" || string(body) != tc.response {
				t.Errorf("sides with violations (-want +got):\n%s\nbody passed on: %s", d, body)
			}
		})
	}
}

type canned struct {
	status int
	body   string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Status: strconv.Itoa(c.status), Request: r, Body: io.NopCloser(strings.NewReader(c.body)),
		Header: http.Header{"Content-Type": {"application/json"}}, ProtoMajor: 1, ProtoMinor: 1}, nil
}
