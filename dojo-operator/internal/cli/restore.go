// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/term"
)

type restoring struct {
	kubectl.Asking
	to, backup, as, image string
	timeout               time.Duration
	planOnly              bool
}

func (s *session) newRestore() *cobra.Command {
	var r restoring
	cmd := s.forDojo("restore", "Restore the database of a Dojo: after a loss, to a moment, or into another Dojo",
		`Restores a database from its backups and write-ahead log. Without --as, the Dojo itself gets the data: the command
stops its application, and a new Cluster replaces the lost one. If the Cluster still exists, the command first backs up
its current data, and then deletes the Cluster. With --as, a new Dojo gets the data, and the Dojo NAME does not change.
The command starts the application of the restored Dojo when its condition DatabaseReady is True.

kubectl dojo check shows which rights you lack for restore and for restore --as. In this command, --as names a new
Dojo, not a user to act as.`,
		func(ctx context.Context, name string) error { return s.restore(ctx, name, &r) })
	cmd.Example = `  kubectl dojo restore sendai                               the newest data, after a loss
  kubectl dojo restore sendai --to 02:45 --as sendai-past   beside it, to compare
  kubectl dojo restore sendai --to "24 Nov 02:45"           in place`
	flags := cmd.Flags()
	flags.StringVar(&r.to, "to", "",
		"the `TIME` to restore to, in UTC, such as 02:45, \"24 Nov 02:45\" or 10m (ago); by default the newest data")
	flags.StringVar(&r.as, "as", "", "`NAME` of a new Dojo that gets the data")
	flags.StringVar(&r.backup, "backup", "", "`NAME` of the Backup to restore; by default the newest before --to")
	flags.StringVar(&r.image, "postgres-image", "",
		"`IMAGE` of Postgres, if the Cluster is lost or its version is unknown; the command can choose the tag")
	flags.BoolVar(&r.planOnly, "plan", false, "print the plan and the manifest, and change nothing")
	flags.DurationVar(&r.timeout, "timeout", time.Hour, "the maximum time of each step; for the backup, at least 1h")
	r.Bind(cmd)
	r.BindName(cmd, "the Dojo")
	return cmd
}

func (r *restoring) request(now time.Time) (recovery.Request, error) {
	request := recovery.Request{Backup: r.backup, As: r.as, Image: r.image}
	if r.to == "" {
		return request, nil
	}
	to, err := recovery.ParseMoment(r.to, now)
	if err != nil {
		return request, kubectl.Usage("--to: %w", err)
	}
	request.To = to
	return request, nil
}

func (s *session) restore(ctx context.Context, name string, r *restoring) error {
	request, err := r.request(s.Now())
	if err != nil {
		return err
	}
	w, err := s.world(ctx, name)
	if err != nil {
		return err
	}
	plan, err := recovery.New(w, request)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(plan.Object)
	if err != nil {
		return err
	}
	s.Print("%s", plan.Text(w, s.Style))
	if r.planOnly {
		s.Print("---\n%s", text)
		return nil
	}
	if err := s.checkRestore(ctx, plan); err != nil {
		return err
	}
	if err := r.Confirm(ctx, s.Plugin, string(text)); err != nil {
		return err
	}
	if plan.Replaces {
		question := fmt.Sprintf("The Cluster %s is backed up first. Then it is deleted with its volumes.",
			plan.Object.GetName())
		if err := r.ConfirmName(ctx, s.Plugin, "the Dojo", name, question); err != nil {
			return err
		}
	}
	return s.carryOut(ctx, w, plan, r.timeout)
}

func (s *session) checkRestore(ctx context.Context, plan *recovery.Plan) error {
	rights := kubectl.To("patch", kinds.Dojo)
	if plan.InPlace {
		rights = append(rights, slices.Concat(kubectl.To("create", kinds.Cluster), kubectl.To("patch", kinds.Cluster))...)
	} else {
		rights = append(rights, kubectl.To("create", kinds.Dojo)...)
	}
	if plan.Replaces {
		rights = append(rights, slices.Concat(kubectl.To("list", kinds.Pod), kubectl.To("delete", kinds.Cluster),
			kubectl.To("create", kinds.Backup), kubectl.To("get", kinds.Backup))...)
	}
	if err := s.Need(ctx, rights...); err != nil {
		return err
	}
	if plan.Replaces {
		return nil // no dry run: the old Cluster still has the name of the new one
	}
	_, err := create(ctx, client.NewDryRunClient(s.Client), plan)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the %s %s exists already: give --as another name",
			plan.Object.GetKind(), plan.Object.GetName())
	}
	if err != nil || plan.InPlace {
		return err
	}
	return s.checkNoCluster(ctx, plan)
}

