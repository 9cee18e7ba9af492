// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/zip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
)

// planted has secrets of many forms. plant puts them into objects and logs.
var planted = map[string]string{
	"secret plain":        "correct horse battery staple",
	"secret word":         "hunter2hunter2",
	"secret multi-line":   "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nKYwggSiAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----",
	"secret uri":          "postgresql://dojo:in-the-address@sendai-db-rw:5432/dojo",
	"secret json":         `{"auths":{"ghcr.io":{"password":"of-the-registry"}}}`,
	"operator's token":    "MTQwMTY4MTcwOTQzMDM0MTcwNA.GxYzAb.abcdefghijklmnopqrstuvwxyz0123456789AB",
	"env":                 "Value of a$variable",
	"env of the Dojo":     "Value/in+the~spec",
	"annotation":          "value-of-an-annotation",
	"pod annotation":      "value-for-a-pod",
	"webhook in a log":    "https://discord.com/api/webhooks/1401681709430341704/aBcDeFgHiJkLmNoPqRsTuVwXyZ-0123456789_abcdefghijklmnop",
	"bot in a log":        "MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.Gh1jKl.mnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV",
	"jwt in a log":        "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg",
	"password in a log":   "p4ss-in-a-log",
	"address in a log":    "p4ss-in-an-address",
	"header in a log":     "dXNlcjpwYXNzd29yZC1pbi1hLWhlYWRlcg==",
	"json in a log":       "p4ss in json",
	"aws in a log":        "AKIAIOSFODNN7EXAMPLE",
	"flag in an argument": "token-in-an-argument",
	"event":               "p4ss-in-an-event",
	"random in a log":     "Zx9QpL2mVt8RwK4nYc7BsD1f",
}

func leaks(text string) (found []string) {
	for where, secret := range planted {
		for _, line := range append(strings.Split(secret, "\n"), secret) {
			if strings.HasPrefix(line, "-----") && line != secret {
				continue
			}
			for _, form := range []string{line, base64.StdEncoding.EncodeToString([]byte(line))} {
				if strings.Contains(text, form) {
					found = append(found, fmt.Sprintf("%s: %s", where, form))
				}
			}
		}
	}
	for _, part := range []string{"in-the-address", "of-the-registry", "planted-password", "planted-hook"} {
		if strings.Contains(text, part) {
			found = append(found, part)
		}
	}
	return found
}

func plant(t *testing.T) *apitest.Server {
	t.Helper()
	p := planted
	s := sendai(t, func(d *corev1api.Dojo) {
		d.Spec.Env = []corev1.EnvVar{{Name: "EXTRA", Value: p["env of the Dojo"]}}
		d.Spec.PodAnnotations = map[string]string{"example.org/token": p["pod annotation"]}
		d.Annotations = map[string]string{
			"example.org/api-key": p["annotation"], "kubectl.kubernetes.io/last-applied-configuration": `{"x":"` + p["annotation"] + `"}`,
		}
		apitest.Set(apitest.Condition(corev1api.ConditionAlertsReady, "False", corev1api.ReasonWebhookInvalid,
			"It holds "+p["webhook in a log"]+" and "+p["secret word"], apitest.At(24, 2, 0)))(d)
	})
	secret := func(namespace, name string, values ...string) client.Object {
		data := map[string][]byte{}
		for i, value := range values {
			data[fmt.Sprint("key", i)] = []byte(value)
		}
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "discord-system", Name: "discord-operator", Labels: map[string]string{"app.kubernetes.io/name": "discord-operator"},
	}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "operator", Args: []string{"--bot-token=" + p["flag in an argument"]},
		Env: []corev1.EnvVar{{Name: "DISCORD_TOKEN", Value: p["env"]}},
	}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "discord-system", Name: "discord-operator-0", Labels: deployment.Labels},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "operator"}}},
	}
	s.Put(deployment, pod,
		secret("team-a", "app", p["secret plain"], p["secret word"], p["secret multi-line"], p["secret uri"], p["secret json"]),
		secret("discord-system", "bot", p["operator's token"]),
		&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "team-a", Name: "e"},
			InvolvedObject: corev1.ObjectReference{Kind: "Dojo", Name: "sendai"}, Reason: "Failed",
			Message: "login with password=" + p["event"] + " refused",
		})
	known := []string{
		"connect with " + p["secret plain"], "base64 " + base64.StdEncoding.EncodeToString([]byte(p["secret word"])),
		"key " + p["secret multi-line"], "dial " + p["secret uri"], "pull with of-the-registry and in-the-address",
		"POST " + p["webhook in a log"] + ": 404", "token " + p["bot in a log"], "Bearer " + p["jwt in a log"],
		"PGPASSWORD=" + p["password in a log"], "postgres://u:" + p["address in a log"] + "@h/db",
		"Authorization: Basic " + p["header in a log"], `{"level":"info","password":"` + p["json in a log"] + `","n":1}`,
		"key " + p["aws in a log"], "nonce " + p["random in a log"], "the variable has " + p["env"],
		"the annotation has " + p["annotation"] + ", " + p["pod annotation"], "x " + p["operator's token"],
		"the bot has " + p["env of the Dojo"],
	}
	text := strings.Join(known, "\n") + "\nit serves on :8080\n"
	s.Logs["team-a/sendai-6f7c-x2p/dojo"], s.Logs["discord-system/discord-operator-0/operator"] = text, text
	s.Logs["team-a/sendai-db-1/postgres"] = text
	return s
}

