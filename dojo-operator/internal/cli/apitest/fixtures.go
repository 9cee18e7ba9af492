// SPDX-License-Identifier: Apache-2.0

// Package apitest provides a simulated API server and the objects of a test Dojo.
package apitest

import (
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

// Server simulates the API server.
type Server = kubectltest.Server

// New starts a Server with the given objects, and stops it at the end of the test.
func New(t *testing.T, objects ...client.Object) *Server {
	t.Helper()
	return kubectltest.New(t, kinds.Scheme(), kinds.All(), objects...)
}

// Now is the current time in the tests.
var Now = time.Date(2026, 11, 24, 2, 55, 0, 0, time.UTC)

// Namespace is the namespace of the Dojo.
const Namespace = "team-a"

func at(day, hour, minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC))
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: Namespace, Name: name, UID: types.UID("uid of " + name), Generation: 1, CreationTimestamp: at(21, 10, 0),
	}
}

func owned(d *corev1api.Dojo, name string) metav1.ObjectMeta {
	m := meta(name)
	m.Labels = ownership.Labels(d, ownership.Application)
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, corev1api.GroupVersion.WithKind("Dojo"))}
	return m
}

func data(d *corev1api.Dojo) metav1.ObjectMeta {
	m := meta("sendai-db")
	m.Labels = ownership.Labels(d, ownership.Application)
	return m
}

// Condition returns a condition of a Dojo. status is "True" or "False".
func Condition(kind, status, reason, message string, since metav1.Time) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: since,
	}
}

// Sendai returns a ready Dojo with its own Cluster, backups and alerts.
func Sendai(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	d := &corev1api.Dojo{ObjectMeta: meta("sendai")}
	d.Spec = corev1api.DojoSpec{
		AccountID: "Kiyotaka Ijichi", Title: "Sendai Jujutsu High", Replicas: new(int32(1)),
		Database: corev1api.DatabasePostgres, Image: "danijelradakovic/dojo:0.1.0-alpine",
		Postgres: &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{
			Version: "18", Instances: new(int32(3)),
			Storage: corev1api.PostgresStorage{Size: resource.MustParse("10Gi"), StorageClassName: "fast"},
			Backup: &corev1api.Backup{
				Schedule: "0 1 * * *", Method: corev1api.BackupPlugin, Plugin: &corev1api.BackupPluginSpec{
					Name: "barman-cloud.cloudnative-pg.io", Parameters: map[string]string{"barmanObjectName": "backups"},
				},
			},
		}},
		Alerts: &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{
			GroupRef: &corev1api.DiscordGroupReference{Name: "alerts"},
		}},
	}
	next := at(25, 1, 0)
	d.Status = corev1api.DojoStatus{
		ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyStatus: "1/1",
		Endpoint: "sendai.team-a.svc:80",
		Conditions: []metav1.Condition{
			Condition(conditions.TypeReady, "True", conditions.ReasonReconciled, "The object matches its spec.", at(21, 10, 3)),
			Condition(conditions.TypeAvailable, "True", corev1api.ReasonReplicasReady, "1 of 1 pods are ready.", at(21, 10, 3)),
			Condition(conditions.TypeDegraded, "False", conditions.ReasonReconciled, "", at(21, 10, 0)),
			Condition(conditions.TypeProgressing, "False", conditions.ReasonReconciled, "", at(21, 10, 3)),
			Condition(corev1api.ConditionDatabaseReady, "True", corev1api.ReasonDatabaseReady, "", at(21, 10, 2)),
			Condition(corev1api.ConditionBackupSucceeded, "True", corev1api.ReasonBackupSucceeded, "", at(22, 1, 0)),
			Condition(corev1api.ConditionAlertsReady, "True", corev1api.ReasonAlertsReady, "", at(21, 10, 3)),
		},
		Database: &corev1api.DatabaseStatus{
			ClusterName: "sendai-db", ClusterUID: "uid of sendai-db", Name: "dojo_team_a_sendai", Host: "sendai-db-rw",
			ReadOnlyHost: "sendai-db-ro", Login: "dojo_team_a_sendai", Version: "18.1", Instances: "3/3",
			Primary:    "sendai-db-1",
			LastBackup: &corev1api.CompletedBackup{Name: "sendai-db-20261124010000", Time: at(24, 1, 0)},
			NextBackup: &next,
		},
		Alerts: &corev1api.AlertsStatus{ChannelName: "sendai-alerts", ChannelURL: "https://discord.com/channels/1/2"},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// Set returns a change that adds a status condition, or replaces the condition of the same type.
func Set(c metav1.Condition) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		for i := range d.Status.Conditions {
			if d.Status.Conditions[i].Type == c.Type {
				d.Status.Conditions[i] = c
				return
			}
		}
		d.Status.Conditions = append(d.Status.Conditions, c)
	}
}