// checkNoCluster returns an error if the new Dojo would use an existing Cluster, not a backup.
func (s *session) checkNoCluster(ctx context.Context, plan *recovery.Plan) error {
	name := plan.ClusterName()
	err := s.Get(ctx, client.ObjectKey{Namespace: plan.Object.GetNamespace(), Name: name}, kinds.Cluster.Object())
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the Cluster %s exists already, with data of its own, so nothing would be restored: give --as "+
		"another name, or, if nobody needs that data, delete the Cluster: "+
		"kubectl delete clusters.postgresql.cnpg.io %s -n %s",
		name, name, plan.Object.GetNamespace())
}

var errForeignCluster = errors.New("another client has created the Cluster")

// create creates the new Dojo, or in a restore in place the Cluster. It applies the Cluster with
// the operator's field manager, so that the operator can later remove fields. An apply would also
// change an existing Cluster, so create first checks for one.
func create(ctx context.Context, k8s client.Client, plan *recovery.Plan) (types.UID, error) {
	o := plan.Object.DeepCopy()
	if !plan.InPlace {
		err := k8s.Create(ctx, o)
		return o.GetUID(), err
	}
	switch err := k8s.Get(ctx, client.ObjectKeyFromObject(o), kinds.Cluster.Object()); {
	case err == nil:
		return "", fmt.Errorf("%w %s meanwhile: see kubectl dojo status %s -n %s, then repeat the command",
			errForeignCluster, o.GetName(), plan.Target, o.GetNamespace())
	case !apierrors.IsNotFound(err):
		return "", err
	}
	err := k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(o),
		client.FieldOwner(ownership.FieldOwner), client.ForceOwnership)
	return o.GetUID(), err
}

func (s *session) carryOut(ctx context.Context, w *world.World, plan *recovery.Plan, timeout time.Duration) error {
	run := restoreRun{session: s, world: w, plan: plan, timeout: timeout}
	for i, step := range plan.Steps {
		s.Print("%d. %s\n", i+1, step.Text)
		err := run.take(ctx, step.Action)
		if err == nil {
			continue
		}
		s.Note("Stopped at step %d. %s\n", i+1, stopped(s.Namespace, plan, step.Action, err))
		return err
	}
	s.Print("%s\n", s.Style.Good("Restored."))
	return nil
}

// executed reports whether the API server may have executed a call that has failed.
func executed(failure error) bool {
	if errors.Is(failure, errForeignCluster) {
		return false
	}
	code := conditions.StatusCode(failure)
	return code == 0 || code >= http.StatusInternalServerError
}

// startCommand starts the application after a restore. In place, it also removes SizeAnnotation,
// which would make a later restore start an application that a user has stopped.
func startCommand(namespace string, plan *recovery.Plan) string {
	dojo := fmt.Sprintf("%s %s -n %s", kinds.Dojo.Resource(), plan.Target, namespace)
	if !plan.InPlace {
		return fmt.Sprintf("kubectl scale %s --replicas=%d", dojo, plan.Replicas)
	}
	patch, _ := json.Marshal(sized(plan.Replicas, nil)) // a map of texts and numbers has no error
	return fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", dojo, patch)
}

