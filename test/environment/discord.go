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

// discordtest runs with `go tool`, so it must be a tool in the go.mod of the calling program.
const discordtest = "jutsu.com/operators/test/discordtest/cmd/discordtest"

// DiscordAPI is a running simulated Discord: a discordtest.Server or a DiscordProcess.
type DiscordAPI interface {
	APIURL() string
	Shutdown(ctx context.Context) error
}

// DiscordProcess is a simulated Discord in a process. It ends when the program that started it
// ends.
type DiscordProcess struct {
	*process.Process
	url, folder, token string
	reaper             *process.Reaper
}

// Guild is a server of a simulated Discord.
type Guild struct{ ID, Name string }

// SimulatedDiscord returns a value for Options.Discord that calls StartDiscord.
func SimulatedDiscord(log string, guild Guild, more ...Guild) func(context.Context) (DiscordAPI, error) {
	return func(ctx context.Context) (DiscordAPI, error) { return StartDiscord(ctx, log, guild, more...) }
}

// StartDiscord builds and starts a simulated Discord, and returns when it serves.
func StartDiscord(ctx context.Context, log string, guild Guild, more ...Guild) (*DiscordProcess, error) {
	return DiscordCommand{Log: log, Guild: guild, More: more}.Start(ctx)
}

// DiscordCommand configures a simulated Discord.
type DiscordCommand struct {
	Log string
	// Listen is a host:port; by default a free port of 127.0.0.1.
	Listen string
	// TokenFile contains the bot token of the operator. discordtest creates a missing file.
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

// URL returns the address of the web page.
func (d *DiscordProcess) URL() string { return d.url }

// APIURL implements DiscordAPI.
func (d *DiscordProcess) APIURL() string { return d.url + "/api/v10" }

// TokenFile returns the file with the token of the operator's bot.
func (d *DiscordProcess) TokenFile() string { return d.token }

// AdminTokenFile returns the file with the token of a second bot, which has all permissions.
func (d *DiscordProcess) AdminTokenFile() string { return filepath.Join(d.folder, "admin.token") }

// Shutdown ends the process with SIGTERM, and with SIGKILL after Grace. It deletes all data, except
// the files DiscordCommand.Log and DiscordCommand.TokenFile.
func (d *DiscordProcess) Shutdown(context.Context) error {
	var err error
	if d.Process != nil {
		err = d.Stop(Grace)
	}
	return errors.Join(err, d.reaper.Clean())
}
