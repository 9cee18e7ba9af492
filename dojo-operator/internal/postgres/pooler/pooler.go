// SPDX-License-Identifier: Apache-2.0

// Package pooler is the Pooler of a Dojo's own Cluster: PgBouncer, which CloudNativePG runs, between the
// application and the primary. It holds no data, so the Dojo owns it.
//
// The application's Secret, and with it every pod, names a host that answers at any time: it turns to
// the Pooler when that is available, and the Pooler goes when no pod names it any more ([Host], [Plan]).
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

// State is what there is of a Pooler. What does not exist is nil.
type State struct {
	Pooler *cnpgv1.Pooler
	// Deployment and Service are those that CloudNativePG makes for it, or others of their name.
	Deployment *appsv1.Deployment
	Service    *corev1.Service
}

// Observe reads the Pooler of a Dojo; nothing where it has no Cluster of its own.
func Observe(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (s State, err error) {
	if d.Spec.Postgres.Cluster == nil {
		return s, nil
	}
	name := types.NamespacedName{Namespace: d.Namespace, Name: cnpg.PoolerName(d)}
	s.Pooler, err = apply.Get(ctx, r, cnpg.PoolerKind.Kind, name, &cnpgv1.Pooler{})
	if err != nil || s.Pooler == nil && Wanted(d) == nil {
		return s, err
	}
	if s.Deployment, err = apply.Get(ctx, r, "Deployment", name, &appsv1.Deployment{}); err != nil {
		return s, err
	}
	s.Service, err = apply.Get(ctx, r, "Service", name, &corev1.Service{})
	return s, err
}

// Wanted is what the spec says of a Pooler, nil where there should be none.
func Wanted(d *corev1api.Dojo) *corev1api.Pooler {
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return nil
	}
	return d.Spec.Postgres.Cluster.Pooler
}

// exists reports whether the Dojo has a Pooler that stays.
func exists(d *corev1api.Dojo, s State) bool {
	return s.Pooler != nil && !ownership.Conflicts(d, s.Pooler) && s.Pooler.DeletionTimestamp == nil
}

// available is how many pods of PgBouncer answer. What CloudNativePG says in the status of a Pooler is
// how many there are (internal/controller/pooler_status.go).
func available(s State) int32 {
	if s.Pooler == nil || s.Deployment == nil || s.Service == nil || !byPooler(s.Deployment) || !byPooler(s.Service) {
		return 0
	}
	return s.Deployment.Status.AvailableReplicas
}

// Answers reports whether clients can connect to the Pooler.
func Answers(d *corev1api.Dojo, s State) bool { return exists(d, s) && available(s) > 0 }

// Leaves reports whether the Dojo has a Pooler that it should not have.
func Leaves(d *corev1api.Dojo, s State) bool { return Wanted(d) == nil && exists(d, s) }

// Host is where the application should connect, empty for the primary's own Service. inUse is whether
// its credentials name the Pooler, connected whether it has any: those who have none can wait.
func Host(d *corev1api.Dojo, s State, connected, inUse bool) string {
	if Wanted(d) != nil && (inUse || !connected || Answers(d, s)) {
		return cnpg.PoolerName(d)
	}
	return ""
}

// byPooler reports whether CloudNativePG has made an object for a Pooler of its name.
func byPooler(o metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && owner.Kind == cnpgv1.PoolerKind && owner.Name == o.GetName() &&
		owner.APIVersion == cnpgv1.SchemeGroupVersion.String()
}

// Strip leaves of a Deployment that CloudNativePG has made for a Pooler how many of its pods are
// available, and of another one its identity.
func Strip(deployment *appsv1.Deployment) {
	replicas := deployment.Status.AvailableReplicas
	ownership.Strip(deployment)
	if byPooler(deployment) {
		deployment.Status.AvailableReplicas = replicas
	}
}

// ResetQuery does what DISCARD ALL does, which clears a session for its next client, and has sessions of
// the second login act as the owner again (schema/login.sh), also with the minor versions of Postgres of
// which DISCARD ALL does not. Beside other statements that cannot stand.
const ResetQuery = "CLOSE ALL; RESET ALL; DEALLOCATE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); " +
	"DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES; RESET SESSION AUTHORIZATION; RESET ROLE"

// For is the Pooler of a Dojo whose spec asks for one, without pods where it is stopped.
func For(d *corev1api.Dojo, stopped bool) *unstructured.Unstructured {
	want := Wanted(d)
	parameters := map[string]any{
		"server_reset_query": ResetQuery,
		// PgBouncer waits for 15 seconds before it tries to reach a server again that it could not reach, as
		// in a failover, and fails new clients meanwhile (https://www.pgbouncer.org/config.html).
		"server_login_retry": "1",
	}
	for name, value := range want.Parameters {
		parameters[name] = string(value)
	}
	return ownership.Child(d, cnpg.PoolerKind.GroupVersionKind, cnpg.PoolerName(d), map[string]any{
		"cluster":   map[string]any{"name": cnpg.ClusterName(d)},
		"type":      string(cnpgv1.PoolerTypeRW),
		"instances": int64(instances(d, stopped)),
		"pgbouncer": map[string]any{
			"poolMode":   strings.ToLower(string(cmp.Or(want.Mode, corev1api.PoolModeSession))),
			"parameters": parameters,
		},
	})
}

