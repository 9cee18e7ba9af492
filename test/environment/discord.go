// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"jutsu.com/operators/libs/testcluster/process"
)

// discordtest is the command of a simulated Discord, which the module of the program that starts
// one names as a tool in its go.mod.
const discordtest = "jutsu.com/operators/libs/discordclient/discordtest/cmd/discordtest"

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
	url, folder string
	reaper      *process.Reaper
}

// SimulatedDiscord is StartDiscord as an option.
func SimulatedDiscord(guildID, guildName, log string) func(context.Context) (DiscordAPI, error) {
	return func(ctx context.Context) (DiscordAPI, error) { return StartDiscord(ctx, guildID, guildName, log) }
}

// StartDiscord starts a simulated Discord with one server (guild) in it, and returns when it
// serves. go builds it before, where that is necessary. Both log to the file.
func StartDiscord(ctx context.Context, guildID, guildName, log string) (d *DiscordProcess, err error) {
	d = &DiscordProcess{}
	if d.folder, err = os.MkdirTemp("", "discordtest-"); err != nil {
		return nil, err
	}
	if d.reaper, err = process.NewReaper(d.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.folder))
	}
	cmd := exec.Command("go", "tool", discordtest, "--listen=127.0.0.1:0", "--guild-id="+guildID, "--guild="+guildName,
		"--community", "--token-file="+d.TokenFile(), "--admin-token-file="+d.AdminTokenFile())
	cmd.Env = append(os.Environ(), "GOTMPDIR="+d.folder) // so that an interrupted build leaves nothing behind
	if d.Process, err = process.Start("the simulated Discord", log, cmd, d.reaper); err == nil {
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
func (d *DiscordProcess) TokenFile() string { return filepath.Join(d.folder, "bot.token") }

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