// Lost sets the conditions that a Dojo has after the loss of its Cluster.
func Lost(d *corev1api.Dojo) {
	const reason = corev1api.ReasonDatabaseLost
	const message = "The Cluster team-a/sendai-db is gone, with the data of the Dojo, and no empty one is created in " +
		"its place."
	since := at(24, 2, 51)
	Set(Condition(conditions.TypeReady, "False", reason, message, since))(d)
	Set(Condition(conditions.TypeDegraded, "True", reason, message, since))(d)
	Set(Condition(corev1api.ConditionDatabaseReady, "False", reason, message, since))(d)
	Set(Condition(conditions.TypeAvailable, "False", corev1api.ReasonDatabaseUnreachable,
		"Requests cannot reach Postgres.", since))(d)
}

// Children returns the objects of a healthy Dojo.
func Children(d *corev1api.Dojo) []client.Object {
	replicas := new(int32(1))
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: "sendai-6f7c-x2p", Labels: ownership.Selector(d), CreationTimestamp: at(21, 10, 2),
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "dojo", Image: d.Spec.Image, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: ready,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "dojo", Ready: true}},
		},
	}
	job := &batchv1.Job{ObjectMeta: owned(d, "sendai-schema-0a1b2c3d")}
	job.Labels = ownership.Labels(d, ownership.Schema)
	job.Status.Conditions = []batchv1.JobCondition{{
		Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at(21, 10, 2),
	}}
	secret := func(m metav1.ObjectMeta, values map[string]string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: m, Data: map[string][]byte{}}
		for key, value := range values {
			s.Data[key] = []byte(value)
		}
		return s
	}
	all := []client.Object{
		&appsv1.Deployment{
			ObjectMeta: owned(d, "sendai"), Spec: appsv1.DeploymentSpec{Replicas: replicas},
			Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1},
		},
		&corev1.Service{ObjectMeta: owned(d, "sendai"), Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.12", Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
		}},
		pod, job,
		secret(owned(d, "sendai-credentials"), map[string]string{
			"DB_ENDPOINT": "sendai-db-rw", "DB_NAME": "dojo_team_a_sendai", "DB_USER": "dojo_team_a_sendai",
			"DB_PASS": "planted-password",
		}),
		secret(data(d), map[string]string{"password": "planted-password"}),
		secret(owned(d, "sendai-alertmanager"), map[string]string{"url": "https://discord.com/api/webhooks/1/planted-hook"}),
		monitoringObject(d, kinds.ServiceMonitor), monitoringObject(d, kinds.Rule), monitoringObject(d, kinds.Route),
		&discordv1alpha1.DiscordChannel{
			ObjectMeta: owned(d, "sendai-alerts"),
			Status: discordv1alpha1.DiscordChannelStatus{
				ChannelURL: "https://discord.com/channels/1/2",
				Conditions: []metav1.Condition{
					Condition(conditions.TypeReady, "True", conditions.ReasonReconciled, "", at(21, 10, 1)),
				},
			},
		},
	}
	return append(all, Database(d)...)
}

func monitoringObject(d *corev1api.Dojo, kind kinds.Kind) client.Object {
	o := kind.Object()
	m := owned(d, "sendai")
	o.SetNamespace(m.Namespace)
	o.SetName(m.Name)
	o.SetLabels(m.Labels)
	o.SetOwnerReferences(m.OwnerReferences)
	return o
}

