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

// discordtest is the command of a simulated Discord, which the module of the program that starts
// one names as a tool in its go.mod.
const discordtest = "jutsu.com/operators/test/discordtest/cmd/discordtest"

// DiscordAPI is what the discord-operator works on: discordtest in this process
// (discordtest.Server) or in one of its own (DiscordProcess).
type DiscordAPI interface {
	// APIURL is what the operator takes for Discord's API.
	APIURL() string
	// Shutdown ends it.
	Shutdown(ctx context.Context) error
}

// DiscordProcess is discordtest as a process of its own. It ends, and its folder goes, with
// Shutdown or with the program that started it, in whatever way that ends.
type DiscordProcess struct {
	*process.Process
	url, folder, token string
	reaper             *process.Reaper
}

// Guild is a server that a simulated Discord begins with.
type Guild struct{ ID, Name string }

// SimulatedDiscord is StartDiscord as an option.
func SimulatedDiscord(log string, guild Guild, more ...Guild) func(context.Context) (DiscordAPI, error) {
	return func(ctx context.Context) (DiscordAPI, error) { return StartDiscord(ctx, log, guild, more...) }
}

// StartDiscord starts a simulated Discord with one server (guild) or more in it, and returns when it
// serves. go builds it before, where that is necessary. Both log to the file.
func StartDiscord(ctx context.Context, log string, guild Guild, more ...Guild) (*DiscordProcess, error) {
	return DiscordCommand{Log: log, Guild: guild, More: more}.Start(ctx)
}

// DiscordCommand is how a simulated Discord is started.
type DiscordCommand struct {
	// Log is the file that it logs to.
	Log string
	// Listen is the host:port that it serves on, and that clients get; by default a free port of
	// 127.0.0.1.
	Listen string
	// TokenFile has the token of the operator's bot, and is made where it does not exist; by default
	// one that goes in the end.
	TokenFile string
	// Guild and More are the servers that it begins with.
	Guild Guild
	More  []Guild
}

// Start is StartDiscord.
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
	cmd.Env = append(os.Environ(), "GOTMPDIR="+d.folder) // so that an interrupted build leaves nothing behind
	if d.Process, err = process.Start("the simulated Discord", c.Log, cmd, d.reaper); err == nil {
		err = d.Await(ctx, d.findURL)
	}
	if err != nil {
		return nil, errors.Join(err, d.Shutdown(ctx))
	}
	return d, nil
}

// printed is what it prints when it serves.
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

// URL is the page that shows what is in it.
func (d *DiscordProcess) URL() string { return d.url }

// APIURL implements DiscordAPI.
func (d *DiscordProcess) APIURL() string { return d.url + "/api/v10" }

// TokenFile has the token of the operator's bot, which has the permissions that the operator's
// invite URL asks for.
func (d *DiscordProcess) TokenFile() string { return d.token }

// AdminTokenFile has the token of a bot that may do everything: for changes by hand.
func (d *DiscordProcess) AdminTokenFile() string { return filepath.Join(d.folder, "admin.token") }

// Shutdown ends it, and kills it when it has not ended within Grace. Nothing of what was in it is
// kept.
func (d *DiscordProcess) Shutdown(context.Context) error {
	var err error
	if d.Process != nil {
		err = d.Stop(Grace)
	}
	return errors.Join(err, d.reaper.Clean())
}