func instances(d *corev1api.Dojo, stopped bool) int32 {
	if want := Wanted(d); want != nil && !stopped {
		return ptr.Deref(want.Instances, 1)
	}
	return 0
}

// refused is what it means where CloudNativePG's webhook calls a Pooler invalid, such as for a parameter
// that it does not pass on.
func refused() apply.Refusal {
	return apply.Refusal{
		Reason: corev1api.ReasonPoolerRefused,
		Advice: "The Pooler stays as it is. Correct what the error names in spec.postgres.cluster.pooler.",
	}
}

// Input is what a plan for a Pooler rests on beside its State.
type Input struct {
	cnpg.Input
	// InUse is whether the application's credentials name the Pooler; Behind is why pods may still do
	// where they no longer do, empty where none does.
	InUse  bool
	Behind string
	// Stopped is whether the Pooler should have no pods: the Cluster is to be hibernated.
	Stopped bool
}

// Plan writes the Pooler, or deletes it where none is wanted. It is incomplete until the Pooler is as the
// spec says.
func Plan(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if Wanted(d) == nil {
		return leave(d, s, in)
	}
	if step.Incomplete = conflict(d, s); step.Incomplete != nil {
		return step
	}
	desired := cnpg.Sync(in.Input, s.Pooler, For(d, in.Stopped))
	wants, has := instances(d, in.Stopped), available(s)
	if desired != nil {
		desired.Invalid = refused()
		step = cnpg.Write(cnpg.After(d, cnpg.Owner, desired))
	} else {
		wants = ptr.Deref(s.Pooler.Spec.Instances, wants) // a mutating admission policy may want others
	}
	if desired != nil || has != wants {
		step.Incomplete = wait(d, s, in, has, wants)
	}
	return step
}

// Drop deletes the Pooler with the Dojo's data.
func Drop(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(d, s.Pooler) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.PoolerKind.Kind, Live: s.Pooler}.Drop(in.Input)
}

// conflict is the issue with an object that has a name which the Pooler needs.
func conflict(d *corev1api.Dojo, s State) *conditions.Issue {
	if issue := ownership.NameConflict(d, cnpg.PoolerKind.Kind, s.Pooler); issue != nil {
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
		"The %s %s/%s exists and is not that of the Pooler of this name. Delete it, or give the Dojo another name.",
		kind, d.Namespace, cnpg.PoolerName(d))
}

// wait waits for the instances of a Pooler, until nothing has changed for a while.
func wait(d *corev1api.Dojo, s State, in Input, has, wants int32) *conditions.Issue {
	object := fmt.Sprintf("instances of the Pooler %s/%s", d.Namespace, cnpg.PoolerName(d))
	message := fmt.Sprintf("%d of %d %s are available", has, wants, object)
	if s.Pooler != nil && s.Pooler.Status.PhaseReason != "" {
		message += "; CloudNativePG reports: " + strings.TrimSuffix(s.Pooler.Status.PhaseReason, ".")
	}
	return conditions.WaitUntil(in.Now, d.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonWaitingForPooler, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonPoolerNotReady,
			"%s. It has been like this for more than %s. See `kubectl describe pooler %s` and its pods.",
			message, in.Deadline, cnpg.PoolerName(d)).For(object))
}

// leave deletes a Pooler that is not wanted any more, once no pod names it.
func leave(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !exists(d, s) {
		return step
	}
	object := fmt.Sprintf("Pooler %s/%s", d.Namespace, cnpg.PoolerName(d))
	what := in.Behind
	if in.InUse {
		what = "the application's credentials name it"
	}
	if what == "" {
		step.Delete = []apply.Deletion{apply.Delete(cnpg.PoolerKind.Kind, s.Pooler)}
		return step
	}
	message := fmt.Sprintf("The %s stays while pods may use it: %s.", object, what)
	object = "end of the " + object
	step.Incomplete = conditions.WaitUntil(in.Now, d.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonRemovingPooler, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonRemovingPooler,
			"%s It has been like this for more than %s. See the pods.", message, in.Deadline).For(object))
	return step
}

// Unreachable says why requests cannot reach Postgres through a Pooler that does not answer.
func Unreachable(d *corev1api.Dojo) string {
	return fmt.Sprintf("Requests cannot reach Postgres: no instance of the Pooler %s/%s is available.",
		d.Namespace, cnpg.PoolerName(d))
}

// Status is what the status of a Dojo says of its Pooler; nil where there is none.
func Status(d *corev1api.Dojo, s State, inUse bool) *corev1api.PoolerStatus {
	if s.Pooler == nil || ownership.Conflicts(d, s.Pooler) {
		return nil
	}
	return &corev1api.PoolerStatus{
		Host: cnpg.PoolerName(d), InUse: inUse,
		Instances: fmt.Sprintf("%d/%d", available(s), ptr.Deref(s.Pooler.Spec.Instances, 1)),
	}
}
