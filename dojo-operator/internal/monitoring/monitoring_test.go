// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/conditions"
)

var testConfig = Config{ProgressDeadline: 90 * time.Second, WebhookBase: "https://discord.com/api"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func monitored(dojo *corev1api.Dojo) {
	labels := map[string]string{"release": "prometheus", ownership.NameLabel: "x"}
	dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: true, Labels: labels}
}

func inGroup(dojo *corev1api.Dojo) {
	dojo.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{
		GroupRef: &corev1api.DiscordGroupReference{Name: "alerts"},
	}}
}

func inChannel(dojo *corev1api.Dojo) {
	dojo.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{
		ChannelRef: &corev1api.DiscordReference{Name: "all"},
	}}
}

func without(name string) func(optionalkinds.Kind) bool {
	return func(kind optionalkinds.Kind) bool { return kind.Kind != name }
}

func planWithout(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo, kind string) apply.Plan {
	t.Helper()
	return Plan(dojo, observe(t, c, dojo, kind), "http", testConfig)
}

func planFor(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo) apply.Plan {
	t.Helper()
	return planWithout(t, c, dojo, "")
}

func observe(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo, missing string) State {
	t.Helper()
	s, err := Observe(t.Context(), c.Reader(dojo), dojo, without(missing), dojotest.Noon)
	must(t, err)
	return s
}

func channelOf(t *testing.T, c *dojotest.Cluster, name string) *discordv1alpha1.DiscordChannel {
	t.Helper()
	return applytest.Get(t, c.Server, "school", name, &discordv1alpha1.DiscordChannel{})
}

func objectOf(t *testing.T, c *dojotest.Cluster, kind optionalkinds.Kind) *unstructured.Unstructured {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo", kind.Object())
}

func report(
	t *testing.T, c *dojotest.Cluster, name string, can conditions.Availability, issue *conditions.Issue, secret string,
) {
	t.Helper()
	live := channelOf(t, c, name)
	if secret != "" && secretOf(t, c, secret) == nil {
		c.Put(webhookSecret(secret, urlOf(secret)))
	}
	applytest.EditStatus(t, c.Server, "discord-operator", live, func(channel *discordv1alpha1.DiscordChannel) {
		status := discordv1alpha1.DiscordChannelStatus{ChannelID: "42", ChannelURL: "https://discord.com/channels/1/42"}
		if secret != "" {
			reference := discordv1alpha1.LocalSecretReference{Name: secret}
			status.Webhook = &discordv1alpha1.WebhookStatus{ID: "7", SecretRef: &reference}
		}
		conditions.Set(&status.Conditions, channel.Generation, can, issue)
		channel.Status = status
	})
}

var (
	usable   = conditions.Usable("Exists", "The channel exists.")
	unusable = conditions.Unusable("Pending", "The channel does not exist.")
)

func alerting(t *testing.T, dojo *corev1api.Dojo) *dojotest.Cluster {
	t.Helper()
	c := dojotest.NewCluster(t)
	if !hasOwnChannel(dojo) {
		c.Put(&discordv1alpha1.DiscordChannel{
			ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "all"},
			Spec:       discordv1alpha1.DiscordChannelSpec{Webhook: &discordv1alpha1.ChannelWebhook{Name: "x"}},
		})
	}
	c.Do(dojo, planFor(t, c, dojo))
	report(t, c, ChannelName(dojo), usable, nil, "hook")
	c.Do(dojo, planFor(t, c, dojo))
	if plan := planFor(t, c, dojo); plan.Apply != nil || plan.Issues != nil {
		t.Fatalf("the alerts are not in sync after two reconciles: %+v", plan)
	}
	return c
}

func TestChannelInAGroupOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	dojo, c := dojotest.Dojo(inGroup), dojotest.NewCluster(t)
	dojo.Spec.Alerts.Discord.GroupRef.Namespace = "platform"
	c.Do(dojo, planFor(t, c, dojo))
	group := func() *discordv1alpha1.GroupReference { // returns the group of the Dojo's own DiscordChannel
		return channelOf(t, c, "tokyo-alerts").Spec.GroupRef
	}
	if diff := cmp.Diff(&discordv1alpha1.GroupReference{Namespace: "platform", Name: "alerts"}, group()); diff != "" {
		t.Error(diff)
	}
	dojo.Spec.Alerts.Discord.GroupRef.Namespace = ""
	c.Do(dojo, planFor(t, c, dojo))
	if diff := cmp.Diff(&discordv1alpha1.GroupReference{Name: "alerts"}, group()); diff != "" {
		t.Error(diff)
	}
}

