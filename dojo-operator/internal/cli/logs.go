// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl"
)

const (
	partApplication = "application"
	partSchema      = "schema"
	partPostgres    = "postgres"
)

var parts = []string{partApplication, partSchema, partPostgres}

const postgresContainer = "postgres"

type logging struct {
	follow, previous bool
	tail             int64
	since            time.Duration
}

func (l logging) options(container string) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Container: container, Follow: l.follow, Previous: l.previous}
	if l.tail >= 0 {
		o.TailLines = &l.tail
	}
	if l.since > 0 {
		o.SinceSeconds = new(int64(l.since.Seconds()))
	}
	return o
}

func (s *session) newLogs() *cobra.Command {
	var l logging
	cmd := s.forDojo("logs", "Print the logs of the application, of its SQL, or of Postgres", `Prints the logs of a Dojo:
  application   all pods of the application; the default
  schema        the pods of the latest Job that runs SQL
  postgres      the primary, or the Job that fills or upgrades the Cluster`, nil)
	cmd.Use = "logs NAME [application|schema|postgres]"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 && slices.Contains(parts, args[1]) {
			return nil
		}
		if len(args) == 2 {
			return kubectl.Usage("%q has no logs: name one of %s", args[1], strings.Join(parts, ", "))
		}
		return kubectl.Exactly(1, nameOfDojo)(cmd, args)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return parts, cobra.ShellCompDirectiveNoFileComp
		}
		return s.Complete(kinds.Dojo)(cmd, args, typed)
	}
	cmd.RunE = s.Connected(func(ctx context.Context, args []string) error {
		part := partApplication
		if len(args) == 2 {
			part = args[1]
		}
		return s.logs(ctx, args[0], part, l)
	})
	flags := cmd.Flags()
	flags.BoolVarP(&l.follow, "follow", "f", false, "follow the logs until you press Ctrl-C")
	flags.BoolVarP(&l.previous, "previous", "p", false, "print the logs of the former run of each container")
	flags.Int64Var(&l.tail, "tail", -1, "print only the last `LINES`; by default all")
	flags.DurationVar(&l.since, "since", 0, "print only the lines of the last `DURATION`, such as 10m")
	return cmd
}

type logSource struct{ pod, container string }

func (s *session) logs(ctx context.Context, name, part string, l logging) error {
	w, err := s.world(ctx, name)
	if err != nil {
		return err
	}
	if w.Unreadable(kinds.Pod) {
		return fmt.Errorf("you may not list pods in the namespace %s", s.Namespace)
	}
	sources, err := s.sources(ctx, w, part)
	if err != nil {
		return err
	}
	out := &prefixed{out: s.Out}
	failed := make([]error, len(sources))
	var reading sync.WaitGroup
	for i, source := range sources {
		prefix := ""
		if len(sources) > 1 {
			prefix = s.Style.Dim(source.pod + " | ")
		}
		read := func() {
			request := s.core().Pods(s.Namespace).GetLogs(source.pod, l.options(source.container))
			stream, err := request.Stream(ctx)
			if err == nil {
				err = out.copy(stream, prefix)
			}
			if ctx.Err() == nil && err != nil {
				failed[i] = fmt.Errorf("read the log of %s: %w", source.pod, err)
			}
		}
		if !l.follow { // one log after another, so that the lines of a pod stay together
			read()
			continue
		}
		reading.Go(read)
	}
	reading.Wait()
	return errors.Join(failed...)
}

type prefixed struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *prefixed) copy(from io.ReadCloser, prefix string) error {
	defer func() { _ = from.Close() }()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.mu.Lock()
			_, _ = io.WriteString(p.out, prefix+strings.TrimSuffix(line, "\n")+"\n")
			p.mu.Unlock()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) sources(ctx context.Context, w *world.World, part string) ([]logSource, error) {
	var labels client.MatchingLabels
	of := schemaSources
	switch part {
	case partSchema:
		labels = client.MatchingLabels{ownership.NameLabel: ownership.Schema, ownership.InstanceLabel: w.Dojo.Name}
	case partPostgres:
		labels, of = client.MatchingLabels{world.ClusterLabel: cnpg.ClusterName(w.Dojo)}, postgresSources
	default:
		return applicationSources(w)
	}
	var pods corev1.PodList
	if err := s.List(ctx, &pods, client.InNamespace(s.Namespace), labels); err != nil {
		return nil, err
	}
	return of(w, pods.Items)
}

func applicationSources(w *world.World) (all []logSource, err error) {
	for i := range w.Pods {
		all = append(all, logSource{w.Pods[i].Name, ownership.Application})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no pods: %s", w.Dojo.Name, seeStatus(w.Dojo))
	}
	return all, nil
}

func schemaSources(w *world.World, pods []corev1.Pod) ([]logSource, error) {
	latest := latestPods(pods)
	if len(latest) == 0 {
		return nil, fmt.Errorf("%s has no pod of a Job that runs SQL: no such Job has run yet, or the finished "+
			"Jobs were deleted", w.Dojo.Name)
	}
	var all []logSource
	for _, pod := range latest {
		all = append(all, logSource{pod.Name, ownership.Schema})
	}
	return all, nil
}

func latestPods(pods []corev1.Pod) []corev1.Pod {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if len(pods) == 0 {
		return nil
	}
	const jobLabel = "batch.kubernetes.io/job-name"
	last := pods[len(pods)-1].Labels[jobLabel]
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Labels[jobLabel] != last })
}

// postgresSources selects the primary, or else a pod of the latest CloudNativePG Job.
func postgresSources(w *world.World, pods []corev1.Pod) ([]logSource, error) {
	if w.Dojo.Spec.Postgres == nil {
		return nil, fmt.Errorf("the operator does not run the database of %s (spec.credentialsRef): read the log with "+
			"that database's own tools", w.Dojo.Name)
	}
	var jobs []corev1.Pod
	for _, pod := range pods {
		if pod.Labels[world.InstanceRoleLabel] == "primary" {
			return []logSource{{pod.Name, postgresContainer}}, nil
		}
		if pod.Labels[world.JobRoleLabel] != "" {
			jobs = append(jobs, pod)
		}
	}
	for _, pod := range latestPods(jobs) {
		if len(pod.Spec.Containers) > 0 {
			return []logSource{{pod.Name, pod.Spec.Containers[0].Name}}, nil
		}
	}
	return nil, fmt.Errorf("no pod of a primary or a Job of the Cluster %s was found: %s",
		cnpg.ClusterName(w.Dojo), seeStatus(w.Dojo))
}
