// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/libs/manager"
)

type options struct {
	manager      manager.Flags
	apiURL       string
	perSecond    int
	resync       time.Duration
	resyncLive   time.Duration
	eventTimeout time.Duration
	recoveryWait time.Duration
	unverified   time.Duration
	workers      int
	selectors    bool
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("discord-operator", flag.ContinueOnError)
	flags.StringVar(&o.apiURL, "discord-api-url", discordclient.DefaultAPIURL,
		"`URL` of Discord's API, or of a server that is compatible with it; for Discord, the operator connects only to the "+
			"host of this URL and, if that is discord.com, to gateway.discord.gg")
	flags.IntVar(&o.perSecond, "discord-calls-per-second", discordclient.DefaultPerSecond,
		"the most calls that each bot makes per second, 1 to 50; a value below 50, Discord's limit, leaves calls "+
			"for another program with the same bot")
	flags.DurationVar(&o.resync, "resync-period", 5*time.Minute,
		"how often every object is reconciled if nothing changes, and how often Discord is read "+
			"while its Gateway cannot be reached; 1s to 24h")
	flags.DurationVar(&o.resyncLive, "live-resync-period", time.Hour,
		"how often Discord is read while its Gateway reports changes, in case a report is lost; 1s to 24h")
	flags.DurationVar(&o.eventTimeout, "event-timeout", 15*time.Second,
		"how long the operator waits for the Gateway to report a change that the operator has made; without this report, "+
			"the operator reads the server once per --resync-period until the Gateway reports something; 1s to 10m")
	flags.DurationVar(&o.recoveryWait, "recovery-wait", recovery.DefaultPropagation,
		"how long the operator waits for a category, channel or role to appear on Discord before the operator creates it "+
			"again, if Discord's answer to the create was lost or the operator has just started; 1s to 10m. The operator "+
			"tolerates that Discord's clock is behind by four times this value, at most one minute")
	flags.DurationVar(&o.unverified, "unverified-period", 5*time.Minute,
		"how long a Ready object stays Ready while the operator cannot ask Discord whether the object still matches its "+
			"spec; 0s to 24h, and 0s means not at all")
	flags.IntVar(&o.workers, "concurrency", 16, "how many objects of each kind are reconciled at once; at least 1")
	flags.BoolVar(&o.selectors, "namespace-selectors", false,
		"whether to read the labels of all Namespaces, so that selectors such as spec.allowedNamespaces.selector work; "+
			"without effect with --watch-namespaces")
	introduction := fmt.Sprintf("discord-operator %s reconciles Discord servers with DiscordServer, DiscordGroup, "+
		"DiscordChannel and DiscordRole objects.\n\n"+
		"Usage: discord-operator [flags]\n\n", version)
	if err := o.manager.Parse(flags, introduction, args, out); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) ManagerFlags() *manager.Flags { return &o.manager }

func (o *options) validate() error {
	for _, f := range []struct {
		name        string
		is          time.Duration
		least, most string
	}{
		{"resync-period", o.resync, "1s", "24h"},
		{"live-resync-period", o.resyncLive, "1s", "24h"},
		{"event-timeout", o.eventTimeout, "1s", "10m"},
		{"recovery-wait", o.recoveryWait, "1s", "10m"},
		{"unverified-period", o.unverified, "0s", "24h"},
	} {
		least, _ := time.ParseDuration(f.least)
		most, _ := time.ParseDuration(f.most)
		if f.is < least || f.is > most {
			return fmt.Errorf("--%s is %s, it must be at least %s and at most %s", f.name, f.is, f.least, f.most)
		}
	}
	if o.workers < 1 {
		return fmt.Errorf("--concurrency is %d, it must be at least 1", o.workers)
	}
	if o.perSecond < 1 || o.perSecond > discordclient.DefaultPerSecond {
		return fmt.Errorf("--discord-calls-per-second is %d, it must be at least 1 and at most %d",
			o.perSecond, discordclient.DefaultPerSecond)
	}
	if _, err := discordclient.ParseAPIURL(o.apiURL); err != nil {
		return fmt.Errorf("--discord-api-url: %w", err)
	}
	return nil
}
