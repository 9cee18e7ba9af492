// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
)

// operate simulates the operator and CloudNativePG. If refused is set, restores fail for this
// reason.
func operate(s *apitest.Server, refused string) {
	s.AfterWrite = func(write string) {
		switch what, name, _ := strings.Cut(strings.Fields(write)[1], "/"); {
		case write == "POST backups/"+name:
			b := &cnpgv1.Backup{}
			s.Get(kinds.Backup, apitest.Namespace, name, b)
			b.Status.Phase = cnpgv1.BackupPhaseCompleted
			s.Put(b)
		case what == "dojos":
			follow(s, name, refused)
		case strings.HasPrefix(write, "PATCH clusters/"):
			follow(s, "sendai", refused)
		}
	}
}

func follow(s *apitest.Server, name, refused string) {
	d := &corev1api.Dojo{}
	s.Get(kinds.Dojo, apitest.Namespace, name, d)
	cluster := &cnpgv1.Cluster{}
	exists := s.Get(kinds.Cluster, apitest.Namespace, name+"-db", cluster)
	if name != "sendai" { // the other Dojo of the tests, which gets a Cluster of its own
		exists, cluster.UID = true, types.UID("uid of "+name)
		d.Status = apitest.Sendai().Status
	}
	d.Status.ObservedGeneration, d.Status.Replicas = d.Generation, *d.Spec.Replicas
	at := apitest.At(24, 2, 55)
	set := func(kind, status, reason, message string) {
		apitest.Set(apitest.Condition(kind, status, reason, message, at))(d)
	}
	if exists {
		d.Status.Database.ClusterUID = string(cluster.UID)
	}
	if name == "sendai" && d.Status.Replicas == 0 {
		s.Remove(kinds.Pod, apitest.Namespace, "sendai-6f7c-x2p")
	}
	switch {
	case !exists:
		apitest.Lost(d)
	case refused != "":
		set(corev1api.ConditionDatabaseReady, "False", refused, "The backup has no database of that name.")
	default:
		set(corev1api.ConditionDatabaseReady, "True", corev1api.ReasonDatabaseReady, "")
		set(conditions.TypeReady, "True", conditions.ReasonReconciled, "The object matches its spec.")
		set(conditions.TypeDegraded, "False", conditions.ReasonReconciled, "")
	}
	s.Put(d)
}

func TestRestore(t *testing.T) {
	t.Parallel()
	ready := func(t *testing.T) *apitest.Server { return sendai(t) }
	for name, c := range map[string]struct {
		server      func(*testing.T) *apitest.Server
		args, input string
		writes      []string
	}{
		"in place": {ready, "restore sendai --to 02:45", "y\nsendai\n", []string{
			"PATCH dojos/sendai", "POST backups/sendai-20261124025500", "DELETE clusters/sendai-db", "PATCH dojos/sendai",
			"PATCH clusters/sendai-db", "PATCH dojos/sendai",
		}},
		"lost": {lost, "restore sendai -y", "", []string{
			"PATCH dojos/sendai", "PATCH dojos/sendai", "PATCH clusters/sendai-db", "PATCH dojos/sendai",
		}},
		"beside": {ready, "restore sendai --to 02:45 --as past", "yaml\ny\n", []string{"POST dojos/past", "PATCH dojos/past"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.server(t)
			operate(s, "")
			got := run(t, s, c.input, strings.Fields(c.args)...)
			if got.code != 0 {
				t.Errorf("exit code %d", got.code)
			}
			expectGolden(t, "restore "+name, "$ kubectl dojo "+c.args+"\n"+got.String())
			if diff := cmp.Diff(c.writes, s.Writes()); diff != "" {
				t.Error(diff)
			}
			d := &corev1api.Dojo{}
			s.Get(kinds.Dojo, apitest.Namespace, map[bool]string{true: "past", false: "sendai"}[name == "beside"], d)
			if *d.Spec.Replicas != 1 || d.Annotations[recovery.SizeAnnotation] != "" {
				t.Errorf("the Dojo has %d replicas, and the annotations %v", *d.Spec.Replicas, d.Annotations)
			}
		})
	}
}

// A lost Cluster has no data to which a pod could still write.
func TestRestoreOfALostClusterListsNoPods(t *testing.T) {
	t.Parallel()
	s := lost(t)
	operate(s, "")
	s.Deny("list pods")
	if got := run(t, s, "", "restore", "sendai", "-y"); got.code != 0 {
		t.Error(got)
	}
}

