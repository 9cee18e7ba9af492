// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
)

const help = `Compares a Discord with discordtest, the simulated Discord of the tests. In the bot's server it creates
a category, channels in it, a webhook and a role, all with a unique name, by the real operator on a Kubernetes API of
this machine. It changes nothing else, and removes all of it at the end, also after an error or Ctrl-C. The differences
are a table in Markdown.

Usage: make discord-live TOKEN_FILE=bot.token SERVER_ID=1401681709430341704 [API_URL=https://...] [ARGS="flags"]`

type options struct {
	tokenFile, report string
	planOnly          bool
	target            target
	settings          settings
}

func main() {
	log.SetLogger(logr.Discard())
	environment.Main("live", func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout) })
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{settings: settings{interval: time.Second}}
	var apiURL, operatorArgs string
	flags := environment.Flags("live", help, out)
	flags.StringVar(&o.tokenFile, "token-file", "", "`file` with the token of the bot")
	flags.StringVar(&o.target.guild, "server-id", "", "`id` of the Discord server; the bot has to be in it")
	flags.StringVar(&apiURL, "api-url", "", "`URL` of the API of a compatible server; by default Discord's own")
	flags.StringVar(&o.report, "report", "", "`file` for the table; by default one in out/live")
	flags.BoolVar(&o.planOnly, "plan", false, "only check the bot's permissions and show the steps")
	flags.DurationVar(&o.settings.limit, "timeout", 3*time.Minute, "how long each wait of a step may take, more than 0")
	flags.StringVar(&operatorArgs, "operator-args", "", "further `flags` of discord-operator, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.settings.operatorArgs = strings.Fields(operatorArgs)
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case o.tokenFile == "":
		return nil, errors.New("--token-file is missing: make discord-live TOKEN_FILE=bot.token SERVER_ID=ID")
	case !regexp.MustCompile(`^[1-9][0-9]{5,19}$`).MatchString(o.target.guild):
		return nil, errors.New("--server-id must be the id of a Discord server: 6 to 20 digits (SERVER_ID=...)")
	case o.settings.limit <= 0:
		return nil, errors.New("--timeout must be more than 0")
	}
	if apiURL == "" {
		apiURL = discordclient.DefaultAPIURL
	}
	var err error
	if o.target.api, err = discordclient.ParseAPIURL(apiURL); err != nil {
		return nil, err
	}
	o.target.name = o.target.api.Hostname()
	o.target.token, err = readToken(o.tokenFile)
	return o, err
}

func readToken(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s does not contain a token of a bot", file)
	}
	return token, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if err := plan(ctx, o, out); err != nil || o.planOnly {
		return err
	}
	folder, err := environment.RunFolder("live")
	if err != nil {
		return err
	}
	if o.report == "" {
		o.report = filepath.Join(folder, "report.md")
	}
	env, err := environment.Start(ctx, environment.Options{Operators: []environment.Operator{environment.Discord},
		Folder: folder})
	if err != nil {
		return environment.UnlessInterrupted(ctx, err)
	}
	return errors.Join(report(ctx, env, o, out), env.Stop())
}

// plan checks the bot's permissions and prints the steps. It only reads from Discord.
func plan(ctx context.Context, o *options, out io.Writer) error {
	b := &bot{apiURL: o.target.api.String(), token: o.target.token}
	_, server, err := access(ctx, b, o.target.guild)
	if err != nil {
		return err
	}
	left, err := leftovers(ctx, b, o.target.guild)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "In the server %q (%s) at %s, this run will:\n", server, o.target.guild, o.target.name)
	for _, s := range steps {
		_, _ = fmt.Fprintf(out, "  %-12s %s\n", s.name, s.does)
	}
	_, _ = fmt.Fprintln(out, "First, the same steps run against discordtest on this machine. The names of the new "+
		"objects begin with\njutsu-live- and a random number. The run changes no other object, and deletes its objects at "+
		"the end, also after Ctrl-C.")
	if len(left) > 0 {
		_, _ = fmt.Fprintln(out, "These objects are of other runs. If no other run is in progress, delete them by hand:",
			strings.Join(left, ", "))
	}
	return nil
}

func report(ctx context.Context, env *environment.Environment, o *options, out io.Writer) error {
	expected, err := expect(ctx, env, out)
	if err != nil {
		return environment.UnlessInterrupted(ctx, err)
	}
	return compareWith(ctx, env, o, expected, out)
}

func expect(ctx context.Context, env *environment.Environment, out io.Writer) (recording, error) {
	d, simulated, err := simulate(discordtest.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	p, err := conduct(ctx, env, simulated, settings{limit: time.Minute, interval: 200 * time.Millisecond,
		operatorArgs: []string{"--recovery-wait=2s"}}, out)
	if err != nil {
		return nil, err
	}
	return p.recorded, nil
}

func compareWith(ctx context.Context, env *environment.Environment, o *options, expected recording,
	out io.Writer) error {
	p, err := conduct(ctx, env, o.target, o.settings, out)
	if ctx.Err() != nil && !errors.Is(err, errIncomplete) {
		return fmt.Errorf("%w; everything that the run had created is deleted", environment.ErrInterrupted)
	}
	if err != nil {
		return err
	}
	differences := compare(expected, p.recorded)
	written := table(o.target.name, differences)
	if strings.Contains(written, o.target.token) {
		return errors.New("the report contains the token, and was not written")
	}
	if err := os.WriteFile(o.report, []byte(written), 0o644); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%d differences: %s\n%s limited %d calls. Everything created there is deleted.\n",
		len(differences), o.report, o.target.name, p.limited)
	return nil
}
