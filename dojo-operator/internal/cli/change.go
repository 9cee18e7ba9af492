// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/view"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl"
)

// change is a planned merge patch of a Dojo, which the user must confirm.
type change struct {
	// Means lists the consequences, one per line.
	Means []string
	// Annotations and Spec are the fields of the merge patch; nil removes a field.
	Annotations, Spec map[string]any
	// Loses describes the lost data. If it is set, the user confirms by typing the Dojo's name.
	Loses string

	Done func(*corev1api.Dojo) bool
}

func (ch change) patch() map[string]any {
	patch := map[string]any{}
	if len(ch.Annotations) > 0 {
		patch["metadata"] = map[string]any{"annotations": ch.Annotations}
	}
	if len(ch.Spec) > 0 {
		patch["spec"] = ch.Spec
	}
	return patch
}

func (ch change) lines() []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(ch.Annotations)) {
		lines = append(lines, fieldLines("metadata.annotations["+key+"]", ch.Annotations[key])...)
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

type planner func(ctx context.Context, name string) (change, error)

func planned[T any](read func(context.Context, string) (T, error), plan func(T) (change, error)) planner {
	return func(ctx context.Context, name string) (ch change, err error) {
		all, err := read(ctx, name)
		if err != nil {
			return ch, err
		}
		return plan(all)
	}
}

func (s *session) changing(
	use, short, long string, timeout time.Duration, ask *kubectl.Asking, plan planner,
) *cobra.Command {
	var wait waiting
	cmd := s.forDojo(use, short, long, func(ctx context.Context, name string) error {
		ch, err := plan(ctx, name)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, name, ch, ask); err != nil {
			return err
		}
		if !wait.wait {
			s.Print("The Dojo is changed. To follow the operator: kubectl dojo status %s -n %s -w\n", name, s.Namespace)
			return nil
		}
		err = s.until(ctx, name, wait.timeout, func(d *corev1api.Dojo) (string, bool, error) {
			return progressOf(d, s.Now()), ch.Done(d), nil
		})
		if err == nil {
			s.Print("Done.\n")
		}
		return err
	})
	wait.bind(cmd, timeout)
	return cmd
}

func (s *session) apply(ctx context.Context, name string, ch change, ask *kubectl.Asking) error {
	if err := s.patch(ctx, name, ch.patch(), client.DryRunAll); err != nil {
		return err
	}
	text, err := yaml.Marshal(ch.patch())
	if err != nil {
		return err
	}
	s.Print("Changes the Dojo %s in %s:\n", s.Style.Bold(name), s.Namespace)
	for _, line := range ch.lines() {
		s.Print("  %s\n", line)
	}
	for _, line := range ch.Means {
		s.Print("%s\n", line)
	}
	if ch.Loses != "" {
		s.Print("%s", text)
		err = ask.ConfirmName(ctx, s.Plugin, "the Dojo", name, ch.Loses)
	} else {
		err = ask.Confirm(ctx, s.Plugin, string(text))
	}
	if err != nil {
		return err
	}
	return s.patch(ctx, name, ch.patch())
}

func (s *session) patch(ctx context.Context, name string, fields map[string]any, o ...client.PatchOption) error {
	if err := s.Merge(ctx, kinds.Dojo, s.Namespace, name, fields, o...); err != nil {
		return fmt.Errorf("change the Dojo %s: %w", name, err)
	}
	return nil
}

type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) bind(cmd *cobra.Command, timeout time.Duration) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "wait until the operation has ended, and show its progress")
	cmd.Flags().DurationVar(&w.timeout, "timeout", timeout, "how long --wait waits at most")
}

func (s *session) until(
	ctx context.Context, name string, timeout time.Duration,
	done func(*corev1api.Dojo) (progress string, ok bool, err error),
) error {
	return s.poll(ctx, timeout, func(ctx context.Context) (string, bool, error) {
		d, err := s.dojo(ctx, name)
		if err != nil {
			return "", false, err
		}
		return done(d)
	})
}

func (s *session) poll(
	ctx context.Context, timeout time.Duration, done func(context.Context) (progress string, ok bool, err error),
) error {
	said := ""
	err := s.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		progress, ok, err := done(ctx)
		if progress != said && progress != "" {
			s.Print("  %s  %s\n", s.Now().UTC().Format(time.TimeOnly), progress)
			said = progress
		}
		return ok, err
	})
	if errors.Is(err, kubectl.ErrTimeout) {
		return fmt.Errorf("%w after %s; the changes that the command has made stay in effect", err, timeout)
	}
	return err
}

// progressOf describes the state of the Dojo. If DatabaseReady is False and the Dojo is not
// Degraded, it describes DatabaseReady instead.
func progressOf(d *corev1api.Dojo, now time.Time) string {
	h := view.HeadOf(d, now)
	if db := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionDatabaseReady); db != nil &&
		db.Status == metav1.ConditionFalse && h.Health != view.Degraded {
		return sentence(db.Reason, db.Message)
	}
	return sentence(h.Reason, h.Message)
}

