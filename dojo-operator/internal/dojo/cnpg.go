package dojo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/conditions"
)

// What we know of CloudNativePG, 1.30 or newer (https://github.com/cloudnative-pg/cloudnative-pg/tree/v1.30.0/api/v1), is in this file and
// in backup.go.
var (
	clusterKind      = cnpg("Cluster", "clusters")
	roleKind         = cnpg("DatabaseRole", "databaseroles")
	databaseKind     = cnpg("Database", "databases")
	scheduleKind     = cnpg("ScheduledBackup", "scheduledbackups")
	backupKind       = cnpg("Backup", "backups")
	databaseKinds    = []optional.Kind{clusterKind, roleKind, databaseKind, scheduleKind, backupKind}
	hibernation      = "cnpg.io/hibernation"
	reloadLabel      = "cnpg.io/reload" // on a Secret: CloudNativePG follows its changes
	reclaimRetain    = "retain"
	reclaimDelete    = "delete"
	postgresPort     = "5432"
	mostPostgresName = 63
	lastBackup       = "LastBackupSucceeded" // condition of a Cluster
)

func cnpg(kind, plural string) optional.Kind {
	return optional.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: kind}, Plural: plural}
}

// OptionalKinds are those that a cluster may or may not have and that are watched while it has them.
func OptionalKinds() []optional.Kind {
	return slices.Concat(databaseKinds, monitoringKinds, alertKinds)
}

// An instance manager looks at a new DatabaseRole before CloudNativePG's operator has allowed it to read the role's password, a tenth of a second
// later, and then not again for 30 seconds: both watch the same object (internal/management/controller/databaserole_controller.go,
// internal/controller/cluster_create.go). Any change of the DatabaseRole makes it look at once.
const (
	// askedAnnotation on a DatabaseRole is when it was last changed for that, in RFC 3339.
	askedAnnotation = "core.jutsu.com/asked-again"
	firstAsk        = time.Second
	lastPause       = 8 * time.Second // after the next one CloudNativePG's own retry would come sooner
)

// untilAsked is how long until CloudNativePG should be asked to look again at a role whose password it may not read: a second after the role
// was made, then after twice the time each, and false where that is no use.
func untilAsked(role *unstructured.Unstructured, s appliedState, now time.Time) (wait time.Duration, ask bool) {
	if s.applied == nil || *s.applied || !strings.Contains(s.message, " is forbidden: ") {
		return 0, false
	}
	made, last := role.GetCreationTimestamp().Time, role.GetCreationTimestamp().Time
	if at, err := time.Parse(time.RFC3339, role.GetAnnotations()[askedAnnotation]); err == nil {
		last = later(last, at)
	}
	pause := max(firstAsk, last.Sub(made))
	return last.Add(pause).Sub(now), pause <= lastPause
}

const databaseSuffix = "-db"

// databaseObject is the name of every object of the database: the Secret with its password, the role, the database, the Cluster.
func databaseObject(d *corev1api.Dojo) string { return d.Name + databaseSuffix }

// clusterName is the name of the Cluster that holds the database.
func clusterName(d *corev1api.Dojo) string {
	if ref := d.Spec.Postgres.ClusterRef; ref != nil {
		return ref.Name
	}
	return databaseObject(d)
}

// postgresHost is the Service of the Cluster's primary.
func postgresHost(d *corev1api.Dojo) string { return clusterName(d) + "-rw" }

