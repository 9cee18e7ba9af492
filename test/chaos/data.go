// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/cnpgtest"
)

const (
	archive   = "chaos-data"
	dataSlots = 4
)

var versions = []string{"15", "16", "17"}

func dataName(slot int) string { return fmt.Sprintf("data-%d", slot) }

type acknowledged struct {
	dojo           types.UID
	name           string // of the Dojo
	cluster        types.UID
	database, text string
}

// ledger records rows that applications have committed, and Clusters that users have deleted.
type ledger struct {
	mu              sync.Mutex
	rows            []acknowledged
	deletedClusters map[types.UID]bool
	next            int
	// refused maps a Dojo's name to the error of its application's last write.
	refused map[string]string
}

func dataSetup() []client.Object {
	shared := postgresObject("Cluster", sharedCluster)
	shared.Object["spec"] = map[string]any{"instances": int64(1), "storage": map[string]any{"size": "1Gi"}}
	return []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: archive}}, shared}
}

func postgresObject(kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: kind})
	o.SetNamespace(archive)
	o.SetName(name)
	return o
}

func (r *run) createData(ctx context.Context, a action) (string, error) {
	random := a.random()
	d := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: archive, Name: dataName(a.slot)}}
	d.Spec.AccountID, d.Spec.Title = "Masamichi Yaga", "Archive"
	d.Spec.Postgres = &corev1api.Postgres{ReclaimPolicy: anyReclaimPolicy(random)}
	what := "the shared Cluster"
	if oneIn(random, 5) {
		d.Spec.Postgres.ClusterRef = &corev1api.ClusterReference{Name: sharedCluster}
	} else {
		own := &corev1api.PostgresCluster{Version: versions[0],
			Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")}}
		what = "a Cluster of Postgres " + own.Version
		if !oneIn(random, 3) {
			own.Backup = anyBackup(random)
			what += fmt.Sprintf(", backups by %s, a final one: %t", own.Backup.Method, own.Backup.FinalBackup)
		}
		d.Spec.Postgres.Cluster = own
	}
	return what + ", " + string(d.Spec.Postgres.ReclaimPolicy), r.create(ctx, d)
}

func anyBackup(random *rand.Rand) *corev1api.Backup {
	b := &corev1api.Backup{Schedule: "0 2 * * *", FinalBackup: oneIn(random, 2), Method: corev1api.BackupVolumeSnapshot}
	if oneIn(random, 2) {
		b.Method, b.Plugin = corev1api.BackupPlugin, &corev1api.BackupPluginSpec{
			Name: "barman-cloud.cloudnative-pg.io", Parameters: map[string]string{"barmanObjectName": "store"}}
	}
	return b
}

func anyReclaimPolicy(random *rand.Rand) corev1api.ReclaimPolicy {
	return pick(random, []corev1api.ReclaimPolicy{corev1api.ReclaimRetain, corev1api.ReclaimDelete})
}

func (r *run) editDataOf(ctx context.Context, slot int, change func(*corev1api.Dojo) string) (what string, err error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	d := &corev1api.Dojo{}
	if err := r.Admin.Get(ctx, types.NamespacedName{Namespace: archive, Name: dataName(slot)}, d); err != nil {
		return "", err
	}
	before := d.DeepCopy()
	what = change(d)
	return what, r.patch(ctx, d, before)
}

func (r *run) upgradeData(ctx context.Context, a action) (string, error) {
	random := a.random()
	return r.editDataOf(ctx, a.slot, func(d *corev1api.Dojo) string {
		version := pick(random, versions)
		if d.Spec.Postgres.Cluster == nil {
			return "none: the database is in the shared Cluster"
		}
		was := d.Spec.Postgres.Cluster.Version
		if db := d.Status.Database; db != nil && db.Upgrade != nil && oneIn(random, 2) {
			version = db.Upgrade.From
		}
		d.Spec.Postgres.Cluster.Version = version
		if d.Spec.Postgres.Cluster.Backup == nil && oneIn(random, 2) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.UpgradeWithoutBackupAnnotation, version)
		}
		return was + " to " + version
	})
}

