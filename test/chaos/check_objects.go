// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/test/discordtest"
)

func statusOf(o client.Object) (conds []metav1.Condition, observed int64) {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordGroup:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordChannel:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordRole:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *corev1api.Dojo:
		return o.Status.Conditions, o.Status.ObservedGeneration
	}
	return nil, 0
}

func checkVersion(o client.Object) (wrong violations) {
	conds, observed := statusOf(o)
	where := fmt.Sprintf("%s, version %s", id(o), o.GetResourceVersion())
	is := func(kind string) bool { return meta.IsStatusConditionTrue(conds, kind) }
	if is(conditions.TypeDegraded) && is(conditions.TypeProgressing) {
		wrong.add("never Degraded and Progressing", where, "it is both")
	}
	if is(conditions.TypeReady) && (is(conditions.TypeDegraded) || is(conditions.TypeProgressing)) {
		wrong.add("never Ready and Progressing or Degraded", where, "it is Ready, and Degraded or Progressing as well")
	}
	ahead := func(what string, n int64) {
		if n > o.GetGeneration() {
			wrong.add("observedGeneration is never ahead", where, "%d in %s, but the generation is %d",
				n, what, o.GetGeneration())
		}
	}
	ahead("the status", observed)
	for _, c := range conds {
		ahead(c.Type, c.ObservedGeneration)
		if c.Reason == "" || c.LastTransitionTime.IsZero() {
			wrong.add("every condition has a reason", where, "%s has no reason, or no lastTransitionTime", c.Type)
		}
	}
	return wrong
}

// expectation is the state of an object when the operators are idle: not Ready for one of the
// reasons. Without reasons, it is Ready, or gone if the object was deleted.
type expectation struct{ reasons []string }

var isReady = expectation{}

func checkReconciled(w *world) (wrong violations) {
	for _, s := range w.servers {
		wrong = append(wrong, checkStatus(s, w.expectServer(s))...)
	}
	for _, g := range w.groups {
		wrong = append(wrong, checkStatus(g, w.expectGroup(g))...)
	}
	for _, c := range w.channels {
		wrong = append(wrong, checkStatus(c, w.expectChannel(c))...)
	}
	for _, role := range w.roles {
		wrong = append(wrong, checkStatus(role, w.expectRole(role))...)
	}
	for _, d := range w.dojos {
		wrong = append(wrong, checkStatus(d, w.expectDojo(d))...)
	}
	return wrong
}

func checkStatus(o client.Object, want expectation) (wrong violations) {
	conds, observed := statusOf(o)
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	broken := func(format string, args ...any) { wrong.add("everything is reconciled", id(o), format, args...) }
	switch {
	case o.GetDeletionTimestamp() != nil && len(want.reasons) == 0:
		if ready == nil {
			ready = &metav1.Condition{Message: "no condition"}
		}
		broken("its deletion does not end, finalizers %v: %s: %s", o.GetFinalizers(), ready.Reason, ready.Message)
	case ready == nil:
		broken("it was not reconciled")
	case observed != o.GetGeneration():
		broken("generation %d, observed %d", o.GetGeneration(), observed)
	case len(want.reasons) == 0 && ready.Status != metav1.ConditionTrue:
		broken("it is not Ready: %s: %s", ready.Reason, ready.Message)
	case len(want.reasons) > 0 && (ready.Status != metav1.ConditionFalse || !slices.Contains(want.reasons, ready.Reason)):
		broken("it should not be Ready, for one of the reasons %v, but its reason is %s: %s",
			want.reasons, ready.Reason, ready.Message)
	}
	return wrong
}

func (w *world) expectServer(s *v1alpha1.DiscordServer) expectation {
	if s.DeletionTimestamp != nil && len(w.groups)+len(w.channels)+len(w.roles)+len(w.guests.all()) > 0 {
		return expectation{[]string{v1alpha1.ReasonWaitingForDependents}}
	}
	return isReady
}

