// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

const hostile = "https://attacker.example.com/api/webhooks/7/a"

func webhookSecret(name, url string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name}, Data: map[string][]byte{"url": []byte(url)},
	}
}

func urlOf(secret string) string {
	return "https://discord.com/api/webhooks/7/" + strings.ReplaceAll(secret, " ", "_")
}

func secretOf(t *testing.T, c *dojotest.Cluster, name string) *corev1.Secret {
	t.Helper()
	return applytest.Get(t, c.Server, "school", name, &corev1.Secret{})
}

func to(manager, secret, url string) func(*testing.T, *dojotest.Cluster) {
	return func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		applytest.Edit(t, c.Server, manager, secretOf(t, c, secret),
			func(s *corev1.Secret) { s.Data = map[string][]byte{"url": []byte(url)} })
	}
}

func all(changes ...func(*testing.T, *dojotest.Cluster)) func(*testing.T, *dojotest.Cluster) {
	return func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		for _, change := range changes {
			change(t, c)
		}
	}
}

func posts(t *testing.T, c *dojotest.Cluster) string {
	t.Helper()
	route := objectOf(t, c, routeKind)
	if route == nil {
		return ""
	}
	receivers, _, err := unstructured.NestedSlice(route.Object, "spec", "receivers")
	must(t, err)
	name, _, err := unstructured.NestedString(
		receivers[0].(map[string]any)["discordConfigs"].([]any)[0].(map[string]any), "apiURL", "name")
	must(t, err)
	if secret := secretOf(t, c, name); secret != nil {
		return string(secret.Data["url"])
	}
	return ""
}

func immutable(t *testing.T, c *dojotest.Cluster) {
	t.Helper()
	applytest.Edit(t, c.Server, "kubectl", secretOf(t, c, "tokyo-alertmanager"),
		func(s *corev1.Secret) { s.Immutable = new(true) })
}

func released(t *testing.T, c *dojotest.Cluster) {
	t.Helper()
	applytest.Edit(t, c.Server, "kubectl", secretOf(t, c, "tokyo-alertmanager"),
		func(s *corev1.Secret) { s.OwnerReferences = nil })
}

// legacy simulates the objects of an earlier version of the operator, in which the
// AlertmanagerConfig names discord-operator's Secret.
func legacy(t *testing.T, c *dojotest.Cluster) {
	t.Helper()
	applytest.Edit(t, c.Server, "kubectl", objectOf(t, c, routeKind), func(o *unstructured.Unstructured) {
		receivers, _, err := unstructured.NestedSlice(o.Object, "spec", "receivers")
		must(t, err)
		must(t, unstructured.SetNestedField(
			receivers[0].(map[string]any)["discordConfigs"].([]any)[0].(map[string]any), "hook", "apiURL", "name"))
		must(t, unstructured.SetNestedSlice(o.Object, receivers, "spec", "receivers"))
	})
	must(t, c.Delete(t.Context(), secretOf(t, c, "tokyo-alertmanager")))
}

func gone(name string) func(*testing.T, *dojotest.Cluster) {
	return func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		must(t, c.Delete(t.Context(), secretOf(t, c, name)))
	}
}

func foreign(t *testing.T, c *dojotest.Cluster) {
	t.Helper()
	gone("tokyo-alertmanager")(t, c)
	c.Put(webhookSecret("tokyo-alertmanager", hostile))
}