func (r *run) retainData(ctx context.Context, a action) (string, error) {
	return r.editDataOf(ctx, a.slot, func(d *corev1api.Dojo) string {
		d.Spec.Postgres.ReclaimPolicy = anyReclaimPolicy(a.random())
		return string(d.Spec.Postgres.ReclaimPolicy)
	})
}

func (r *run) rotateData(ctx context.Context, a action) (string, error) {
	return r.editDataOf(ctx, a.slot, func(d *corev1api.Dojo) string {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.RotatePasswordAnnotation, uniqueWord(a.random()))
		return "by the annotation"
	})
}

func (r *run) deleteData(ctx context.Context, a action) (string, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return "deleted", r.Admin.Delete(ctx,
		&corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: archive, Name: dataName(a.slot)}})
}

func (r *run) loseCluster(ctx context.Context, a action) (string, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	c := postgresObject("Cluster", dataName(a.slot)+"-db")
	if err := r.Admin.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
		return "", err
	}
	return "Cluster " + c.GetName(), r.deleteCluster(ctx, c)
}

func (r *run) deleteCluster(ctx context.Context, c *unstructured.Unstructured) error {
	r.ledger.mu.Lock()
	r.ledger.deletedClusters[c.GetUID()] = true
	r.ledger.mu.Unlock()
	return r.Admin.Delete(ctx, c)
}

func (r *run) failUpgrades(ctx context.Context, a action) (string, error) {
	random, name := a.random(), dataName(a.slot)+"-db"
	how := pick(random, []struct {
		name    string
		outcome cnpgtest.Upgrades
	}{
		{"pend", cnpgtest.UpgradesPend}, {"run", cnpgtest.UpgradesRun}, {"fail", cnpgtest.UpgradesFail},
		{"fail while the files are linked", cnpgtest.UpgradesFailLinked},
		{"fail once the new data is in place", cnpgtest.UpgradesFailMoved},
	})
	r.Postgres.SetUpgrades(archive, name, how.outcome)
	while := time.Duration(5+random.IntN(15)) * time.Second
	r.later(ctx, while, func(context.Context) { r.Postgres.SetUpgrades(archive, name, cnpgtest.UpgradesSucceed) })
	return fmt.Sprintf("they %s for %s", how.name, while), nil
}

func (r *run) failBackups(ctx context.Context, a action) (string, error) {
	random, name := a.random(), dataName(a.slot)+"-db"
	phase := pick(random, []cnpgtest.BackupPhase{
		cnpgtest.BackupPending, cnpgtest.BackupStarted, cnpgtest.BackupFailed, cnpgtest.BackupFailed})
	r.Postgres.SetBackups(archive, name, phase)
	while := time.Duration(5+random.IntN(15)) * time.Second
	r.later(ctx, while, func(context.Context) { r.Postgres.SetBackups(archive, name, cnpgtest.BackupCompleted) })
	return fmt.Sprintf("they are %s for %s", phase, while), nil
}

func (r *run) pausePostgres(ctx context.Context, a action) (string, error) {
	name, while := dataName(a.slot)+"-db", time.Duration(1+a.random().IntN(8))*time.Second
	r.Postgres.Pause(archive, name)
	r.later(ctx, while, func(context.Context) { r.Postgres.Resume(archive, name) })
	return fmt.Sprintf("%s for %s", name, while), nil
}

var commands = regexp.MustCompile("`kubectl ((?:annotate|delete) [^`]*)`")

func (r *run) followMessage(ctx context.Context, a action) (string, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	d := &corev1api.Dojo{}
	if err := r.Admin.Get(ctx, types.NamespacedName{Namespace: archive, Name: dataName(a.slot)}, d); err != nil {
		return "", err
	}
	return r.follow(ctx, d, a.random())
}

func (r *run) follow(ctx context.Context, d *corev1api.Dojo, random *rand.Rand) (string, error) {
	ready := meta.FindStatusCondition(d.Status.Conditions, "Ready")
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return "nothing is advised", nil
	}
	all := commands.FindAllStringSubmatch(ready.Message, -1)
	if len(all) == 0 {
		return "no command is advised: " + ready.Reason, nil
	}
	command := pick(random, all)[1]
	return command, r.kubectl(ctx, strings.Fields(command))
}