func TestRestoreStops(t *testing.T) {
	t.Parallel()
	s := lost(t)
	d := apitest.Sendai(apitest.Lost, func(d *corev1api.Dojo) { d.Spec.Replicas = new(int32(3)) })
	s.Put(d)
	operate(s, corev1api.ReasonDatabaseNotRestored)
	got := run(t, s, "", "restore", "sendai", "-y")
	if got.code != 1 || !strings.Contains(got.err, "the data is not restored: DatabaseNotRestored: The backup has no database") ||
		!strings.Contains(got.err, "Stopped at step 4. The backups have not changed. The new Cluster has no usable data. Delete it: "+
			"kubectl delete clusters.postgresql.cnpg.io sendai-db -n team-a. Then repeat the command\n") {
		t.Error(got)
	}
	if is := dojoIn(t, s); *is.Spec.Replicas != 0 || is.Annotations[recovery.SizeAnnotation] != "3" {
		t.Errorf("%d replicas, %v", *is.Spec.Replicas, is.Annotations)
	}
	s.Remove(kinds.Cluster, apitest.Namespace, "sendai-db")
	follow(s, "sendai", "")
	operate(s, "")
	got = run(t, s, "", "restore", "sendai", "-y")
	if is := dojoIn(t, s); got.code != 0 || *is.Spec.Replicas != 3 || is.Annotations[recovery.SizeAnnotation] != "" ||
		is.Spec.Postgres.Cluster.Backup.Plugin.Parameters["serverName"] != "sendai-db-3" {
		t.Errorf("%s %d replicas, %v", got, *is.Spec.Replicas, is.Annotations)
	}
}

// TestRestoreWaitsForPods asserts that no pod of the application can write during the backup: the
// status of the Dojo does not count pods that are being deleted.
func TestRestoreWaitsForPods(t *testing.T) {
	t.Parallel()
	const waits = "02:55:00  1 pod, such as sendai-6f7c-x2p\n"
	for name, c := range map[string]struct {
		status  corev1.PodStatus
		code    int
		timeout string
	}{
		"a pod that still runs":        {corev1.PodStatus{Phase: corev1.PodRunning}, 1, "50ms"},
		"a pod on a node that is away": {corev1.PodStatus{Phase: corev1.PodUnknown}, 1, "50ms"},
		"a pod that has ended":         {corev1.PodStatus{Phase: corev1.PodFailed}, 0, "1m"},
		"a pod whose containers have ended": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "dojo", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		}}, 0, "1m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sendai(t)
			operate(s, "")
			operator, going := s.AfterWrite, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: apitest.Namespace, Name: "sendai-6f7c-x2p", Labels: ownership.Selector(apitest.Sendai()),
				DeletionTimestamp: new(apitest.At(24, 2, 54)), Finalizers: []string{"x"},
			}, Status: c.status}
			s.AfterWrite = func(write string) {
				operator(write)
				s.Put(going)
			}
			got := run(t, s, "", "restore", "sendai", "-y", "--confirm", "sendai", "--timeout", c.timeout)
			if got.code != c.code || strings.Contains(got.out, waits) != (c.code == 1) {
				t.Error(got)
			}
			if writes := s.Writes(); c.code == 1 && len(writes) != 1 {
				t.Error(writes)
			}
		})
	}
}