// stopped describes how to continue. at is the failed step.
func stopped(namespace string, plan *recovery.Plan, at recovery.Action, failure error) string {
	failed := errors.Is(failure, errNotRestored)
	start := startCommand(namespace, plan)
	kind := kinds.Dojo
	if plan.InPlace {
		kind = kinds.Cluster
	}
	object := fmt.Sprintf("%s %s -n %s", kind.Resource(), plan.Object.GetName(), namespace)
	var flags []string
	if !plan.To.IsZero() { // a --to of 10m would mean another time by now
		flags = append(flags, "--to "+plan.To.Format(time.RFC3339Nano))
	}
	if plan.Backup != "" { // by now, the newest Backup may have the data to replace
		flags = append(flags, "--backup "+plan.Backup)
	}
	command := "the command"
	if len(flags) > 0 {
		command += " with " + strings.Join(flags, " ")
	}
	switch {
	case at == recovery.Create && executed(failure):
		return fmt.Sprintf("The %[1]s %[2]s may have been created: see kubectl dojo status %[3]s -n %[4]s. If it does not "+
			"exist, repeat %[5]s. If it exists, wait until the restore has ended, and start the application: %[6]s",
			kind.Kind, plan.Object.GetName(), plan.Target, namespace, command, start)
	case !plan.InPlace && at == recovery.Create:
		return "Nothing was changed."
	case at == recovery.Serve:
		return "The data is restored. Start the application: " + start
	case at == recovery.Verify && !failed:
		return fmt.Sprintf("The restore is perhaps still running. Watch it: kubectl dojo status %s -n %s -w. "+
			"When the restore has ended, start the application: %s", plan.Target, namespace, start)
	case at == recovery.Verify && plan.InPlace:
		return fmt.Sprintf("The backups have not changed. The new Cluster has no usable data. Delete it: kubectl delete %s. "+
			"Then repeat %s", object, command)
	case at == recovery.Verify:
		return fmt.Sprintf("The backups have not changed. Delete the new Dojo and its Cluster: kubectl delete %s; "+
			"kubectl delete %s %s -n %s --ignore-not-found. Then repeat %s",
			object, kinds.Cluster.Resource(), plan.ClusterName(), namespace, command)
	}
	without := "."
	if plan.Replaces && at < recovery.Remove { // the former Cluster still has its data
		without = ", or start the application without the restore: " + start
	}
	if at == recovery.Stop { // which may be refused
		return fmt.Sprintf("The data has not changed. Repeat %s%s", command, without)
	}
	return fmt.Sprintf("The application has 0 replicas. Repeat %s to continue the restore%s", command, without)
}

type restoreRun struct {
	*session
	world   *world.World
	plan    *recovery.Plan
	timeout time.Duration
	created types.UID
}

func (r *restoreRun) take(ctx context.Context, action recovery.Action) error {
	switch action {
	case recovery.Stop:
		return r.stop(ctx)
	case recovery.Save:
		return r.save(ctx)
	case recovery.Remove:
		return r.remove(ctx)
	case recovery.ChangeArchive:
		patch := map[string]any{}
		_ = unstructured.SetNestedField(patch, r.plan.ServerName,
			"spec", "postgres", "cluster", "backup", "plugin", "parameters", "serverName")
		return r.patch(ctx, r.world.Dojo.Name, patch)
	case recovery.Create:
		var err error
		r.created, err = create(ctx, r.Client, r.plan)
		return err
	case recovery.Verify:
		return r.verify(ctx)
	case recovery.Serve:
		return r.serve(ctx)
	}
	return fmt.Errorf("unknown step %d", action)
}

func sized(replicas int32, before any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{recovery.SizeAnnotation: before}},
		"spec":     map[string]any{"replicas": replicas},
	}
}

func (r *restoreRun) stop(ctx context.Context) error {
	if err := r.patch(ctx, r.world.Dojo.Name, sized(0, strconv.Itoa(int(r.plan.Replicas)))); err != nil {
		return err
	}
	return r.poll(ctx, r.timeout, func(ctx context.Context) (string, bool, error) {
		d, err := r.dojo(ctx, r.world.Dojo.Name)
		if err != nil {
			return "", false, err
		}
		// status.replicas does not count pods that are being deleted, which can still write to the Cluster.
		var running []corev1.Pod
		if r.plan.Replaces {
			if running, err = r.running(ctx, d); err != nil {
				return "", false, err
			}
		}
		count := max(len(running), int(d.Status.Replicas))
		progress := term.Count(count, "pod")
		if len(running) > 0 {
			progress += ", such as " + running[0].Name
		}
		return progress, count == 0 && d.Status.ObservedGeneration >= d.Generation, nil
	})
}

// running lists the pods of the application that have not ended.
func (r *restoreRun) running(ctx context.Context, d *corev1api.Dojo) ([]corev1.Pod, error) {
	var all corev1.PodList
	err := r.List(ctx, &all, client.InNamespace(d.Namespace), client.MatchingLabels(ownership.Selector(d)))
	return slices.DeleteFunc(all.Items, func(pod corev1.Pod) bool { return pods.Ended(&pod) }), err
}

