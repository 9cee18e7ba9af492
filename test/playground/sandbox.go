// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/cnpgtest"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

const postgresSample = "deploy/samples/dojo-postgres.yaml"

const standInNote = "STAND-IN: no containers run here, so a program (test/testcluster/cnpgtest) plays CloudNativePG. " +
	"The kinds of CloudNativePG are real, Postgres is not."

const (
	namespacesSample = "deploy/samples/install/namespaces"
	tenantsSample    = "deploy/samples/install/tenants"
)

var (
	// Each kind must have the conditions Ready, Available, Progressing and Degraded.
	shown = append([]schema.GroupVersionKind{{Group: "core.jutsu.com", Version: "v1", Kind: "Dojo"}}, discordKinds...)
)

// The samples of tenants need a second Discord server, so a real Discord gets none.
func (o *options) samples() []string {
	folders := []string{"deploy/samples", "deploy/samples/discord"}
	if o.realDiscord() {
		return folders
	}
	return append([]string{tenantsSample}, folders...)
}

type sandbox struct {
	*environment.Environment
	options   *options
	logs      string // folder
	objects   []*unstructured.Unstructured
	simulator *environment.DiscordProcess // nil for a real Discord
	processes []*environment.Process      // the operators, in the order of environment.All
	ended     chan error                  // one error per ended process
}

// start prints its progress. After an error, no process runs.
func start(ctx context.Context, o *options, out *os.File) (*sandbox, error) {
	s := &sandbox{options: o, processes: make([]*environment.Process, len(environment.All)), ended: make(chan error, 3)}
	if err := s.start(ctx, out); err != nil {
		return nil, errors.Join(environment.UnlessInterrupted(ctx, err), s.stop(out))
	}
	return s, nil
}

func (s *sandbox) start(ctx context.Context, out *os.File) (err error) {
	if s.logs, err = environment.RunFolder("playground"); err != nil {
		return err
	}
	if err := logTo(filepath.Join(s.logs, "playground.log")); err != nil {
		return err
	}
	for _, folder := range s.options.samples() {
		rendered, err := render(folder)
		if err != nil {
			return err
		}
		s.objects = append(s.objects, rendered...)
	}
	if s.objects, err = environment.Known(s.objects); err != nil {
		return err
	}
	say(out, "Starting Kubernetes with %d fake nodes, and %s ...", s.options.nodes, s.options.discordPlan())
	options := environment.Options{
		Operators:     environment.All,
		Cluster:       testcluster.Options{ControllerManager: true, Nodes: s.options.nodes, Progress: out},
		CloudNativePG: postgresWithSessions, Prometheus: true, Folder: s.logs,
	}
	if !s.options.realDiscord() {
		options.Discord = s.startDiscord
	}
	if s.Environment, err = environment.Start(ctx, options); err != nil {
		return err
	}
	say(out, standInNote)
	say(out, "Installing and starting the operators of %s and %s ...", environment.Dojo.Base(),
		environment.Discord.Base())
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() error { return s.startOperators(starting) })
	group.Go(func() error { return s.makeNamespaces(starting) })
	if err := group.Wait(); err != nil {
		return err
	}
	say(out, "Applying %s ...", strings.Join(s.options.samples(), ", "))
	if err := s.applySamples(ctx); err != nil {
		return err
	}
	say(out, "\nDiscord: %s\n", s.discord().description())
	return nil
}

// logTo writes the libraries' logs to a file, because they would spoil the table on the terminal.
func logTo(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	logger := logr.FromSlogHandler(slog.NewTextHandler(out, nil))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

func render(folder string) ([]*unstructured.Unstructured, error) {
	path, err := project.Path(folder)
	if err != nil {
		return nil, err
	}
	return manifests.Render(path)
}

// makeNamespaces also waits for the status of each quota. Until then, Kubernetes refuses the
// objects that the quota counts.
func (s *sandbox) makeNamespaces(ctx context.Context) error {
	objects, err := render(namespacesSample)
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, s.Admin, objects); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, refresh, true, func(ctx context.Context) (bool, error) {
		var quotas corev1.ResourceQuotaList
		if err := s.Admin.List(ctx, &quotas); err != nil {
			return false, err
		}
		return !slices.ContainsFunc(quotas.Items, func(q corev1.ResourceQuota) bool {
			return len(q.Status.Hard) < len(q.Spec.Hard)
		}), nil
	})
}

func postgresWithSessions(admin client.Client) cnpgtest.Options {
	return cnpgtest.Options{Sessions: func(ctx context.Context, namespace, database string) int {
		var pods corev1.PodList
		if err := admin.List(ctx, &pods, client.InNamespace(namespace),
			client.MatchingLabels{"app.kubernetes.io/name": "dojo"}); err != nil {
			return 1
		}
		sessions := 0
		for _, pod := range pods.Items {
			dojo := strings.ReplaceAll(pod.Labels["app.kubernetes.io/instance"], "-", "_")
			if strings.HasSuffix(database, "_"+dojo) {
				sessions++
			}
		}
		return sessions
	}}
}

func (s *sandbox) startOperators(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, o := range environment.All {
		group.Go(func() error {
			args := []string{"--zap-encoder=console", "--zap-time-encoding=iso8601"}
			if s.options.discordAPIURL != "" {
				args = append(args, "--discord-api-url="+s.options.discordAPIURL)
			}
			p, err := s.StartOperator(ctx, o, o.Name+".log", args...)
			if err != nil {
				return err
			}
			s.processes[i] = p
			s.watch(p.Exited(), p.Err)
			return p.AwaitReady(ctx)
		})
	}
	return group.Wait()
}

func (s *sandbox) watch(exited <-chan struct{}, how func() error) {
	go func() {
		<-exited
		s.ended <- how()
	}()
}

func (s *sandbox) applySamples(ctx context.Context) error {
	objects, err := withBot(s.objects, s.discord().bot())
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, s.Admin, objects)
}

func (s *sandbox) read(ctx context.Context) ([]row, error) {
	var rows []row
	for _, kind := range shown {
		objects, err := s.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		for i := range objects {
			rows = append(rows, rowOf(&objects[i]))
		}
	}
	return rows, nil
}

func (s *sandbox) list(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind)
	if err := s.Admin.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list %s objects: %w", kind.Kind, err)
	}
	return list.Items, nil
}

func (s *sandbox) tails() string {
	var text strings.Builder
	for _, p := range s.processes {
		_, _ = fmt.Fprintf(&text, "\nthe last lines of %s:\n%s", p.Log(), p.Tail())
	}
	return text.String()
}

// stop first deletes the objects on a real Discord, because only a running operator can do that.
func (s *sandbox) stop(out *os.File) error {
	if s.Environment == nil {
		return nil
	}
	return errors.Join(s.leaveDiscord(out), s.Cluster.KeepLogs(filepath.Join(s.logs, "kubernetes")), s.Stop())
}
