// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

// change is a change of a Dojo that a user is shown before it is made.
type change struct {
	// Means says what happens then, a line each.
	Means []string
	// Annotations and Spec are merged into the Dojo.
	Annotations map[string]string
	Spec        map[string]any
}

// patch returns the change as a merge patch.
func (ch change) patch() map[string]any {
	patch := map[string]any{}
	if len(ch.Annotations) > 0 {
		annotations := map[string]any{}
		for key, value := range ch.Annotations {
			annotations[key] = value
		}
		patch["metadata"] = map[string]any{"annotations": annotations}
	}
	if len(ch.Spec) > 0 {
		patch["spec"] = ch.Spec
	}
	return patch
}

// lines returns the fields that change, such as "spec.suspend: true".
func (ch change) lines() []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(ch.Annotations)) {
		lines = append(lines, fmt.Sprintf("metadata.annotations[%s]: %q", key, ch.Annotations[key]))
	}
	return append(lines, fieldLines("spec", ch.Spec)...)
}

func fieldLines(path string, value any) []string {
	fields, ok := value.(map[string]any)
	if !ok {
		text, _ := json.Marshal(value)
		return []string{path + ": " + string(text)}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, fieldLines(path+"."+key, fields[key])...)
	}
	return lines
}

// show prints a change.
func (s *session) show(d *corev1api.Dojo, ch change) {
	s.Print("Changes the Dojo %s in %s:\n", s.Style.Bold(d.Name), d.Namespace)
	for _, line := range ch.lines() {
		s.Print("  %s\n", line)
	}
	for _, line := range ch.Means {
		s.Print("%s\n", line)
	}
}

// apply has the API server check a change, shows it, asks, and makes it.
func (s *session) apply(ctx context.Context, d *corev1api.Dojo, ch change, ask func(manifest string) error) error {
	if err := s.patch(ctx, d, ch.patch(), client.DryRunAll); err != nil {
		return err
	}
	s.show(d, ch)
	text, err := yaml.Marshal(ch.patch())
	if err != nil {
		return err
	}
	if err := ask(string(text)); err != nil {
		return err
	}
	return s.patch(ctx, d, ch.patch())
}

// patch merges fields into a Dojo.
func (s *session) patch(
	ctx context.Context, d *corev1api.Dojo, fields map[string]any, o ...client.PatchOption,
) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	target := kinds.Dojo.Object()
	target.SetNamespace(d.Namespace)
	target.SetName(d.Name)
	if err := s.Patch(ctx, target, client.RawPatch(types.MergePatchType, text), o...); err != nil {
		return fmt.Errorf("change the Dojo %s: %w", d.Name, err)
	}
	return nil
}

// waiting is the flag --wait with its timeout.
type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) bind(cmd *cobra.Command, timeout time.Duration) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "wait until it is done, and show the progress")
	cmd.Flags().DurationVar(&w.timeout, "timeout", timeout, "how long to wait at most")
}

// pollInterval is the time between two readings while a command waits. A watch would need one right
// more.
const pollInterval = time.Second

// until reads a Dojo until done says so, or returns an error, and prints each new progress.
func (s *session) until(
	ctx context.Context, name string, timeout time.Duration,
	done func(*corev1api.Dojo) (progress string, ok bool, err error),
) error {
	say := s.progress()
	return s.poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		d, err := s.dojo(ctx, name)
		if err != nil {
			return false, err
		}
		progress, ok, err := done(d)
		say(progress)
		return ok, err
	})
}

// progress returns a function that prints each new text with the time.
func (s *session) progress() func(text string) {
	said := ""
	return func(text string) {
		if text != said && text != "" {
			s.Print("  %s  %s\n", s.Now().UTC().Format(time.TimeOnly), text)
			said = text
		}
	}
}

var errTimeout = errors.New("it has taken too long")

// poll calls a function until it is done.
func (s *session) poll(ctx context.Context, timeout time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	ticker := s.Clock.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if context.Cause(ctx) == nil && (ok || err != nil) {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTimeout) {
				return fmt.Errorf("%w (--timeout %s); it goes on without this command", errTimeout, timeout)
			}
			return ctx.Err()
		case <-ticker.C():
		}
	}
}

// yamlOf returns an object as a manifest.
func yamlOf(o *unstructured.Unstructured) (string, error) {
	text, err := yaml.Marshal(o.Object)
	return strings.TrimPrefix(string(text), "---\n"), err
}
