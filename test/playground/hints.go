// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
)

type facts struct {
	sample        string // the file of the sample Dojo that has its own database
	dojo, discord *environment.Process
	server        discordFacts
}

type hint struct {
	about    string
	commands []string
}

// hints returns the commands in an order in which every command works.
func hints(f facts) []hint { return slices.Concat(tenantHints(f), dojoHints(f), discordHints(f)) }

func dojoHints(f facts) []hint {
	return []hint{
		{"List the objects, and describe one of them:", []string{
			"kubectl get all,secrets,poddisruptionbudgets",
			"kubectl describe dojo tokyo-jujutsu-high",
		}},
		{"Watch the Dojos, best in another terminal:", []string{
			"kubectl get dojos -o wide --watch",
		}},
		{"Scale one Dojo to 5 pods and another one to 0; both become Ready again:", []string{
			"kubectl scale dojo tokyo-jujutsu-high --replicas=5",
			"kubectl scale dojo kyoto-jujutsu-high --replicas=0",
		}},
		{"Rotate the database password; the pods roll:", []string{
			`kubectl patch secret dojo-app -p '{"stringData":{"password":"rotated"}}'`,
			"kubectl rollout status deployment tokyo-jujutsu-high",
		}},
		{"Edit or delete by hand what the operator manages; the drift is corrected:", []string{
			"kubectl set image deployment tokyo-jujutsu-high dojo=nginx",
			"kubectl delete service,secret -l app.kubernetes.io/instance=tokyo-jujutsu-high",
		}},
		{"Remove a key from the credentials, and put it back:", []string{
			`kubectl patch secret dojo-app --type=json -p '[{"op":"remove","path":"/data/host"}]'`,
			`kubectl patch secret dojo-app -p '{"stringData":{"host":"dojo-rw"}}'`,
		}},
		{"Request a blank title, which the API server refuses. Request a MongoDB, which makes the Dojo Degraded, because " +
			"the Secret is for Postgres. Then request Postgres again:", []string{
			`kubectl patch dojo kyoto-jujutsu-high --type=merge -p '{"spec":{"title":" "}}'`,
			`kubectl patch dojo kyoto-jujutsu-high --type=merge -p '{"spec":{"database":"Mongo"}}'`,
			`kubectl patch dojo kyoto-jujutsu-high --type=merge -p '{"spec":{"database":"Postgres"}}'`,
		}},
		{"Read the operator's events, its log, and its metrics, which require a token that may read them:", []string{
			"kubectl events --for=dojo/tokyo-jujutsu-high",
			"tail " + f.dojo.Log(),
			grantMetrics("metrics", "dojo-operator"),
			`curl -sk -H "Authorization: Bearer $(kubectl create token default)" ` + f.dojo.MetricsURL() + " | grep ^dojo_",
		}},
		{"See the database of sendai-jujutsu-high, rotate its password, and add a second Postgres instance; " +
			"a stand-in plays CloudNativePG:",
			[]string{
				"kubectl get clusters.postgresql.cnpg.io,databaseroles,databases,jobs",
				"kubectl annotate dojo sendai-jujutsu-high --overwrite core.jutsu.com/rotate-password=1",
				`kubectl patch dojo sendai-jujutsu-high --type=merge -p '{"spec":{"postgres":{"cluster":{"instances":2}}}}'`,
			}},
		{"See where that Dojo's alerts are sent. Prometheus and Alertmanager are missing; their objects exist:", []string{
			"kubectl get dojo sendai-jujutsu-high -o jsonpath='{.status.alerts}{\"\\n\"}'",
			"kubectl describe discordchannels,prometheusrules,alertmanagerconfigs " +
				"-l app.kubernetes.io/instance=sendai-jujutsu-high",
		}},
		{"Delete that Dojo. Its reclaimPolicy retains the data, which a new Dojo of the same name takes over:", []string{
			"kubectl delete dojo sendai-jujutsu-high",
			"kubectl apply -f " + f.sample,
		}},
		{"Delete a Dojo; its children are deleted with it:", []string{
			"kubectl delete dojo kyoto-jujutsu-high",
		}},
	}
}

func grantMetrics(binding, operator string) string {
	return "kubectl create clusterrolebinding " + binding + " --clusterrole=" + operator + "-metrics-reader " +
		"--serviceaccount=default:default"
}

func hintsText(f facts, kubeconfig string) (string, error) {
	sample, err := os.ReadFile(f.sample)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, `What to try in the playground, in this order. The commands work in any folder while it runs:

    export KUBECONFIG=%s

A Dojo with its own database and alerts in Discord needs these lines (%s).
%s

`, kubeconfig, postgresSample, standInNote)
	for line := range strings.Lines(string(sample)) {
		if !strings.HasPrefix(line, "#") {
			text.WriteString("      " + line)
		}
	}
	for _, h := range hints(f) {
		_, _ = fmt.Fprintf(&text, "\n  %s\n", h.about)
		for _, command := range h.commands {
			_, _ = fmt.Fprintf(&text, "    %s\n", command)
		}
	}
	return text.String(), nil
}

func (s *sandbox) writeHints() (file string, err error) {
	sample, err := project.Path(postgresSample)
	if err != nil {
		return "", err
	}
	text, err := hintsText(facts{sample, s.processes[0], s.processes[1], s.discord()}, s.Cluster.Kubeconfig())
	if err != nil {
		return "", err
	}
	file = filepath.Join(s.logs, "hints.txt")
	return file, os.WriteFile(file, []byte(text), 0o644)
}
