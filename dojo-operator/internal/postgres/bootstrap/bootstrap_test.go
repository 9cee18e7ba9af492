// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const deadline = time.Minute

func tokyo(t *testing.T, text string, changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	t.Helper()
	dojo := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", UID: "uid"}}
	dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{}}
	if text != "" {
		dojo.Spec.Postgres.Cluster.Bootstrap = new(corev1api.Bootstrap)
		if err := yaml.UnmarshalStrict([]byte(text), dojo.Spec.Postgres.Cluster.Bootstrap); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range changes {
		change(dojo)
	}
	return dojo
}

func waiting(object string, since time.Duration) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Status.WaitingFor = []corev1api.Wait{{Object: object, Since: metav1.NewTime(noon.Add(-since))}}
	}
}

const (
	fromStore = `
recovery:
  objectStore:
    plugin: {name: barman, parameters: {barmanObjectName: store}}
    serverName: kyoto-db`
	fromBackup       = `recovery: {backup: {name: nightly}}`
	fromSnapshot     = `recovery: {volumeSnapshot: {storage: data}}`
	fromTwoSnapshots = `recovery: {volumeSnapshot: {storage: data, walStorage: log}}`
	fromElsewhere    = `import: {sourceSecretRef: {name: legacy}}`

	at = `, targetTime: "2026-01-02T10:00:00Z"}`
)

func backup(changes ...func(*cnpgv1.Backup)) *cnpgv1.Backup {
	b := &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "nightly"}}
	b.Spec.Cluster.Name, b.Spec.Method = "kyoto-db", cnpgv1.BackupMethodPlugin
	b.Spec.PluginConfiguration = &cnpgv1.BackupPluginConfiguration{
		Name: "barman", Parameters: map[string]string{"barmanObjectName": "store"},
	}
	b.Status.Phase, b.Status.BackupID = cnpgv1.BackupPhaseCompleted, "20260102T100000"
	for _, change := range changes {
		change(b)
	}
	return b
}

func legacy(pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "legacy"}, Data: map[string][]byte{
		"host": []byte("pg.example.org"), "port": []byte("5432"), "dbname": []byte("dojo"), "username": []byte("reader"),
		"password": []byte("s3cret"),
	}}
	for i := 0; i < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

