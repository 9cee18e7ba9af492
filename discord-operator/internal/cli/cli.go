// SPDX-License-Identifier: Apache-2.0

// Package cli has the flags and errors that the commands export and plan share.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// TokenVariable is the environment variable with the bot's token. A flag would show the token to
// other users of the machine.
const TokenVariable = "DISCORD_TOKEN"

// Connection has the flags for the connection to a Discord server.
type Connection struct {
	ServerID  string
	TokenFile string
	APIURL    string
}

// Bind adds the flags.
func (c *Connection) Bind(flags *flag.FlagSet) {
	flags.StringVar(&c.ServerID, "server-id", "",
		"`id` of the Discord server; required. To get it, turn on Discord's developer mode, right-click the server, and "+
			"choose \"Copy Server ID\"")
	flags.StringVar(&c.TokenFile, "token-file", "",
		"`file` with the bot's token; by default the token is in the environment variable "+TokenVariable)
	flags.StringVar(&c.APIURL, "discord-api-url", discordclient.DefaultAPIURL,
		"`URL` of Discord's API, or of a server that is compatible with it; for Discord, the command connects only to the "+
			"host of this URL and, if that is discord.com, to gateway.discord.gg")
}

var discordID = regexp.MustCompile(`^[1-9][0-9]{5,19}$`)

// IsID reports whether the CustomResourceDefinitions accept a text as a Discord id.
func IsID(text string) bool { return discordID.MatchString(text) }

// Validate checks the values of the flags.
func (c *Connection) Validate() error {
	if c.ServerID == "" {
		return errors.New("--server-id is missing: the id of the Discord server; see --help")
	}
	if !IsID(c.ServerID) {
		return fmt.Errorf("--server-id is %q, it must be the id of a Discord server: 6 to 20 digits", c.ServerID)
	}
	return nil
}

// Options returns the options of a Discord client. No error contains the token.
func (c *Connection) Options() (discordclient.Options, error) {
	text, from := os.Getenv(TokenVariable), "the environment variable "+TokenVariable
	if c.TokenFile != "" {
		content, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return discordclient.Options{}, fmt.Errorf("read the token: %w", err)
		}
		text, from = string(content), c.TokenFile
	}
	if text = strings.TrimSpace(text); text == "" {
		return discordclient.Options{},
			fmt.Errorf("there is no token in %s; name a file with the bot's token (--token-file=FILE), or leave "+
				"--token-file out and set %s", from, TokenVariable)
	}
	return discordclient.Options{Token: discordclient.NewSecret(text), APIURL: c.APIURL}, nil
}

// NotMember returns the error for a bot that is not a member of the server.
func NotMember(bot, serverID, webURL, applicationID string) error {
	return fmt.Errorf("the bot %q is not a member of server %s, or the server does not exist; "+
		"a user who may manage the server can add the bot: %s",
		bot, serverID, discordclient.InviteURL(webURL, applicationID, discordclient.PermissionsOverwrites, serverID))
}

// Explained adds a remedy to the error of a rate limit, an invalid token or a failed connection.
func Explained(err error) error {
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		return fmt.Errorf("%w; run the command again in %s", err, limited.After.Round(time.Second)+time.Second)
	}
	if discordclient.ClassOf(err) == discordclient.ClassBadToken {
		return fmt.Errorf("%w; Discord refuses the token: check that it is the bot's token, or create a new one with Reset "+
			"Token on the bot's page in Discord's developer portal; the former token is then invalid", err)
	}
	if e, ok := errors.AsType[*discordclient.Error](err); ok && e.Status == 0 && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; check the network, or set --discord-api-url if Discord's API has another address", err)
	}
	return err
}