// Database returns a Dojo's CloudNativePG objects, the pod of Postgres, and the ObjectStore.
func Database(d *corev1api.Dojo) []client.Object {
	next := at(25, 1, 0)
	instance := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: "sendai-db-1", CreationTimestamp: at(21, 10, 0), Labels: map[string]string{
				"cnpg.io/cluster": "sendai-db", "cnpg.io/podRole": "instance", "cnpg.io/instanceRole": "primary",
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "postgres", Ready: true}},
		},
	}
	return []client.Object{
		Cluster(d), instance,
		&cnpgv1.DatabaseRole{
			ObjectMeta: data(d),
			Spec:       cnpgv1.DatabaseRoleSpec{RoleConfiguration: cnpgv1.RoleConfiguration{Login: true}},
			Status:     cnpgv1.DatabaseRoleStatus{Applied: new(true), ObservedGeneration: 1},
		},
		&cnpgv1.Database{
			ObjectMeta: data(d), Status: cnpgv1.DatabaseStatus{Applied: new(true), ObservedGeneration: 1},
		},
		&cnpgv1.ScheduledBackup{
			ObjectMeta: data(d), Status: cnpgv1.ScheduledBackupStatus{NextScheduleTime: &next},
		},
		Backup("sendai-db-20261122010000", at(22, 1, 0)), Backup("sendai-db-20261124010000", at(24, 1, 0)), Store(nil),
	}
}

// Cluster returns the Cluster of a Dojo, with a primary.
func Cluster(d *corev1api.Dojo) *cnpgv1.Cluster {
	return &cnpgv1.Cluster{
		ObjectMeta: data(d),
		Spec: cnpgv1.ClusterSpec{
			Instances: 3, ImageName: "ghcr.io/cloudnative-pg/postgresql:18.1",
			Plugins: []cnpgv1.PluginConfiguration{{
				Name: "barman-cloud.cloudnative-pg.io", Parameters: map[string]string{"barmanObjectName": "backups"},
			}},
		},
		Status: cnpgv1.ClusterStatus{
			ReadyInstances: 3, CurrentPrimary: "sendai-db-1", TargetPrimary: "sendai-db-1", Phase: "Cluster in healthy state",
			Image:           "ghcr.io/cloudnative-pg/postgresql:18.1",
			InstancesStatus: map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"sendai-db-1", "sendai-db-2", "sendai-db-3"}},
			Conditions: []metav1.Condition{
				Condition(string(cnpgv1.ConditionContinuousArchiving), "True", "ContinuousArchivingSuccess", "", at(21, 10, 1)),
			},
		},
	}
}

// Backup returns a completed Backup in the ObjectStore named backups.
func Backup(name string, ended metav1.Time) *cnpgv1.Backup {
	m := meta(name)
	m.CreationTimestamp = ended
	return &cnpgv1.Backup{
		ObjectMeta: m,
		Spec: cnpgv1.BackupSpec{
			Cluster: cnpgv1.LocalObjectReference{Name: "sendai-db"}, Method: cnpgv1.BackupMethodPlugin,
			PluginConfiguration: &cnpgv1.BackupPluginConfiguration{
				Name: "barman-cloud.cloudnative-pg.io", Parameters: map[string]string{"barmanObjectName": "backups"},
			},
		},
		Status: cnpgv1.BackupStatus{
			Phase: cnpgv1.BackupPhaseCompleted, StoppedAt: &ended, BackupID: ended.Format("20060102T150405"), MajorVersion: 18,
		},
	}
}

// Store returns the ObjectStore named backups. windows maps a serverName to the first recoverable
// time and the time of the last backup.
func Store(windows map[string][2]metav1.Time) *unstructured.Unstructured {
	o := kinds.ObjectStore.Object()
	o.SetNamespace(Namespace)
	o.SetName("backups")
	all := map[string]any{}
	for server, window := range windows {
		all[server] = map[string]any{
			"firstRecoverabilityPoint": window[0].Format(time.RFC3339),
			"lastSuccessfulBackupTime": window[1].Format(time.RFC3339),
		}
	}
	o.Object["status"] = map[string]any{"serverRecoveryWindow": all}
	return o
}

// At returns a moment of November 2026, in UTC.
func At(day, hour, minute int) metav1.Time { return at(day, hour, minute) }
