// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/view"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl"
)

// changing returns a command that changes one Dojo, and may wait until the operator has done it.
func (c *cli) changing(
	use, short, long string, timeout time.Duration,
	plan func(d *corev1api.Dojo) (ch change, done func(*corev1api.Dojo) bool, err error),
) *cobra.Command {
	var ask kubectl.Asking
	var wait waiting
	cmd := c.forDojo(use, short, long, func(ctx context.Context, s *session, name string) error {
		d, err := s.dojo(ctx, name)
		if err != nil {
			return err
		}
		ch, done, err := plan(d)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, d, ch, ask.Asker(ctx, s.Plugin)); err != nil {
			return err
		}
		return s.finish(ctx, name, &wait, done)
	})
	ask.Bind(cmd)
	wait.bind(cmd, timeout)
	return cmd
}

// finish waits for the operator where the user asks for it.
func (s *session) finish(ctx context.Context, name string, wait *waiting, done func(*corev1api.Dojo) bool) error {
	if !wait.wait {
		s.Print("Done. Follow it with kubectl dojo status %s -n %s -w\n", name, s.Namespace)
		return nil
	}
	err := s.until(ctx, name, wait.timeout, func(d *corev1api.Dojo) (string, bool, error) {
		return progressOf(d, s.Now()), done(d), nil
	})
	if err == nil {
		s.Print("Done.\n")
	}
	return err
}

// progressOf returns the Dojo's own words about its present step.
func progressOf(d *corev1api.Dojo, now time.Time) string {
	h := view.HeadOf(d, now)
	if db := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionDatabaseReady); db != nil &&
		db.Status == metav1.ConditionFalse && h.Health != view.Degraded {
		return sentence(db.Reason, db.Message)
	}
	return sentence(h.Reason, h.Message)
}

// sentence returns a reason with its message, where it has one.
func sentence(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

// isReady reports whether a Dojo matches its spec as it is now.
func isReady(d *corev1api.Dojo) bool {
	return d.Status.ObservedGeneration >= d.Generation &&
		meta.IsStatusConditionTrue(d.Status.Conditions, conditions.TypeReady)
}

func isSuspended(d *corev1api.Dojo) bool {
	ready := meta.FindStatusCondition(d.Status.Conditions, conditions.TypeReady)
	return isReady(d) && ready.Reason == corev1api.ReasonSuspended
}

func (c *cli) newRotate() *cobra.Command {
	return c.changing("rotate", "Give the application a new password for its database",
		`Asks the operator for a new password. There are two logins: the application gets the other one, its pods roll,
and Postgres refuses the former one once no pod uses it. No request fails.`, 10*time.Minute,
		func(d *corev1api.Dojo) (change, func(*corev1api.Dojo) bool, error) {
			ch, err := rotation(d, c.Now())
			before := loginOf(d)
			return ch, func(d *corev1api.Dojo) bool {
				return isReady(d) && loginOf(d) != before && d.Status.Database.FormerLogin == ""
			}, err
		})
}

func loginOf(d *corev1api.Dojo) string {
	if d.Status.Database == nil {
		return ""
	}
	return d.Status.Database.Login
}

// rotation plans a new password.
func rotation(d *corev1api.Dojo, now time.Time) (ch change, err error) {
	switch login := loginOf(d); {
	case d.Spec.Postgres == nil:
		return ch, fmt.Errorf("the password of %s comes from the Secret %s: rotate it there, and the pods roll",
			d.Name, d.CredentialsSource())
	case login == "":
		return ch, fmt.Errorf("%s has no credentials yet: %s", d.Name, seeStatus(d))
	case d.Status.Database.FormerLogin != "":
		return ch, fmt.Errorf("a rotation is under way: %s stays valid until no pod has it; %s",
			d.Status.Database.FormerLogin, seeStatus(d))
	default:
		next := cnpg.Second
		if login == cnpg.Second.SQLName(d) {
			next = cnpg.Owner
		}
		ch.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: now.UTC().Format(time.RFC3339)}
		ch.Means = []string{
			fmt.Sprintf("The application changes from the login %s to %s. Its pods roll, and no request fails.",
				login, next.SQLName(d)),
		}
		if d.Spec.Suspend {
			ch.Means = append(ch.Means, "The Dojo is suspended: this takes effect when it is resumed.")
		}
		return ch, nil
	}
}

func (c *cli) newSuspend() *cobra.Command {
	return c.changing("suspend", "Stop a Dojo: no pods, its Cluster hibernated, all data kept",
		`Stops the application, then hibernates a Cluster of the Dojo's own. Its volumes and backups stay; its backups by
schedule pause, and its alerts are off. kubectl dojo resume starts it again.`, 10*time.Minute,
		func(d *corev1api.Dojo) (change, func(*corev1api.Dojo) bool, error) {
			ch, err := suspension(d)
			return ch, isSuspended, err
		})
}

func suspension(d *corev1api.Dojo) (ch change, err error) {
	if d.Spec.Suspend {
		return ch, fmt.Errorf("%s is suspended already", d.Name)
	}
	ch.Spec = map[string]any{"suspend": true}
	ch.Means = []string{"The pods end. Nobody can use the application until kubectl dojo resume."}
	if d.Spec.Postgres != nil && d.Spec.Postgres.Cluster != nil {
		ch.Means = append(ch.Means,
			"Then the Cluster "+cnpg.ObjectName(d)+" is hibernated. Its data stays, and its backups pause.")
	}
	return ch, nil
}

func (c *cli) newResume() *cobra.Command {
	return c.changing("resume", "Start a suspended Dojo again",
		`Starts a suspended Dojo: its Cluster first, then its pods.`, 15*time.Minute,
		func(d *corev1api.Dojo) (change, func(*corev1api.Dojo) bool, error) {
			ch, err := resumption(d)
			return ch, func(d *corev1api.Dojo) bool { return isReady(d) && !isSuspended(d) }, err
		})
}

func resumption(d *corev1api.Dojo) (ch change, err error) {
	if !d.Spec.Suspend {
		return ch, fmt.Errorf("%s is not suspended", d.Name)
	}
	ch.Spec = map[string]any{"suspend": false}
	ch.Means = []string{"The Cluster starts, then the pods."}
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		ch.Means = []string{"The pods start."}
	}
	return ch, nil
}
