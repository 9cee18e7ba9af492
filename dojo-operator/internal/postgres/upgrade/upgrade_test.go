// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

func wants(version string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Spec.CredentialsRef = nil
		dojo.Status.Database = &corev1api.DatabaseStatus{
			Upgrade: &corev1api.UpgradeStatus{RequestedAt: new(metav1.NewTime(dojotest.Noon))},
		}
		dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{
			Version: version, Backup: &corev1api.Backup{
				Schedule: "0 2 * * *", Method: corev1api.BackupPlugin, Plugin: &corev1api.BackupPluginSpec{Name: "barman"},
			},
		}}
	}
}

func bySnapshots(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Backup = &corev1api.Backup{Schedule: "0 2 * * *", Method: corev1api.BackupVolumeSnapshot}
}

func withoutLog(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Backup.Plugin.WALArchiver = new(false)
}

func without(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Backup = nil }

func allowing(version string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Annotations = map[string]string{corev1api.UpgradeWithoutBackupAnnotation: version}
	}
}

// pg returns a Cluster. The argument names is the version of its image, and the argument has is the
// major version of its data. from is the former major version during an upgrade, or "".
func pg(names, from string, has int, changes ...func(*cnpgv1.Cluster)) *cnpgv1.Cluster {
	cluster := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "school", Name: "tokyo-db", UID: "uid of pg", Generation: 4,
		Labels: ownership.Labels(dojotest.Dojo(), ownership.Application),
	}}
	cluster.Spec.ImageName = "registry.example/postgres:" + names
	cluster.Status = cnpgv1.ClusterStatus{
		CurrentPrimary: "tokyo-db-1", TargetPrimary: "tokyo-db-1", Phase: "Cluster in healthy state",
		Image: cluster.Spec.ImageName, PGDataImageInfo: &cnpgv1.ImageInfo{MajorVersion: has},
		InstancesStatus: map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"tokyo-db-1"}},
	}
	if from != "" {
		cluster.Annotations = map[string]string{fromAnnotation: from, backupAnnotation: "tokyo-before-1"}
	}
	for _, change := range changes {
		change(cluster)
	}
	return cluster
}

func down(cluster *cnpgv1.Cluster) {
	cluster.Status.InstancesStatus, cluster.Status.Phase = nil, "Upgrading"
}

func backup(phase cnpgv1.BackupPhase) *cnpgv1.Backup {
	b := &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{
		Name: "tokyo-before-1", CreationTimestamp: metav1.NewTime(dojotest.Noon),
	}}
	b.Status.Phase, b.Status.Error = phase, "no space left."
	return b
}

func job(failed bool) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "tokyo-db-1-major-upgrade", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "postgresql.cnpg.io/v1", Kind: "Cluster", Name: "tokyo-db", Controller: new(true),
		}},
	}}
	if failed {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Message: "x"}}
	}
	return j
}

func runs(since time.Duration, state corev1.ContainerState, change ...func(*batchv1.Job)) State {
	j := job(false)
	j.Status.StartTime = new(metav1.NewTime(dojotest.Noon.Add(-since)))
	for _, change := range change {
		change(j)
	}
	var pod corev1.Pod
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: jobRole, State: state}}
	return State{Backup: backup("completed"), Job: j, Pods: []corev1.Pod{pod}}
}

var (
	pulling = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	linking = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended   = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
)

func hasFailed(j *batchv1.Job) { j.Status = job(true).Status }

func hasSucceeded(j *batchv1.Job) { j.Status.Succeeded = 1 }

func TestCommitted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		state State
		want  bool
	}{
		"no Job":                                 {State{}, false},
		"no pod yet":                             {State{Job: job(false)}, false},
		"the image cannot be pulled":             {runs(0, pulling), false},
		"pg_upgrade runs":                        {runs(0, linking), true},
		"pg_upgrade has ended, the Job has not":  {runs(0, ended), true},
		"the Job has failed":                     {runs(0, ended, hasFailed), false},
		"the Job has succeeded":                  {runs(0, ended, hasSucceeded), true},
		"the Job has succeeded, its pod is gone": {State{Job: runs(0, ended, hasSucceeded).Job}, true},
	}
	for name, c := range cases {
		if got := committed(c.state.Job, c.state.Pods); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	other := runs(0, linking).Pods
	other[0].Status.ContainerStatuses[0].Name = "prepare"
	if committed(job(false), other) {
		t.Error("a container other than pg_upgrade's counts")
	}
}

