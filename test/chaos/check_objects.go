package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// statusOf returns what the status of an object of ours says.
func statusOf(o client.Object) (conds []metav1.Condition, observed int64) {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordGroup:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *v1alpha1.DiscordChannel:
		return o.Status.Conditions, o.Status.ObservedGeneration
	case *corev1api.Dojo:
		return o.Status.Conditions, o.Status.ObservedGeneration
	}
	return nil, 0
}

// lawful says what is wrong with one version of an object, at whatever moment.
func lawful(o client.Object) (wrong []violation) {
	conds, observed := statusOf(o)
	where := fmt.Sprintf("%s, version %s", id(o), o.GetResourceVersion())
	is := func(kind string) bool { return meta.IsStatusConditionTrue(conds, kind) }
	if is(conditions.TypeDegraded) && is(conditions.TypeProgressing) {
		wrong = append(wrong, violation{"never Degraded and Progressing", where, "it is both"})
	}
	if is(conditions.TypeReady) && (is(conditions.TypeDegraded) || is(conditions.TypeProgressing)) {
		wrong = append(wrong, violation{"never Ready and Progressing or Degraded", where,
			"it is Ready, and Degraded or Progressing as well"})
	}
	ahead := func(what string, n int64) {
		if n > o.GetGeneration() {
			wrong = append(wrong, violation{"observedGeneration is never ahead", where,
				fmt.Sprintf("%d in %s, of generation %d", n, what, o.GetGeneration())})
		}
	}
	ahead("the status", observed)
	for _, c := range conds {
		ahead(c.Type, c.ObservedGeneration)
		if c.Reason == "" || c.LastTransitionTime.IsZero() {
			wrong = append(wrong, violation{"every condition has a reason", where, c.Type + " has none, or no time"})
		}
	}
	return wrong
}

// expectation is how an object has to be at rest: Ready, or not Ready for one of these reasons.
type expectation struct{ reasons []string }

var isReady = expectation{}

// reconciled says which objects are not as they have to be at rest.
func reconciled(w *world) (wrong []violation) {
	for i := range w.servers {
		s := &w.servers[i]
		wrong = append(wrong, against(s, w.expectServer(s))...)
	}
	for i := range w.groups {
		g := &w.groups[i]
		wrong = append(wrong, against(g, w.expectGroup(g))...)
	}
	for i := range w.channels {
		c := &w.channels[i]
		wrong = append(wrong, against(c, w.expectChannel(c))...)
	}
	for i := range w.dojos {
		d := &w.dojos[i]
		wrong = append(wrong, against(d, w.expectDojo(d))...)
	}
	return wrong
}

func against(o client.Object, want expectation) []violation {
	const invariant = "everything is reconciled"
	conds, observed := statusOf(o)
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	switch {
	case o.GetDeletionTimestamp() != nil && len(want.reasons) == 0:
		why := "it says nothing"
		if ready != nil {
			why = ready.Reason + ": " + ready.Message
		}
		return []violation{{invariant, id(o), fmt.Sprintf("it does not go, finalizers %v: %s", o.GetFinalizers(), why)}}
	case ready == nil:
		return []violation{{invariant, id(o), "it was not reconciled"}}
	case observed != o.GetGeneration():
		return []violation{{invariant, id(o), fmt.Sprintf("generation %d, observed %d", o.GetGeneration(), observed)}}
	case len(want.reasons) == 0 && ready.Status != metav1.ConditionTrue:
		return []violation{{invariant, id(o), fmt.Sprintf("it is not Ready: %s: %s", ready.Reason, ready.Message)}}
	case len(want.reasons) == 0:
		return nil
	}
	for _, reason := range want.reasons {
		if ready.Status == metav1.ConditionFalse && ready.Reason == reason {
			return nil
		}
	}
	return []violation{{invariant, id(o),
		fmt.Sprintf("it should not be Ready, because of %v, and is %s: %s", want.reasons, ready.Reason, ready.Message)}}
}

