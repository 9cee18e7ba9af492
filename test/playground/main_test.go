// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestParse(t *testing.T) {
	folder := t.TempDir()
	token, empty := filepath.Join(folder, "token"), filepath.Join(folder, "empty")
	for file, text := range map[string]string{token: "secret\n", empty: "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	const server = "--discord-server-id=1401681709430341704"
	for name, test := range map[string]struct {
		args []string
		want *options
		err  string
	}{
		"no flags": {want: &options{timeout: 3 * time.Minute, nodes: 3}},
		"all flags": {args: []string{"--once", "--timeout=1m", "--nodes=1"},
			want: &options{once: true, timeout: time.Minute, nodes: 1}},
		"a real Discord": {args: []string{"--discord-token-file=token", server, "--discord-api-url=http://localhost"},
			want: &options{
				timeout: 3 * time.Minute, nodes: 3, discordTokenFile: token, discordServerID: "1401681709430341704",
				discordAPIURL: "http://localhost",
			}},
		"a server without a token":       {args: []string{server}, err: "go together"},
		"a token without a server":       {args: []string{"--discord-token-file=token"}, err: "go together"},
		"an API address without a token": {args: []string{"--discord-api-url=http://localhost"}, err: "--discord-api-url requires"},
		"a server's name instead of its id": {args: []string{"--discord-token-file=token", "--discord-server-id=jujutsu"},
			err: "must be the id of a Discord server"},
		"a missing file":         {args: []string{"--discord-token-file=none", server}, err: "no such file"},
		"a file without a token": {args: []string{"--discord-token-file=empty", server}, err: "empty is empty"},
		"no timeout":             {args: []string{"--timeout=0s"}, err: "--timeout must be more than 0"},
		"no nodes":               {args: []string{"--nodes=0"}, err: "--nodes must be at least 1"},
		"an unexpected argument": {args: []string{"once"}, err: `unexpected argument "once"`},
		"an unknown flag":        {args: []string{"--twice"}, err: "not defined: -twice"},
		"a duration in words":    {args: []string{"--timeout=soon"}, err: "invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			var printed bytes.Buffer
			got, err := parse(test.args, &printed)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var printed bytes.Buffer
	if _, err := parse([]string{"--help"}, &printed); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error is %v, want flag.ErrHelp", err)
	}
	for _, want := range []string{"make run", "-once", "-timeout", "-nodes", "-discord-token-file", "-discord-server-id",
		"-discord-api-url", "Ctrl-C", "deleted"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("--help does not mention %q:\n%s", want, printed.String())
		}
	}
}

func TestLogTo(t *testing.T) {
	log.Log.WithName("client").Error(errors.New("refused"), "Of controller-runtime")
	klog.ErrorS(errors.New("refused"), "Of client-go")
	text, err := os.ReadFile(ownLog)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Of controller-runtime", "Of client-go", "refused"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}