// postgresName is what the database and its owner are called in Postgres. The namespace is part of it for whoever looks into Postgres
// from within. Names cannot collide: no name of Kubernetes has an underscore, and one that is cut ends with a hash of the whole.
func postgresName(d *corev1api.Dojo) string {
	name := strings.ReplaceAll("dojo_"+d.Namespace+"_"+d.Name, "-", "_")
	if len(name) <= mostPostgresName {
		return name
	}
	return name[:mostPostgresName-9] + "_" + shortHash(d.Namespace+"/"+d.Name)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// reclaim is the policy in CloudNativePG's words.
func reclaim(d *corev1api.Dojo) string {
	if d.Spec.Postgres.ReclaimPolicy == corev1api.ReclaimDelete {
		return reclaimDelete
	}
	return reclaimRetain
}

// roleFor returns the role, with the mark of the live one of when CloudNativePG was last asked to look at it again, if ever.
func roleFor(d *corev1api.Dojo, live *unstructured.Unstructured) *unstructured.Unstructured {
	role := custom(d, roleKind, databaseObject(d), map[string]any{
		"cluster":                   map[string]any{"name": clusterName(d)},
		"name":                      postgresName(d),
		"comment":                   fmt.Sprintf("owner of the database of Dojo %s/%s", d.Namespace, d.Name),
		"login":                     true,
		"passwordSecret":            map[string]any{"name": databaseObject(d)},
		"databaseRoleReclaimPolicy": reclaim(d),
	})
	if live != nil && live.GetAnnotations()[askedAnnotation] != "" {
		role.SetAnnotations(map[string]string{askedAnnotation: live.GetAnnotations()[askedAnnotation]})
	}
	return role
}

func databaseFor(d *corev1api.Dojo) *unstructured.Unstructured {
	return custom(d, databaseKind, databaseObject(d), map[string]any{
		"cluster":               map[string]any{"name": clusterName(d)},
		"name":                  postgresName(d),
		"owner":                 postgresName(d),
		"databaseReclaimPolicy": reclaim(d),
	})
}

// clusterFor returns the Cluster of a Dojo that has one of its own. Nothing that is empty may be sent: CloudNativePG compares some
// fields with what the API server made of them, and would restart the primary for ever.
func clusterFor(d *corev1api.Dojo, cfg Config) *unstructured.Unstructured {
	want := d.Spec.Postgres.Cluster
	storage := map[string]any{"size": want.Storage.Size.String()}
	if class := want.Storage.StorageClassName; class != "" {
		storage["storageClass"] = class
	}
	spec := map[string]any{
		"description": fmt.Sprintf("database of Dojo %s/%s", d.Namespace, d.Name),
		"instances":   int64(ptr.Deref(want.Instances, 1)),
		"storage":     storage,
	}
	switch {
	case want.ImageName != "":
		spec["imageName"] = want.ImageName
	case want.Version != "":
		spec["imageName"] = cfg.PostgresImage + ":" + want.Version
	}
	if want.Resources != nil {
		if resources := generic[map[string]any](want.Resources); len(resources) > 0 {
			spec["resources"] = resources
		}
	}
	addBackup(spec, want.Backup)
	return custom(d, clusterKind, databaseObject(d), spec)
}

// clusterState is what a decision rests on of a Cluster's status.
type clusterState struct {
	phase, image  string
	ready, wanted int64
	primary       string
	hibernates    bool
	readySince    time.Time         // when the Ready condition last flipped
	backup        *metav1.Condition // how the last backup ended, nil before the first
}

func stateOfCluster(o *unstructured.Unstructured) clusterState {
	var s clusterState
	if o == nil {
		return s
	}
	s.phase, _, _ = unstructured.NestedString(o.Object, "status", "phase")
	s.image, _, _ = unstructured.NestedString(o.Object, "status", "image")
	s.primary, _, _ = unstructured.NestedString(o.Object, "status", "currentPrimary")
	s.ready, _, _ = unstructured.NestedInt64(o.Object, "status", "readyInstances")
	s.wanted, _, _ = unstructured.NestedInt64(o.Object, "spec", "instances")
	s.hibernates = o.GetAnnotations()[hibernation] == "on"
	s.readySince = o.GetCreationTimestamp().Time
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		switch c := generic[metav1.Condition](item); c.Type {
		case conditions.Ready:
			s.readySince = later(s.readySince, c.LastTransitionTime.Time)
		case lastBackup:
			s.backup = &c
		}
	}
	return s
}

// up reports whether Postgres can be reached. The Ready condition does not tell: it stays True in hibernation.
func (s clusterState) up() bool { return s.ready > 0 && s.primary != "" && !s.hibernates }

// whole reports whether all instances are there.
func (s clusterState) whole() bool { return s.ready >= s.wanted }

// appliedState is what the instance manager of a Cluster tells of a Database or a DatabaseRole. Both have no conditions.
type appliedState struct {
	applied  *bool // nil: not looked at yet
	current  bool  // whether it speaks of the present spec
	message  string
	password string // DatabaseRole: resourceVersion of the password that Postgres has
}

func stateOf(o *unstructured.Unstructured) appliedState {
	var s appliedState
	if applied, ok, _ := unstructured.NestedBool(o.Object, "status", "applied"); ok {
		s.applied = &applied
	}
	seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	s.current = seen == o.GetGeneration()
	s.message, _, _ = unstructured.NestedString(o.Object, "status", "message")
	s.password, _, _ = unstructured.NestedString(o.Object, "status", "secretResourceVersion")
	return s
}

func (s appliedState) done() bool { return s.current && ptr.Deref(s.applied, false) }

// lastWritten is when anybody last changed an object, its status included.
func lastWritten(o metav1.Object) time.Time {
	at := o.GetCreationTimestamp().Time
	for _, entry := range o.GetManagedFields() {
		if entry.Time != nil {
			at = later(at, entry.Time.Time)
		}
	}
	return at
}
