// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"jutsu.com/operators/test/discordtest"
)

// seed is the initial state of the simulator. The file of --seed-file has this form:
//
//	{"bots":   [{"name": "operator", "tokenFile": "bot.token", "permissions": "805307568"}],
//	 "guilds": [{"id": "1401681709430341704", "name": "Jujutsu High", "features": ["COMMUNITY"],
//	             "channels": [{"name": "Alerts", "type": 4, "channels": [{"name": "tokyo"}]}]}]}
type seed struct {
	Bots   []seedBot   `json:"bots"`
	Guilds []seedGuild `json:"guilds"`
}

type seedBot struct {
	Name string `json:"name"`
	// TokenFile has the bot's token. The command creates a missing file.
	TokenFile string `json:"tokenFile"`
	// Permissions are the bot's permissions in each guild, as the decimal number in an invite URL.
	Permissions uint64 `json:"permissions,string"`
}

type seedGuild struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Features []string      `json:"features"`
	Channels []seedChannel `json:"channels"`
}

// seedChannel is a channel, or a category (type 4) with Channels.
type seedChannel struct {
	Name     string        `json:"name"`
	Type     int           `json:"type"`
	Topic    string        `json:"topic"`
	Channels []seedChannel `json:"channels"`
}

const (
	// botPermissions are the permissions that discord-operator's invite URL requests.
	botPermissions = 805307568
	// adminPermissions is ADMINISTRATOR.
	adminPermissions = 8
)

func (o options) seed() seed {
	s := seed{
		Bots:   []seedBot{{"operator", o.tokenFile, botPermissions}},
		Guilds: append([]seedGuild{{ID: o.guildID, Name: o.guild}}, o.moreGuilds...),
	}
	if o.adminTokenFile != "" {
		s.Bots = append(s.Bots, seedBot{"by hand", o.adminTokenFile, adminPermissions})
	}
	if o.community {
		for i := range s.Guilds {
			s.Guilds[i].Features = []string{"COMMUNITY", "NEWS"}
		}
	}
	return s
}

func readSeed(path string) (seed, error) {
	var s seed
	f, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("read seed: %w", err)
	}
	defer func() { _ = f.Close() }()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("read seed %s: %w", path, err)
	}
	return s, nil
}

func (s seed) firstTokenFile() string {
	if len(s.Bots) == 0 {
		return "TOKEN-FILE"
	}
	return s.Bots[0].TokenFile
}

func (s seed) apply(srv *discordtest.Server, out io.Writer) error {
	var bots []discordtest.Bot
	for _, b := range s.Bots {
		if b.TokenFile == "" {
			return fmt.Errorf("bot %q has no tokenFile", b.Name)
		}
		token, err := readToken(b.TokenFile)
		if err != nil {
			return err
		}
		bot := srv.AddBot(discordtest.Bot{Name: b.Name, Token: token})
		if err := writeToken(b.TokenFile, token, bot.Token); err != nil {
			return err
		}
		bots = append(bots, bot)
		_, _ = fmt.Fprintf(out, "bot %q: token in %s\n", b.Name, b.TokenFile)
	}
	for _, g := range s.Guilds {
		made := srv.AddGuild(discordtest.GuildSpec{ID: g.ID, Name: g.Name, Features: g.Features})
		for i, b := range bots {
			srv.AddMember(made.ID, b.UserID, discordtest.Permissions(s.Bots[i].Permissions))
		}
		createChannels(srv, made.ID, "", g.Channels)
		_, _ = fmt.Fprintf(out, "guild %q: id %s\n", made.Name, made.ID)
	}
	return nil
}

func createChannels(srv *discordtest.Server, guild, parent string, list []seedChannel) {
	for i, c := range list {
		id := srv.CreateChannelByHand(guild, discordtest.Channel{
			Name: c.Name, Type: c.Type, Topic: c.Topic, ParentID: parent, Position: i,
		})
		createChannels(srv, guild, id, c.Channels)
	}
}

func readToken(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func writeToken(path, had, token string) error {
	if had != "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("keep token: %w", err)
	}
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep token: %w", err)
	}
	return nil
}
