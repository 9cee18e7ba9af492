// SPDX-License-Identifier: Apache-2.0

// Command discordtest runs a simulated Discord as a process, for the playground and for end-to-end
// tests. It serves REST, the Gateway and a web page at one address, and keeps all state in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"jutsu.com/operators/test/discordtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "discordtest:", err)
		os.Exit(1)
	}
}

type options struct {
	listen, publicURL, seedFile string
	tokenFile, adminTokenFile   string
	guild, guildID              string
	moreGuilds                  []seedGuild
	community, noRateLimits     bool
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("discordtest", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8065", "TCP `address` to serve on; port 0 takes a free one")
	f.StringVar(&o.publicURL, "public-url", "",
		"`URL` that clients get (Gateway, webhooks); default: the address it listens on")
	f.StringVar(&o.seedFile, "seed-file", "",
		"JSON `file` with bots and guilds to begin with, as seed.go describes; --token-file, --admin-token-file, --guild, "+
			"--guild-id, --also-guild and --community then have no effect")
	f.StringVar(&o.tokenFile, "token-file", "discord-bot.token",
		"`file` with the bot's token; if it is missing, it is created, readable by you alone")
	f.StringVar(&o.adminTokenFile, "admin-token-file", "",
		"`file` with the token of a second bot that may do everything: for changes \"by hand\" over REST")
	f.StringVar(&o.guild, "guild", "Jujutsu High", "`name` of the guild that both bots are in")
	f.StringVar(&o.guildID, "guild-id", "1401681709430341704", "`id` of that guild")
	f.Func("also-guild", "`id=name` of a further guild; may be given several times", func(text string) error {
		id, name, ok := strings.Cut(text, "=")
		if !ok || id == "" || name == "" {
			return errors.New("it must be the id and the name of a guild, with = in between")
		}
		o.moreGuilds = append(o.moreGuilds, seedGuild{ID: id, Name: name})
		return nil
	})
	f.BoolVar(&o.community, "community", false,
		"make all guilds Community guilds, for announcement channels, stages, forums")
	f.BoolVar(&o.noRateLimits, "no-rate-limits", false, "drop Discord's rate limits; limits of quantity stay")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	seed := o.seed()
	if o.seedFile != "" {
		if seed, err = readSeed(o.seedFile); err != nil {
			return err
		}
	}
	opts := discordtest.Options{
		Listen: o.listen, PublicURL: o.publicURL,
		Seed: rand.Uint64(), //nolint:gosec // G404: the seed is not security-relevant
		Log:  slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if o.noRateLimits {
		opts.Limits = discordtest.NoRateLimits()
	}
	srv := discordtest.New(opts)
	if err := seed.apply(srv, out); err != nil {
		return err
	}
	if err := srv.Start(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, `
Simulated Discord is up. Nothing of this reaches the real one.
  page      %[1]s
  API       %[1]s/api/v10      (for discord-operator: --discord-api-url=%[1]s)
  calls     %[1]s/calls        (how many each route got)
Next: open the page, or ask as the bot:
  curl -H "Authorization: Bot $(cat %[2]s)" -A "DiscordBot (test, 1)" %[1]s/api/v10/users/@me/guilds
Stop it with Ctrl-C; everything in it is gone then.
`, srv.URL(), seed.firstTokenFile())
	<-ctx.Done()
	_, _ = fmt.Fprintln(out, "stopping")
	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return srv.Shutdown(end)
}