// Alertmanager posts only to checked URLs, after a whole plan and after the safeguards alone.
func TestAlertmanagerPostsToCheckedURLsOnly(t *testing.T) {
	t.Parallel()
	const own, moved = "tokyo-alertmanager", "https://discord.com/api/v10/webhooks/8/b"
	nothing := func(*testing.T, *dojotest.Cluster) {}
	for name, c := range map[string]struct {
		change func(*testing.T, *dojotest.Cluster)
		// Expected URLs after the whole plan, the safeguards, and the safeguards of a deleted Dojo.
		plan, guarded, deleted string
		reports                string
	}{
		"no change": {nothing, urlOf("hook"), urlOf("hook"), urlOf("hook"), ""},
		"another URL of Discord in the channel's Secret":                  {to("kubectl", "hook", moved), moved, urlOf("hook"), urlOf("hook"), ""},
		"a foreign URL in the channel's Secret":                           {to("kubectl", "hook", hostile), urlOf("hook"), urlOf("hook"), urlOf("hook"), "Degraded/WebhookInvalid"},
		"a foreign URL in the own Secret":                                 {to("kubectl", own, hostile), urlOf("hook"), urlOf("hook"), urlOf("hook"), ""},
		"a foreign URL in the own Secret, under our field manager's name": {to("dojo-operator", own, hostile), urlOf("hook"), urlOf("hook"), urlOf("hook"), ""},
		"a foreign URL in both Secrets":                                   {all(to("kubectl", "hook", hostile), to("kubectl", own, hostile)), "", "", "", "Degraded/WebhookInvalid"},
		"no URL in the own Secret":                                        {to("kubectl", own, ""), urlOf("hook"), urlOf("hook"), urlOf("hook"), ""},
		"the own Secret is immutable, with a foreign URL":                 {all(to("kubectl", own, hostile), immutable), "", "", "", ""},
		"the own Secret is immutable, with a valid URL":                   {immutable, urlOf("hook"), urlOf("hook"), urlOf("hook"), ""},
		"the own Secret is deleted":                                       {gone(own), urlOf("hook"), urlOf("hook"), "", ""},
		"the channel's Secret is deleted":                                 {gone("hook"), urlOf("hook"), urlOf("hook"), urlOf("hook"), "Progressing/WaitingForChannel"},
		"both Secrets are deleted":                                        {all(gone("hook"), gone(own)), "", "", "", "Progressing/WaitingForChannel"},
		"the own Secret has another owner":                                {foreign, "", "", "", "Degraded/NameConflict"},
		"the own Secret has no owner":                                     {all(to("kubectl", own, hostile), released), "", "", "", "Degraded/NameConflict"},
		"the AlertmanagerConfig of an earlier operator":                   {legacy, urlOf("hook"), urlOf("hook"), "", ""},
		"the AlertmanagerConfig of an earlier operator, a foreign URL":    {all(legacy, to("kubectl", "hook", hostile)), "", "", "", "Degraded/WebhookInvalid"},
	} {
		for step, of := range map[string]struct {
			plan func(*corev1api.Dojo, State) apply.Plan
			want string
		}{
			"plan":       {func(dojo *corev1api.Dojo, s State) apply.Plan { return Plan(dojo, s, "http", testConfig) }, c.plan},
			"safeguards": {func(dojo *corev1api.Dojo, s State) apply.Plan { return Safeguards(dojo, s, testConfig) }, c.guarded},
			"safeguards of a deleted Dojo": {func(dojo *corev1api.Dojo, s State) apply.Plan {
				dojo.DeletionTimestamp = &metav1.Time{Time: dojotest.Noon}
				return Safeguards(dojo, s, testConfig)
			}, c.deleted},
		} {
			t.Run(name+", "+step, func(t *testing.T) {
				t.Parallel()
				dojo := dojotest.Dojo(inGroup)
				cluster := alerting(t, dojo)
				c.change(t, cluster)
				state := observe(t, cluster, dojo, "")
				plan := of.plan(dojo, state)
				if got := dojotest.Worst(Plan(dojo, state, "http", testConfig).Issues); got != c.reports {
					t.Errorf("issues are %q", got)
				}
				cluster.Do(dojo, plan)
				if got := posts(t, cluster); got != of.want {
					t.Errorf("Alertmanager posts to %q, not to %q", got, of.want)
				}
				again := of.plan(dojo, observe(t, cluster, dojo, ""))
				if again.Apply != nil || again.Delete != nil || again.Abandon != nil {
					t.Errorf("the next plan writes %v, deletes %v, abandons %v", dojotest.Kinds(again),
						dojotest.Deleted(again), again.Abandon)
				}
				for _, issue := range append(plan.Issues, again.Issues...) {
					if strings.Contains(issue.Message, "attacker") || strings.Contains(issue.Message, "/webhooks/") {
						t.Errorf("an issue quotes a URL: %s", issue.Message)
					}
				}
			})
		}
	}
}

