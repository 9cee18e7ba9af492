// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

func commands() (names []string) {
	c := newSession(kubectl.Options{
		IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Env: func(string) string { return "" },
	})
	for _, command := range c.newRoot().Commands() {
		if name := command.Name(); name != "help" && name != "completion" {
			names = append(names, name)
		}
	}
	return names
}

func ofDojo() []string {
	return slices.DeleteFunc(commands(), func(name string) bool {
		return slices.Contains([]string{"list", "check", "version"}, name)
	})
}

func TestHelp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	root := run(t, s, "")
	expectGolden(t, "help", root.String())
	if len(commands()) != 19 {
		t.Errorf("there are %d commands: %v", len(commands()), commands())
	}
	for _, name := range commands() {
		if !strings.Contains(root.out, "  "+name+" ") {
			t.Errorf("the help does not list %s", name)
		}
		got := run(t, s, "", name, "--help")
		if got.code != 0 || got.err != "" || !strings.Contains(got.out, "Usage:\n  kubectl dojo "+name) {
			t.Errorf("%s --help: %s", name, got)
		}
		for line := range strings.Lines(strings.Split(got.out, "\nGlobal Flags:")[0]) {
			if len(line) > 140 {
				t.Errorf("%s --help has a line of %d columns: %s", name, len(line), line)
			}
		}
	}
}

// TestWrongUse asserts that the exit code is 2 without a request: no server listens at the address.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	nowhere := kubectltest.Kubeconfig(t, "http://127.0.0.1:1", apitest.Namespace)
	cases := map[string]string{
		"stat":                       `there is no command "stat"; did you mean status?`,
		"nonsense":                   `there is no command "nonsense"; see kubectl dojo --help`,
		"list sendai":                `unexpected argument "sendai": kubectl dojo list`,
		"list -o table":              `must be json or yaml; see kubectl dojo list --help`,
		"list --all":                 `unknown flag: --all; see kubectl dojo list --help`,
		"status a b":                 `unexpected argument "b": kubectl dojo status NAME`,
		"status a -w -o json":        `--watch and --output exclude each other`,
		"logs a database":            `"database" has no logs: name one of application, schema, postgres`,
		"restore a --to yesterday":   `--to: "yesterday" is not a time: write 02:45,`,
		"restore a --timeout long":   `invalid argument "long" for "--timeout" flag`,
		"open a --port 70000":        `invalid argument "70000" for "--port" flag`,
		"test-alert --alertmanager":  `flag needs an argument: --alertmanager`,
		"rotate a --wait --timeout=": `invalid argument "" for "--timeout" flag`,
	}
	for _, name := range ofDojo() {
		cases[name] = "the name of a Dojo is missing: kubectl dojo " + name + " NAME"
	}
	for args, problem := range cases {
		got := runWith(t.Context(), nowhere, "", strings.Fields(args)...)
		if got.code != 2 || !strings.Contains(got.err, problem) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%s: %s, want %q", args, got, problem)
		}
	}
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	for _, name := range ofDojo() {
		got := run(t, s, "", name, "sendia")
		if got.code != 1 || got.err != "kubectl dojo: there is no Dojo \"sendia\" in the namespace team-a; existing names: sendai\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := run(t, s, "", "status", "sendai", "-n", "team-z"); !strings.Contains(got.err,
		`there is no Dojo "sendai" in the namespace team-z; kubectl dojo list -A shows the Dojos of all namespaces`) {
		t.Error(got)
	}
}

