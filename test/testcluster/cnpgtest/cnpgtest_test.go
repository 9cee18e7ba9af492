// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/testcluster"
)

const waitLimit = time.Minute

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(gvk(kind))
	o.SetNamespace("default")
	o.SetName(name)
	return o
}

func in(ctx context.Context, c client.Client, o *unstructured.Unstructured, field string) func() any {
	return func() any {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", field)
		return value
	}
}

func testMember(
	t *testing.T, g *WithT, c client.Client, accepts func(role, password string) bool, role *unstructured.Unstructured,
) {
	t.Helper()
	member := role.DeepCopy()
	member.SetName("member")
	member.SetResourceVersion("")
	g.Expect(unstructured.SetNestedField(member.Object, "member", "spec", "name")).To(Succeed())
	g.Expect(unstructured.SetNestedField(member.Object, "member", "spec", "passwordSecret", "name")).To(Succeed())
	g.Expect(unstructured.SetNestedStringSlice(member.Object, []string{"nobody"}, "spec", "inRoles")).To(Succeed())
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "member"},
		StringData: map[string]string{"username": "member", "password": "x"},
	}
	g.Expect(c.Create(t.Context(), secret)).To(Succeed())
	g.Expect(c.Create(t.Context(), member)).To(Succeed())
	g.Eventually(in(t.Context(), c, member, "message")).Should(ContainSubstring(`role "nobody" does not exist`))
	change := func(value any, field string) {
		before := member.DeepCopy()
		g.Expect(unstructured.SetNestedField(member.Object, value, "spec", field)).To(Succeed())
		g.Expect(c.Patch(t.Context(), member, client.MergeFrom(before))).To(Succeed())
	}
	change([]any{"app"}, "inRoles")
	g.Eventually(accepts).WithArguments("member", "x").Should(BeTrue())
	change(false, "login")
	g.Eventually(accepts).WithArguments("member", "x").Should(BeFalse())
	g.Expect(c.Delete(t.Context(), member)).To(Succeed())
}

func testRows(t *testing.T, g *WithT, s *StandIn, pg *unstructured.Unstructured) {
	t.Helper()
	insert := func(cluster, database, password string) error {
		return s.Insert(t.Context(), "default", cluster, database, "app", password, "row")
	}
	g.Expect(insert("none", "app", "z")).To(MatchError(ContainSubstring("connection refused")))
	g.Expect(insert("pg", "app", "x")).To(MatchError(ContainSubstring("28P01")))
	g.Expect(insert("pg", "none", "z")).To(MatchError(ContainSubstring("3D000")))
	g.Expect(insert("pg", "app", "z")).To(Succeed())
	s.SetRole(t.Context(), "default", "pg", "app", "other")
	g.Expect(insert("pg", "app", "z")).To(MatchError(ContainSubstring("42501")), "the role other should not own the table")
	s.SetRole(t.Context(), "default", "pg", "app", "")
	g.Expect(s.Rows(pg.GetUID(), "app")).To(Equal([]string{"row"}))
	s.Pause("default", "pg")
	g.Expect(insert("pg", "app", "z")).To(MatchError(ContainSubstring("connection refused")))
	s.Resume("default", "pg")
}

