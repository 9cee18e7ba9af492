// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestRowOf(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   row
	}{
		"a Dojo that was just applied": {
			object: `{kind: Dojo, metadata: {name: tokyo, namespace: default, generation: 1}}`,
			want:   row{name: "dojo/tokyo", why: "the operator has not reconciled it yet"},
		},
		"an object outside the namespace default, without replicas": {
			object: `{kind: DiscordServer, metadata: {name: jujutsu, namespace: team-a, generation: 1},
				status: {observedGeneration: 1, conditions: [
				{type: Ready, status: "False", reason: WaitingForToken, message: Waiting.},
				{type: Progressing, status: "True"}]}}`,
			want: row{name: "discordserver/team-a/jujutsu", current: true, ready: "False", progressing: "True",
				why: "WaitingForToken: Waiting."},
		},
		"Ready": {
			object: `{kind: Dojo, metadata: {name: tokyo, namespace: default, generation: 2},
				status: {observedGeneration: 2, readyStatus: 3/3, conditions: [
				{type: Ready, status: "True", reason: Reconciled, message: The object matches its spec.},
				{type: Available, status: "True"},
				{type: Progressing, status: "False"}, {type: Degraded, status: "False"}]}}`,
			want: row{name: "dojo/tokyo", count: "3/3", current: true, ready: "True", available: "True",
				progressing: "False", degraded: "False", why: "Reconciled: The object matches its spec."},
		},
		"a DiscordServer": {
			object: `{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordServer, 
				metadata: {name: jujutsu, namespace: default, generation: 1, creationTimestamp: "2026-08-01T12:00:00Z"},
				status: {observedGeneration: 1, serverId: "17", name: Jujutsu High}}`,
			want: row{name: "discordserver/jujutsu", current: true, why: "the operator has not reconciled it yet",
				discord: discordColumns{is: true, id: "17", server: "Jujutsu High", created: noon}},
		},
		"a DiscordGroup without a category on Discord": {
			object: `{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordGroup, 
				metadata: {name: alerts, namespace: default, generation: 1, creationTimestamp: "2026-08-01T12:00:00Z"},
				spec: {name: Alerts, serverRef: {name: jujutsu}}}`,
			want: row{name: "discordgroup/alerts", why: "the operator has not reconciled it yet",
				discord: discordColumns{is: true, server: "jujutsu", group: "Alerts", created: noon}},
		},
		"a DiscordChannel": {
			object: `{apiVersion: discord.jutsu.com/v1alpha1, kind: DiscordChannel, 
				metadata: {name: tokyo, namespace: default, generation: 1, creationTimestamp: "2026-08-01T12:00:00Z"},
				spec: {name: tokyo, groupRef: {name: alerts}},
				status: {observedGeneration: 1, channelId: "19", serverId: "17", groupId: "18", serverRef: {name: jujutsu}}}`,
			want: row{name: "discordchannel/tokyo", current: true, why: "the operator has not reconciled it yet",
				discord: discordColumns{is: true, id: "19", server: "jujutsu", group: "alerts", created: noon}},
		},
		"a Dojo with conditions of an older spec": {
			object: `{kind: Dojo, metadata: {name: tokyo, generation: 3}, status: {observedGeneration: 2, conditions: [
				{type: Ready, status: "True", reason: Reconciled, message: The object matches its spec.}]}}`,
			want: row{name: "dojo/tokyo", ready: "True", why: "Reconciled: The object matches its spec."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := yaml.YAMLToJSON([]byte(test.object))
			if err != nil {
				t.Fatal(err)
			}
			var object unstructured.Unstructured
			if err := object.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, rowOf(&object), cmp.AllowUnexported(row{}, discordColumns{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var (
	good = row{name: "dojo/a", count: "3/3", current: true, ready: "True", available: "True", progressing: "False",
		degraded: "False", why: "Reconciled: The object matches its spec."}
	scaling = row{name: "dojo/b", count: "3/5", current: true, ready: "False", available: "True", progressing: "True",
		degraded: "False", why: "RollingOut: 3 of 5 replicas are ready"}
	broken = row{name: "dojo/c", count: "0/1", current: true, ready: "False", available: "False", progressing: "False",
		degraded: "True", why: "CredentialsIncomplete: Secret x lacks the key \"host\"."}
	unchecked = row{name: "dojo/d", current: false, ready: "True", why: "Reconciled: The object matches its spec."}
	unseen    = row{name: "dojo/e", why: "the operator has not reconciled it yet"}
	channel   = row{name: "discordchannel/f", current: true, ready: "True",
		why:     "Reconciled: The object matches its spec.",
		discord: discordColumns{is: true, id: "19", server: "jujutsu", group: "alerts", created: noon}}
	unmade = row{name: "discordgroup/g", why: "the operator has not reconciled it yet",
		discord: discordColumns{is: true, created: noon}}

	noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	now  = noon.Add(90 * time.Second)
)

func TestAllReady(t *testing.T) {
	for name, test := range map[string]struct {
		rows       []row
		want       bool
		complaints []string
	}{
		"no objects": {rows: nil, complaints: []string{"there are no objects"}},
		"all Ready":  {rows: []row{good, good}, want: true},
		"one is Progressing": {rows: []row{good, scaling},
			complaints: []string{"dojo/b Ready=False Progressing=True 3/5 RollingOut: 3 of 5 replicas are ready"}},
		"one is Degraded": {rows: []row{broken, good},
			complaints: []string{
				`dojo/c Ready=False Degraded=True 0/1 CredentialsIncomplete: Secret x lacks the key "host".`}},
		"one is Ready for an older spec": {rows: []row{unchecked},
			complaints: []string{"dojo/d Ready=True (of an older generation) Reconciled: The object matches its spec."}},
		"one is not reconciled yet": {rows: []row{unseen},
			complaints: []string{"dojo/e Ready=- the operator has not reconciled it yet"}},
		"several are not Ready, and each has a line": {rows: []row{unseen, good, scaling},
			complaints: []string{unseen.line(), scaling.line()}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := allReady(test.rows); got != test.want {
				t.Errorf("allReady is %v, want %v", got, test.want)
			}
			if test.want {
				return
			}
			if diff := cmp.Diff(test.complaints, complaints(test.rows, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRenderTable(t *testing.T) {
	for name, test := range map[string]struct {
		rows  []row
		width int
		want  []string
	}{
		"wide": {
			rows: []row{good, unseen}, width: 200,
			want: []string{
				"OBJECT   REPLICAS   READY   AVAILABLE   PROGRESSING   DEGRADED   WHY",
				"dojo/a   3/3        True    True        False         False      Reconciled: The object matches its spec.",
				"dojo/e   -          -       -           -             -          the operator has not reconciled it yet",
			},
		},
		"narrow: lines are cut, because a wrapped line would misplace the next table": {
			rows: []row{good}, width: 20,
			want: []string{"OBJECT   REPLICAS  …", "dojo/a   3/3       …"},
		},
		"objects of Discord have a block with their own columns": {
			rows: []row{good, channel, unmade}, width: 200,
			want: []string{
				"OBJECT   REPLICAS   READY   AVAILABLE   PROGRESSING   DEGRADED   WHY",
				"dojo/a   3/3        True    True        False         False      Reconciled: The object matches its spec.",
				"",
				"OBJECT             ID   SERVER    GROUP    READY   REASON       AGE   MESSAGE",
				"discordchannel/f   19   jujutsu   alerts   True    Reconciled   90s   The object matches its spec.",
				"discordgroup/g     -    -         -        -       -            90s   the operator has not reconciled it yet",
			},
		},
		"only objects of Discord": {
			rows: []row{channel}, width: 40,
			want: []string{"OBJECT             ID   SERVER    GROUP…", "discordchannel/f   19   jujutsu   alert…"},
		},
		"a message of several lines becomes one line": {
			rows: []row{{name: "dojo/f", why: "Retrying: first\n\tsecond"}}, width: 200,
			want: []string{
				"OBJECT   REPLICAS   READY   AVAILABLE   PROGRESSING   DEGRADED   WHY",
				"dojo/f   -          -       -           -             -          Retrying: first second",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, renderTable(test.rows, test.width, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangedLines(t *testing.T) {
	scaled := scaling
	scaled.count, scaled.why = "4/5", "RollingOut: 4 of 5 replicas are ready"
	for name, test := range map[string]struct {
		before, after []row
		want          []string
	}{
		"there is no former table": {after: []row{good}, want: []string{good.line()}},
		"nothing changed":          {before: []row{good, scaling}, after: []row{good, scaling}},
		"one changed":              {before: []row{good, scaling}, after: []row{good, scaled}, want: []string{scaled.line()}},
		"one is new":               {before: []row{scaling}, after: []row{good, scaling}, want: []string{good.line()}},
		"one is deleted":           {before: []row{good, scaling}, after: []row{scaling}, want: []string{"dojo/a is deleted"}},
		"all are deleted at once":  {before: []row{good, scaling}, want: []string{"dojo/a is deleted", "dojo/b is deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, changedLines(test.before, test.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