func TestClusterAway(t *testing.T) {
	t.Parallel()
	nowhere := kubectltest.Kubeconfig(t, "http://127.0.0.1:1", apitest.Namespace)
	for _, name := range commands() {
		if name == "version" {
			continue
		}
		args := []string{name}
		if slices.Contains(ofDojo(), name) {
			args = append(args, "sendai")
		}
		got := runWith(t.Context(), nowhere, "", args...)
		const want = "kubectl dojo: the API server http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused\n"
		if got.code != 1 || got.err != want || got.out != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := runWith(t.Context(), nowhere, "", "list", "--context", "other"); got.code != 1 ||
		!strings.Contains(got.err, `context was not found for specified context: other`) {
		t.Error(got)
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	const dojos = "dojos.core.jutsu.com"
	cases := map[string]struct{ deny, args, problem string }{
		"list":                        {"list " + dojos, "list", "may not list " + dojos + " in the namespace team-a. Ask an administrator for a RoleBinding to the ClusterRole dojos-view"},
		"list -A":                     {"list " + dojos, "list -A", "may not list " + dojos + " in all namespaces; leave -A out, and name a namespace with -n"},
		"rotate":                      {"patch " + dojos, "rotate sendai -y", "may not patch " + dojos + " in the namespace team-a. Ask an administrator for a RoleBinding to the ClusterRole dojos-edit"},
		"suspend":                     {"patch " + dojos, "suspend sendai -y", "may not patch " + dojos},
		"upgrade":                     {"patch " + dojos, "upgrade sendai --to 19 -y", "may not patch " + dojos},
		"backups":                     {"list backups.postgresql.cnpg.io", "backups sendai", "may not list backups.postgresql.cnpg.io in the namespace team-a"},
		"backup":                      {"create backups.postgresql.cnpg.io", "backup sendai -y", "may not create backups.postgresql.cnpg.io"},
		"backup, unreadable Cluster":  {"get clusters.postgresql.cnpg.io", "backup sendai -y", "may not get clusters.postgresql.cnpg.io"},
		"restore":                     {"delete clusters.postgresql.cnpg.io", "restore sendai --to 02:45 -y", "that you lack: delete clusters.postgresql.cnpg.io"},
		"restore, unreadable Backup":  {"get backups.postgresql.cnpg.io", "restore sendai --to 02:45 -y --confirm sendai", "that you lack: get backups.postgresql.cnpg.io"},
		"restore, unreadable pods":    {"list pods", "restore sendai --to 02:45 -y --confirm sendai", "that you lack: list pods"},
		"restore, unreadable Cluster": {"get clusters.postgresql.cnpg.io", "restore sendai --to 02:45 -y", "may not get clusters.postgresql.cnpg.io"},
		"restore, unreadable Databases": {"list databases.postgresql.cnpg.io", "restore sendai --to 02:45 -y",
			"rights to list dojos.core.jutsu.com and databases.postgresql.cnpg.io in the namespace team-a"},
		"restore --as":          {"create " + dojos, "restore sendai --to 02:45 --as past -y", "that you lack: create " + dojos},
		"logs":                  {"list pods", "logs sendai", "may not list pods in the namespace team-a"},
		"logs, unreadable log":  {"get pods/log", "logs sendai", "may not get pods/log in the namespace team-a"},
		"psql":                  {"get secrets", "psql sendai", "may not get secrets in the namespace team-a"},
		"psql, unreadable pods": {"list pods", "psql sendai", "may not list pods in the namespace team-a"},
		"open":                  {"list pods", "open sendai --port 0", "you need the rights to list pods and to get services in the namespace team-a"},
		"test-alert": {"list alertmanagers.monitoring.coreos.com", "test-alert sendai -y",
			"may not list alertmanagers.monitoring.coreos.com in all namespaces: name the Service"},
	}
	for _, name := range ofDojo() {
		cases[name+", unreadable Dojo"] = struct{ deny, args, problem string }{"get " + dojos, name + " sendai",
			"you (yuji) may not get " + dojos + " in the namespace team-a. Ask an administrator for a RoleBinding to the ClusterRole dojos-view."}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sendai(t)
			s.Deny(c.deny)
			got := run(t, s, "", strings.Fields(c.args)...)
			if got.code != 1 || !strings.Contains(got.err, c.problem) {
				t.Errorf("%s, want %q", got, c.problem)
			}
			if writes := s.Writes(); len(writes) > 0 {
				t.Errorf("the command has written %v", writes)
			}
		})
	}
}