func TestVerified(t *testing.T) {
	t.Parallel()
	with := func(status, reason string, changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
		condition := apitest.Condition(corev1api.ConditionDatabaseReady, status, reason, "A message.", apitest.At(24, 2, 0))
		return apitest.Sendai(append(changes, apitest.Set(condition))...)
	}
	unread := func(d *corev1api.Dojo) { d.Generation = 2 }
	const created, former = "uid of sendai-db", "another"
	const failed = "the data is not restored: RestoreFailed"
	for name, c := range map[string]struct {
		dojo     *corev1api.Dojo
		created  types.UID
		ok       bool
		problem  string
		unusable bool
	}{
		"restored": {with("True", corev1api.ReasonDatabaseReady), created, true, "", false},
		"ready, but the status names the former Cluster": {with("True", corev1api.ReasonDatabaseReady), former, false, "", false},
		"ready, but the status is of the former spec":    {with("True", corev1api.ReasonDatabaseReady, unread), created, false, "", false},
		"still restoring":                              {with("False", corev1api.ReasonRestoring), created, false, "", false},
		"the restore failed":                           {with("False", corev1api.ReasonRestoreFailed), created, false, failed, true},
		"the restore beside the Dojo failed":           {with("False", corev1api.ReasonRestoreFailed), "", false, failed, true},
		"the former Cluster failed":                    {with("False", corev1api.ReasonRestoreFailed), former, false, "", false},
		"failed, but the status is of the former spec": {with("False", corev1api.ReasonRestoreFailed, unread), created, false, "", false},
		"the operator's SQL failed":                    {with("False", corev1api.ReasonSchemaFailed), created, false, "reports SchemaFailed", false},
		"a Cluster of another origin":                  {with("False", corev1api.ReasonOriginMismatch), former, false, "reports OriginMismatch", false},
	} {
		_, ok, err := verified(c.dojo, c.created)
		if ok != c.ok || (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) ||
			errors.Is(err, errNotRestored) != c.unusable {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// TestRestoreSurvivesItsSQL asserts that restore does not advise a deletion after failed SQL.
func TestRestoreSurvivesItsSQL(t *testing.T) {
	t.Parallel()
	s := lost(t)
	operate(s, corev1api.ReasonSchemaFailed)
	got := run(t, s, "", "restore", "sendai", "-y")
	if got.code != 1 || strings.Contains(got.err, "delete") ||
		!strings.Contains(got.err, "Stopped at step 4. The restore is perhaps still running. Watch it: kubectl dojo status sendai -n team-a -w.") {
		t.Error(got)
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	w := &recovery.Plan{Target: "sendai", InPlace: true, Replaces: true, Replicas: 3, Object: kinds.Cluster.Object()}
	w.Object.SetName("sendai-db")
	lost := &recovery.Plan{Target: "sendai", InPlace: true, Replicas: 3, Object: w.Object}
	beside := &recovery.Plan{Target: "past", Replicas: 3, Object: kinds.Dojo.Object()}
	beside.Object.SetName("past")
	const start = "kubectl patch dojos.core.jutsu.com sendai -n team-a --type=merge " +
		`-p '{"metadata":{"annotations":{"core.jutsu.com/replicas-before-restore":null}},"spec":{"replicas":3}}'`
	past, pastBeside := *w, *beside
	past.To = time.Date(2026, 11, 24, 2, 45, 0, 0, time.UTC)
	pastBeside.To = past.To
	snapshot, both := *w, past
	snapshot.Backup, both.Backup = "night", "night"
	refused := apierrors.NewForbidden(schema.GroupResource{}, "past", nil)
	for _, c := range []struct {
		plan    *recovery.Plan
		at      recovery.Action
		failure error
		want    string
	}{
		{w, recovery.Stop, nil, "The data has not changed. Repeat the command, or start the application without the restore: " + start},
		{w, recovery.Save, nil, "The application has 0 replicas. Repeat the command to continue the restore, " +
			"or start the application without the restore: " + start},
		{w, recovery.Remove, nil, "The application has 0 replicas. Repeat the command to continue the restore."},
		{lost, recovery.Stop, nil, "The data has not changed. Repeat the command."},
		{&past, recovery.Save, nil, "Repeat the command with --to 2026-11-24T02:45:00Z to continue the restore"},
		{&snapshot, recovery.Remove, nil, "Repeat the command with --backup night to continue the restore"},
		{&both, recovery.Create, refused, "Repeat the command with --to 2026-11-24T02:45:00Z --backup night to continue"},
		{&past, recovery.Verify, errNotRestored, "Then repeat the command with --to 2026-11-24T02:45:00Z"},
		{&pastBeside, recovery.Verify, errNotRestored, "Then repeat the command with --to 2026-11-24T02:45:00Z"},
		{w, recovery.Verify, nil, "kubectl dojo status sendai -n team-a -w. When the restore has ended, start the application: " + start},
		{w, recovery.Verify, errNotRestored, "kubectl delete clusters.postgresql.cnpg.io sendai-db -n team-a"},
		{w, recovery.Serve, nil, "The data is restored. Start the application: " + start},
		{&both, recovery.Create, fmt.Errorf("%w sendai-db", errForeignCluster), "to continue the restore"},
		{&both, recovery.Create, context.Canceled, "The Cluster sendai-db may have been created: see kubectl dojo status sendai"},
		{beside, recovery.Create, refused, "Nothing was changed."},
		{beside, recovery.Serve, nil, "Start the application: kubectl scale dojos.core.jutsu.com past -n team-a --replicas=3"},
		{beside, recovery.Create, context.DeadlineExceeded, "The Dojo past may have been created: see kubectl dojo status past"},
		{beside, recovery.Create, apierrors.NewInternalError(errNotRestored), "The Dojo past may have been created"},
		{beside, recovery.Verify, errNotRestored, "kubectl delete dojos.core.jutsu.com past -n team-a; " +
			"kubectl delete clusters.postgresql.cnpg.io past-db -n team-a --ignore-not-found"},
	} {
		if got := stopped("team-a", c.plan, c.at, c.failure); !strings.Contains(got, c.want) {
			t.Errorf("step %d: %s, want %q", c.at, got, c.want)
		}
	}
}

// TestRestoreOfASnapshot asserts that the advice names the snapshot that was restored, not the
// newer backup that the restore made.
func TestRestoreOfASnapshot(t *testing.T) {
	t.Parallel()
	d := apitest.Sendai(func(d *corev1api.Dojo) {
		d.Spec.Postgres.Cluster.Backup = &corev1api.Backup{Schedule: "0 1 * * *", Method: corev1api.BackupVolumeSnapshot}
	})
	s := apitest.New(t, append(apitest.Children(d), d)...)
	for _, name := range []string{"sendai-db-20261122010000", "sendai-db-20261124010000"} {
		b := &cnpgv1.Backup{}
		s.Get(kinds.Backup, apitest.Namespace, name, b)
		b.Spec.Method, b.Spec.PluginConfiguration = cnpgv1.BackupMethodVolumeSnapshot, nil
		s.Put(b)
	}
	operate(s, corev1api.ReasonRestoreFailed)
	got := run(t, s, "", "restore", "sendai", "-y", "--confirm", "sendai")
	if got.code != 1 || !strings.Contains(got.err, "Then repeat the command with --backup sendai-db-20261124010000") {
		t.Error(got)
	}
}

// TestRestoreMeetsACluster asserts that restore stops if another client creates the Cluster. The
// next restore asks before it replaces this Cluster.
func TestRestoreMeetsACluster(t *testing.T) {
	t.Parallel()
	s := lost(t)
	operate(s, "")
	operator, other := s.AfterWrite, apitest.Cluster(apitest.Sendai())
	other.UID = "uid of another"
	s.AfterWrite = func(write string) {
		operator(write)
		s.Put(other)
	}
	got := run(t, s, "", "restore", "sendai", "-y")
	if got.code != 1 || !strings.Contains(got.err, "another client has created the Cluster sendai-db meanwhile") ||
		!strings.Contains(got.err, "Stopped at step 3. The application has 0 replicas.") ||
		slices.Contains(s.Writes(), "PATCH clusters/sendai-db") {
		t.Error(got, s.Writes())
	}
	operate(s, "")
	if got = run(t, s, "", "restore", "sendai", "-y"); got.code != 1 || !strings.Contains(got.out, "Type the name of the Dojo") {
		t.Error(got)
	}
	if got = run(t, s, "", "restore", "sendai", "-y", "--confirm", "sendai"); got.code != 0 {
		t.Error(got)
	}
}

func TestRestoreOfASharedCluster(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	kyoto := apitest.Sendai()
	kyoto.Name, kyoto.UID = "kyoto", "uid of kyoto"
	kyoto.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "sendai-db"}}
	s.Put(kyoto)
	got := run(t, s, "", "restore", "sendai", "--to", "02:45", "-y", "--confirm", "sendai")
	if got.code != 1 || !strings.Contains(got.err, "has data of others (Dojo kyoto): restore beside the Dojo with --as") ||
		s.Writes() != nil {
		t.Error(got, s.Writes())
	}
}

func TestRestoreToAnExistingDojo(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	other := apitest.Sendai()
	other.Name = "past"
	s.Put(other)
	got := run(t, s, "", "restore", "sendai", "--as", "past", "-y")
	if got.code != 1 || !strings.Contains(got.err, "the Dojo past exists already: give --as another name") {
		t.Error(got)
	}
}

// TestRestoreBesideACluster asserts that restore --as fails if an earlier copy's Cluster exists.
func TestRestoreBesideACluster(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	former := apitest.Cluster(apitest.Sendai())
	former.Name = "past-db"
	s.Put(former)
	got := run(t, s, "", "restore", "sendai", "--as", "past", "-y")
	if got.code != 1 || !strings.Contains(got.err, "the Cluster past-db exists already") ||
		!strings.Contains(got.err, "kubectl delete clusters.postgresql.cnpg.io past-db -n team-a") || s.Writes() != nil {
		t.Error(got, s.Writes())
	}
}