func TestStandIn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crds, err := testcluster.CloudNativePGCRDs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{CRDs: []string{crds}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = cluster.Stop() })
	c, err := client.New(cluster.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	var sessions atomic.Int32
	s, err := Start(t.Context(), cluster.Config(), Options{
		RetryInterval: time.Second,
		Sessions:      func(context.Context, string, string) int { return int(sessions.Load()) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	t.Run("instances, roles, databases and backups", func(t *testing.T) { t.Parallel(); testObjects(t, s, c, &sessions) })
	t.Run("poolers and upgrades", func(t *testing.T) { t.Parallel(); testPoolersAndUpgrades(t, c, s) })
}

func testObjects(t *testing.T, s *StandIn, c client.Client, sessions *atomic.Int32) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(waitLimit)
	create := func(o client.Object) { g.Expect(c.Create(t.Context(), o)).To(Succeed()) }
	reads := func(o *unstructured.Unstructured, field string) func() any { return in(t.Context(), c, o, field) }
	inPG := map[string]any{"name": "pg"}

	pg := object("Cluster", "pg", map[string]any{
		"instances": int64(3), "storage": map[string]any{"size": "1Gi"}, "plugins": []any{map[string]any{"name": barmanCloud}},
	})
	create(pg)
	g.Eventually(reads(pg, "readyInstances")).Should(Equal(int64(3)))
	g.Expect(reads(pg, "image")()).To(Equal(Image))
	testInstances(t, g, s, c, pg)
	testBootstrap(t, g, s, c)

	database := object("Database", "app",
		map[string]any{"cluster": inPG, "name": "app", "owner": "app", "databaseReclaimPolicy": "delete"})
	role := object("DatabaseRole", "app", map[string]any{
		"cluster": inPG, "name": "app", "passwordSecret": map[string]any{"name": "app"},
		"databaseRoleReclaimPolicy": "delete", "login": true,
	})
	create(database)
	g.Eventually(reads(database, "message")).Should(ContainSubstring(`role "app" does not exist`))
	create(role)
	g.Eventually(reads(role, "message")).Should(ContainSubstring(`secrets "app" not found`))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app", Labels: map[string]string{reloadLabel: "true"}},
		StringData: map[string]string{"username": "app", "password": "x"},
	}
	create(secret)
	g.Eventually(reads(role, "secretResourceVersion")).Should(Equal(secret.ResourceVersion))
	g.Expect(reads(role, "applied")()).To(BeTrue())
	g.Eventually(reads(database, "applied")).Should(BeTrue())

	change := func(labels map[string]string, password string) {
		secret.Labels, secret.StringData = labels, map[string]string{"password": password}
		g.Expect(c.Update(t.Context(), secret)).To(Succeed())
	}
	noticed := secret.ResourceVersion
	change(nil, "y")
	g.Consistently(reads(role, "secretResourceVersion")).WithTimeout(5*interval).
		Should(Equal(noticed), "nothing announces the change")
	accepts := func(role, password string) bool { return s.Accepts("default", "pg", role, password) }
	g.Expect(accepts("app", "x")).To(BeTrue(), "Postgres does not know of the change")
	g.Expect(accepts("app", "y")).To(BeFalse())
	change(map[string]string{reloadLabel: "true"}, "z")
	g.Eventually(reads(role, "secretResourceVersion")).Should(Equal(secret.ResourceVersion))
	g.Expect(accepts("app", "x")).To(BeFalse(), "a role has one password")
	g.Expect(accepts("app", "z")).To(BeTrue())
	testRows(t, g, s, pg)
	testMember(t, g, c, accepts, role)

	sessions.Store(1)
	g.Expect(c.Delete(t.Context(), role)).To(Succeed())
	g.Eventually(reads(role, "message")).Should(ContainSubstring("2BP01"), "the role owns a database")
	g.Expect(c.Delete(t.Context(), database)).To(Succeed())
	g.Consistently(reads(database, "applied")).WithTimeout(5*interval).
		Should(BeTrue(), "a database with sessions is not dropped, and nothing reports it")
	sessions.Store(0)
	for _, o := range []*unstructured.Unstructured{database, role} {
		g.Eventually(reads(o, "applied")).Should(ContainSubstring("not found"), o.GetKind())
	}

	tooShort := object("ScheduledBackup", "five", map[string]any{"cluster": inPG, "schedule": "0 3 * * *", "method": "plugin"})
	create(tooShort)
	g.Eventually(reads(tooShort, "error")).Should(ContainSubstring("does not have six fields"))

	lastBackup := func() any {
		conditions, _ := in(t.Context(), c, pg, "conditions")().([]any)
		for _, condition := range conditions {
			if condition := condition.(map[string]any); condition["type"] == "LastBackupSucceeded" {
				return fmt.Sprint(condition["status"], "/", condition["reason"])
			}
		}
		return nil
	}
	s.SetBackups("default", "pg", BackupPending)
	schedule := object("ScheduledBackup", "pg", map[string]any{
		"cluster": inPG, "schedule": "0 0 3 1 1 *", "method": "plugin", "immediate": true,
	})
	create(schedule)
	g.Eventually(reads(schedule, "nextScheduleTime")).Should(ContainSubstring("-01-01T03:00:00Z"))
	var backups unstructured.UnstructuredList
	backups.SetGroupVersionKind(gvk("BackupList"))
	g.Expect(c.List(t.Context(), &backups)).To(Succeed())
	g.Expect(backups.Items).To(HaveLen(1))
	first := &backups.Items[0]
	g.Expect(first.GetLabels()).To(Equal(map[string]string{
		"cnpg.io/cluster": "pg", "cnpg.io/scheduled-backup": "pg", "cnpg.io/immediateBackup": "true",
	}))
	g.Expect(c.Delete(t.Context(), schedule)).To(Succeed())
	again := object("ScheduledBackup", "pg", map[string]any{
		"cluster": inPG, "schedule": "0 0 3 1 1 *", "method": "plugin", "immediate": true,
	})
	create(again)
	g.Eventually(reads(again, "lastScheduleTime")).Should(Equal(first.GetCreationTimestamp().UTC().Format(time.RFC3339)))
	g.Expect(c.List(t.Context(), &backups)).To(Succeed())
	g.Expect(backups.Items).To(HaveLen(1), "the schedule should use the former schedule's Backup")
	g.Eventually(reads(first, "phase")).Should(Equal("pending"))
	g.Expect(lastBackup()).To(BeNil())
	s.SetBackups("default", "pg", BackupStarted)
	g.Eventually(reads(first, "phase")).Should(Equal("started"))
	g.Eventually(lastBackup).Should(Equal("False/BackupStarted"))
	second := object("Backup", "second", map[string]any{"cluster": inPG, "method": "plugin"})
	create(second)
	g.Eventually(reads(second, "phase")).Should(Equal("pending"), "one Backup runs at a time")
	s.SetBackups("default", "pg", BackupFailed)
	for _, backup := range []*unstructured.Unstructured{first, second} {
		g.Eventually(reads(backup, "phase")).Should(Equal("failed"))
		g.Expect(reads(backup, "error")()).To(Equal(backupError))
	}
	g.Eventually(lastBackup).Should(Equal("False/LastBackupFailed"))
	s.SetBackups("default", "pg", BackupInvalid)
	invalid := object("Backup", "invalid", map[string]any{"cluster": inPG, "method": "plugin"})
	create(invalid)
	g.Eventually(reads(invalid, "phase")).Should(Equal("invalid backup definition"))
	g.Expect(lastBackup()).To(Equal("False/LastBackupFailed"))
	s.SetBackups("default", "pg", BackupCompleted)
	waiting := object("Backup", "waiting", map[string]any{"cluster": inPG, "method": "plugin"})
	create(waiting)
	g.Eventually(reads(waiting, "phase")).Should(Equal("pending"), "the invalid Backup does not end")
	g.Expect(c.Delete(t.Context(), invalid)).To(Succeed())
	g.Eventually(reads(waiting, "phase")).Should(Equal("completed"))
	last := object("Backup", "last", map[string]any{"cluster": inPG, "method": "plugin"})
	create(last)
	g.Eventually(reads(last, "phase")).Should(Equal("completed"))
	g.Expect(reads(last, "stoppedAt")()).NotTo(BeNil())
	g.Eventually(lastBackup).Should(Equal("True/LastBackupSucceeded"))
	testRefusedBackups(t, g, c, pg, func(name string) func() any {
		backup := object("Backup", name, map[string]any{"cluster": inPG, "method": "plugin"})
		create(backup)
		return reads(backup, "error")
	})
}

func testRefusedBackups(
	t *testing.T, g *WithT, c client.Client, pg *unstructured.Unstructured, backUp func(name string) func() any,
) {
	t.Helper()
	patch := func(text string) {
		t.Helper()
		g.Expect(c.Patch(t.Context(), pg, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
	}
	patch(`{"spec":{"plugins":null}}`)
	g.Eventually(backUp("without")).Should(Equal(noPluginError))
	patch(`{"metadata":{"annotations":{"cnpg.io/hibernation":"on"}}}`)
	g.Eventually(backUp("asleep")).Should(Equal(hibernatedError))
	patch(`{"metadata":{"annotations":{"cnpg.io/hibernation":null}},"spec":{"plugins":[{"name":"barman"}]}}`)
	g.Eventually(func() string {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(pg), pg)).To(Succeed())
		return phaseOfCluster(pg)
	}).Should(Equal(unknownPlugin))
	g.Consistently(backUp("unknown")).WithTimeout(time.Second).Should(BeNil(), "the Backup should be retried")
}

func testInstances(t *testing.T, g *WithT, s *StandIn, c client.Client, pg *unstructured.Unstructured) {
	t.Helper()
	shows := func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pg), pg); err != nil {
			return err.Error()
		}
		status, _, _ := unstructured.NestedMap(pg.Object, "status")
		ready := ""
		for _, condition := range status["conditions"].([]any) {
			if condition := condition.(map[string]any); condition["type"] == "Ready" {
				ready = condition["status"].(string)
			}
		}
		return fmt.Sprint(status["phase"], ", ", status["currentPrimary"], " to ", status["targetPrimary"], ", ",
			status["readyInstances"], " ready of ", status["instancesStatus"], ", Ready ", ready)
	}
	const well = "Cluster in healthy state, pg-1 to pg-1, 3 ready of map[healthy:[pg-1 pg-2 pg-3]], Ready True"
	g.Eventually(shows).Should(Equal(well))
	s.SetReadyInstances("default", "pg", 1)
	g.Eventually(shows).Should(Equal("Creating a new replica, pg-1 to pg-1, 1 ready of map[healthy:[pg-1]], Ready False"))
	s.SetReadyInstances("default", "pg", -1)
	s.FillDisk("default", "pg", true)
	g.Eventually(shows).Should(Equal("Not enough disk space, pg-1 to pg-1, 2 ready of map[healthy:[pg-2 pg-3]], Ready False"))
	s.FillDisk("default", "pg", false)
	s.FailPrimary("default", "pg")
	g.Eventually(shows).Should(Equal("Failing over, pg-1 to pending, 2 ready of map[healthy:[pg-2 pg-3]], Ready False"))
	s.Promote("default", "pg")
	g.Eventually(shows).Should(Equal(
		"Cluster in healthy state, pg-2 to pg-2, 3 ready of map[healthy:[pg-2 pg-3 pg-1]], Ready True"))
	s.Promote("default", "pg")
	s.Promote("default", "pg")
	g.Eventually(shows).Should(Equal(well))

	for _, name := range []string{"pg-rw", "pg-ro", "pg-r"} {
		service := &corev1.Service{}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, service)).To(Succeed())
		g.Expect(metav1.IsControlledBy(service, pg)).To(BeTrue())
	}
	secret := &corev1.Secret{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "pg-app"}, secret)).To(Succeed())
	g.Expect(secret.Data).To(And(HaveKeyWithValue("username", []byte("app")), HaveKeyWithValue("host", []byte("pg-rw"))))
	budget := &policyv1.PodDisruptionBudget{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(pg), budget)).To(Succeed())
	budget.Spec.MinAvailable = new(intstr.FromInt32(7))
	g.Expect(c.Update(t.Context(), budget)).To(Succeed())
	g.Eventually(func() *intstr.IntOrString {
		_ = c.Get(t.Context(), client.ObjectKeyFromObject(pg), budget)
		return budget.Spec.MinAvailable
	}).Should(HaveValue(Equal(intstr.FromInt32(1))), "the stand-in should restore a changed budget")
}

