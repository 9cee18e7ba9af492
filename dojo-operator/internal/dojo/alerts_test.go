package dojo

import (
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// inGroup gives the Dojo a channel of its own in the group alarms, inChannel shows its alarms in the channel all.
func inGroup(d *corev1api.Dojo) {
	d.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{GroupRef: &corev1api.DiscordReference{Name: "alarms"}}}
}

func inChannel(d *corev1api.Dojo) {
	d.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{ChannelRef: &corev1api.DiscordReference{Name: "all"}}}
}

// shared makes the DiscordChannel all, which belongs to somebody else.
func (w *world) sharedChannel(webhook bool) {
	o := channelKind.Object()
	o.SetNamespace("school")
	o.SetName("all")
	w.custom["DiscordChannel"] = o
	if webhook {
		w.put("DiscordChannel", map[string]any{"name": "x"}, "spec", "webhook")
	}
}

// postable does what discord-operator would do.
func (w *world) postable() {
	w.channelIs("True", "False", "Settled", "The spec is true.")
	w.put("DiscordChannel", "42", "status", "channelId")
	w.put("DiscordChannel", map[string]any{"id": "7", "secretRef": map[string]any{"name": "hook"}}, "status", "webhook")
}

// channelIs gives the channel conditions.
func (w *world) channelIs(available, degraded, reason, message string) {
	list := []any{}
	for kind, status := range map[string]string{"Available": available, "Degraded": degraded, "Ready": "False"} {
		list = append(list, map[string]any{"type": kind, "status": status, "reason": reason, "message": message})
	}
	w.put("DiscordChannel", list, "status", "conditions")
}

// settledAlerts is a world in which a Dojo with alarms is settled.
func settledAlerts(t *testing.T, d *corev1api.Dojo) *world {
	t.Helper()
	w := settledWorld(t, tokyo(func(plain *corev1api.Dojo) { plain.Spec.Replicas = d.Spec.Replicas }))
	w.custom = map[string]*unstructured.Unstructured{}
	if !hasOwnChannel(d) {
		w.sharedChannel(true)
	}
	w.pass(d)
	w.postable()
	w.pass(d)
	if s := w.pass(d); s.apply != nil || s.verdict != nil {
		t.Fatalf("does not settle: writes %v, ends as %v", kinds(s), s.verdict)
	}
	return w
}

