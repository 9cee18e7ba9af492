// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"jutsu.com/operators/test/testcluster/process"
)

// discordtest is the main package of the simulated Discord. StartDiscord runs it with `go tool`, so
// it must be a tool in the go.mod of the program that uses package environment.
const discordtest = "jutsu.com/operators/test/discordtest/cmd/discordtest"

// DiscordAPI is a running simulated Discord, either in this process (discordtest.Server) or in a
// process of its own (DiscordProcess).
type DiscordAPI interface {
	// APIURL is the base URL of Discord's API.
	APIURL() string
	Shutdown(ctx context.Context) error
}

// DiscordProcess is a simulated Discord in a process of its own. Shutdown ends the process and
// deletes its folder. The same happens if the starting program ends without Shutdown, even by
// SIGKILL.
type DiscordProcess struct {
	*process.Process
	url, folder, token string
	reaper             *process.Reaper
}

// Guild is a server of a simulated Discord.
type Guild struct{ ID, Name string }

// SimulatedDiscord returns a function that calls StartDiscord; use it as Options.Discord.
func SimulatedDiscord(log string, guild Guild, more ...Guild) func(context.Context) (DiscordAPI, error) {
	return func(ctx context.Context) (DiscordAPI, error) { return StartDiscord(ctx, log, guild, more...) }
}

// StartDiscord starts a simulated Discord with at least one server (guild), and returns when it
// serves. It first builds the program discordtest, if necessary. The parameter log is the path of
// the file for the output of the build and of discordtest.
func StartDiscord(ctx context.Context, log string, guild Guild, more ...Guild) (*DiscordProcess, error) {
	return DiscordCommand{Log: log, Guild: guild, More: more}.Start(ctx)
}

// DiscordCommand configures a simulated Discord.
type DiscordCommand struct {
	// Log is the path of the file with the output of the build and of discordtest.
	Log string
	// Listen is the host:port to serve; by default a free port of 127.0.0.1.
	Listen string
	// TokenFile contains the token of the operator's bot; by default, it is a temporary file. If
	// the file does not exist, discordtest creates it.
	TokenFile string
	// Guild and More are the initial servers.
	Guild Guild
	More  []Guild
}

// Start starts the simulated Discord and returns when it serves.
func (c DiscordCommand) Start(ctx context.Context) (d *DiscordProcess, err error) {
	d = &DiscordProcess{}
	if d.folder, err = os.MkdirTemp("", "discordtest-"); err != nil {
		return nil, err
	}
	if d.reaper, err = process.NewReaper(d.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.folder))
	}
	d.token = cmp.Or(c.TokenFile, filepath.Join(d.folder, "bot.token"))
	args := []string{"tool", discordtest, "--listen=" + cmp.Or(c.Listen, "127.0.0.1:0"), "--guild-id=" + c.Guild.ID,
		"--guild=" + c.Guild.Name, "--community", "--token-file=" + d.TokenFile(),
		"--admin-token-file=" + d.AdminTokenFile()}
	for _, g := range c.More {
		args = append(args, "--also-guild="+g.ID+"="+g.Name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOTMPDIR="+d.folder) // so that Shutdown deletes the files of an interrupted build
	if d.Process, err = process.Start("the simulated Discord", c.Log, cmd, d.reaper); err == nil {
		err = d.Await(ctx, d.findURL)
	}
	if err != nil {
		return nil, errors.Join(err, d.Shutdown(ctx))
	}
	return d, nil
}

// printed matches the line that discordtest prints when it serves.
var printed = regexp.MustCompile(`(?m)^ +page +(http://\S+)$`)

func (d *DiscordProcess) findURL(context.Context) error {
	text, err := os.ReadFile(d.Log())
	if err != nil {
		return err
	}
	found := printed.FindSubmatch(text)
	if found == nil {
		return errors.New("its URL is not printed yet")
	}
	d.url = string(found[1])
	return nil
}

// URL returns the address of the live page.
func (d *DiscordProcess) URL() string { return d.url }

// APIURL implements DiscordAPI.
func (d *DiscordProcess) APIURL() string { return d.url + "/api/v10" }

// TokenFile returns the file with the token of the operator's bot. The bot has the permissions of
// the operator's invite URL.
func (d *DiscordProcess) TokenFile() string { return d.token }

// AdminTokenFile returns the file with the token of a second bot. This bot has all permissions, for
// changes by hand.
func (d *DiscordProcess) AdminTokenFile() string { return filepath.Join(d.folder, "admin.token") }

// Shutdown ends the process with SIGTERM, and with SIGKILL if it still runs after Grace. The
// contents of the simulated Discord are lost.
func (d *DiscordProcess) Shutdown(context.Context) error {
	var err error
	if d.Process != nil {
		err = d.Stop(Grace)
	}
	return errors.Join(err, d.reaper.Clean())
}
