// Package discord runs a simulated Discord (libs/discordclient/discordtest) as a process of its own.
package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"jutsu.com/operators/test/internal/process"
)

const (
	// tool is the command, which go.mod names as such.
	tool = "jutsu.com/operators/libs/discordclient/discordtest/cmd/discordtest"
	// probeInterval is the time between two looks at whether it is up.
	probeInterval = 20 * time.Millisecond
	// grace is how long it may take to clean up when its start is given up.
	grace = 10 * time.Second
)

// Server is a running simulated Discord. It ends, and its folder goes, with Stop or with the program that started it, in whatever
// way that ends.
type Server struct {
	*process.Process
	url, folder string
	stdin       io.Closer
}

// keeper runs the command behind the folder, and ends it, with all that it has started, when its own standard input closes, which is
// what becomes of a pipe when whoever held its other end is gone. Plain POSIX sh; it leads a process group of its own.
const keeper = `
folder=$1; shift
trap : TERM
exec 3<&0 </dev/null
"$@" 3<&- & server=$!
(read -r _ <&3; kill -s TERM -- "-$$") & watch=$!
exec 3<&-
wait "$server"; code=$?
wait "$server" && code=0
kill "$watch" 2>/dev/null
tries=0
until rm -rf -- "$folder" 2>/dev/null; do
	tries=$((tries + 1))
	[ "$tries" -lt 100 ] || break
	sleep 0.05
done
exit "$code"
`

// Start starts a simulated Discord with one server (guild) in it, and returns when it is up. go builds it before, where that is
// necessary. Everything that both print goes to the file log.
func Start(ctx context.Context, guildID, guildName, log string) (s *Server, err error) {
	folder, err := os.MkdirTemp("", "discordtest-")
	if err != nil {
		return nil, fmt.Errorf("start the simulated Discord: %w", err)
	}
	s = &Server{folder: folder}
	cmd := exec.Command("/bin/sh", "-c", keeper, "discordtest-keeper", folder, "go", "tool", tool, "--listen=127.0.0.1:0",
		"--guild-id="+guildID, "--guild="+guildName, "--community", "--token-file="+s.TokenFile(), "--admin-token-file="+s.AdminTokenFile())
	cmd.Env = append(os.Environ(), "GOTMPDIR="+folder) // so that an interrupted build leaves nothing behind
	if s.stdin, err = cmd.StdinPipe(); err == nil {
		s.Process, err = process.Start("the simulated Discord", log, cmd)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the simulated Discord: %w", err), os.RemoveAll(folder))
	}
	if err := s.awaitUp(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(grace))
	}
	return s, nil
}

// up is what it prints when it serves.
var up = regexp.MustCompile(`(?m)^ +page +(http://\S+)$`)

func (s *Server) awaitUp(ctx context.Context) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(s.Log())
		if err != nil {
			return fmt.Errorf("start the simulated Discord: %w", err)
		}
		if found := up.FindSubmatch(text); found != nil {
			s.url = string(found[1])
			return nil
		}
		select {
		case <-s.Exited():
			return s.Err()
		case <-ctx.Done():
			return fmt.Errorf("start the simulated Discord: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// URL is the page that shows what is in it.
func (s *Server) URL() string { return s.url }

// APIURL is what an operator takes for Discord's API.
func (s *Server) APIURL() string { return s.url + "/api/v10" }

// TokenFile holds the token of the operator's bot, which has the permissions that the operator's invite URL asks for.
func (s *Server) TokenFile() string { return filepath.Join(s.folder, "bot.token") }

// AdminTokenFile holds the token of a bot that may do everything: for what a person does by hand.
func (s *Server) AdminTokenFile() string { return filepath.Join(s.folder, "admin.token") }

// Stop ends it, and kills it when it has not ended within the grace period. Nothing of what was in it is kept.
func (s *Server) Stop(grace time.Duration) error {
	_ = s.stdin.Close() // fails only when it is closed already
	return s.AwaitEnd(grace)
}
