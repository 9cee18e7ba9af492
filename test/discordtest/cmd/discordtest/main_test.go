// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

type process struct {
	out  io.Reader
	stop func() error
	said strings.Builder
}

func begin(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, args, w)
		w.CloseWithError(io.EOF)
		done <- err
	}()
	p := &process{out: r}
	p.stop = func() error {
		cancel()
		_, _ = io.Copy(&p.said, r)
		return <-done
	}
	return p
}

func (p *process) until(t *testing.T, pattern string) string {
	t.Helper()
	re, buf := regexp.MustCompile(pattern), make([]byte, 1024)
	for {
		if m := re.FindStringSubmatch(p.said.String()); m != nil {
			return m[1]
		}
		n, err := p.out.Read(buf)
		p.said.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v before %s in:\n%s", err, pattern, p.said.String())
		}
	}
}

func guildsOf(t *testing.T, url, tokenFile string) string {
	t.Helper()
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v10/users/@me/guilds", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bot "+strings.TrimSpace(string(token)))
	req.Header.Set("User-Agent", "DiscordBot (test, 1)")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return res.Status + " " + string(body)
}

func TestRunTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token, admin := filepath.Join(dir, "new", "bot.token"), filepath.Join(dir, "admin.token")
	var tokens []string
	for range 2 {
		p := begin(t, "--listen=127.0.0.1:0", "--token-file="+token, "--admin-token-file="+admin, "--guild=Kyoto", "--guild-id=42",
			"--also-guild=43=Osaka")
		url := p.until(t, `page +(http://\S+)`)
		p.until(t, `(Stop it)`)
		for _, file := range []string{token, admin} {
			got := guildsOf(t, url, file)
			for _, want := range []string{`"id":"42"`, "Kyoto", `"id":"43"`, "Osaka"} {
				if !strings.Contains(got, want) {
					t.Errorf("guilds: %s", got)
				}
			}
		}
		if info, err := os.Stat(token); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("token file: %v %v", info, err)
		}
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		raw, _ := os.ReadFile(token)
		tokens = append(tokens, string(raw))
		if strings.Contains(p.said.String(), strings.TrimSpace(string(raw))) {
			t.Error("the token was printed")
		}
	}
	if tokens[0] != tokens[1] {
		t.Error("the second run made another token")
	}
}

func TestSeedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token, file := filepath.Join(dir, "bot.token"), filepath.Join(dir, "seed.json")
	text := `{"bots": [{"name": "operator", "tokenFile": "` + token + `", "permissions": "805307568"}],
	 "guilds": [{"id": "7", "name": "Tokyo", "channels": [{"name": "Alerts", "type": 4, "channels": [{"name": "fire"}]}]}, {"name": "Other"}]}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := begin(t, "--listen=127.0.0.1:0", "--seed-file="+file)
	url := p.until(t, `page +(http://\S+)`)
	if got := guildsOf(t, url, token); !strings.Contains(got, "Tokyo") || !strings.Contains(got, "Other") {
		t.Errorf("guilds: %s", got)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"botz": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":                    {[]string{"--nonsense"}, "nonsense"},
		"unexpected argument":             {[]string{"serve"}, `unexpected argument "serve"`},
		"missing seed file":               {[]string{"--seed-file=" + filepath.Join(dir, "none.json")}, "read seed"},
		"misspelt field in the seed file": {[]string{"--seed-file=" + bad}, `unknown field "botz"`},
		"invalid address":                 {[]string{"--listen=256.0.0.1:1", "--token-file=" + filepath.Join(dir, "t")}, "listen for the simulated Discord"},
		"token file is a folder":          {[]string{"--token-file=" + dir}, "read token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(t.Context(), tc.args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it to say %q", err, tc.want)
			}
		})
	}
}