func sentence(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

func isReady(d *corev1api.Dojo) bool {
	return d.Status.ObservedGeneration >= d.Generation &&
		meta.IsStatusConditionTrue(d.Status.Conditions, conditions.TypeReady)
}

// isSuspended reports whether the operator has suspended the Dojo. A Dojo with an unknown size or
// time zone is never Ready. isSuspended then uses the reason of Available: the operator reports an
// unknown value of a suspended Dojo only once its Cluster, if any, is hibernated.
func isSuspended(d *corev1api.Dojo) bool {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(d.Status.Conditions, kind) }
	available, degraded := find(conditions.TypeAvailable), find(conditions.TypeDegraded)
	if degraded != nil && degraded.Status == metav1.ConditionTrue && available != nil {
		invalid := degraded.Reason == corev1api.ReasonUnknownSize || degraded.Reason == corev1api.ReasonUnknownTimeZone
		return invalid && available.Reason == corev1api.ReasonSuspended && d.Status.ObservedGeneration >= d.Generation
	}
	return isReady(d) && find(conditions.TypeReady).Reason == corev1api.ReasonSuspended
}

func ownCluster(d *corev1api.Dojo) *corev1api.PostgresCluster {
	if d.Spec.Postgres == nil {
		return nil
	}
	return d.Spec.Postgres.Cluster
}

func (s *session) newRotate() *cobra.Command {
	var ask kubectl.Asking
	cmd := s.changing("rotate", "Give the application a new password for its database",
		`Asks the operator for a new password. A Dojo has two logins, and uses one. The application changes to the other
login, and its pods roll. Postgres refuses the former login once no pod uses it.
No request fails.`, 10*time.Minute, &ask,
		planned(s.dojo, func(d *corev1api.Dojo) (change, error) { return rotation(d, s.Now()) }))
	ask.Bind(cmd)
	return cmd
}

func loginOf(d *corev1api.Dojo) string {
	if d.Status.Database == nil {
		return ""
	}
	return d.Status.Database.Login
}

func rotation(d *corev1api.Dojo, now time.Time) (ch change, err error) {
	login := loginOf(d)
	switch {
	case d.Spec.Postgres == nil:
		return ch, fmt.Errorf("the password of %s comes from the Secret %s, not from the operator: change the password in "+
			"the database and in the Secret",
			d.Name, d.CredentialsSource())
	case login == "":
		return ch, fmt.Errorf("%s has no credentials yet: %s", d.Name, seeStatus(d))
	case d.Status.Database.FormerLogin != "":
		return ch, fmt.Errorf("a rotation is already under way: wait until no pod uses the login %s; %s",
			d.Status.Database.FormerLogin, seeStatus(d))
	}
	next := cnpg.Second
	if login == cnpg.Second.SQLName(d) {
		next = cnpg.Owner
	}
	ch.Annotations = map[string]any{corev1api.RotatePasswordAnnotation: now.UTC().Format(time.RFC3339)}
	ch.Means = []string{
		fmt.Sprintf("The application changes from the login %s to %s. Its pods roll, and no request fails.",
			login, next.SQLName(d)),
	}
	if d.Spec.Suspend {
		ch.Means = append(ch.Means, "The Dojo is suspended: the rotation begins when you resume the Dojo.")
	}
	ch.Done = func(d *corev1api.Dojo) bool {
		return isReady(d) && loginOf(d) != login && d.Status.Database.FormerLogin == ""
	}
	return ch, nil
}

func (s *session) newSuspend() *cobra.Command {
	var ask kubectl.Asking
	cmd := s.changing("suspend", "Stop a Dojo: no pods, its Cluster hibernated, all data kept",
		`Stops the application, then hibernates the Dojo's own Cluster, if it has one and others do not use it. The
Cluster's volumes and backups stay. Scheduled backups pause, and the Dojo's alerts are off.
kubectl dojo resume starts the Dojo again.`, 10*time.Minute, &ask,
		planned(s.dojo, func(d *corev1api.Dojo) (ch change, err error) {
			if d.Spec.Suspend {
				return ch, fmt.Errorf("%s is suspended already", d.Name)
			}
			means := []string{"The pods end. Nobody can use the application until kubectl dojo resume."}
			if ownCluster(d) != nil {
				means = append(means,
					"Then the Cluster "+cnpg.ObjectName(d)+" is hibernated, unless others use it. Its data stays, and its "+
						"backups pause.")
			}
			return change{Means: means, Spec: map[string]any{"suspend": true}, Done: isSuspended}, nil
		}))
	ask.Bind(cmd)
	return cmd
}

func (s *session) newResume() *cobra.Command {
	var ask kubectl.Asking
	cmd := s.changing("resume", "Start a suspended Dojo again",
		`Starts a suspended Dojo: its Cluster first, then its pods.`, 15*time.Minute, &ask,
		planned(s.dojo, func(d *corev1api.Dojo) (ch change, err error) {
			if !d.Spec.Suspend {
				return ch, fmt.Errorf("%s is not suspended", d.Name)
			}
			ch.Means = []string{"The pods start."}
			if ownCluster(d) != nil {
				ch.Means = []string{"The Cluster starts, then the pods."}
			}
			ch.Spec = map[string]any{"suspend": false}
			ch.Done = func(d *corev1api.Dojo) bool { return isReady(d) && !isSuspended(d) }
			return ch, nil
		}))
	ask.Bind(cmd)
	return cmd
}
