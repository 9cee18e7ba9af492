// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/process"
	"jutsu.com/operators/test/testcluster/project"
)

const (
	refresh = 200 * time.Millisecond
	// readyTimeout limits the time in which an operator must fill its caches.
	readyTimeout = 2 * time.Minute
	// servedTimeout limits the time until the API server serves the kinds of an operator. A busy machine takes longer
	// than ten seconds.
	servedTimeout = 2 * time.Minute
	// cleaning limits the clean-up after a run, which a busy API server delays.
	cleaning = 30 * time.Second
	// simulatedServer is the Discord server id in the samples.
	simulatedServer = "1401681709430341704"
	// simulatedPort is the default port of discordtest.
	simulatedPort = "8065"
)

type session struct {
	*target
	options *options
	out     io.Writer
	folder  string // of temporary kubeconfigs
	logs    string
	reaper  *process.Reaper
	leased  map[environment.Operator]bool // reports whether the Lease existed before the start
	discord *environment.DiscordProcess
	running map[environment.Operator]*environment.Process
	ended   chan error
	mu      sync.Mutex // guards running and out
}

func run(ctx context.Context, o *options, t *target, out io.Writer) (err error) {
	for _, operator := range environment.All {
		if err := t.check(ctx, operator); err != nil {
			return err
		}
	}
	s, err := newSession(ctx, o, t, out)
	if err != nil {
		return err
	}
	defer func() {
		say(out, "\nStopping the operators ...")
		failed := s.stop()
		if failed == nil {
			say(out, "Stopped. The objects stay, and everything that `make install` installed. The logs are kept: %s", s.logs)
		}
		err = errors.Join(err, failed)
	}()
	if err := s.start(ctx); err != nil {
		return environment.UnlessInterrupted(ctx, err)
	}
	s.next()
	select {
	case err := <-s.ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func newSession(ctx context.Context, o *options, t *target, out io.Writer) (s *session, err error) {
	s = &session{
		target: t, options: o, out: out, ended: make(chan error, len(environment.All)+1),
		leased: map[environment.Operator]bool{}, running: map[environment.Operator]*environment.Process{},
	}
	for _, operator := range environment.All {
		lease, err := t.lease(ctx, operator)
		if err != nil {
			return nil, err
		}
		s.leased[operator] = lease != nil
	}
	if s.logs, err = environment.RunFolder("dev"); err != nil {
		return nil, err
	}
	if s.folder, err = os.MkdirTemp("", "jutsu-dev-"); err != nil {
		return nil, err
	}
	if s.reaper, err = process.NewReaper(s.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.folder))
	}
	return s, nil
}