func TestAnnotationsOfOthersAreKept(t *testing.T) {
	t.Parallel()
	dojo, live := dojotest.Dojo(wants("17")), pg("17", "16", 17)
	s := State{Images: images.Input{Catalog: dojotest.Catalog()}} // the Backup is gone
	want := cluster.For(dojo, live, s.Images)
	ownership.Annotate(want, corev1api.OriginAnnotation, "the Backup kyoto")
	verified := want.DeepCopy()
	change(dojo, live, s, corev1api.UpgradeVerifying).Make(want)
	during := map[string]string{
		images.Annotation:          "registry.example/postgres:17",
		corev1api.OriginAnnotation: "the Backup kyoto", fromAnnotation: "16", backupAnnotation: "tokyo-before-1",
	}
	if diff := cmp.Diff(during, want.GetAnnotations()); diff != "" {
		t.Error(diff)
	}
	after := map[string]string{
		images.Annotation: "registry.example/postgres:17", corev1api.OriginAnnotation: "the Backup kyoto",
	}
	in := Input{Cluster: live, Step: corev1api.UpgradeVerifying}
	Plan(dojo, s, in).Change.Make(verified)
	if diff := cmp.Diff(after, verified.GetAnnotations()); diff != "" {
		t.Error(diff)
	}
}

const fromArchive = "To go back, restore the archive of Postgres 16 to a Dojo beside this one, with " +
	"bootstrap.recovery.objectStore and the former serverName, as docs/do/upgrade-postgres.md says. To restore only the Backup" +
	": `kubectl dojo restore tokyo -n school --backup tokyo-before-1 --as NAME`. The writes between the " +
	"Backup and the stop of the pods are then lost."

