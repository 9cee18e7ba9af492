package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"jutsu.com/operators/test/internal/discord"
)

// The kinds of discord.jutsu.com, parents first.
var (
	serverKind   = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordServer"}
	groupKind    = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordGroup"}
	channelKind  = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordChannel"}
	discordKinds = []schema.GroupVersionKind{serverKind, groupKind, channelKind}
)

// realDiscord says whether the channels of this run are on a Discord that outlives it.
func (o *options) realDiscord() bool { return o.discordServerID != "" }

// whichDiscord is for the line that says what is started.
func (o *options) whichDiscord() string {
	if o.realDiscord() {
		return "nothing for Discord, since a real one is used"
	}
	return "a simulated Discord"
}

// startDiscord starts a simulated Discord, with the server that the samples name, unless a real one is used.
func (e *environment) startDiscord(ctx context.Context) error {
	if e.options.realDiscord() {
		return nil
	}
	s, err := discord.Start(ctx, e.sampleServerID(), "Jujutsu High", filepath.Join(e.logs, "discordtest.log"))
	if err != nil {
		return err
	}
	e.simulator = s
	e.watch(s.Exited(), s.Err)
	return nil
}

// sampleServerID is the id of the server that the samples manage.
func (e *environment) sampleServerID() string {
	for _, o := range e.objects {
		if id, _, _ := unstructured.NestedString(o.Object, "spec", "serverId"); id != "" {
			return id
		}
	}
	return ""
}

// whereDiscordIs tells people where to look.
func (e *environment) whereDiscordIs() string {
	if e.simulator != nil {
		return e.simulator.URL() + " shows what users would see. This is a simulation: nothing of it is on the real Discord."
	}
	return fmt.Sprintf("https://discord.com/channels/%s is the REAL one. What this run creates there is deleted at its end.", e.options.discordServerID)
}

// discordFlags are those flags of discord-operator that say where Discord is.
func (e *environment) discordFlags() []string {
	if url := e.apiURL(); url != "" {
		return []string{"--discord-api-url=" + url}
	}
	return nil
}

// apiURL is where Discord's API is; empty for Discord's own.
func (e *environment) apiURL() string {
	if e.simulator != nil {
		return e.simulator.APIURL()
	}
	return e.options.discordAPIURL
}

func (e *environment) discordFacts() discordFacts {
	if e.simulator == nil {
		return discordFacts{apiURL: e.options.discordAPIURL, serverID: e.options.discordServerID, tokenFile: e.options.discordTokenFile}
	}
	return discordFacts{
		page: e.simulator.URL(), apiURL: e.apiURL(), serverID: e.sampleServerID(),
		tokenFile: e.simulator.TokenFile(), adminTokenFile: e.simulator.AdminTokenFile(),
	}
}

// bot is whose token the samples get, and for which server.
func (e *environment) bot() bot {
	if e.simulator != nil {
		return bot{tokenFile: e.simulator.TokenFile()}
	}
	return bot{tokenFile: e.options.discordTokenFile, serverID: e.options.discordServerID}
}

// bot is a bot for the samples.
type bot struct {
	tokenFile string
	// serverID is a real server's that is used instead of the samples'; empty keeps theirs.
	serverID string
}

// withBot returns the objects with a bot's token in the Secrets that DiscordServers name. Of a real server nothing is managed but what the samples
// create in it: its DiscordServer has no settings.
func withBot(objects []*unstructured.Unstructured, b bot) ([]*unstructured.Unstructured, error) {
	token, err := readToken(b.tokenFile)
	if err != nil {
		return nil, err
	}
	var made []*unstructured.Unstructured
	secrets := map[string]bool{}
	for _, o := range objects {
		o = o.DeepCopy()
		made = append(made, o)
		if o.GroupVersionKind() != serverKind {
			continue
		}
		name, _, _ := unstructured.NestedString(o.Object, "spec", "tokenSecretRef", "name")
		secrets[name] = true
		if b.serverID != "" {
			o.Object["spec"] = map[string]any{"tokenSecretRef": map[string]any{"name": name}, "serverId": b.serverID, "deletionPolicy": "Retain"}
		}
	}
	for _, o := range made {
		if o.GetKind() != "Secret" || !secrets[o.GetName()] {
			continue
		}
		delete(o.Object, "data")
		o.Object["stringData"] = map[string]any{"token": token}
		delete(secrets, o.GetName())
	}
	if len(secrets) > 0 {
		return nil, errors.New("the samples lack the Secret that their DiscordServer names")
	}
	return made, nil
}

// readToken reads a bot's token from a file; no error tells it.
func readToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the bot's token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read the bot's token: %s is empty", file)
	}
	return token, nil
}
