// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/manager"
)

// tokenVariable is the environment variable with the token. A flag for it would be visible to other
// users of the machine.
const tokenVariable = "DISCORD_TOKEN"

// options are the values of the command line.
type options struct {
	serverID  string
	tokenFile string
	apiURL    string

	namespace   string // of all objects; empty for that of kubectl's context
	name        string // of the DiscordServer
	tokenSecret string // name of the Secret that it refers to
}

// Run is the command `discord-operator export`: it reads a server and prints its manifests on
// stdout and a summary on stderr. It changes nothing on Discord.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := run(ctx, args, stdout, stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	token, err := o.token()
	if err != nil {
		return err
	}
	api, err := discordclient.New(discordclient.Options{Token: token, APIURL: o.apiURL})
	if err != nil {
		return err
	}
	live, err := read(ctx, api, o.serverID)
	if err != nil {
		return explained(err)
	}
	d := manifests(live, o)
	text, err := d.yaml()
	if err != nil {
		return err
	}
	if _, err := stdout.Write(text); err != nil {
		return fmt.Errorf("write the manifests: %w", err)
	}
	_, err = io.WriteString(stderr, d.summary())
	return err
}

// parse reads the command line; --help is printed on out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("discord-operator export", flag.ContinueOnError)
	flags.StringVar(&o.serverID, "server-id", "",
		"`id` of the Discord server; required. Right-click the server in Discord with developer mode on, \"Copy Server ID\"")
	flags.StringVar(&o.tokenFile, "token-file", "",
		"`file` with the bot's token; by default the token is in the environment variable "+tokenVariable)
	flags.StringVar(&o.apiURL, "discord-api-url", discordclient.DefaultAPIURL,
		"`URL` of Discord's API, or of a server that is compatible with it; no call goes to another host")
	flags.StringVar(&o.namespace, "namespace", "",
		"`namespace` of the objects; by default none is written, and kubectl uses its own")
	flags.StringVar(&o.name, "name", "jujutsu", "`name` of the DiscordServer object")
	flags.StringVar(&o.tokenSecret, "token-secret", "discord-bot",
		"`name` of the Secret that will hold the bot's token, under the key token")
	const introduction = "discord-operator export prints a live Discord server as manifests that adopt it. " +
		"It changes nothing on Discord.\n\n" +
		"Usage: discord-operator export --server-id=ID --token-file=FILE [flags] > server.yaml\n\n"
	if err := manager.Parse(flags, introduction, args, out); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

// discordID is the form of ids that the schemas accept.
var discordID = regexp.MustCompile(`^[1-9][0-9]{5,19}$`)

func (o *options) validate() error {
	if o.serverID == "" {
		return errors.New("--server-id is missing: the id of the Discord server; see --help")
	}
	if !discordID.MatchString(o.serverID) {
		return fmt.Errorf("--server-id is %q, it must be the id of a Discord server: 6 to 20 digits", o.serverID)
	}
	for _, name := range []struct {
		flag, value string
		problems    []string
	}{
		{"name", o.name, validation.IsDNS1123Subdomain(o.name)},
		{"token-secret", o.tokenSecret, validation.IsDNS1123Subdomain(o.tokenSecret)},
		{"namespace", o.namespace, validation.IsDNS1123Label(o.namespace)},
	} {
		if name.problems != nil && (name.flag != "namespace" || name.value != "") {
			return fmt.Errorf("--%s is %q: %s", name.flag, name.value, name.problems[0])
		}
	}
	return nil
}

// token reads the token, which no error contains.
func (o *options) token() (discordclient.Secret, error) {
	text, from := os.Getenv(tokenVariable), "the environment variable "+tokenVariable
	if o.tokenFile != "" {
		content, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return discordclient.Secret{}, fmt.Errorf("read the token: %w", err)
		}
		text, from = string(content), o.tokenFile
	}
	if text = strings.TrimSpace(text); text == "" {
		return discordclient.Secret{},
			fmt.Errorf("there is no token in %s; name a file with the bot's token: --token-file=FILE", from)
	}
	return discordclient.NewSecret(text), nil
}