// The garbage collector deletes the abandoned Secret, and the operator creates a new Secret.
func TestAnImmutableSecretIsAbandoned(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(inGroup)
	c := alerting(t, dojo)
	all(to("kubectl", "tokyo-alertmanager", hostile), immutable)(t, c)
	c.Do(dojo, planFor(t, c, dojo))
	if got := dojotest.Worst(planFor(t, c, dojo).Issues); got != "Progressing/WaitingForDeletion" {
		t.Errorf("issues are %q", got)
	}
	gone("tokyo-alertmanager")(t, c) // simulates the garbage collector
	c.Do(dojo, planFor(t, c, dojo))
	if got := posts(t, c); got != urlOf("hook") {
		t.Errorf("Alertmanager posts to %q", got)
	}
}

func TestWithoutAlertsTheSecretIsAbandoned(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(inGroup)
	c := alerting(t, dojo)
	dojo.Spec.Alerts = nil
	plan := planFor(t, c, dojo)
	if len(plan.Abandon) != 1 || plan.Abandon[0].Name != "tokyo-alertmanager" {
		t.Errorf("abandons %+v", plan.Abandon)
	}
	// If the Dojo is paused now, the AlertmanagerConfig stays, so its Secret must still be checked.
	to("kubectl", "tokyo-alertmanager", hostile)(t, c)
	c.Do(dojo, Safeguards(dojo, observe(t, c, dojo, ""), testConfig))
	if got := posts(t, c); got != "" {
		t.Errorf("Alertmanager posts to %q", got)
	}
}

func TestTheURLIsCheckedWithoutTheOtherKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		if kind.Group != routeKind.Group || kind == routeKind {
			continue
		}
		dojo := dojotest.Dojo(inGroup)
		c := alerting(t, dojo)
		to("kubectl", "tokyo-alertmanager", hostile)(t, c)
		s := observe(t, c, dojo, "")
		s.Missing = append(s.Missing, kind)
		plan := Plan(dojo, s, "http", testConfig)
		c.Do(dojo, plan)
		if got := dojotest.Worst(plan.Issues); posts(t, c) != urlOf("hook") || !strings.HasSuffix(got, "PrometheusOperatorNotInstalled") {
			t.Errorf("without %s Alertmanager posts to %q, and the issue is %s", kind.Kind, posts(t, c), got)
		}
	}
}

func TestTheRouteWaitsForItsSecret(t *testing.T) {
	t.Parallel()
	dojo, c := dojotest.Dojo(inGroup), dojotest.NewCluster(t)
	c.Do(dojo, planFor(t, c, dojo))
	report(t, c, "tokyo-alerts", usable, nil, "hook")
	var waits []string
	for _, o := range planFor(t, c, dojo).Apply {
		waits = append(waits, fmt.Sprint(o.Kind, " after ", len(o.After)))
	}
	if diff := cmp.Diff([]string{"Secret after 0", "AlertmanagerConfig after 1"}, waits); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidWebhook(t *testing.T) {
	t.Parallel()
	missing := dojotest.WaitingFor("Secret school/hook", time.Hour)
	for name, c := range map[string]struct {
		change func(*testing.T, *dojotest.Cluster)
		dojo   *corev1api.Dojo
		says   string
	}{
		"a foreign URL": {to("kubectl", "hook", hostile), dojotest.Dojo(inGroup),
			`The key "url" of the Secret school/hook does not contain a webhook URL that begins with https://discord.com/api`},
		"the Secret is missing for long": {gone("hook"), dojotest.Dojo(inGroup, missing),
			"The Secret school/hook with the URL of the webhook does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := alerting(t, dojotest.Dojo(inGroup))
			c.change(t, cluster)
			issues := planFor(t, cluster, c.dojo).Issues
			if got := dojotest.Worst(issues); got != "Degraded/WebhookInvalid" || len(issues) != 1 ||
				!strings.Contains(issues[0].Message, c.says) {
				t.Errorf("issues are %+v", issues)
			}
		})
	}
}
