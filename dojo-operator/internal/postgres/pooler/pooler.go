// SPDX-License-Identifier: Apache-2.0

// Package pooler runs PgBouncer in front of a Dojo's own Cluster.
package pooler

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// State has the observed Pooler. An absent object is nil.
type State struct {
	Pooler *cnpgv1.Pooler
	// Deployment and Service have the Pooler's name, but may belong to any owner.
	Deployment *appsv1.Deployment
	Service    *corev1.Service
}

// Observe reads the Pooler of a Dojo with its own Cluster.
func Observe(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (s State, err error) {
	if dojo.Spec.Postgres.Cluster == nil {
		return s, nil
	}
	name := types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.PoolerName(dojo)}
	s.Pooler, err = apply.Get(ctx, r, cnpg.PoolerKind.Kind, name, &cnpgv1.Pooler{})
	if err != nil || s.Pooler == nil && Wanted(dojo) == nil {
		return s, err
	}
	if s.Deployment, err = apply.Get(ctx, r, "Deployment", name, &appsv1.Deployment{}); err != nil {
		return s, err
	}
	s.Service, err = apply.Get(ctx, r, "Service", name, &corev1.Service{})
	return s, err
}

// Wanted returns the Pooler in the spec, or nil.
func Wanted(dojo *corev1api.Dojo) *corev1api.Pooler {
	if dojo.Spec.Postgres == nil || dojo.Spec.Postgres.Cluster == nil {
		return nil
	}
	return dojo.Spec.Postgres.Cluster.Pooler
}

func exists(dojo *corev1api.Dojo, s State) bool {
	return s.Pooler != nil && !ownership.Conflicts(dojo, s.Pooler) && s.Pooler.DeletionTimestamp == nil
}

// available counts the available pods. The Pooler's status also counts unavailable pods
// (CloudNativePG's pooler_status.go).
func available(s State) int32 {
	if s.Pooler == nil || s.Deployment == nil || s.Service == nil || !byPooler(s.Deployment) || !byPooler(s.Service) {
		return 0
	}
	return s.Deployment.Status.AvailableReplicas
}

// Answers reports whether clients can connect to the Pooler.
func Answers(dojo *corev1api.Dojo, s State) bool { return exists(dojo, s) && available(s) > 0 }

// Obsolete reports whether the Dojo has a Pooler that its spec no longer has.
func Obsolete(dojo *corev1api.Dojo, s State) bool { return Wanted(dojo) == nil && exists(dojo, s) }

// Host returns the Pooler's host, or "" for the primary. connected reports whether the application
// has credentials, inUse whether they name the Pooler.
func Host(dojo *corev1api.Dojo, s State, connected, inUse bool) string {
	if Wanted(dojo) != nil && (inUse || !connected || Answers(dojo, s)) {
		return cnpg.PoolerName(dojo)
	}
	return ""
}

func byPooler(o metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && owner.Kind == cnpgv1.PoolerKind && owner.Name == o.GetName() &&
		owner.APIVersion == cnpgv1.SchemeGroupVersion.String()
}

// Strip keeps only a foreign Deployment's identity, and availableReplicas if it is a Pooler's.
func Strip(deployment *appsv1.Deployment) {
	replicas := deployment.Status.AvailableReplicas
	ownership.Strip(deployment)
	if byPooler(deployment) {
		deployment.Status.AvailableReplicas = replicas
	}
}

// ResetQuery replaces DISCARD ALL, which in some minor versions of Postgres does not restore the
// role of the owner in sessions of the second login (schema/login.sh).
const ResetQuery = "CLOSE ALL; RESET ALL; DEALLOCATE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); " +
	"DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES; RESET SESSION AUTHORIZATION; RESET ROLE"

// For returns the Pooler of a Dojo. A stopped Pooler has no pods.
func For(dojo *corev1api.Dojo, stopped bool) *unstructured.Unstructured {
	want := Wanted(dojo)
	parameters := map[string]any{
		"server_reset_query": ResetQuery,
		// With PgBouncer's default, new clients would fail for 15 seconds after a failover
		// (https://www.pgbouncer.org/config.html).
		"server_login_retry": "1",
	}
	for name, value := range want.Parameters {
		parameters[name] = string(value)
	}
	return ownership.Child(dojo, cnpg.PoolerKind.GroupVersionKind, cnpg.PoolerName(dojo), map[string]any{
		"cluster":   map[string]any{"name": cnpg.ClusterName(dojo)},
		"type":      string(cnpgv1.PoolerTypeRW),
		"instances": int64(instances(dojo, stopped)),
		"pgbouncer": map[string]any{
			"poolMode":   strings.ToLower(string(cmp.Or(want.Mode, corev1api.PoolModeSession))),
			"parameters": parameters,
		},
	})
}

func instances(dojo *corev1api.Dojo, stopped bool) int32 {
	if want := Wanted(dojo); want != nil && !stopped {
		return ptr.Deref(want.Instances, 1)
	}
	return 0
}