var sources = map[string]struct {
	bootstrap string
	state     State
	origin    string
	want      string // fields of the Cluster's spec, as YAML
}{
	"no bootstrap": {},
	"an object store": {
		bootstrap: fromStore, origin: "kyoto-db in barman, barmanObjectName store", want: `
bootstrap: {recovery: {source: origin}}
externalClusters: [{name: origin, plugin: {name: barman, enabled: true, isWALArchiver: false,
  parameters: {barmanObjectName: store, serverName: kyoto-db}}}]`,
	},
	"an object store, with a targetTime": {
		bootstrap: fromStore + "\n  targetTime: \"2026-01-02T10:00:00.25+01:00\"",
		origin:    "kyoto-db in barman, barmanObjectName store, at 2026-01-02T10:00:00.25+01:00", want: `
bootstrap: {recovery: {source: origin, recoveryTarget: {targetTime: "2026-01-02T10:00:00.25+01:00"}}}
externalClusters: [{name: origin, plugin: {name: barman, enabled: true, isWALArchiver: false,
  parameters: {barmanObjectName: store, serverName: kyoto-db}}}]`,
	},
	"a Backup of a plugin": {
		bootstrap: fromBackup, state: State{Backup: backup()}, origin: "Backup nightly", want: `
bootstrap: {recovery: {source: origin, recoveryTarget: {backupID: 20260102T100000, targetImmediate: true}}}
externalClusters: [{name: origin, plugin: {name: barman, enabled: true, isWALArchiver: false,
  parameters: {barmanObjectName: store, serverName: kyoto-db}}}]`,
	},
	"a Backup with its own serverName, with a targetTime": {
		bootstrap: strings.Replace(fromBackup, "}}", "}"+at, 1), origin: "Backup nightly, at 2026-01-02T10:00:00Z",
		state: State{Backup: backup(func(b *cnpgv1.Backup) { b.Spec.PluginConfiguration.Parameters["serverName"] = "kyoto-2" })},
		want: `
bootstrap: {recovery: {source: origin, recoveryTarget: {backupID: 20260102T100000, targetTime: "2026-01-02T10:00:00Z"}}}
externalClusters: [{name: origin, plugin: {name: barman, enabled: true, isWALArchiver: false,
  parameters: {barmanObjectName: store, serverName: kyoto-2}}}]`,
	},
	"a Backup in a VolumeSnapshot": {
		bootstrap: fromBackup, origin: "Backup nightly",
		state: State{Backup: backup(func(b *cnpgv1.Backup) {
			b.Spec.Method, b.Spec.PluginConfiguration, b.Status.BackupID = cnpgv1.BackupMethodVolumeSnapshot, nil, ""
		})},
		want: `bootstrap: {recovery: {backup: {name: nightly}}}`,
	},
	"a VolumeSnapshot": {bootstrap: fromSnapshot, origin: "VolumeSnapshot data", want: `
bootstrap:
  recovery: {volumeSnapshots: {storage: {name: data, kind: VolumeSnapshot, apiGroup: snapshot.storage.k8s.io}}}`},
	"two VolumeSnapshots": {bootstrap: fromTwoSnapshots, origin: "VolumeSnapshot data, log", want: `
bootstrap:
  recovery:
    volumeSnapshots:
      storage: {name: data, kind: VolumeSnapshot, apiGroup: snapshot.storage.k8s.io}
      walStorage: {name: log, kind: VolumeSnapshot, apiGroup: snapshot.storage.k8s.io}`},
	"another database": {bootstrap: fromElsewhere, state: State{Secret: legacy()}, origin: "Secret legacy", want: `
bootstrap:
  initdb:
    database: dojo_school_tokyo
    owner: dojo_school_tokyo
    secret: {name: tokyo-db}
    import: {type: microservice, databases: [dojo], source: {externalCluster: origin}}
externalClusters:
  - name: origin
    connectionParameters: {host: pg.example.org, port: "5432", dbname: dojo, user: reader}
    password: {name: legacy, key: password}`},
	"another database, certificate verified": {
		bootstrap: fromElsewhere, origin: "Secret legacy",
		state: State{Secret: legacy("user", "other", "sslmode", "verify-full", "ca.crt", "PEM")}, want: `
bootstrap:
  initdb:
    database: dojo_school_tokyo
    owner: dojo_school_tokyo
    secret: {name: tokyo-db}
    import: {type: microservice, databases: [dojo], source: {externalCluster: origin}}
externalClusters:
  - name: origin
    connectionParameters: {host: pg.example.org, port: "5432", dbname: dojo, user: other, sslmode: verify-full}
    password: {name: legacy, key: password}
    sslRootCert: {name: legacy, key: ca.crt}`,
	},
}

// A Cluster keeps its bootstrap fields, even if their source changes or is deleted.
func TestFields(t *testing.T) {
	t.Parallel()
	for name, c := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := tokyo(t, c.bootstrap)
			fields, issue := fieldsFor(dojo, c.state, noon, deadline)
			if issue != nil {
				t.Fatal(issue)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fields); diff != "" {
				t.Error(diff)
			}
			if got := Origin(dojo); got != c.origin {
				t.Errorf("the origin is %q", got)
			}
			desired := empty()
			newChange(dojo, fields).Make(desired)
			live := admitted(t, desired)
			kept := empty()
			OriginalChange(live).Make(kept)
			if diff := cmp.Diff(desired, kept); diff != "" {
				t.Error("the Cluster does not keep its bootstrap fields:", diff)
			}
			if issue := Mismatch(dojo, live); issue != nil {
				t.Error(issue)
			}
		})
	}
}

func empty() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
}

// admitted returns the created Cluster with the defaults that CloudNativePG's webhook sets.
func admitted(t *testing.T, created *unstructured.Unstructured) *cnpgv1.Cluster {
	t.Helper()
	live := &cnpgv1.Cluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(created.Object, live, true); err != nil {
		t.Fatal(err)
	}
	live.Namespace, live.Name = "school", "tokyo-db"
	switch b := live.Spec.Bootstrap; {
	case b == nil:
	case b.Recovery != nil:
		b.Recovery.Database, b.Recovery.Owner = "app", "app"
	case b.InitDB != nil:
		b.InitDB.Encoding, b.InitDB.LocaleCollate, b.InitDB.LocaleCType = "UTF8", "C", "C"
	}
	for i := range live.Spec.ExternalClusters {
		if plugin := live.Spec.ExternalClusters[i].PluginConfiguration; plugin != nil {
			plugin.Enabled, plugin.IsWALArchiver = new(true), new(false)
		}
	}
	return live
}