func contents(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	files := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

func TestReportHasNoSecrets(t *testing.T) {
	t.Parallel()
	s := plant(t)
	file := filepath.Join(t.TempDir(), "report.zip")
	got := run(t, s, "", "report", "sendai", "--file", file)
	if got.code != 0 || !strings.HasPrefix(got.out, "Wrote "+file) {
		t.Fatal(got)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if found := leaks(string(raw) + got.String()); len(found) > 0 {
		t.Errorf("the ZIP has %v", found)
	}
	files := contents(t, file)
	for name, text := range files {
		if found := leaks(name + text); len(found) > 0 {
			t.Errorf("%s has %v", name, found)
		}
		if strings.Contains(name, "/Secret/") || strings.Contains(text, "kind: Secret\n") {
			t.Errorf("%s is a Secret", name)
		}
	}
	for name, text := range map[string]string{
		"status.txt": "sendai-db", "tree.txt": "Dojo sendai", "check.txt": "dojo-operator", "events.txt": "login with password=REDACTED",
		"about.txt": "kubectl-dojo v1.2.3", "backups.txt": "22 Nov 01:00 to now",
		"objects/team-a/Dojo/sendai.yaml":                         "barmanObjectName: backups",
		"objects/team-a/Cluster/sendai-db.yaml":                   "imageName: ghcr.io/cloudnative-pg/postgresql:18.1",
		"objects/discord-system/Deployment/discord-operator.yaml": "name: DISCORD_TOKEN",
		"logs/team-a/sendai-6f7c-x2p/dojo.log":                    "it serves on :8080",
		"logs/team-a/sendai-db-1/postgres.log":                    "it serves on :8080",
		"logs/discord-system/discord-operator-0/operator.log":     "POST https://discord.com/api/webhooks/REDACTED",
	} {
		if !strings.Contains(files[name], text) {
			t.Errorf("%s has no %q: %s", name, text, files[name])
		}
	}
	if strings.Contains(files["objects/team-a/Dojo/sendai.yaml"], "managedFields") {
		t.Error("the report has managedFields")
	}
}

// TestReportWithoutRights asserts that about.txt names unreadable objects, and that a log shows
// none of its secrets even if the user may not read Secrets.
func TestReportWithoutRights(t *testing.T) {
	t.Parallel()
	s := plant(t)
	s.Deny("list secrets", "get secrets", "list deployments.apps", "list events", "get clusters.postgresql.cnpg.io")
	file := filepath.Join(t.TempDir(), "report.zip")
	got := run(t, s, "", "report", "sendai", "--file", file)
	if got.code != 0 {
		t.Fatal(got)
	}
	files := contents(t, file)
	for _, text := range []string{"the values of the Secrets in team-a", "the Deployment of dojo-operator", "events: you may not read", "secrets: you may not read"} {
		if !strings.Contains(files["about.txt"], text) {
			t.Errorf("about.txt has no %q: %s", text, files["about.txt"])
		}
	}
	log := files["logs/team-a/sendai-6f7c-x2p/dojo.log"]
	for where, secret := range planted {
		if strings.HasSuffix(where, "in a log") && strings.Contains(log, secret) {
			t.Errorf("the log has %s", where)
		}
	}
}