func TestMonitoring(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(monitored)
	c := dojotest.NewCluster(t)
	c.Do(dojo, planFor(t, c, dojo))
	for _, kind := range []optionalkinds.Kind{serviceMonitorKind, ruleKind} {
		o := objectOf(t, c, kind)
		if o == nil || !metav1.IsControlledBy(o, dojo) || o.GetLabels()["release"] != "prometheus" ||
			o.GetLabels()[ownership.NameLabel] != ownership.Application {
			t.Errorf("%s: %v", kind.Kind, o)
		}
	}
	if plan := planFor(t, c, dojo); plan.Apply != nil {
		t.Errorf("the next reconcile writes %v", dojotest.Kinds(plan))
	}
	dojo.Spec.Suspend = true
	plan := planFor(t, c, dojo)
	if diff := cmp.Diff([]string{"PrometheusRule/tokyo"}, dojotest.Deleted(plan)); diff != "" || plan.Apply != nil {
		t.Error("suspended", dojotest.Kinds(plan), diff)
	}
	dojo.Spec.Suspend, dojo.Spec.Monitoring.Enabled = false, false
	plan = planFor(t, c, dojo)
	if diff := cmp.Diff([]string{"ServiceMonitor/tokyo", "PrometheusRule/tokyo"}, dojotest.Deleted(plan)); diff != "" {
		t.Error(diff)
	}
	c.Do(dojo, plan)
	dojo.Spec.Monitoring.Enabled = true
	plan = planWithout(t, c, dojo, "ServiceMonitor")
	if diff := cmp.Diff([]string{"PrometheusRule"}, dojotest.Kinds(plan)); diff != "" || plan.Issues != nil {
		t.Errorf("without the kind ServiceMonitor: %v, %s", plan.Issues, diff)
	}
}

func TestForeignMonitor(t *testing.T) {
	t.Parallel()
	another := serviceMonitorKind.Object()
	another.SetNamespace("school")
	another.SetName("tokyo")
	c := dojotest.NewCluster(t, another)
	if plan := planFor(t, c, dojotest.Dojo()); plan.Apply != nil || plan.Delete != nil || plan.Issues != nil {
		t.Errorf("no ServiceMonitor is desired, but the plan is %+v", plan)
	}
	plan := planFor(t, c, dojotest.Dojo(monitored))
	if diff := cmp.Diff([]string{"PrometheusRule"}, dojotest.Kinds(plan)); diff != "" {
		t.Error(diff)
	}
	if got := dojotest.Worst(plan.Issues); got != "Degraded/NameConflict" {
		t.Errorf("issues are %s", got)
	}
}