func testBootstrap(t *testing.T, g *WithT, s *StandIn, c client.Client) {
	t.Helper()
	from := func(name string, bootstrap map[string]any, external ...any) *unstructured.Unstructured {
		o := object("Cluster", name, map[string]any{
			"instances": int64(1), "storage": map[string]any{"size": "1Gi"}, "bootstrap": bootstrap, "externalClusters": external,
		})
		g.Expect(c.Create(t.Context(), o)).To(Succeed())
		return o
	}
	failed := func(job string) func() any {
		return func() any {
			live := &batchv1.Job{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: job}, live); err != nil {
				return err.Error()
			}
			return live.Status.Failed
		}
	}
	s.FailBootstrap("default", "restored", 2)
	restored := from("restored", map[string]any{"recovery": map[string]any{"source": "origin"}},
		map[string]any{"name": "origin", "plugin": map[string]any{"name": "x"}})
	g.Eventually(failed("restored-1-full-recovery")).Should(Equal(int32(2)))
	g.Expect(in(t.Context(), c, restored, "currentPrimary")()).To(BeZero(), "there is no data")
	s.FailBootstrap("default", "restored", 0)
	g.Eventually(in(t.Context(), c, restored, "currentPrimary")).Should(Equal("restored-1"))
	g.Expect(failed("restored-1-full-recovery")()).To(ContainSubstring("not found"))

	snapshot := from("snapshot", map[string]any{"recovery": map[string]any{"backup": map[string]any{"name": "none"}}})
	g.Consistently(in(t.Context(), c, snapshot, "readyInstances")).WithTimeout(5*interval).
		ShouldNot(Equal(int64(1)), "without the Backup it does not begin")
	g.Expect(failed("snapshot-1-snapshot-recovery")()).To(ContainSubstring("not found"))

	imported := from("imported", map[string]any{"initdb": map[string]any{"import": map[string]any{
		"type": "microservice", "databases": []any{"a"}, "source": map[string]any{"externalCluster": "origin"},
	}}}, map[string]any{"name": "origin", "password": map[string]any{"name": "legacy", "key": "password"}})
	g.Eventually(failed("imported-1-import")).Should(Equal(int32(1)), "there is no password")
	g.Expect(c.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "legacy"}, StringData: map[string]string{"password": "x"},
	})).To(Succeed())
	g.Eventually(in(t.Context(), c, imported, "currentPrimary")).Should(Equal("imported-1"))
}