func TestRefusedCommands(t *testing.T) {
	t.Parallel()
	others := func(d *corev1api.Dojo) {
		d.Spec.Postgres, d.Status.Database, d.Spec.Alerts = nil, nil, nil
		d.Spec.CredentialsRef = &corev1api.SecretReference{Name: "dojo-app"}
	}
	inCluster := func(d *corev1api.Dojo) {
		d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "shared"}}
	}
	bare := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup = nil }
	outdated := func(d *corev1api.Dojo) { d.Status.Database.NewerVersion = "18.6" }
	unversioned := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Version = "" }
	asleep := func(d *corev1api.Dojo) { d.Spec.Suspend = true }
	for name, c := range map[string]struct {
		args, problem string
		change        func(*corev1api.Dojo)
	}{
		"rotate an external database":                 {"rotate sendai", "comes from the Secret team-a/dojo-app, not from the operator: change the password in", others},
		"rotate without credentials":                  {"rotate sendai", "has no credentials yet", func(d *corev1api.Dojo) { d.Status.Database.Login = "" }},
		"rotate during a rotation":                    {"rotate sendai", "a rotation is already under way: wait until no pod uses the login dojo2_x", func(d *corev1api.Dojo) { d.Status.Database.FormerLogin = "dojo2_x" }},
		"suspend a suspended Dojo":                    {"suspend sendai", "sendai is suspended already", asleep},
		"resume a running Dojo":                       {"resume sendai", "sendai is not suspended", nil},
		"back up an external database":                {"backup sendai", "has no Cluster of its own", others},
		"back up without a backup policy":             {"backup sendai", "does not say where backups go", bare},
		"restore an external database":                {"restore sendai", "the operator does not run the database of sendai (spec.credentialsRef)", others},
		"restore a shared Cluster":                    {"restore sendai", "is in the Cluster shared, which others may use too", inCluster},
		"restore to a future time":                    {"restore sendai --to 2027-01-01T00:00:00Z", "--to is 1 Jan 2027 00:00:00 UTC, which is in the future", nil},
		"restore to a time before the first backup":   {"restore sendai --to 2026-11-22T00:59:00Z", "cannot be restored to 22 Nov 2026 00:59:00 UTC. Choose instead: a time from 22 Nov 01:00 to now", nil},
		"restore an unknown backup":                   {"restore sendai --backup x", "no Backup x of sendai was found; kubectl dojo backups sendai -n team-a", nil},
		"restore --as the same name":                  {"restore sendai --as sendai", "--as names sendai itself", nil},
		"restore a suspended Dojo in place":           {"restore sendai", "sendai is suspended: restore beside the Dojo with --as", asleep},
		"restore in place without a backup policy":    {"restore sendai", "has no spec.postgres.cluster.backup, so its current data cannot be backed up", bare},
		"upgrade without a version":                   {"upgrade sendai", "name the major version with --to", nil},
		"upgrade to a minor and a major version":      {"upgrade sendai --minor --to 19", "--minor excludes --to, --image and --without-backup", outdated},
		"upgrade without a newer minor version":       {"upgrade sendai --minor", "the operator knows no newer minor version of Postgres for sendai", nil},
		"minor upgrade of an external database":       {"upgrade sendai --minor", "has no Cluster of its own", others},
		"minor upgrade without a version in the spec": {"upgrade sendai --minor", "has no spec.postgres.cluster.version, so the operator does not choose", unversioned},
		"upgrade --to a minor version":                {"upgrade sendai --to 18.2", `"18.2" does not name a major version of Postgres`, nil},
		"upgrade to an older version":                 {"upgrade sendai --to 17", "has Postgres 18, and Postgres cannot be downgraded to 17", nil},
		"upgrade to the present version":              {"upgrade sendai --to 18", "has Postgres 18 already", nil},
		"upgrade without a backup policy":             {"upgrade sendai --to 19", "so no backup can be made first", bare},
		"upgrade an external database":                {"upgrade sendai --to 19", "has no Cluster of its own", others},
		"upgrade --to of a Dojo with an image name": {"upgrade sendai --to 19", "sets imageName pg:18: name the new image with --image", func(d *corev1api.Dojo) {
			d.Spec.Postgres.Cluster.Version, d.Spec.Postgres.Cluster.ImageName = "", "pg:18"
		}},
		"accept-loss of a live Cluster":        {"accept-loss sendai", "the Cluster of sendai as lost: DatabaseReady has the reason Ready", nil},
		"logs of the schema, which has no pod": {"logs sendai schema", "has no pod of a Job that runs SQL", nil},
		"logs of an external database":         {"logs sendai postgres", "the operator does not run the database", others},
		"psql --replica without a standby":     {"psql sendai --replica", "has no standby that is ready", nil},
		"test-alert without spec.alerts":       {"test-alert sendai", "has no channel for alerts: set spec.alerts", others},
		"test-alert without an Alertmanager":   {"test-alert sendai", "there is no Alertmanager of prometheus-operator", nil},
		"test-alert with an invalid Service":   {"test-alert sendai --alertmanager x", `--alertmanager is "x", it must be NAMESPACE/SERVICE`, nil},
		"rotate without an answer":             {"rotate sendai", "no answer: nothing was changed; answer in advance with --yes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sendai(t)
			if c.change != nil {
				d := apitest.Sendai(c.change)
				s.Put(d)
			}
			got := run(t, s, "", strings.Fields(c.args)...)
			if got.code != 1 && got.code != 2 || !strings.Contains(got.err, c.problem) {
				t.Errorf("%s, want %q", got, c.problem)
			}
			if writes := s.Writes(); len(writes) > 0 {
				t.Errorf("the command has written %v", writes)
			}
		})
	}
}

func TestKindsMissing(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	s.Uninstall(kinds.Dojo.Resource())
	got := run(t, s, "", "list")
	if got.code != 1 || !strings.Contains(got.err, "does not serve a kind that this command needs") || !strings.Contains(got.err, "dojos.core.jutsu.com") {
		t.Error(got)
	}
}