func TestSteps(t *testing.T) {
	t.Parallel()
	const object = "upgrade of the Cluster school/tokyo-db from Postgres 16 to 17"
	const toBackUp = ", then run `kubectl dojo backup tokyo -n school`"
	const back = "To go back, set the version to 16 again" + toBackUp +
		". The data has not changed, so the Cluster starts with that version."
	type result struct {
		Step    corev1api.UpgradeStep
		Stops   bool
		Names   string // the version of the Cluster's image, and the former version
		Issue   string
		Message string
	}
	to17, to16 := dojotest.Dojo(wants("17")), dojotest.Dojo(wants("16"))
	long := dojotest.Dojo(wants("17"), dojotest.WaitingFor(object, time.Hour))
	slow := dojotest.Dojo(wants("17"), dojotest.WaitingFor("pods to end, before the "+object, time.Hour))
	none := State{}
	running, done, failed := State{Backup: backup("started")}, State{Backup: backup("completed")}, State{Backup: backup("failed")}
	upgrading, broken := State{Backup: done.Backup, Job: job(false)}, State{Backup: done.Backup, Job: job(true)}
	const restored = fromArchive
	const linked = "If the log does not name pg_control.old, set the version to 16 again" + toBackUp +
		". The data has not changed, so Postgres 16 starts. If the log names pg_control.old, or if there is no log any more, " +
		"Postgres 16 possibly cannot use the data any more. " + restored
	cases := map[string]struct {
		dojo    *corev1api.Dojo
		cluster *cnpgv1.Cluster
		state   State
		stopped bool
		want    result
	}{
		"no higher version":     {to16, pg("16", "", 16), none, false, result{"", false, "16 <- ", "", ""}},
		"another minor version": {dojotest.Dojo(wants("16")), pg("16.4", "", 16), none, false, result{"", false, "16.4 <- ", "", ""}},
		"no Cluster yet":        {to17, nil, none, false, result{"", false, "17 <- ", "", ""}},
		"no primary":            {to17, pg("16", "", 16, down), none, false, result{"Waiting", false, "16 <- ", "", ""}},
		"no backup yet":         {to17, pg("16", "", 16), none, false, result{"BackingUp", false, "16 <- ", "Progressing/Upgrading", "Waiting until the Backup"}},
		"the backup runs":       {to17, pg("16", "", 16), running, true, result{"BackingUp", false, "16 <- ", "Progressing/Upgrading", "before Postgres 16 is upgraded to 17."}},
		"the backup fails":      {to17, pg("16", "", 16), failed, true, result{"BackingUp", false, "16 <- ", "Degraded/UpgradeBackupFailed", "has failed: no space left. Nothing is upgraded. To retry, delete the Backup: `kubectl delete backups.postgresql.cnpg.io tokyo-before-"}},
		"the backup fails, advice about its configuration": {to17, pg("16", "", 16), failed, true, result{"BackingUp", false, "16 <- ", "Degraded/UpgradeBackupFailed", "If spec.postgres.cluster.backup is wrong, set the version to 16 again, correct that field" + toBackUp + ", then upgrade."}},
		"the snapshot fails, advice about its configuration": {dojotest.Dojo(wants("17"), bySnapshots), pg("16", "", 16), failed, true,
			result{"BackingUp", false, "16 <- ", "Degraded/UpgradeBackupFailed", "set the version to 16 again, correct that field, then upgrade."}},
		"no snapshot yet, and pods run": {dojotest.Dojo(wants("17"), bySnapshots), pg("16", "", 16), none, false,
			result{"Stopping", true, "16 <- ", "Progressing/Upgrading", "Waiting for the pods to end, before the " + object}},
		"no backup yet, without an archive of the log, and pods run": {dojotest.Dojo(wants("17"), withoutLog), pg("16", "", 16), none, false,
			result{"Stopping", true, "16 <- ", "Progressing/Upgrading", "Waiting for the pods to end, before the " + object}},
		"no snapshot yet, and no pod runs": {dojotest.Dojo(wants("17"), bySnapshots), pg("16", "", 16), none, true,
			result{"BackingUp", true, "16 <- ", "Progressing/Upgrading", "Waiting until the Backup"}},
		"the snapshot has failed, and no pod runs": {dojotest.Dojo(wants("17"), bySnapshots), pg("16", "", 16), failed, true,
			result{"BackingUp", false, "16 <- ", "Degraded/UpgradeBackupFailed", "To retry, delete the Backup: `kubectl delete backups.postgresql.cnpg.io tokyo-before-"}},
		"the snapshot has failed, and pods run": {dojotest.Dojo(wants("17"), bySnapshots), pg("16", "", 16), failed, false,
			result{"BackingUp", false, "16 <- ", "Degraded/UpgradeBackupFailed", "To retry, delete the Backup: `kubectl delete backups.postgresql.cnpg.io tokyo-before-"}},
		"backups not set up": {dojotest.Dojo(wants("17"), without), pg("16", "", 16), none, true, result{"BackingUp", false, "16 <- ", "Degraded/UpgradeNeedsBackup", "Set the version to 16 again, configure backups, then upgrade. To upgrade without a backup: `kubectl annotate dojos.core.jutsu.com tokyo -n school --overwrite core.jutsu.com/upgrade-without-backup=17`. If that upgrade fails, the data can be lost."}},
		"a user allows another upgrade without a backup": {dojotest.Dojo(wants("17"), without, allowing("16")), pg("16", "", 16), none, true,
			result{"BackingUp", false, "16 <- ", "Degraded/UpgradeNeedsBackup", "has not begun"}},
		"a user allows this upgrade without a backup": {dojotest.Dojo(wants("17"), without, allowing("17")), pg("16", "", 16), none, false,
			result{"Stopping", true, "16 <- ", "Progressing/Upgrading", "Waiting for the pods to end, before the " + object}},
		"pods run": {to17, pg("16", "", 16), done, false, result{"Stopping", true, "16 <- ", "Progressing/Upgrading", "Waiting for the pods to end"}},
		"pods run for long": {slow, pg("16", "", 16), done, false, result{"Stopping", true, "16 <- ", "Degraded/UpgradeFailed",
			"from Postgres 16 to 17: 1 still running, such as tokyo-1 on the node n. It has been like this for more than 10m0s; the operator still waits. See `kubectl dojo tree tokyo -n school`, and check that the pod's node is Ready. " + back}},
		"pods stopped, after a long time":          {slow, pg("16", "", 16), done, true, result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "Waiting for the " + object}},
		"pods stopped":                             {to17, pg("16", "", 16), done, true, result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "Waiting for the " + object}},
		"CloudNativePG upgrades":                   {to17, pg("17", "16", 16, down), upgrading, true, result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "Waiting for the " + object + ": Upgrading."}},
		"CloudNativePG upgrades for long":          {long, pg("17", "16", 16, down), upgrading, true, result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", back}},
		"pg_upgrade fails":                         {to17, pg("17", "16", 16, down), broken, true, result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", "The " + object + " has failed. Neither the application nor Postgres runs. See `kubectl logs job/tokyo-db-1-major-upgrade -n school`. " + linked}},
		"the Job fails after pg_upgrade has ended": {to17, pg("17", "16", 16, down), runs(0, ended, hasFailed), true, result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", linked}},
		"the Job fails before pg_upgrade runs": {to17, pg("17", "16", 16, down), runs(0, pulling, hasFailed), true,
			result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", "nor Postgres runs. See `kubectl describe job tokyo-db-1-major-upgrade -n school`. " + back}},
		"pg_upgrade fails, and a user reverts the upgrade": {to16, pg("17", "16", 16, down), broken, true, result{"Upgrading", true, "16 <- 16", "Progressing/Upgrading", "Waiting for the return of the Cluster school/tokyo-db to Postgres 16: Upgrading."}},
		"a user reverts the upgrade before pg_upgrade runs": {to16, pg("17", "16", 16, down), runs(0, pulling), true,
			result{"Upgrading", true, "16 <- 16", "Progressing/Upgrading", "to Postgres 16: Upgrading."}},
		"a user reverts the upgrade while pg_upgrade runs": {to16, pg("17", "16", 16, down), runs(0, linking), true,
			result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", object + ": Upgrading. pg_upgrade has begun. Postgres 16 cannot start before pg_upgrade has ended."}},
		"a user reverts the upgrade after pg_upgrade has succeeded": {to16, pg("17", "16", 16, down), runs(0, ended, hasSucceeded), true,
			result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "before pg_upgrade has ended."}},
		"pg_upgrade runs for long": {to17, pg("17", "16", 16, down), runs(time.Hour, linking), true,
			result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", "the operator still waits. See `kubectl logs job/tokyo-db-1-major-upgrade -n school`."}},
		"pg_upgrade has just begun, after a long wait for it": {long, pg("17", "16", 16, down), runs(time.Minute, linking), true,
			result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "pg_upgrade has begun"}},
		"the former version does not start": {
			dojotest.Dojo(wants("16"), dojotest.WaitingFor("return of the Cluster school/tokyo-db to Postgres 16", time.Hour)),
			pg("16", "16", 16, down), done, true,
			result{"Upgrading", true, "16 <- 16", "Degraded/UpgradeFailed", "pg_upgrade has changed the data. See `kubectl dojo logs tokyo postgres -n school`. If this log says that the data directory was initialized by a higher version, " +
				"set that version again. Otherwise do not set it: CloudNativePG would delete the data that pg_upgrade has written. " + restored}},
		"the former version does not start, and a user upgrades again": {to17, pg("16", "16", 16, down), done, true, result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "Waiting for the " + object}},
		"the former version runs again":                                {to16, pg("16", "16", 16), done, true, result{"Verifying", true, "16 <- 16", "", ""}},
		"the former version runs again, and a user upgrades again":     {to17, pg("16", "16", 16), done, true, result{"Verifying", true, "16 <- 16", "", ""}},
		"another version during an upgrade":                            {dojotest.Dojo(wants("18")), pg("17", "16", 16, down), upgrading, true, result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "from Postgres 16 to 17"}},
		"the primary starts":                                           {to17, pg("17", "16", 17, down), done, true, result{"Upgrading", true, "17 <- 16", "Progressing/Upgrading", "The data has the format of Postgres 17 now."}},
		"the primary does not start": {long, pg("17", "16", 17, down), done, true,
			result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", restored}},
		"the primary does not start, and the Backup is gone": {long, pg("17", "16", 17, down), none, true,
			result{"Upgrading", true, "17 <- 16", "Degraded/UpgradeFailed", "To go back, restore the backup tokyo-before-1 of Postgres 16. Its Backup object no longer exists"}},
		"the new version runs": {to17, pg("17", "16", 17), done, true, result{"Verifying", true, "17 <- 16", "", ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.state.Images = images.Input{Catalog: dojotest.Catalog()}
			step := Next(c.dojo, c.cluster, c.state, c.stopped)
			got := result{Step: step, Stops: RequiresStop(c.dojo, c.state, step)}
			in := Input{
				Input:   cnpg.Input{Now: dojotest.Noon, Deadline: 10 * time.Minute},
				Cluster: c.cluster, Step: step, Running: "1 still running, such as tokyo-1 on the node n",
			}
			want := cluster.For(c.dojo, c.cluster, c.state.Images)
			out := Plan(c.dojo, c.state, in)
			change(c.dojo, c.cluster, c.state, step).Make(want)
			image, _, _ := unstructured.NestedString(want.Object, "spec", "imageName")
			got.Names = images.VersionOf(image) + " <- " + want.GetAnnotations()[fromAnnotation]
			issue := out.Plan().Issues
			if issue != nil {
				got.Issue = dojotest.Worst(issue)
				if got.Message = issue[0].Message; strings.Contains(got.Message, c.want.Message) {
					got.Message = c.want.Message
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBackups(t *testing.T) {
	t.Parallel()
	dojo, cluster := dojotest.Dojo(wants("17"), bySnapshots), pg("16", "", 16)
	s := State{Images: images.Input{Catalog: dojotest.Catalog()}}
	plan := takeBefore(dojo, cluster, s, Input{}).Plan()
	if len(plan.Apply) != 1 || plan.Apply[0].Kind != "Backup" {
		t.Fatal(dojotest.Kinds(plan))
	}
	method, _, _ := unstructured.NestedString(plan.Apply[0].Desired.Object, "spec", "method")
	if method != "volumeSnapshot" {
		t.Errorf("the method is %q", method)
	}
	recorded := dojo.Status.Database.Upgrade
	recorded.RequestedAt = new(metav1.NewTime(dojotest.Noon.Add(30 * 24 * time.Hour)))
	if again := takeBefore(dojo, cluster, s, Input{}).Plan(); again.Apply[0].Name == plan.Apply[0].Name {
		t.Error("the same backup serves another upgrade")
	}
	recorded.Step = corev1api.UpgradeVerifying
	if next := takeBefore(dojo, cluster, s, Input{}).Plan(); len(next.Apply) > 0 || dojotest.Worst(next.Issues) != "Progressing/Upgrading" {
		t.Error("the record of the former upgrade counts for the next upgrade:", next)
	}
	dojo.Status.Database = nil
	if early := takeBefore(dojo, cluster, s, Input{}).Plan(); len(early.Apply) > 0 || dojotest.Worst(early.Issues) != "Progressing/Upgrading" {
		t.Error("a backup begins before the status records when the upgrade was requested:", early)
	}
	dojo = dojotest.Dojo(wants("17"))
	if takeAfter(dojo, pg("17", "16", 17), s) == nil || takeAfter(dojo, pg("16", "16", 16), s) != nil {
		t.Error("the first backup of the new version is not taken, or a first backup of the former version is")
	}
	s.After = backup("started")
	if takeAfter(dojo, pg("17", "16", 17), s) != nil {
		t.Error("the first backup of the new version is taken twice")
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	ours, others := job(true), job(true)
	others.OwnerReferences = nil
	for _, j := range []*batchv1.Job{ours, others} {
		j.Status.StartTime, j.Status.Succeeded = new(metav1.NewTime(dojotest.Noon)), 1
	}
	for _, j := range []*batchv1.Job{ours, others} {
		Strip(j, func(j *batchv1.Job) { ownership.Strip(j) })
	}
	if !failed(ours) || ours.Status.Conditions[0].Message != "" || failed(others) ||
		ours.Status.StartTime == nil || ours.Status.Succeeded != 1 || others.Status.StartTime != nil {
		t.Error(ours.Status, others.Status)
	}
}

func podOf(j *batchv1.Job, name string, controlled bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "school", Name: name, Labels: map[string]string{batchv1.JobNameLabel: j.Name},
	}}
	if controlled {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	return pod
}

func TestObserve(t *testing.T) {
	t.Parallel()
	in := images.Input{Catalog: dojotest.Catalog()}
	own := pg("17", "16", 16)
	theirs := job(true)
	theirs.Namespace, theirs.OwnerReferences[0].UID = "school", own.UID
	before := backup("completed")
	before.Namespace = "school"
	c := dojotest.NewCluster(t, theirs, before)
	c.Put(podOf(theirs, "its", true))
	c.Put(podOf(theirs, "forged", false))
	s, err := Observe(t.Context(), c.Reader(dojotest.Dojo()), dojotest.Dojo(wants("17")), own, in)
	if err != nil || s.Job == nil || s.Backup == nil || s.After != nil || len(s.Pods) != 1 || s.Pods[0].Name != "its" {
		t.Error(s, err)
	}
	s, err = Observe(t.Context(), c.Reader(dojotest.Dojo()), dojotest.Dojo(wants("16")), pg("16", "", 16), in)
	if err != nil || s.Job != nil || s.Backup != nil {
		t.Error("without an upgrade:", s, err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(wants("17"))
	s := State{Backup: backup("completed"), Images: images.Input{Catalog: dojotest.Catalog()}}
	for _, cluster := range []*cnpgv1.Cluster{pg("16", "", 16), pg("17", "16", 16), pg("17", "16", 17)} {
		want := &corev1api.UpgradeStatus{
			From: "16", To: "17", Step: "Stopping", Backup: "tokyo-before-1", RequestedAt: new(metav1.NewTime(dojotest.Noon)),
		}
		later := dojotest.Noon.Add(time.Hour)
		if diff := cmp.Diff(want, Status(dojo, cluster, s, corev1api.UpgradeStopping, later)); diff != "" {
			t.Error(diff)
		}
		unrecorded := dojotest.Dojo(wants("17"))
		unrecorded.Status.Database = nil
		want.RequestedAt = new(metav1.NewTime(later))
		if diff := cmp.Diff(want, Status(unrecorded, cluster, s, corev1api.UpgradeStopping, later)); diff != "" {
			t.Error(diff)
		}
	}
	if Status(dojo, pg("16", "", 16), s, "", dojotest.Noon) != nil {
		t.Error("without an upgrade, the status has one")
	}
	issue := verificationFailed(dojo, pg("17", "16", 17), s, "no.\n")
	const start = "Postgres 17 runs. No pod of the application starts, because the query that verifies the upgrade fails: no. "
	const command = "`kubectl dojo restore tokyo -n school --backup tokyo-before-1 --as NAME`."
	if want := start + fromArchive; issue.Message != want {
		t.Error(cmp.Diff(want, issue.Message))
	}
	want := start + "To go back, restore the Backup tokyo-before-1 of Postgres 16 to a Dojo beside this one: " + command
	unarchived := dojotest.Dojo(wants("17"), withoutLog)
	if got := verificationFailed(unarchived, pg("17", "16", 17), s, "no.\n").Message; got != want {
		t.Error(cmp.Diff(want, got))
	}
}