// expectServer: one that was deleted waits for its groups and channels.
func (w *world) expectServer(s *v1alpha1.DiscordServer) expectation {
	if s.DeletionTimestamp != nil && len(w.groups)+len(w.channels) > 0 {
		return expectation{[]string{v1alpha1.ReasonWaitingForDependents}}
	}
	return isReady
}

// expectGroup: one that was deleted waits for its channels.
func (w *world) expectGroup(g *v1alpha1.DiscordGroup) expectation {
	for i := range w.channels {
		if ref := w.channels[i].Spec.GroupRef; g.DeletionTimestamp != nil && ref != nil && ref.Name == g.Name {
			return expectation{[]string{v1alpha1.ReasonWaitingForDependents}}
		}
	}
	if w.ambiguous(g.Status.GroupID, g.Spec.Name, "", true) {
		return expectation{[]string{v1alpha1.ReasonCreatePending}}
	}
	return isReady
}

// expectChannel: one waits for a group that does not exist, or that is being deleted and whose
// category was deleted on Discord; of two that adopt the same channel one loses.
func (w *world) expectChannel(c *v1alpha1.DiscordChannel) expectation {
	parent := ""
	if ref := c.Spec.GroupRef; ref != nil {
		if group := w.group(ref.Name); c.DeletionTimestamp == nil && !w.hasCategory(group) {
			return expectation{[]string{v1alpha1.ReasonWaitingForGroup}}
		} else if group != nil {
			parent = group.Status.GroupID
		}
	}
	if w.ambiguous(c.Status.ChannelID, c.Spec.Name, parent, false) {
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
	for i := range w.channels {
		if w.channels[i].Status.ChannelID == c.Spec.Adopt.ID {
			return expectation{[]string{v1alpha1.ReasonConflict}}
		}
	}
	return isReady
}

// expectDojo: the alerts of one wait for a channel that waits itself; and a former Dojo of the same
// name may have left its database in another Cluster, out of which no data is moved automatically.
func (w *world) expectDojo(d *corev1api.Dojo) expectation {
	if w.databaseElsewhere(d) {
		return expectation{[]string{corev1api.ReasonChildRefused}}
	}
	if d.DeletionTimestamp != nil || d.Spec.Alerts == nil {
		return isReady
	}
	for i := range w.channels {
		if c := &w.channels[i]; c.Name == d.Name+"-alerts" && len(w.expectChannel(c).reasons) > 0 &&
			c.Status.Webhook == nil {
			return expectation{[]string{corev1api.ReasonWaitingForChannel, corev1api.ReasonChannelNotReady}}
		}
	}
	return isReady
}

// databaseElsewhere reports whether the role of a Dojo's database is there in another Cluster than
// the Dojo asks for.
func (w *world) databaseElsewhere(d *corev1api.Dojo) bool {
	if d.Spec.Postgres == nil || d.DeletionTimestamp != nil {
		return false
	}
	wanted := d.Name + "-db"
	if d.Spec.Postgres.ClusterRef != nil {
		wanted = d.Spec.Postgres.ClusterRef.Name
	}
	for i := range w.custom {
		if o := &w.custom[i]; o.GetKind() == "DatabaseRole" && o.GetName() == d.Name+"-db" {
			in, _, _ := unstructured.NestedString(o.Object, "spec", "cluster", "name")
			return in != wanted
		}
	}
	return false
}

// hasCategory reports whether a group has a category, or will have one.
func (w *world) hasCategory(g *v1alpha1.DiscordGroup) bool {
	if g == nil || g.DeletionTimestamp == nil && len(w.expectGroup(g).reasons) == 0 {
		return g != nil
	}
	_, there := w.channelOnDiscord(g.Status.GroupID)
	return there
}

func (w *world) group(name string) *v1alpha1.DiscordGroup {
	for i := range w.groups {
		if w.groups[i].Name == name {
			return &w.groups[i]
		}
	}
	return nil
}
