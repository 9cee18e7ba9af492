// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/base64"
	"strings"
)

// User is the account of a human or a bot.
type User struct {
	ID, Name string
	Bot      bool
}

// Wire returns the user in Discord's JSON.
func (u *User) Wire() map[string]any {
	return map[string]any{
		"id": u.ID, "username": u.Name, "discriminator": "0", "global_name": nil, "avatar": nil,
		"public_flags": 0, "flags": 0, "bot": u.Bot, "primary_guild": nil,
	}
}

// Bot is an application with its bot user. AddBot sets defaults for empty fields.
type Bot struct {
	// Name is the name of the bot user; default "bot".
	Name string
	// Token is the bot's secret for REST and the Gateway; default: a random token.
	Token string
	// UserID is the id of the bot user; default: a new id. ApplicationID always equals UserID, as
	// for all current applications on Discord.
	UserID, ApplicationID string
	// OwnerWithout2FA makes guilds with MFALevel 1 refuse administrative calls (error 60003).
	OwnerWithout2FA bool
	// PrivilegedIntents are the privileged intents that the bot may use. An IDENTIFY with another
	// privileged intent gets close code 4014.
	PrivilegedIntents int
}

// BotState is a bot with its user account.
type BotState struct {
	Bot
	User *User
}

// AddBot creates an application and its bot user. The bot is not yet a member of a guild.
func (d *Discord) AddBot(b Bot) Bot {
	if b.Name == "" {
		b.Name = "bot"
	}
	if b.UserID == "" {
		b.UserID = d.NewID()
	}
	b.ApplicationID = b.UserID
	if b.Token == "" {
		b.Token = d.newToken(b.UserID)
	}
	u := &User{ID: b.UserID, Name: b.Name, Bot: true}
	d.Users[u.ID] = u
	d.Bots[b.Token] = &BotState{Bot: b, User: u}
	return b
}

func (d *Discord) newToken(user string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(user)) + "." + d.Secret(6) + "." + d.Secret(38)
}

// ResetToken replaces a bot's token, ends its Gateway sessions and returns the new token.
func (d *Discord) ResetToken(b *BotState) string {
	delete(d.Bots, b.Token)
	b.Token = d.newToken(b.UserID)
	d.Bots[b.Token] = b
	d.Events.TokenReset(b.UserID)
	return b.Token
}

// BotOf returns the bot with the token in an Authorization header ("Bot <token>"), or nil.
func (d *Discord) BotOf(authorization string) *BotState {
	token, ok := strings.CutPrefix(authorization, "Bot ")
	if !ok {
		return nil
	}
	return d.Bots[token]
}