func TestAlertsStepByStep(t *testing.T) {
	t.Parallel()
	dojo, c := dojotest.Dojo(inGroup), dojotest.NewCluster(t)
	var got []string
	reconcile := func() {
		plan := planFor(t, c, dojo)
		got = append(got, strings.Join(dojotest.Kinds(plan), " ")+": "+dojotest.Worst(plan.Issues))
		for _, o := range plan.Apply {
			if o.Part != corev1api.ConditionAlertsReady {
				t.Errorf("%s is of the part %q", o.Kind, o.Part)
			}
		}
		c.Do(dojo, plan)
	}
	reconcile()
	reconcile()
	report(t, c, "tokyo-alerts", usable, nil, "hook")
	reconcile()
	reconcile()
	want := []string{
		"ServiceMonitor PrometheusRule DiscordChannel: Progressing/WaitingForChannel", ": Progressing/WaitingForChannel",
		"Secret AlertmanagerConfig: ", ": ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	channel, route := channelOf(t, c, "tokyo-alerts"), objectOf(t, c, routeKind)
	spec := apply.As[map[string]any](channel.Spec)
	if diff := cmp.Diff(map[string]any{
		"groupRef": map[string]any{"name": "alerts"}, "name": "tokyo-alerts", "topic": "Alerts of the Dojo school/tokyo",
		"webhook": map[string]any{"name": "Alertmanager"},
	}, spec); diff != "" {
		t.Error(diff)
	}
	matchers, _, err := unstructured.NestedSlice(route.Object, "spec", "route", "matchers")
	must(t, err)
	var matched []string
	for _, m := range matchers {
		matched = append(matched, fmt.Sprint(m.(map[string]any)["name"], m.(map[string]any)["matchType"],
			m.(map[string]any)["value"]))
	}
	if diff := cmp.Diff([]string{"namespace=school", "dojo=tokyo"}, matched); diff != "" {
		t.Error(diff)
	}
	if !metav1.IsControlledBy(channel, dojo) || !metav1.IsControlledBy(route, dojo) {
		t.Error("the garbage collector leaves the channel or the route behind")
	}
	status := &corev1api.AlertsStatus{
		ChannelName: "tokyo-alerts", ChannelID: "42", ChannelURL: "https://discord.com/channels/1/42",
	}
	if diff := cmp.Diff(status, Status(dojo, observe(t, c, dojo, ""))); diff != "" {
		t.Error(diff)
	}
	if Status(dojotest.Dojo(), State{}) != nil {
		t.Error("a Dojo without spec.alerts reports a channel")
	}
}

func TestAlertsReady(t *testing.T) {
	t.Parallel()
	type change = func(t *testing.T, c *dojotest.Cluster)
	nothing := func(*testing.T, *dojotest.Cluster) {}
	waited := func(name string, ago time.Duration) func(*corev1api.Dojo) {
		return dojotest.WaitingFor("DiscordChannel school/"+name, ago)
	}
	gone := func(name string) change {
		return func(t *testing.T, c *dojotest.Cluster) {
			t.Helper()
			must(t, c.Delete(t.Context(), channelOf(t, c, name)))
		}
	}
	edit := func(name string, edit func(*discordv1alpha1.DiscordChannel)) change {
		return func(t *testing.T, c *dojotest.Cluster) {
			t.Helper()
			applytest.Edit(t, c.Server, "kubectl", channelOf(t, c, name), edit)
		}
	}
	noStatus := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		applytest.EditStatus(t, c.Server, "discord-operator", channelOf(t, c, "tokyo-alerts"),
			func(channel *discordv1alpha1.DiscordChannel) { channel.Status = discordv1alpha1.DiscordChannelStatus{} })
	}
	is := func(can conditions.Availability, issue *conditions.Issue, secret string) change {
		return func(t *testing.T, c *dojotest.Cluster) {
			t.Helper()
			report(t, c, "tokyo-alerts", can, issue, secret)
		}
	}
	waiting := conditions.Progressing("WaitingForServer", "The server jujutsu does not exist.")
	refused := conditions.Degraded("MissingPermission", "The bot lacks ManageChannels.")
	released := func(channel *discordv1alpha1.DiscordChannel) { channel.OwnerReferences = nil }
	noWebhook := func(channel *discordv1alpha1.DiscordChannel) { channel.Spec.Webhook = nil }
	foreignRoute := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		applytest.Edit(t, c.Server, "kubectl", objectOf(t, c, routeKind),
			func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
	}
	dojo := dojotest.Dojo
	cases := map[string]struct {
		dojo    *corev1api.Dojo
		missing string // a kind that the cluster lacks
		change  change
		want    string
		says    string
	}{
		"own channel": {dojo(inGroup), "", nothing, "", ""},
		"own channel, deleted": {dojo(inGroup), "", gone("tokyo-alerts"),
			"Progressing/WaitingForChannel", "DiscordChannel school/tokyo-alerts."},
		"own channel, not reconciled yet": {dojo(inGroup), "", noStatus, "Progressing/WaitingForChannel",
			"the DiscordChannel school/tokyo-alerts is not Ready: discord-operator has not reconciled it."},
		"own channel, waiting for its server": {dojo(inGroup), "", is(unusable, waiting, ""),
			"Progressing/WaitingForChannel", "tokyo-alerts is not Ready (WaitingForServer): The server jujutsu does not exist."},
		"own channel, waiting for its server for long": {dojo(inGroup, waited("tokyo-alerts", time.Hour)), "", is(unusable, waiting, ""),
			"Degraded/ChannelNotReady", "tokyo-alerts is not Ready (WaitingForServer): The server jujutsu does not exist. See " +
				"`kubectl describe discordchannels.discord.jutsu.com tokyo-alerts -n school`."},
		"own channel, waiting for its server, after a long wait for another channel": {dojo(inGroup, waited("all", time.Hour)), "", is(unusable, waiting, ""),
			"Progressing/WaitingForChannel", "tokyo-alerts is not Ready (WaitingForServer): The server jujutsu does not exist."},
		"own channel, not reconciled for long": {dojo(inGroup, waited("tokyo-alerts", time.Hour)), "", noStatus,
			"Degraded/ChannelNotReady", "discord-operator has not reconciled it"},
		"own channel, the bot lacks a permission": {dojo(inGroup), "", is(unusable, refused, ""),
			"Degraded/ChannelNotReady", "The bot lacks ManageChannels. See"},
		"own channel, exists but does not match its spec": {dojo(inGroup), "", is(usable, refused, "hook"), "", ""},
		"own channel, without Secret": {dojo(inGroup), "", is(usable, nil, ""),
			"Progressing/WaitingForChannel", "has no webhook yet (Reconciled)"},
		"own channel, without Secret for long": {dojo(inGroup, waited("tokyo-alerts", time.Hour)), "", is(usable, nil, ""),
			"Degraded/ChannelNotReady", "Alerts cannot be posted, because the DiscordChannel school/tokyo-alerts has no webhook yet"},
		"own channel, name conflict": {dojo(inGroup), "", edit("tokyo-alerts", released),
			"Degraded/NameConflict", "DiscordChannel school/tokyo-alerts"},
		"shared channel": {dojo(inChannel), "", nothing, "", ""},
		"shared channel, missing": {dojo(inChannel), "", gone("all"),
			"Progressing/WaitingForChannel", "DiscordChannel school/all."},
		"shared channel, missing for long": {dojo(inChannel, waited("all", time.Hour)), "", gone("all"),
			"Degraded/ChannelNotFound", "spec.alerts.discord.channelRef"},
		"shared channel, without webhook": {dojo(inChannel), "", edit("all", noWebhook),
			"Degraded/ChannelWithoutWebhook", "spec.webhook"},
		"no discord-operator": {dojo(inGroup), "DiscordChannel", nothing,
			"Degraded/DiscordOperatorNotInstalled", "DiscordChannel"},
		"no prometheus-operator": {dojo(inGroup), "AlertmanagerConfig", nothing,
			"Degraded/PrometheusOperatorNotInstalled", "AlertmanagerConfig"},
		"prometheus-operator without the kind PrometheusRule": {dojo(inGroup), "PrometheusRule", nothing,
			"Degraded/PrometheusOperatorNotInstalled", "PrometheusRule"},
		"name conflict of the AlertmanagerConfig": {dojo(inGroup), "", foreignRoute,
			"Degraded/NameConflict", "AlertmanagerConfig school/tokyo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := alerting(t, dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Alerts = c.dojo.Spec.Alerts }))
			c.change(t, cluster)
			plan := planWithout(t, cluster, c.dojo, c.missing)
			if got := dojotest.Worst(conditions.OfPart(corev1api.ConditionAlertsReady, plan.Issues)); got != c.want {
				t.Fatalf("the alerts are %s", got)
			}
			if worst := conditions.Worst(plan.Issues); worst != nil && !strings.Contains(worst.Message, c.says) {
				t.Errorf("does not say %q: %v", c.says, worst)
			}
			if plan.Delete != nil {
				t.Errorf("deletes %v", dojotest.Deleted(plan))
			}
		})
	}
}