func (s *session) start(ctx context.Context) error {
	if s.options.simulateDiscord {
		if err := s.startDiscord(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, o := range environment.All {
		group.Go(func() error { return s.startOperator(ctx, o) })
	}
	return group.Wait()
}

// startDiscord by default listens on an address that pods can reach, because Alertmanager posts
// alerts to the simulated Discord.
func (s *session) startDiscord(ctx context.Context) (err error) {
	// All runs use the same file, so that the token in the user's Secret remains valid.
	token, err := project.Path("out", "dev", "discord-bot.token")
	if err != nil {
		return err
	}
	listen := s.options.discordListen
	if listen == "" {
		listen = net.JoinHostPort(addressTowards(s.server), simulatedPort)
	}
	say(s.out, "Starting a simulated Discord on %s ...", listen)
	s.discord, err = environment.DiscordCommand{
		Log: filepath.Join(s.logs, "discordtest.log"), Listen: listen, TokenFile: token,
		Guild: environment.Guild{ID: simulatedServer, Name: "Jujutsu High"},
	}.Start(ctx)
	if err == nil {
		s.watch(s.discord.Process)
	}
	return err
}

// addressTowards returns the source address of packets to a server, or to the Internet if the
// server is local. It sends nothing.
func addressTowards(server string) string {
	host := "198.51.100.1" // this address is only in documentation (RFC 5737)
	if parsed, err := url.Parse(server); err == nil && parsed.Hostname() != "localhost" {
		if ip := net.ParseIP(parsed.Hostname()); ip == nil || !ip.IsLoopback() && !ip.IsUnspecified() {
			host = parsed.Hostname()
		}
	}
	dialer, err := net.Dial("udp", net.JoinHostPort(host, "9")) //nolint:noctx // it does not wait
	if err != nil {
		return "127.0.0.1" // without a network, all pods run on this machine
	}
	defer func() { _ = dialer.Close() }()
	return dialer.LocalAddr().(*net.UDPAddr).IP.String()
}

func (s *session) startOperator(ctx context.Context, o environment.Operator) error {
	kubeconfig := filepath.Join(s.folder, o.Name+".kubeconfig")
	if err := s.kubeconfigAs(serviceAccount(o), kubeconfig); err != nil {
		return err
	}
	p, err := o.StartWith(ctx, kubeconfig, environment.Command{
		Log: filepath.Join(s.logs, o.Name+".log"), Args: s.arguments(o), Reaper: s.reaper,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.running[o] = p
	s.mu.Unlock()
	s.watch(p.Process)
	go s.follow(o, p)
	return p.AwaitReady(ctx)
}

func (s *session) arguments(o environment.Operator) []string {
	args := []string{"--zap-encoder=console", "--zap-time-encoding=iso8601"}
	if s.options.namespaces != "" {
		args = append(args, "--watch-namespaces="+s.options.namespaces)
	}
	if s.discord != nil {
		args = append(args, "--discord-api-url="+s.discord.APIURL())
	}
	if o == environment.Dojo {
		return append(args, strings.Fields(s.options.dojoArgs)...)
	}
	return append(args, strings.Fields(s.options.discordFlags)...)
}

func (s *session) watch(p *process.Process) {
	go func() {
		<-p.Exited()
		s.ended <- p.Err()
	}()
}

func (s *session) follow(o environment.Operator, p *environment.Process) {
	file, err := os.Open(p.Log())
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	reader, line := bufio.NewReader(file), ""
	for {
		text, err := reader.ReadString('\n')
		line += text
		if err == nil {
			s.print(o.Name, line)
			line = ""
			continue
		}
		select {
		case <-p.Exited():
			return
		case <-tick.C:
		}
	}
}

func (s *session) print(name, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, "%-16s | %s", name, line)
}

func (s *session) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	say(s.out, "\nBoth operators are ready, each with the permissions of its ServiceAccount. In another terminal:\n")
	if s.discord != nil {
		say(s.out, "  # The page of the simulated Discord, which changes nothing on the real Discord: %s", s.discord.URL())
		say(s.out, "  kubectl create secret generic discord-bot --from-file=token=%s", s.discord.TokenFile())
	} else {
		say(s.out, "  # Write your bot's token into FILE, and your server's id into deploy/samples/discord/server.yaml:")
		say(s.out, "  kubectl create secret generic discord-bot --from-file=token=FILE")
	}
	say(s.out, "  # Create groups and channels on Discord, then a Dojo with its own Postgres (needs make dependencies):")
	say(s.out, "  kubectl apply -f deploy/samples/discord/server.yaml -f deploy/samples/discord/groups.yaml "+
		"-f deploy/samples/discord/channels.yaml")
	say(s.out, "  kubectl apply -f deploy/samples/dojo-postgres.yaml")
	say(s.out, "\nMore: docs/learn/quickstart.md. The operators' logs follow. Ctrl-C stops the operators.\n")
}

func (s *session) stop() error {
	var ending errgroup.Group
	for _, p := range s.running {
		ending.Go(func() error { return p.Stop(environment.Grace) })
	}
	errs := []error{ending.Wait()}
	ctx, cancel := context.WithTimeout(context.Background(), cleaning)
	defer cancel()
	for _, o := range environment.All {
		errs = append(errs, s.deleteLease(ctx, o))
	}
	if s.discord != nil {
		errs = append(errs, s.discord.Shutdown(ctx))
	}
	return errors.Join(append(errs, s.reaper.Clean())...)
}

// deleteLease keeps a Lease that existed before the start, or that another process holds.
func (s *session) deleteLease(ctx context.Context, o environment.Operator) error {
	lease, err := s.lease(ctx, o)
	if err != nil || lease == nil || s.leased[o] {
		return err
	}
	if holder, _ := held(lease, time.Now()); holder != "" {
		return nil
	}
	unchanged := client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
	return client.IgnoreNotFound(s.client.Delete(ctx, lease, unchanged))
}