func TestForeignBootstrapIsNotKept(t *testing.T) {
	t.Parallel()
	live := &cnpgv1.Cluster{}
	live.Spec.Bootstrap = &cnpgv1.BootstrapConfiguration{Recovery: &cnpgv1.BootstrapRecovery{Source: "mine"}}
	kept := empty()
	if OriginalChange(live).Make(kept); len(kept.Object["spec"].(map[string]any)) > 0 || kept.GetAnnotations() != nil {
		t.Error(kept)
	}
	OriginalChange(nil).Make(kept)
}

func TestIssuesThatKeepAClusterFromBeingCreated(t *testing.T) {
	t.Parallel()
	const theBackup, theSecret = "Backup school/nightly", "Secret school/legacy"
	withTime := strings.Replace(fromBackup, "}}", "}"+at, 1)
	backupThat := func(change func(*cnpgv1.Backup)) State { return State{Backup: backup(change)} }
	secretWith := func(pairs ...string) State { return State{Secret: legacy(pairs...)} }
	without := func(key string) State {
		s := legacy()
		delete(s.Data, key)
		return State{Secret: s}
	}
	const usable, incomplete = "Degraded/BackupNotUsable", "Degraded/CredentialsIncomplete"
	for name, c := range map[string]struct {
		dojo  *corev1api.Dojo
		state State
		want  string
		says  string
		waits string
	}{
		"no Backup yet": {tokyo(t, fromBackup), State{}, "Progressing/WaitingForBackup", "Waiting for the Backup", theBackup},
		"no Backup at the deadline": {tokyo(t, fromBackup, waiting(theBackup, deadline)), State{}, usable,
			"The Backup school/nightly does not exist, so no Cluster is created. To list all Backups: `kubectl get backups.postgresql.cnpg.io -n school`.", theBackup},
		"a Backup that runs": {tokyo(t, fromBackup), backupThat(func(b *cnpgv1.Backup) {
			b.Status.Phase = cnpgv1.BackupPhaseRunning
		}), "Progressing/WaitingForBackup", "to complete", ""},
		"a failed Backup": {tokyo(t, fromBackup), backupThat(func(b *cnpgv1.Backup) {
			b.Status.Phase = cnpgv1.BackupPhaseFailed
		}), usable, "has failed", ""},
		"a Backup without plugin parameters": {tokyo(t, fromBackup), backupThat(func(b *cnpgv1.Backup) {
			b.Spec.PluginConfiguration.Parameters = nil
		}), usable, "lacks spec.pluginConfiguration.parameters or status.backupId, which a restore needs", ""},
		"a Backup without a plugin": {tokyo(t, fromBackup), backupThat(func(b *cnpgv1.Backup) {
			b.Spec.PluginConfiguration = nil
		}), usable, "lacks spec.pluginConfiguration.parameters or status.backupId", ""},
		"a Backup without an id": {tokyo(t, fromBackup), backupThat(func(b *cnpgv1.Backup) {
			b.Status.BackupID = ""
		}), usable, "lacks spec.pluginConfiguration.parameters or status.backupId", ""},
		"a Backup with the method barmanObjectStore": {tokyo(t, fromBackup), backupThat(func(b *cnpgv1.Backup) {
			b.Spec.Method = cnpgv1.BackupMethodBarmanObjectStore
		}), usable, "Restore with bootstrap.recovery.objectStore", ""},
		"a Backup in a VolumeSnapshot, with a targetTime": {tokyo(t, withTime), backupThat(func(b *cnpgv1.Backup) {
			b.Spec.Method = cnpgv1.BackupMethodVolumeSnapshot
		}), usable, "Leave targetTime out.", ""},
		"no Secret yet": {tokyo(t, fromElsewhere), State{}, "Progressing/WaitingForCredentials", "Waiting for the Secret", theSecret},
		"no Secret at the deadline": {tokyo(t, fromElsewhere, waiting(theSecret, deadline)), State{}, "Degraded/CredentialsNotFound",
			"The Secret school/legacy of bootstrap.import does not exist, so no Cluster is created. Create the Secret.", theSecret},
		"no host":                  {tokyo(t, fromElsewhere), without("host"), incomplete, `has no value under the key "host"`, ""},
		"no user":                  {tokyo(t, fromElsewhere), without("username"), incomplete, `has no value under the key "user"`, ""},
		"no password":              {tokyo(t, fromElsewhere), without("password"), incomplete, `under the key "password"`, ""},
		"an empty dbname":          {tokyo(t, fromElsewhere), secretWith("dbname", ""), incomplete, `under the key "dbname"`, ""},
		"a folder as host":         {tokyo(t, fromElsewhere), secretWith("host", "/tmp"), incomplete, `no host name or IP address`, ""},
		"two words as host":        {tokyo(t, fromElsewhere), secretWith("host", "a b"), incomplete, `no host name or IP address`, ""},
		"a host with a line break": {tokyo(t, fromElsewhere), secretWith("host", "a\nb"), incomplete, `the key "host" that is too long`, ""},
		"a user of 1000 letters":   {tokyo(t, fromElsewhere), secretWith("user", strings.Repeat("a", 1000)), incomplete, `"user"`, ""},
		"a port with letters":      {tokyo(t, fromElsewhere), secretWith("port", "pg"), incomplete, `has no port number`, ""},
		"port 0":                   {tokyo(t, fromElsewhere), secretWith("port", "0"), incomplete, `has no port number`, ""},
		"a wildcard as dbname":     {tokyo(t, fromElsewhere), secretWith("dbname", "*"), incomplete, `has a wildcard`, ""},
		"an unknown sslmode":       {tokyo(t, fromElsewhere), secretWith("sslmode", "s3cret"), incomplete, `under the key "sslmode"`, ""},
		"a password as port":       {tokyo(t, fromElsewhere), secretWith("port", "s3cret"), incomplete, `"port"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields, issue := fieldsFor(c.dojo, c.state, noon, deadline)
			if fields != nil || kind(issue) != c.want || issue.WaitingFor != c.waits {
				t.Fatalf("%v, %s %+v", fields, kind(issue), issue)
			}
			if !strings.Contains(issue.Message, c.says) || strings.Contains(issue.Message, "s3cret") {
				t.Error(issue.Message)
			}
		})
	}
}

func kind(issue *conditions.Issue) string {
	switch {
	case issue == nil:
		return ""
	case issue.IsDegraded():
		return "Degraded/" + issue.Reason
	}
	return "Progressing/" + issue.Reason
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	other := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-db"}}
	for name, dojo := range map[string]*corev1api.Dojo{
		"no bootstrap": tokyo(t, ""), "no Cluster": tokyo(t, fromBackup),
	} {
		live := other
		if name == "no Cluster" {
			live = nil
		}
		if issue := Mismatch(dojo, live); issue != nil {
			t.Error(name, issue)
		}
	}
	issue := Mismatch(tokyo(t, fromBackup), other)
	if kind(issue) != "Degraded/OriginMismatch" || !strings.HasSuffix(issue.Message,
		"`kubectl annotate clusters.postgresql.cnpg.io tokyo-db -n school --overwrite core.jutsu.com/origin=\"Backup nightly\"`. "+
			"To use the data in the Cluster, delete the Dojo and create it again without bootstrap. To use the source, delete "+
			"the Cluster: `kubectl delete clusters.postgresql.cnpg.io tokyo-db -n school`. The data in the Cluster is then lost.") {
		t.Errorf("%+v", issue)
	}
	other.Annotations = map[string]string{corev1api.OriginAnnotation: "Backup of yesterday"}
	if issue := Mismatch(tokyo(t, fromBackup), other); kind(issue) != "Degraded/OriginMismatch" {
		t.Errorf("%+v", issue)
	}
}

func TestOriginsFitTheStatus(t *testing.T) {
	t.Parallel()
	long := func(server string) string {
		return Origin(tokyo(t, fromStore, func(dojo *corev1api.Dojo) {
			store := dojo.BootstrapSource().Recovery.ObjectStore
			store.ServerName, store.Plugin.Parameters["é"] = server, strings.Repeat("é", 4096)
		}))
	}
	for _, c := range [][2]string{{long("a"), long("b")}} {
		if len(c[0]) > 512 || len(c[1]) > 512 || c[0] == c[1] {
			t.Errorf("%d and %d bytes: %s", len(c[0]), len(c[1]), c[0])
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	const data = "data of the Cluster school/tokyo-db"
	job := func(active, failed int32) State {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "tokyo-db-1-full-recovery"}}
		j.Status.Active, j.Status.Failed = active, failed
		return State{Job: j}
	}
	withTime := strings.Replace(fromBackup, "}}", "}"+at, 1)
	for name, c := range map[string]struct {
		dojo   *corev1api.Dojo
		state  State
		status cnpgv1.ClusterStatus
		want   string
		says   string
	}{
		"no bootstrap":            {tokyo(t, ""), State{}, cnpgv1.ClusterStatus{}, "", ""},
		"the restore is complete": {tokyo(t, fromBackup), State{}, cnpgv1.ClusterStatus{CurrentPrimary: "tokyo-db-1"}, "", ""},
		"the restore begins": {tokyo(t, fromBackup), State{}, cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseFirstPrimary}, "Progressing/Restoring",
			"The data of the Cluster school/tokyo-db is being restored from Backup nightly: Setting up primary."},
		"the import runs": {tokyo(t, fromElsewhere), job(1, 0), cnpgv1.ClusterStatus{}, "Progressing/Importing",
			"is being imported from Secret legacy."},
		"the Job does not begin": {tokyo(t, fromSnapshot, waiting(data, deadline)), State{}, cnpgv1.ClusterStatus{}, "Degraded/RestoreFailed",
			"more than 1m0s have passed. See `kubectl logs job/tokyo-db-1-full-recovery -n school --all-containers`"},
		"the Job runs for hours": {tokyo(t, fromBackup, waiting(data, 5*time.Hour)), job(1, 0), cnpgv1.ClusterStatus{},
			"Progressing/Restoring", ""},
		"the Job runs for too long": {tokyo(t, fromBackup, waiting(data, 6*time.Hour)), job(1, 0), cnpgv1.ClusterStatus{},
			"Degraded/RestoreFailed", "more than 6h0m0s have passed. See `kubectl logs job/tokyo-db-1-full-recovery -n school " +
				"--all-containers` and `kubectl describe clusters.postgresql.cnpg.io tokyo-db -n school`. If the Job's log shows progress, wait: " +
				"the Job continues, and ends when the Cluster is deleted. To start over"},
		"a pod has failed": {tokyo(t, withTime), job(1, 1), cnpgv1.ClusterStatus{}, "Degraded/RestoreFailed",
			"pods of the Job tokyo-db-1-full-recovery have failed (1); the Job retries several times. See `kubectl logs job/tokyo-db-1-full-recovery -n school " +
				"--all-containers` and `kubectl describe clusters.postgresql.cnpg.io tokyo-db -n school`. " +
				"bootstrap.recovery.targetTime must be later than the end of a backup, and earlier than the last transaction in the archived write-ahead log."},
		"an import has failed": {tokyo(t, fromElsewhere), job(0, 7), cnpgv1.ClusterStatus{}, "Degraded/ImportFailed",
			"which has no complete data yet: `kubectl delete clusters.postgresql.cnpg.io tokyo-db -n school`."},
		"CloudNativePG reports an unrecoverable Cluster": {tokyo(t, fromElsewhere), State{}, cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable}, "Degraded/ImportFailed",
			"the Job has given up. See `kubectl logs job/tokyo-db-1-import -n school --all-containers` and " +
				"`kubectl describe clusters.postgresql.cnpg.io tokyo-db -n school`. To start over, delete the Cluster"},
		"the last pod has failed": {tokyo(t, fromElsewhere), job(0, 7), cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable}, "Degraded/ImportFailed",
			"the Job has given up. See"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-db"}, Status: c.status}
			issue := Progress(c.dojo, live, c.state, noon, deadline)
			if kind(issue) != c.want {
				t.Fatalf("%s: %+v", kind(issue), issue)
			}
			if issue != nil && (!strings.Contains(issue.Message, c.says) || issue.WaitingFor != data) {
				t.Errorf("%+v", issue)
			}
		})
	}
	if Progress(tokyo(t, fromBackup), nil, State{}, noon, deadline) != nil {
		t.Error("a missing Cluster is reported as being restored")
	}
}