// kindsInMessages has the kinds of the resources that the source of dojo-operator spells out in the
// commands that it advises.
var kindsInMessages = map[string]schema.GroupVersionKind{
	"backups.postgresql.cnpg.io":  {Group: "postgresql.cnpg.io", Version: "v1", Kind: "Backup"},
	"clusters.postgresql.cnpg.io": {Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"},
	"dojos.core.jutsu.com":        corev1api.GroupVersion.WithKind("Dojo"),
	"deployment":                  {Group: "apps", Version: "v1", Kind: "Deployment"},
	"job":                         {Group: "batch", Version: "v1", Kind: "Job"},
	"secret":                      {Version: "v1", Kind: "Secret"},
}

// kubectl runs "delete KIND NAME" or "annotate KIND NAME [--overwrite] KEY=VALUE" (or "KEY-").
func (r *run) kubectl(ctx context.Context, words []string) error {
	kind, ok := kindsInMessages[words[1]]
	if !ok {
		return fmt.Errorf("the resource %s in a message is not known", words[1])
	}
	o := postgresObject(kind.Kind, words[2])
	o.SetGroupVersionKind(kind)
	if words[0] == "delete" {
		return r.deleteAdvised(ctx, o)
	}
	key, value, set := strings.Cut(words[len(words)-1], "=")
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if !set {
		patch = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, strings.TrimSuffix(key, "-"))
	}
	return r.Admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
}

// deleteAdvised keeps a completed Backup, because a message about an earlier Backup of the same name
// can be stale.
func (r *run) deleteAdvised(ctx context.Context, o *unstructured.Unstructured) error {
	if err := r.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	uid, version := o.GetUID(), o.GetResourceVersion()
	switch {
	case o.GetKind() == "Cluster":
		return r.deleteCluster(ctx, o)
	case o.GetKind() == "Backup" && phase == "completed":
		return fmt.Errorf("the Backup %s has completed since the message was written", o.GetName())
	}
	return r.Admin.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
}

func (r *run) writeRows(ctx context.Context, _ action) (string, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	committed := 0
	for slot := range dataSlots {
		ok, err := r.writeRow(ctx, dataName(slot))
		if err != nil {
			return "", err
		}
		if ok {
			committed++
		}
	}
	return strconv.Itoa(committed) + " committed", nil
}

// writeRow lets a Dojo's application commit a row. It returns only errors of the API server.
func (r *run) writeRow(ctx context.Context, name string) (bool, error) {
	key := types.NamespacedName{Namespace: archive, Name: name}
	var d corev1api.Dojo
	var deployment appsv1.Deployment
	var secret corev1.Secret
	for _, o := range []client.Object{&d, &deployment, &secret} {
		if err := r.Admin.Get(ctx, key, o); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		key.Name = name
		if o == client.Object(&deployment) {
			key.Name += "-credentials"
		}
	}
	host, _, _ := strings.Cut(string(secret.Data["DB_ENDPOINT"]), ".")
	c := postgresObject("Cluster", strings.TrimSuffix(host, "-rw"))
	if err := r.Admin.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if deployment.Status.ReadyReplicas == 0 {
		return false, nil
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	r.ledger.next++
	row := acknowledged{d.UID, name, c.GetUID(), string(secret.Data["DB_NAME"]), fmt.Sprintf("row-%d", r.ledger.next)}
	err := r.Postgres.Insert(ctx, archive, c.GetName(), row.database, string(secret.Data["DB_USER"]),
		string(secret.Data["DB_PASS"]), row.text)
	delete(r.ledger.refused, name)
	if err != nil {
		r.ledger.refused[name] = err.Error()
		return false, nil
	}
	r.ledger.rows = append(r.ledger.rows, row)
	return true, nil
}

func (r *run) calmPostgres() {
	for slot := range dataSlots {
		name := dataName(slot) + "-db"
		r.Postgres.SetUpgrades(archive, name, cnpgtest.UpgradesSucceed)
		r.Postgres.SetBackups(archive, name, cnpgtest.BackupCompleted)
		r.Postgres.Resume(archive, name)
	}
}