func (r *restoreRun) save(ctx context.Context) error {
	w := *r.world
	w.Now = r.Now()
	backup, err := backupNow(&w)
	if err != nil {
		return err
	}
	if err := r.Create(ctx, backup); err != nil {
		return err
	}
	if err := r.backupEnds(ctx, backup, max(r.timeout, time.Hour)); err != nil {
		return err
	}
	r.Print("  To restore this data: kubectl dojo restore %s -n %s --backup %s --as OTHER\n",
		w.Dojo.Name, w.Dojo.Namespace, backup.GetName())
	// barman-cloud deletes Backup objects outside the Cluster's present archive.
	if place, found, _ := unstructured.NestedMap(backup.Object, "spec", "pluginConfiguration"); found {
		server, _, _ := unstructured.NestedString(place, "parameters", "serverName")
		r.Print("  If that Backup no longer exists, create a Dojo with serverName %s in "+
			"spec.postgres.cluster.bootstrap.recovery.objectStore\n",
			cmp.Or(server, r.plan.Object.GetName()))
	}
	return nil
}

// remove deletes the Cluster. The precondition UID protects a newer Cluster with the same name.
func (r *restoreRun) remove(ctx context.Context) error {
	name := r.plan.Object.GetName()
	live := r.world.Objects[world.Ref{Resource: kinds.Cluster.Resource(), Name: name}]
	uid := live.GetUID()
	if err := client.IgnoreNotFound(r.Delete(ctx, live, client.Preconditions{UID: &uid})); err != nil {
		return err
	}
	return r.poll(ctx, r.timeout, func(ctx context.Context) (string, bool, error) {
		err := r.Get(ctx, client.ObjectKeyFromObject(live), kinds.Cluster.Object())
		return "", apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

var (
	// unusable lists reasons of DatabaseReady for a restored Cluster without usable data.
	unusable = []string{
		corev1api.ReasonRestoreFailed, corev1api.ReasonDatabaseNotRestored, corev1api.ReasonBackupNotUsable,
	}
	// blocking lists reasons that end only if a user acts. OriginMismatch means that the restore
	// did not create the Cluster.
	blocking = []string{
		corev1api.ReasonOriginMismatch, corev1api.ReasonClusterRefused, corev1api.ReasonSchemaFailed,
		corev1api.ReasonNameConflict, corev1api.ReasonChildRefused, corev1api.ReasonVersionTooLow,
	}
)

var errNotRestored = errors.New("the data is not restored")

func (r *restoreRun) verify(ctx context.Context) error {
	return r.until(ctx, r.plan.Target, r.timeout, func(d *corev1api.Dojo) (string, bool, error) {
		cluster := r.created
		if !r.plan.InPlace {
			cluster = ""
		}
		return verified(d, cluster)
	})
}

// verified reports whether the data is restored. It ignores the status of a former spec, and the
// status of a Cluster other than the new Cluster, unless the reason is OriginMismatch. created is
// the UID of the new Cluster; empty if the restore created a Dojo.
func verified(d *corev1api.Dojo, created types.UID) (progress string, ok bool, err error) {
	ready, db := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionDatabaseReady), d.Status.Database
	if ready == nil || d.Status.ObservedGeneration < d.Generation {
		return "", false, nil
	}
	progress = sentence(ready.Reason, ready.Message)
	switch former := created != "" && (db == nil || db.ClusterUID != string(created)); {
	case former && ready.Reason != corev1api.ReasonOriginMismatch:
		return "", false, nil
	case slices.Contains(unusable, ready.Reason):
		return "", false, fmt.Errorf("%w: %s", errNotRestored, progress)
	case slices.Contains(blocking, ready.Reason):
		return "", false, fmt.Errorf("the operator reports %s", progress)
	}
	return progress, ready.Status == metav1.ConditionTrue, nil
}

func (r *restoreRun) serve(ctx context.Context) error {
	if err := r.patch(ctx, r.plan.Target, sized(r.plan.Replicas, nil)); err != nil {
		return err
	}
	return r.until(ctx, r.plan.Target, r.timeout, func(d *corev1api.Dojo) (string, bool, error) {
		return progressOf(d, r.Now()), isReady(d), nil
	})
}