// TestProgressInPlace has Clusters that `kubectl dojo restore` or a user created with a recovery. An
// issue needs a sign of the recovery, because it may advise to delete the Cluster.
func TestProgressInPlace(t *testing.T) {
	t.Parallel()
	const object = "data of the Cluster school/tokyo-db"
	job := func(status batchv1.JobStatus) State {
		return State{Job: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "tokyo-db-1-full-recovery"}, Status: status}}
	}
	begun := cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseFirstPrimary}
	shared := func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "tokyo-db"}}
	}
	for name, c := range map[string]struct {
		dojo     *corev1api.Dojo
		state    State
		status   cnpgv1.ClusterStatus
		recovery *cnpgv1.BootstrapRecovery
		origin   string
		want     string
		says     string
	}{
		"the restore begins": {tokyo(t, ""), State{}, begun, &cnpgv1.BootstrapRecovery{Source: "origin"}, "Backup nightly",
			"Progressing/Restoring", "The data of the Cluster school/tokyo-db is being restored from Backup nightly: Setting up primary."},
		"the restore has failed": {tokyo(t, ""), State{}, cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable},
			&cnpgv1.BootstrapRecovery{Source: "origin"}, "", "Degraded/RestoreFailed",
			"cannot be restored from a backup: the Job has given up. See `kubectl logs job/tokyo-db-1-full-recovery -n school " +
				"--all-containers` and `kubectl describe clusters.postgresql.cnpg.io tokyo-db -n school`. To start over, delete the " +
				"Cluster, which has no complete data yet: `kubectl delete clusters.postgresql.cnpg.io tokyo-db -n school`. Then " +
				"restore the data again: `kubectl dojo restore tokyo -n school`."},
		"the restore of a snapshot has failed": {tokyo(t, ""), State{}, cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable},
			&cnpgv1.BootstrapRecovery{}, "", "Degraded/RestoreFailed", "`kubectl logs job/tokyo-db-1-snapshot-recovery -n school"},
		"a pod has failed": {tokyo(t, ""), job(batchv1.JobStatus{Failed: 1}), begun, &cnpgv1.BootstrapRecovery{Source: "origin"}, "",
			"Progressing/Restoring", "Pods of the Job tokyo-db-1-full-recovery have failed (1); the Job retries several times."},
		"the Job has given up": {tokyo(t, ""), job(batchv1.JobStatus{Failed: 7}), cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable},
			&cnpgv1.BootstrapRecovery{
				Source: "origin", RecoveryTarget: &cnpgv1.RecoveryTarget{TargetTime: "2026-01-02T10:00:00Z"},
			}, "", "Degraded/RestoreFailed", "The moment to restore must be later than the end of a backup"},
		"the Job does not begin": {tokyo(t, "", waiting(object, deadline)), State{}, begun, &cnpgv1.BootstrapRecovery{Source: "origin"}, "",
			"Degraded/RestoreFailed", "more than 1m0s have passed: Setting up primary."},
		"the Job runs, and the status is still empty": {tokyo(t, ""), job(batchv1.JobStatus{Active: 1}), cnpgv1.ClusterStatus{}, &cnpgv1.BootstrapRecovery{Source: "origin"}, "",
			"Progressing/Restoring", "from a backup."},
		"a Cluster restored long ago": {tokyo(t, ""), State{}, cnpgv1.ClusterStatus{CurrentPrimary: "tokyo-db-1", Phase: cnpgv1.PhaseUnrecoverable},
			&cnpgv1.BootstrapRecovery{Source: "origin"}, "", "", ""},
		"a Cluster restored long ago, its status lost": {tokyo(t, "", waiting(object, 7*time.Hour)), State{}, cnpgv1.ClusterStatus{},
			&cnpgv1.BootstrapRecovery{Source: "origin"}, "", "", ""},
		"a Cluster restored long ago, its status lost, its Job kept": {tokyo(t, "", waiting(object, 7*time.Hour)), job(batchv1.JobStatus{Succeeded: 1}),
			cnpgv1.ClusterStatus{}, &cnpgv1.BootstrapRecovery{Source: "origin"}, "", "", ""},
		"a new Cluster without a recovery": {tokyo(t, ""), State{}, begun, nil, "", "", ""},
		"the Cluster of clusterRef":        {tokyo(t, "", shared), State{}, begun, &cnpgv1.BootstrapRecovery{Source: "origin"}, "", "", ""},
		"a Dojo with an import, restored in place": {tokyo(t, fromElsewhere), State{}, cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable},
			&cnpgv1.BootstrapRecovery{Source: "origin"}, "Secret legacy", "Degraded/RestoreFailed", "job/tokyo-db-1-full-recovery"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-db"}, Status: c.status}
			if c.recovery != nil {
				live.Spec.Bootstrap = &cnpgv1.BootstrapConfiguration{Recovery: c.recovery}
			}
			if c.origin != "" {
				live.Annotations = map[string]string{corev1api.OriginAnnotation: c.origin}
			}
			issue := Progress(c.dojo, live, c.state, noon, deadline)
			if kind(issue) != c.want || issue != nil && (!strings.Contains(issue.Message, c.says) || issue.WaitingFor != object) {
				t.Errorf("%s: %+v", kind(issue), issue)
			}
		})
	}
}
