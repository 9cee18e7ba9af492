// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/kubectl/term"
)

// Mark is the state of a child in one word.
type Mark string

// The marks of a child.
const (
	Well  Mark = "ok"
	Busy  Mark = "busy"
	Ill   Mark = "ill"
	Blind Mark = "unknown" // the user may not read the child
)

// Child is an object that belongs to a Dojo, with a summary of its state.
type Child struct {
	Kind     string  `json:"kind"`
	Name     string  `json:"name"`
	Mark     Mark    `json:"mark"`
	State    string  `json:"state"`
	Detail   string  `json:"detail,omitempty"`
	Children []Child `json:"children,omitempty"`
}

// Children returns the children of a Dojo in the order of `kubectl dojo tree`.
func Children(w *world.World) (all []Child) {
	for _, known := range world.Children(w.Dojo) {
		if child, shown := childOf(w, known); shown {
			all = append(all, child)
		}
	}
	for i := range w.Jobs {
		all = append(all, jobOf(&w.Jobs[i], w.Now))
	}
	return all
}

func childOf(w *world.World, known world.Child) (c Child, shown bool) {
	c = Child{Kind: known.Kind.Kind, Name: known.Name}
	o := w.Objects[world.Ref{Resource: known.Kind.Resource(), Name: known.Name}]
	switch resource := known.Kind.Resource(); {
	case o != nil:
		c.Mark, c.State, c.Detail = stateOf(w, o)
		c.addOwnership(w.Dojo, known, o)
	case !known.Wanted:
		return c, false
	case w.Denied[resource]:
		c.Mark, c.State = Blind, "? (you may not get "+resource+")"
	case w.Absent[resource]:
		c.Mark, c.State = Ill, "MISSING: the cluster does not have "+resource
	default:
		c.Mark, c.State = missing(w, known)
	}
	switch known.Kind {
	case kinds.Deployment:
		c.Children = podsOf(w.Pods, w.Now)
	case kinds.Cluster:
		c.Children = podsOf(w.Instances, w.Now)
	}
	return c, true
}

func missing(w *world.World, known world.Child) (Mark, string) {
	had := known.Kind == kinds.Cluster && w.Dojo.Status.Database != nil && w.Dojo.Status.Database.ClusterUID != ""
	switch h := state(w.Dojo, w.Now); {
	case had:
		return Ill, "MISSING (had data)"
	case h.Health == Progressing || h.Health == Suspended || h.Health == Paused:
		return Busy, "not made yet"
	}
	return Ill, "MISSING"
}

func (c *Child) addOwnership(d *corev1api.Dojo, known world.Child, o client.Object) {
	controlled := metav1.GetControllerOfNoCopy(o) != nil
	switch {
	case o.GetDeletionTimestamp() != nil:
		c.Mark, c.State = Busy, "being deleted"
	case known.Foreign:
		c.State += " (not the Dojo's own)"
	case metav1.IsControlledBy(o, d), !controlled && ownership.LabelledFor(d.Name, o):
	default:
		c.Mark, c.State = Ill, "does not belong to this Dojo"
	}
}

func podsOf(all []corev1.Pod, now time.Time) (children []Child) {
	for i := range all {
		children = append(children, podOf(&all[i], now))
	}
	return children
}

// StateOfPod returns the state of a pod, such as "Ready 3d, primary".
func StateOfPod(pod *corev1.Pod, now time.Time) string { return podOf(pod, now).State }

func podOf(pod *corev1.Pod, now time.Time) Child {
	c := Child{Kind: "Pod", Name: pod.Name, Mark: Busy, State: string(pod.Status.Phase)}
	trouble := pods.Of(now, pod)
	ready := world.IsReady(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		c.State = "Terminating"
	case trouble.Reason != "":
		c.Mark, c.State, c.Detail = Ill, trouble.Reason, trouble.Message
	case ready:
		c.Mark, c.State = Well, "Ready "+term.Age(pod.CreationTimestamp.Time, now)
	}
	if role := pod.Labels[world.InstanceRoleLabel]; role != "" {
		c.State += ", " + role
	}
	return c
}

func jobOf(job *batchv1.Job, now time.Time) Child {
	c := Child{Kind: "Job", Name: job.Name, Mark: Busy, State: "running " + term.Age(job.CreationTimestamp.Time, now)}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			c.Mark, c.State = Well, "completed "+term.Moment(condition.LastTransitionTime.Time, now)
		case batchv1.JobFailed:
			c.Mark, c.State, c.Detail = Ill, "failed", condition.Message
		default:
		}
	}
	return c
}

// Tree renders a Dojo and its children as a tree.
func Tree(w *world.World, style term.Style) string {
	h := HeadOf(w.Dojo, w.Now)
	root := term.Node{
		Name: style.Bold("Dojo " + w.Dojo.Name), Cells: []string{h.Paint(style, string(h.Health)), h.Reason},
		Children: nodes(Children(w), style),
	}
	return term.Tree(root)
}

func nodes(children []Child, style term.Style) (all []term.Node) {
	for _, c := range children {
		all = append(all, term.Node{
			Name: c.Kind + " " + c.Name, Cells: []string{c.Mark.paint(style, c.State), c.Detail},
			Children: nodes(c.Children, style),
		})
	}
	return all
}

func (m Mark) paint(style term.Style, text string) string {
	switch m {
	case Ill:
		return style.Bad(text)
	case Busy, Blind:
		return style.Busy(text)
	case Well:
	}
	return text
}

// Summary counts the children, such as "12, all in sync but the Cluster tokyo-db".
func Summary(children []Child) string {
	var not []string
	blind := 0
	for _, c := range children {
		switch c.Mark {
		case Well:
		case Blind:
			blind++
		default:
			not = append(not, "the "+c.Kind+" "+c.Name)
		}
	}
	switch all := len(children); {
	case all > 0 && blind == all:
		return fmt.Sprintf("%d, which you may not read", all)
	case blind > 0:
		return fmt.Sprintf("%d: %d in sync, %d not, %d you may not read", all, all-blind-len(not), len(not), blind)
	case len(not) == 0:
		return fmt.Sprintf("%d, all in sync", all)
	case len(not) <= 2:
		return fmt.Sprintf("%d, all in sync but %s", all, strings.Join(not, " and "))
	default:
		return fmt.Sprintf("%d, %d not in sync", all, len(not))
	}
}
