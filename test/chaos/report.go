// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/yaml"
)

var panicked = regexp.MustCompile(`(?m)^panic:|^fatal error:|Observed a panic|DATA RACE`)

// revealed searches for secrets in texts that users can read, and for panics in the logs.
func (r *run) revealed(ctx context.Context) (wrong violations) {
	texts := r.observer.takeTexts()
	for _, k := range r.replicas {
		log, err := os.ReadFile(k.log())
		if err != nil {
			wrong.add("no secret is revealed", k.log(), "%v", err)
			continue
		}
		texts = append(texts, text{k.log(), string(log)})
		if found := panicked.Find(log); found != nil {
			wrong.add("no operator panics", k.log(), "%s", found)
		}
		metrics, err := r.scrape(ctx, k)
		if err != nil {
			wrong.add("the metrics can be read", k.name, "%v", err)
		}
		texts = append(texts, text{"metrics of " + k.name, metrics})
	}
	for _, t := range texts {
		wrong = append(wrong, r.secrets.leaks(t)...)
	}
	return wrong
}

func (r *run) scrape(ctx context.Context, k *replica) (string, error) {
	if err := k.ready(ctx); err != nil {
		return "", err
	}
	p := k.running()
	if p == nil {
		return "", errors.New("it is down")
	}
	return r.Metrics(ctx, k.what, p)
}

func (r *run) keep(ctx context.Context) {
	w, err := r.gather(ctx)
	if err != nil {
		r.journal.say("the objects cannot be kept: %s", firstLine(err.Error()))
		return
	}
	var objects bytes.Buffer
	for _, list := range []any{w.servers, w.groups, w.channels, w.roles, w.dojos, w.deployments, w.services,
		w.budgets, w.custom, w.guests.groups, w.guests.channels, w.guests.roles} {
		text, err := yaml.Marshal(list)
		if err == nil {
			_, _ = fmt.Fprintf(&objects, "# %T\n%s\n", list, text) // a write to a buffer never fails
		}
	}
	for i := range w.guild.Webhooks {
		w.guild.Webhooks[i].Token = "" // a secret
	}
	discord, err := json.MarshalIndent(map[string]any{
		"channels": w.guild.Channels, "webhooks": w.guild.Webhooks, "audit": w.guild.Audit, "madeByHand": w.userChannels,
		"roles": w.guild.RankedRoles(), "rolesMadeByHand": w.userRoles, "members": w.guild.Members,
		"requests": r.discord.Requests(),
	}, "", "  ")
	err = errors.Join(err,
		os.WriteFile(filepath.Join(r.folder, "objects.yaml"), objects.Bytes(), 0o600),
		os.WriteFile(filepath.Join(r.folder, "discord.json"), discord, 0o600),
		r.Cluster.KeepLogs(filepath.Join(r.folder, "kubernetes")),
	)
	if err != nil {
		r.journal.say("the evidence of the violation is incomplete: %s", firstLine(err.Error()))
	}
}

func (r *run) explain(wrong violations) error {
	const lines = 40
	return fmt.Errorf("something is wrong. What happened last:\n%s\n\nWhat is wrong:\n%w\n\n"+
		"%s has the journal, the logs, the objects and Discord as they were; "+
		"docs/contribute/chaos.md says how to read them. "+
		"To repeat the actions, add the seed to this run's flags: make chaos ARGS=\"--seed %d\"",
		r.journal.tail(lines), wrong, r.folder, r.options.seed)
}