func webhookRefusal() apply.Refusal {
	return apply.Refusal{
		Reason: corev1api.ReasonPoolerRefused,
		Advice: "The Pooler stays as it is. Correct the field of spec.postgres.cluster.pooler that the error names.",
	}
}

// Input is the input of a plan for a Pooler.
type Input struct {
	cnpg.Input
	// InUse reports whether credentials name the Pooler. Outdated says why pods may still use it.
	InUse    bool
	Outdated string

	Stopped bool
}

// Plan writes the Pooler, or deletes an unwanted Pooler once no pod uses it.
func Plan(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if Wanted(dojo) == nil {
		return remove(dojo, s, in)
	}
	if step.Incomplete = conflict(dojo, s); step.Incomplete != nil {
		return step
	}
	desired := cnpg.Sync(in.Input, s.Pooler, For(dojo, in.Stopped))
	wanted, ready := instances(dojo, in.Stopped), available(s)
	if desired != nil {
		desired.Invalid = webhookRefusal()
		step = cnpg.Write(cnpg.After(dojo, cnpg.Owner, desired))
	} else {
		wanted = ptr.Deref(s.Pooler.Spec.Instances, wanted) // a mutating admission policy may set another number
	}
	if desired != nil || ready != wanted {
		step.Incomplete = wait(dojo, s, in, ready, wanted)
	}
	return step
}

// Drop deletes the Pooler with the Dojo's data.
func Drop(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(dojo, s.Pooler) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.PoolerKind.Kind, Live: s.Pooler}.Drop(in.Input)
}

func conflict(dojo *corev1api.Dojo, s State) *conditions.Issue {
	if issue := ownership.NameConflict(dojo, cnpg.PoolerKind.Kind, s.Pooler); issue != nil {
		return issue
	}
	var kind string
	switch {
	case s.Deployment != nil && !byPooler(s.Deployment):
		kind = "Deployment"
	case s.Service != nil && !byPooler(s.Service):
		kind = "Service"
	default:
		return nil
	}
	return conditions.Degraded(corev1api.ReasonNameConflict,
		"The %s %s/%s exists and does not belong to the Pooler of this name. Give the Dojo another name; or, if nothing "+
			"needs the %[1]s, delete it: `kubectl delete %[4]s %[3]s -n %[2]s`.",
		kind, dojo.Namespace, cnpg.PoolerName(dojo), ownership.Resource(kind))
}

func wait(dojo *corev1api.Dojo, s State, in Input, ready, wanted int32) *conditions.Issue {
	object := fmt.Sprintf("instances of the Pooler %s/%s", dojo.Namespace, cnpg.PoolerName(dojo))
	message := fmt.Sprintf("%d of %d %s are available", ready, wanted, object)
	if ready > wanted {
		message = fmt.Sprintf("%d %s should be available, not %d", wanted, object, ready)
	}
	if s.Pooler != nil && s.Pooler.Status.PhaseReason != "" {
		message += "; CloudNativePG reports: " + strings.TrimSuffix(s.Pooler.Status.PhaseReason, ".")
	}
	return conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonWaitingForPooler, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonPoolerNotReady,
			"%s. It has been like this for more than %s. "+
				"See `kubectl describe poolers.postgresql.cnpg.io %s -n %s` and its pods.",
			message, in.Deadline, cnpg.PoolerName(dojo), dojo.Namespace).For(object))
}

func remove(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !exists(dojo, s) {
		return step
	}
	object := fmt.Sprintf("Pooler %s/%s", dojo.Namespace, cnpg.PoolerName(dojo))
	what := in.Outdated
	if in.InUse {
		what = "the application's credentials still have the Pooler as their host"
	}
	if what == "" {
		step.Delete = []apply.Deletion{apply.Delete(cnpg.PoolerKind.Kind, s.Pooler)}
		return step
	}
	message := fmt.Sprintf("The %s stays while pods may use it: %s.", object, what)
	object = "end of the " + object
	step.Incomplete = conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonRemovingPooler, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonRemovingPooler,
			"%s It has been like this for more than %s. See `kubectl dojo tree %s -n %s`.", message, in.Deadline,
			dojo.Name, dojo.Namespace).For(object))
	return step
}

// Unreachable says why requests cannot reach Postgres through the Pooler.
func Unreachable(dojo *corev1api.Dojo) string {
	return fmt.Sprintf("Requests cannot reach Postgres: no instance of the Pooler %s/%s is available.",
		dojo.Namespace, cnpg.PoolerName(dojo))
}

// Status returns the Pooler's part of a Dojo's status, or nil.
func Status(dojo *corev1api.Dojo, s State, inUse bool) *corev1api.PoolerStatus {
	if s.Pooler == nil || ownership.Conflicts(dojo, s.Pooler) {
		return nil
	}
	return &corev1api.PoolerStatus{
		Host: cnpg.PoolerName(dojo), InUse: inUse,
		Instances: fmt.Sprintf("%d/%d", available(s), ptr.Deref(s.Pooler.Spec.Instances, 1)),
	}
}
