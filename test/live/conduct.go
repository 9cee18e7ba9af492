// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"jutsu.com/operators/test/environment"
)

type target struct {
	name         string
	api          *url.URL
	token, guild string
}

type settings struct {
	// limit is the longest duration of a wait, and interval the time between two reads.
	limit, interval time.Duration
	operatorArgs    []string
}

func newPrefix() string {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // rand.Read never fails
	return "jutsu-live-" + hex.EncodeToString(random)
}

// conduct performs all steps. Also after an error, it cleans up the objects that the steps have
// created.
func conduct(ctx context.Context, env *environment.Environment, t target, s settings,
	out io.Writer) (_ *proxy, err error) {
	p, err := startProxy(t.api, newTerritory(t.guild, newPrefix()))
	if err != nil {
		return nil, err
	}
	defer p.close()
	w := &world{proxy: p, bot: &bot{apiURL: p.apiURL(), token: t.token}, k8s: env.Admin, settings: s}
	w.namespace = p.own.prefix
	p.enter("access")
	user, _, err := access(ctx, w.bot, t.guild)
	if err != nil {
		return nil, err
	}
	p.own.setBot(user)
	if err := w.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() {
		p.running.Wait() // the last calls of the stopped operator must end before the clean-up
		p.enter("clean-up")
		err = errors.Join(err, cleanUp(ctx, w.bot, p.own))
		p.forget("clean-up")
	}()
	args := append([]string{"--discord-api-url=" + p.url, "--watch-namespaces=" + w.namespace}, s.operatorArgs...)
	operator, err := env.StartOperator(ctx, environment.Discord, w.namespace+".log", args...)
	if err != nil {
		return nil, err
	}
	// Deferred calls run in reverse order: this one before the clean-up.
	defer func() { err = errors.Join(err, operator.Stop(environment.Grace)) }()
	if err := operator.AwaitReady(ctx); err != nil {
		return nil, err
	}
	for _, part := range steps {
		_, _ = fmt.Fprintf(out, "%s: %s\n", t.name, part.name)
		p.enter(part.name)
		if err := part.do(ctx, w); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.name, part.name, err)
		}
	}
	err = p.violations()
	return p, err
}