func TestTheWayOfAnAlarm(t *testing.T) {
	t.Parallel()
	d := tokyo(inGroup)
	w := settledWorld(t, tokyo())
	var got []string
	look := func() {
		s := w.pass(d)
		got = append(got, strings.Join(kinds(s), " ")+": "+outcomeOf(s.verdict))
	}
	look()
	look()
	w.postable()
	look()
	look()
	want := []string{
		"ServiceMonitor PrometheusRule DiscordChannel: Waiting/WaitingForChannel", ": Waiting/WaitingForChannel",
		"AlertmanagerConfig: settled", ": settled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	spec := w.custom["DiscordChannel"].Object["spec"]
	if diff := cmp.Diff(map[string]any{"groupRef": map[string]any{"name": "alarms"}, "name": "tokyo-alarms",
		"topic": "Alarms of the Dojo school/tokyo", "webhook": map[string]any{"name": "Alertmanager"}}, spec); diff != "" {
		t.Error(diff)
	}
	for _, kind := range []string{"DiscordChannel", "AlertmanagerConfig"} {
		if !metav1.IsControlledBy(w.custom[kind], d) {
			t.Errorf("the %s has no owner", kind)
		}
	}
	s := status(d, w.see(d), plan(d, w.see(d), testConfig), nil)
	if diff := cmp.Diff(&corev1api.AlertsStatus{ChannelName: "tokyo-alarms", ChannelID: "42"}, s.Alerts); diff != "" {
		t.Error(diff)
	}
	if c := meta.FindStatusCondition(s.Conditions, corev1api.ConditionAlertsReady); c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != d.Generation {
		t.Errorf("AlertsReady is %+v", c)
	}
}

func TestAlertsReady(t *testing.T) {
	t.Parallel()
	silent := func(ago time.Duration) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) {
			d.Status.Conditions = append(d.Status.Conditions, metav1.Condition{
				Type: corev1api.ConditionAlertsReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(-ago)),
			})
		}
	}
	gone := func(w *world) { delete(w.custom, "DiscordChannel") }
	untold := func(w *world) { delete(w.custom["DiscordChannel"].Object, "status") }
	lacking := func(kind string) func(w *world) { return func(w *world) { w.without = kind } }
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(w *world)
		want   string // and what the message must name
	}{
		"own":                         {tokyo(inGroup), func(*world) {}, "settled"},
		"own, gone":                   {tokyo(inGroup), gone, "Waiting/WaitingForChannel: DiscordChannel school/tokyo-alarms"},
		"own, new":                    {tokyo(inGroup), untold, "Waiting/WaitingForChannel: DiscordChannel school/tokyo-alarms"},
		"own, waiting":                {tokyo(inGroup), func(w *world) { w.channelIs("False", "False", "WaitingForServer", "x") }, "Waiting/WaitingForChannel: (WaitingForServer)"},
		"own, waiting for long":       {tokyo(inGroup, silent(time.Hour)), func(w *world) { w.channelIs("False", "False", "WaitingForServer", "the server jujutsu is not there.") }, "Terminal/ChannelNotReady: the server jujutsu is not there. See"},
		"own, nobody looks":           {tokyo(inGroup, silent(time.Hour)), untold, "Terminal/ChannelNotReady: discord-operator has not looked at it"},
		"own, refused":                {tokyo(inGroup), func(w *world) { w.channelIs("False", "True", "MissingPermission", "the bot lacks ManageChannels.") }, "Terminal/ChannelNotReady: the bot lacks ManageChannels"},
		"own, there but not as asked": {tokyo(inGroup), func(w *world) { w.channelIs("True", "True", "RateLimited", "x") }, "settled"},
		"own, without Secret": {tokyo(inGroup), func(w *world) {
			unstructured.RemoveNestedField(w.custom["DiscordChannel"].Object, "status", "webhook", "secretRef")
		}, "Waiting/WaitingForChannel: (Settled)"},
		"own, a stranger's":          {tokyo(inGroup), func(w *world) { w.custom["DiscordChannel"].SetOwnerReferences(nil) }, "Terminal/NameTaken: DiscordChannel school/tokyo-alarms"},
		"shared":                     {tokyo(inChannel), func(*world) {}, "settled"},
		"shared, missing":            {tokyo(inChannel), gone, "Waiting/WaitingForChannel: DiscordChannel school/all"},
		"shared, missing for long":   {tokyo(inChannel, silent(time.Hour)), gone, "Terminal/ChannelNotFound: spec.alerts.discord.channelRef"},
		"shared, without webhook":    {tokyo(inChannel), func(w *world) { w.sharedChannel(false) }, "Terminal/ChannelWithoutWebhook: spec.webhook"},
		"no discord-operator":        {tokyo(inGroup), lacking("DiscordChannel"), "Terminal/DiscordOperatorNotInstalled: DiscordChannel"},
		"no prometheus-operator":     {tokyo(inGroup), lacking("AlertmanagerConfig"), "Terminal/PrometheusOperatorNotInstalled: AlertmanagerConfig"},
		"half a prometheus-operator": {tokyo(inGroup), lacking("PrometheusRule"), "Terminal/PrometheusOperatorNotInstalled: PrometheusRule"},
		"a stranger's routing":       {tokyo(inGroup), func(w *world) { w.custom["AlertmanagerConfig"].SetOwnerReferences(nil) }, "Terminal/NameTaken: AlertmanagerConfig school/tokyo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settledAlerts(t, tokyo(func(d *corev1api.Dojo) { d.Spec.Alerts = c.dojo.Spec.Alerts }))
			c.change(w)
			s := plan(c.dojo, w.see(c.dojo), testConfig)
			outcome, names, _ := strings.Cut(c.want, ": ")
			if got := outcomeOf(s.alerts); got != outcome || outcomeOf(s.verdict) != outcome {
				t.Fatalf("the alerts are %s, the Dojo is %s", got, outcomeOf(s.verdict))
			}
			if s.alerts != nil && !strings.Contains(s.alerts.Error(), names) {
				t.Errorf("does not say %q: %v", names, s.alerts)
			}
			if slices.Contains(kinds(s), kindDeployment) || s.remove != nil {
				t.Errorf("writes %v, removes %v", kinds(s), s.remove)
			}
		})
	}
}

