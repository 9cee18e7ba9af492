// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/term"
)

const inSync = "in sync"

func stateOf(w *world.World, o client.Object) (mark Mark, state, detail string) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return deploymentState(o)
	case *corev1.Service:
		return Well, address(o), ""
	case *autoscalingv2.HorizontalPodAutoscaler:
		least := ptr.Deref(o.Spec.MinReplicas, 1)
		return Well, fmt.Sprintf("%d replicas, limits %d to %d", o.Status.CurrentReplicas, least, o.Spec.MaxReplicas), ""
	case *networkingv1.Ingress:
		return Well, hosts(o), ""
	case *cnpgv1.Cluster:
		return clusterState(o)
	case *cnpgv1.DatabaseRole:
		mark, state, detail = applied(cnpg.Report{
			Applied: o.Status.Applied, Current: o.Status.ObservedGeneration == o.Generation, Message: o.Status.Message,
		})
		if mark == Well && !o.Spec.Login {
			state = "Applied, login disabled"
		}
		return mark, state, detail
	case *cnpgv1.Database:
		return applied(cnpg.Report{
			Applied: o.Status.Applied, Current: o.Status.ObservedGeneration == o.Generation, Message: o.Status.Message,
		})
	case *cnpgv1.ScheduledBackup:
		return scheduleState(o, w)
	case *cnpgv1.Pooler:
		return Well, fmt.Sprintf("%d of %d instances", o.Status.Instances, ptr.Deref(o.Spec.Instances, 1)), ""
	case *discordv1alpha1.DiscordChannel:
		return channelState(o)
	}
	return Well, inSync, ""
}

func deploymentState(o *appsv1.Deployment) (Mark, string, string) {
	want := ptr.Deref(o.Spec.Replicas, 1)
	state := fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, want)
	if o.Status.ReadyReplicas < want || o.Status.UpdatedReplicas < want {
		return Busy, state, ""
	}
	return Well, state, ""
}

func address(o *corev1.Service) string {
	if len(o.Spec.Ports) == 0 {
		return o.Spec.ClusterIP
	}
	return fmt.Sprintf("%s:%d", o.Spec.ClusterIP, o.Spec.Ports[0].Port)
}

func hosts(o *networkingv1.Ingress) string {
	var all []string
	for _, rule := range o.Spec.Rules {
		all = append(all, rule.Host)
	}
	return strings.Join(all, ", ")
}

func clusterState(o *cnpgv1.Cluster) (Mark, string, string) {
	state := fmt.Sprintf("%d/%d instances", o.Status.ReadyInstances, o.Spec.Instances)
	if o.Status.CurrentPrimary != "" {
		state += ", primary " + o.Status.CurrentPrimary
	}
	switch {
	case cnpg.Hibernates(o):
		return Well, "hibernated", ""
	case cnpg.Up(o) && o.Status.ReadyInstances == o.Spec.Instances:
		return Well, state, ""
	case cnpg.Up(o):
		return Busy, state, o.Status.Phase
	}
	return Ill, state, o.Status.Phase
}

func applied(r cnpg.Report) (Mark, string, string) {
	switch {
	case r.Done():
		return Well, "Applied", ""
	case r.Applied != nil && !*r.Applied:
		return Ill, "not applied", r.Message
	}
	return Busy, "not applied yet", ""
}

func scheduleState(o *cnpgv1.ScheduledBackup, w *world.World) (Mark, string, string) {
	switch {
	case ptr.Deref(o.Spec.Suspend, false):
		return Well, "suspended", ""
	case o.Status.NextScheduleTime != nil:
		return Well, "next " + term.Moment(o.Status.NextScheduleTime.Time, w.Now), ""
	}
	return Well, o.Spec.Schedule, ""
}

func channelState(o *discordv1alpha1.DiscordChannel) (Mark, string, string) {
	ready := meta.FindStatusCondition(o.Status.Conditions, conditions.TypeReady)
	switch {
	case ready == nil:
		return Busy, "not observed yet", ""
	case ready.Status == metav1.ConditionTrue:
		return Well, "Ready", o.Status.ChannelURL
	}
	mark := Busy
	if meta.IsStatusConditionTrue(o.Status.Conditions, conditions.TypeDegraded) {
		mark = Ill
	}
	return mark, ready.Reason, ready.Message
}

func clusterOf(w *world.World) *cnpgv1.Cluster {
	return world.Find[*cnpgv1.Cluster](w, kinds.Cluster, cmp.Or(cnpg.ClusterName(w.Dojo), "-"))
}