// The deadline does not restart when the channel changes between Progressing and Degraded.
func TestTheChannelIsWaitedFor(t *testing.T) {
	t.Parallel()
	waiting := conditions.Progressing("WaitingForServer", "x")
	for name, issue := range map[string]*conditions.Issue{
		"progressing": waiting, "degraded": conditions.Degraded("MissingPermission", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo(inGroup)
			c := alerting(t, dojo)
			report(t, c, "tokyo-alerts", unusable, issue, "")
			issues := planFor(t, c, dojo).Issues
			if len(issues) != 1 || issues[0].WaitingFor != "DiscordChannel school/tokyo-alerts" {
				t.Errorf("issues are %+v", issues)
			}
		})
	}
}

// The operator deletes its own obsolete objects, and keeps objects of other owners.
func TestMovedAlerts(t *testing.T) {
	t.Parallel()
	const monitor, rule, channel, route = "ServiceMonitor/tokyo", "PrometheusRule/tokyo", "DiscordChannel/tokyo-alerts",
		"AlertmanagerConfig/tokyo"
	noAlerts := func(*corev1api.Dojo) {}
	nothing := func(*testing.T, *dojotest.Cluster) {}
	deleting := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		live := applytest.Edit(t, c.Server, "discord-operator", channelOf(t, c, "tokyo-alerts"),
			func(channel *discordv1alpha1.DiscordChannel) { channel.Finalizers = []string{"discord.jutsu.com/x"} })
		must(t, c.Delete(t.Context(), live))
	}
	released := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		applytest.Edit(t, c.Server, "kubectl", channelOf(t, c, "tokyo-alerts"),
			func(channel *discordv1alpha1.DiscordChannel) { channel.OwnerReferences = nil })
		applytest.Edit(t, c.Server, "kubectl", objectOf(t, c, routeKind),
			func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
	}
	for name, c := range map[string]struct {
		from, to func(*corev1api.Dojo)
		change   func(*testing.T, *dojotest.Cluster)
		want     []string
	}{
		"alerts removed":                        {inGroup, noAlerts, nothing, []string{monitor, rule, route, channel}},
		"alerts removed, metrics stay":          {inGroup, monitored, nothing, []string{route, channel}},
		"alerts move into a shared channel":     {inGroup, inChannel, nothing, nil}, // the Dojo's own channel is deleted only later
		"alerts removed from a shared channel":  {inChannel, noAlerts, nothing, []string{monitor, rule, route}},
		"former channel is being deleted":       {inGroup, inChannel, deleting, nil},
		"alerts removed, objects have no owner": {inGroup, monitored, released, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := alerting(t, dojotest.Dojo(c.from))
			c.change(t, cluster)
			if diff := cmp.Diff(c.want, dojotest.Deleted(planFor(t, cluster, dojotest.Dojo(c.to)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheFormerChannelStaysUntilTheAlertsHaveMoved(t *testing.T) {
	t.Parallel()
	c := alerting(t, dojotest.Dojo(inGroup))
	dojo := dojotest.Dojo(inChannel)
	step := func(what string, now time.Time, deletes []string, reason string) {
		t.Helper()
		s := observe(t, c, dojo, "")
		s.Now = now
		plan := Plan(dojo, s, "http", testConfig)
		if diff := cmp.Diff(deletes, dojotest.Deleted(plan)); diff != "" {
			t.Error(what, diff)
		}
		if worst := conditions.Worst(plan.Issues); (worst == nil) != (reason == "") || worst != nil && worst.Reason != reason {
			t.Errorf("%s: %+v, not %s", what, worst, reason)
		}
		c.Do(dojo, plan)
	}
	step("no channel", dojotest.Noon, nil, "WaitingForChannel")
	c.Put(&discordv1alpha1.DiscordChannel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "all"},
		Spec:       discordv1alpha1.DiscordChannelSpec{Webhook: &discordv1alpha1.ChannelWebhook{Name: "x"}},
	})
	step("no webhook", dojotest.Noon, nil, "WaitingForChannel")
	report(t, c, "all", usable, nil, "another hook")
	step("the URL is written", dojotest.Noon, nil, "")
	step("after the URL is written", dojotest.Noon, nil, "MovingAlerts")
	step("at the deadline", dojotest.Noon.Add(testConfig.ProgressDeadline), []string{"DiscordChannel/tokyo-alerts"}, "")
}

func TestTheOwnChannelStaysWhenChannelRefNamesIt(t *testing.T) {
	t.Parallel()
	c := alerting(t, dojotest.Dojo(inGroup))
	dojo := dojotest.Dojo(inChannel, func(dojo *corev1api.Dojo) { dojo.Spec.Alerts.Discord.ChannelRef.Name = "tokyo-alerts" })
	s := observe(t, c, dojo, "")
	s.Now = dojotest.Noon.Add(2 * testConfig.ProgressDeadline)
	plan := Plan(dojo, s, "http", testConfig)
	if deleted := dojotest.Deleted(plan); deleted != nil || plan.Issues != nil {
		t.Errorf("deletes %v, issues are %+v", deleted, plan.Issues)
	}
}

func TestTheRouteStaysWithoutAWebhook(t *testing.T) {
	t.Parallel()
	c := alerting(t, dojotest.Dojo(inGroup))
	plan := planFor(t, c, dojotest.Dojo(inChannel))
	if slices.Contains(dojotest.Kinds(plan), "AlertmanagerConfig") ||
		slices.Contains(dojotest.Deleted(plan), "AlertmanagerConfig/tokyo") {
		t.Errorf("writes %v, deletes %v", dojotest.Kinds(plan), dojotest.Deleted(plan))
	}
}

// A Dojo's name may have two hyphens in a row. The spec.name of a DiscordChannel may not.
func TestTheChannelHasANameThatDiscordKeeps(t *testing.T) {
	t.Parallel()
	o := channelFor(dojotest.Dojo(inGroup, func(dojo *corev1api.Dojo) { dojo.Name = "a---b--c" }))
	name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
	if name != "a-b-c-alerts" || o.GetName() != "a---b--c-alerts" {
		t.Errorf("%s is named %s", o.GetName(), name)
	}
}