func (w *world) expectGroup(g *v1alpha1.DiscordGroup) expectation {
	for _, c := range w.channels {
		if ref := c.Spec.GroupRef; g.DeletionTimestamp != nil && ref != nil && ref.Name == g.Name {
			return expectation{[]string{v1alpha1.ReasonWaitingForDependents}}
		}
	}
	if g.DeletionTimestamp == nil && w.lacksRole(g.Spec.PermissionOverwrites) {
		return expectation{[]string{v1alpha1.ReasonWaitingForRole}}
	}
	if w.ambiguous(g.Status.GroupID, g.Spec.Name, "", discordtest.TypeCategory) {
		return expectation{[]string{v1alpha1.ReasonCreatePending}}
	}
	return isReady
}

func (w *world) expectChannel(c *v1alpha1.DiscordChannel) expectation {
	parent := ""
	if ref := c.Spec.GroupRef; ref != nil {
		if group := find(w.groups, ref.Name); c.DeletionTimestamp == nil && !w.hasCategory(group) {
			return expectation{[]string{v1alpha1.ReasonWaitingForGroup}}
		} else if group != nil {
			parent = group.Status.GroupID
		}
	}
	if c.DeletionTimestamp == nil && w.lacksRole(c.Spec.PermissionOverwrites) {
		return expectation{[]string{v1alpha1.ReasonWaitingForRole}}
	}
	if w.ambiguous(c.Status.ChannelID, c.Spec.Name, parent, typeOf(c)) {
		return expectation{[]string{v1alpha1.ReasonCreatePending}}
	}
	if c.DeletionTimestamp != nil {
		return isReady
	}
	if c.Spec.Adopt == nil || c.Status.ChannelID != "" {
		return isReady
	}
	if _, there := w.channelOnDiscord(c.Spec.Adopt.ID); !there {
		return expectation{[]string{v1alpha1.ReasonAdoptNotFound}}
	}
	for _, other := range w.channels {
		if other.Status.ChannelID == c.Spec.Adopt.ID {
			return expectation{[]string{v1alpha1.ReasonConflict}}
		}
	}
	return isReady
}

// expectDojo returns ChildRefused if the database is in another Cluster, because the operator moves
// no data.
func (w *world) expectDojo(d *corev1api.Dojo) expectation {
	if w.databaseElsewhere(d) {
		return expectation{[]string{corev1api.ReasonChildRefused}}
	}
	if d.DeletionTimestamp != nil || d.Spec.Alerts == nil {
		return isReady
	}
	for _, c := range w.channels {
		if c.Name == d.Name+"-alerts" && len(w.expectChannel(c).reasons) > 0 &&
			c.Status.Webhook == nil {
			return expectation{[]string{corev1api.ReasonWaitingForChannel, corev1api.ReasonChannelNotReady}}
		}
	}
	return isReady
}

// databaseElsewhere reports whether a Dojo's DatabaseRole belongs to another Cluster.
func (w *world) databaseElsewhere(d *corev1api.Dojo) bool {
	if d.Spec.Postgres == nil || d.DeletionTimestamp != nil {
		return false
	}
	wanted := d.Name + "-db"
	if d.Spec.Postgres.ClusterRef != nil {
		wanted = d.Spec.Postgres.ClusterRef.Name
	}
	for _, o := range w.custom {
		if o.GetKind() == "DatabaseRole" && o.GetName() == d.Name+"-db" {
			in, _, _ := unstructured.NestedString(o.Object, "spec", "cluster", "name")
			return in != wanted
		}
	}
	return false
}

func (w *world) hasCategory(g *v1alpha1.DiscordGroup) bool {
	if g == nil || g.DeletionTimestamp == nil && len(w.expectGroup(g).reasons) == 0 {
		return g != nil
	}
	_, there := w.channelOnDiscord(g.Status.GroupID)
	return there
}
