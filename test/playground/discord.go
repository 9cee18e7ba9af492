// SPDX-License-Identifier: Apache-2.0

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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
)

// An object depends only on objects of kinds that come earlier in discordKinds.
var (
	serverKind   = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordServer"}
	groupKind    = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordGroup"}
	channelKind  = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordChannel"}
	roleKind     = schema.GroupVersionKind{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordRole"}
	discordKinds = []schema.GroupVersionKind{serverKind, roleKind, groupKind, channelKind}
)

func (o *options) realDiscord() bool { return o.discordServerID != "" }

func (o *options) discordPlan() string {
	if o.realDiscord() {
		return "no simulated Discord, since a real one is used"
	}
	return "a simulated Discord"
}

func (s *sandbox) startDiscord(ctx context.Context) (environment.DiscordAPI, error) {
	d, err := environment.StartDiscord(ctx, filepath.Join(s.logs, "discordtest.log"),
		environment.Guild{ID: s.serverID("company"), Name: "The company"},
		environment.Guild{ID: s.serverID("jujutsu"), Name: "Jujutsu High"})
	if err != nil {
		return nil, err
	}
	s.simulator = d
	s.watch(d.Exited(), d.Err)
	return d, nil
}

func (s *sandbox) serverID(name string) string {
	for _, o := range s.objects {
		if o.GroupVersionKind() == serverKind && o.GetName() == name {
			id, _, _ := unstructured.NestedString(o.Object, "spec", "serverId")
			return id
		}
	}
	return ""
}

type discordFacts struct {
	page      string // URL of the simulated Discord's page; empty for a real Discord
	apiURL    string // empty for the API of the real Discord
	serverID  string
	tokenFile string
	// Only a simulated Discord has this bot, which has all permissions.
	adminTokenFile string
}

func (s *sandbox) discord() discordFacts {
	if d := s.simulator; d != nil {
		return discordFacts{d.URL(), d.APIURL(), s.serverID("jujutsu"), d.TokenFile(), d.AdminTokenFile()}
	}
	return discordFacts{apiURL: s.options.discordAPIURL, serverID: s.options.discordServerID,
		tokenFile: s.options.discordTokenFile}
}

func (d discordFacts) address() string {
	if d.page != "" {
		return d.page
	}
	return "https://discord.com/channels/" + d.serverID
}

func (d discordFacts) name() string {
	if d.page != "" {
		return "a simulated Discord"
	}
	return "the REAL Discord"
}

func (d discordFacts) description() string {
	if d.page != "" {
		return d.address() + " shows what users would see. This is a simulation: nothing of it is on the real Discord."
	}
	return d.address() + " is on the REAL Discord. At its end, this run deletes what it has created there, " +
		"except retained objects."
}

func (d discordFacts) bot() bot {
	if d.page != "" {
		return bot{tokenFile: d.tokenFile}
	}
	return bot{tokenFile: d.tokenFile, serverID: d.serverID}
}

type bot struct {
	tokenFile string
	// serverID replaces the server ids of the samples with that of a real Discord server.
	serverID string
}

// withBot writes the bot's token to the Secrets of DiscordServers. With a real Discord, it also
// removes the settings of DiscordServers, so that the settings of the real server do not change.
func withBot(objects []*unstructured.Unstructured, b bot) ([]*unstructured.Unstructured, error) {
	token, err := readToken(b.tokenFile)
	if err != nil {
		return nil, err
	}
	var made []*unstructured.Unstructured
	secrets := map[types.NamespacedName]bool{}
	for _, o := range objects {
		o = o.DeepCopy()
		made = append(made, o)
		if o.GroupVersionKind() != serverKind {
			continue
		}
		name, _, _ := unstructured.NestedString(o.Object, "spec", "tokenSecretRef", "name")
		secrets[types.NamespacedName{Namespace: o.GetNamespace(), Name: name}] = true
		if b.serverID != "" {
			o.Object["spec"] = map[string]any{"tokenSecretRef": map[string]any{"name": name}, "serverId": b.serverID,
				"deletionPolicy": "Retain"}
		}
	}
	for _, o := range made {
		key := client.ObjectKeyFromObject(o)
		if o.GetKind() != "Secret" || !secrets[key] {
			continue
		}
		delete(o.Object, "data")
		o.Object["stringData"] = map[string]any{"token": token}
		delete(secrets, key)
	}
	if len(secrets) > 0 {
		return nil, errors.New("the samples lack the Secret that their DiscordServer names")
	}
	return made, nil
}

// Errors of readToken never contain the token.
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