// Alarms that are not wanted any more, or elsewhere, leave nothing behind, and nothing of anybody else is touched.
func TestAlarmsThatMove(t *testing.T) {
	t.Parallel()
	removed := func(s *steps) []string {
		var all []string
		for _, old := range s.remove {
			all = append(all, old.kind+"/"+old.object.GetName())
		}
		return all
	}
	for name, c := range map[string]struct {
		from, to func(*corev1api.Dojo)
		want     []string
	}{
		"no longer wanted":              {inGroup, func(*corev1api.Dojo) {}, []string{"ServiceMonitor/tokyo", "PrometheusRule/tokyo", "DiscordChannel/tokyo-alarms", "AlertmanagerConfig/tokyo"}},
		"no longer wanted, but metrics": {inGroup, watched, []string{"DiscordChannel/tokyo-alarms", "AlertmanagerConfig/tokyo"}},
		"into a shared channel":         {inGroup, inChannel, []string{"DiscordChannel/tokyo-alarms"}},
		"out of a shared channel":       {inChannel, func(*corev1api.Dojo) {}, []string{"ServiceMonitor/tokyo", "PrometheusRule/tokyo", "AlertmanagerConfig/tokyo"}},
	} {
		w := settledAlerts(t, tokyo(c.from))
		if diff := cmp.Diff(c.want, removed(w.pass(tokyo(c.to)))); diff != "" {
			t.Error(name, diff)
		}
	}
	w := settledAlerts(t, tokyo(inGroup))
	w.custom["DiscordChannel"].SetDeletionTimestamp(&metav1.Time{Time: noon})
	if got := removed(w.pass(tokyo(inChannel))); got != nil {
		t.Errorf("removes what is on its way out: %v", got)
	}
	w = settledAlerts(t, tokyo(inGroup))
	w.custom["DiscordChannel"].SetOwnerReferences(nil)
	w.custom["AlertmanagerConfig"].SetOwnerReferences(nil)
	if got := removed(w.pass(tokyo(watched))); got != nil {
		t.Errorf("removes a stranger's %v", got)
	}
}

// The schema of a DiscordChannel refuses two hyphens in a row, which the name of a Dojo may have.
func TestTheChannelHasANameThatDiscordKeeps(t *testing.T) {
	t.Parallel()
	d := tokyo(inGroup, func(d *corev1api.Dojo) { d.Name = "a---b--c" })
	o := channelFor(d)
	if name, _, _ := unstructured.NestedString(o.Object, "spec", "name"); name != "a-b-c-alarms" || o.GetName() != "a---b--c-alarms" {
		t.Errorf("%s is called %s", o.GetName(), name)
	}
}

// Alertmanager's templates are Go's (https://prometheus.io/docs/alerting/latest/notifications/); the end-to-end tests have it render them itself.
func TestWhatPeopleRead(t *testing.T) {
	t.Parallel()
	type alert struct {
		Labels, Annotations map[string]string
		StartsAt            time.Time
	}
	data := struct {
		Status      string
		GroupLabels map[string]string
		Alerts      []alert
	}{"firing", map[string]string{"alertname": "DojoDown", "namespace": "school", "dojo": "tokyo"}, []alert{
		{map[string]string{"severity": "critical"}, map[string]string{"summary": "Nobody serves it", "description": "No pod answers."}, noon},
	}}
	render := func(text string) string {
		var out strings.Builder
		must(t, template.Must(template.New("").Option("missingkey=error").Parse(text)).Execute(&out, data))
		return out.String()
	}
	for text, want := range map[string]string{
		alarmTitle:   "🔥 DojoDown · school/tokyo",
		alarmMessage: "**Nobody serves it**\nNo pod answers.\n_critical, since 2026-01-02 12:00:00 UTC_\n",
	} {
		if got := render(text); got != want {
			t.Errorf("reads %q, not %q", got, want)
		}
	}
	data.Status = "resolved"
	if got := render(alarmTitle); got != "✅ Resolved: DojoDown · school/tokyo" {
		t.Errorf("reads %q", got)
	}
}

// A child of the alarms that is refused keeps nothing else from being written, and AlertsReady says so.
func TestRefusedAlarms(t *testing.T) {
	t.Parallel()
	d := tokyo(inGroup)
	seen := settledWorld(t, tokyo()).see(d)
	todo := plan(d, seen, testConfig)
	last := todo.apply[len(todo.apply)-1]
	last.failed = refusal(d, last, errForbidden)
	s := status(d, seen, todo, last.failed)
	if c := meta.FindStatusCondition(s.Conditions, corev1api.ConditionAlertsReady); c == nil || c.Reason != corev1api.ReasonChildRefused || !strings.Contains(c.Message, last.kind) {
		t.Errorf("AlertsReady is %+v", c)
	}
	if s := status(tokyo(), seen, todo, nil); meta.FindStatusCondition(s.Conditions, corev1api.ConditionAlertsReady) != nil || s.Alerts != nil {
		t.Error("a Dojo without spec.alerts tells of alarms")
	}
}
