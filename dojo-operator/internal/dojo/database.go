package dojo

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/conditions"
)

// database is what has to be done for the database of a Dojo with spec.postgres.
type database struct {
	apply  []*child
	remove []*leftover
	// usable is whether the credentials may be passed on to the pods.
	usable bool
	// verdict is what keeps the database from being as the spec says.
	verdict error
}

// planDatabase goes the one way to a database, step by step: Cluster, password and role, database, schema. Each step waits for the one
// before, since CloudNativePG tries again only every 30 seconds what it cannot do yet.
func planDatabase(d *corev1api.Dojo, seen *observed, cfg Config) *database {
	db := &database{}
	if db.verdict = notInstalled(seen); db.verdict != nil {
		return db
	}
	if db.verdict = databaseNamesTaken(d, seen); db.verdict != nil {
		return db
	}
	lacking, verdict := db.planCluster(d, seen, cfg)
	if verdict == nil {
		verdict = db.planRole(d, seen, cfg)
	}
	// Credentials that are in use follow the password that Postgres has, whatever else goes wrong.
	db.usable = verdict == nil && seen.own != nil
	if verdict == nil {
		verdict = db.planDatabase(d, seen, cfg)
	}
	if verdict == nil {
		verdict = db.planSchema(d, seen, cfg)
	}
	if verdict == nil {
		db.usable, verdict = true, lacking
	}
	db.verdict = verdict
	return db
}

func notInstalled(seen *observed) error {
	if seen.db.missing == "" {
		return nil
	}
	return &conditions.Terminal{
		Reason: corev1api.ReasonCloudNativePGNotInstalled,
		Message: fmt.Sprintf("spec.postgres needs CloudNativePG 1.30 or newer, and this cluster does not have its kind %s. "+
			"Install it (https://cloudnative-pg.io); the Dojo then goes on by itself.", seen.db.missing),
	}
}

// databaseNamesTaken says which object of the database belongs to somebody else.
func databaseNamesTaken(d *corev1api.Dojo, seen *observed) error {
	if seen.source != nil && !kept(d, seen.source) {
		return inTheWay(d, kindSecret, seen.source)
	}
	for _, o := range seen.db.objects(d) {
		if !kept(d, o) {
			return inTheWay(d, o.GetKind(), o)
		}
	}
	if seen.db.job != nil && taken(d, seen.db.job) {
		return inTheWay(d, kindJob, seen.db.job)
	}
	return nil
}

// planCluster brings up the Cluster where the Dojo has one of its own, and waits for its primary. Lacking is what keeps a Cluster of
// the Dojo's own from being whole while Postgres can be used.
func (db *database) planCluster(d *corev1api.Dojo, seen *observed, cfg Config) (lacking, verdict error) {
	own := d.Spec.Postgres.Cluster != nil
	live := seen.db.cluster
	if own {
		db.planBackups(d, seen)
		if c := planCustom(live, clusterFor(d, cfg)); c != nil {
			c.chain = databaseChain
			db.apply = append([]*child{c}, db.apply...)
			if live == nil {
				return nil, waitForCluster(d, clusterState{wanted: int64(*d.Spec.Postgres.Cluster.Instances)})
			}
			lacking = waitForCluster(d, stateOfCluster(live))
		}
	}
	if live == nil {
		return nil, missed(d, seen.now, cfg.DatabaseDeadline, &conditions.Waiting{
			Reason:  corev1api.ReasonWaitingForCluster,
			Message: fmt.Sprintf("Waiting for the Cluster %s/%s of CloudNativePG.", d.Namespace, clusterName(d)),
		}, &conditions.Terminal{
			Reason:  corev1api.ReasonClusterNotFound,
			Message: fmt.Sprintf("The Cluster %s/%s of CloudNativePG does not exist. Create it; the Dojo then goes on by itself.", d.Namespace, clusterName(d)),
		})
	}
	state := stateOfCluster(live)
	switch waiting := waitForCluster(d, state); {
	case state.hibernates:
		return nil, &conditions.Terminal{
			Reason: corev1api.ReasonClusterHibernated,
			Message: fmt.Sprintf("The Cluster %s/%s hibernates. `kubectl annotate cluster %s %s-` wakes it.",
				d.Namespace, clusterName(d), clusterName(d), hibernation),
		}
	case !state.up():
		return nil, clusterOverdue(d, seen, cfg, waiting)
	case own && !state.whole():
		return clusterOverdue(d, seen, cfg, waiting), nil
	}
	return lacking, nil
}

func waitForCluster(d *corev1api.Dojo, s clusterState) *conditions.Waiting {
	phase := ""
	if s.phase != "" {
		phase = ": " + s.phase
	}
	return &conditions.Waiting{
		Reason:  corev1api.ReasonWaitingForCluster,
		Message: fmt.Sprintf("%d of %d instances of the Cluster %s/%s are ready%s.", s.ready, s.wanted, d.Namespace, clusterName(d), phase),
	}
}

func clusterOverdue(d *corev1api.Dojo, seen *observed, cfg Config, waiting *conditions.Waiting) error {
	since := later(stateOfCluster(seen.db.cluster).readySince, lastWritten(seen.db.cluster))
	return impatient(seen.now, since, cfg.DatabaseDeadline, waiting, &conditions.Terminal{
		Reason: corev1api.ReasonClusterNotReady,
		Message: fmt.Sprintf("%s Nothing has changed for %s; `kubectl describe cluster %s` and its pods say why.",
			waiting.Message, cfg.DatabaseDeadline, clusterName(d)),
	})
}

// planRole writes the password and the role that owns the database, and waits until Postgres has both.
func (db *database) planRole(d *corev1api.Dojo, seen *observed, cfg Config) error {
	const doing = "the role"
	written := false
	for _, c := range []*child{planPassword(d, seen), planCustom(seen.db.role, roleFor(d, seen.db.role))} {
		if c != nil {
			c.chain, written = databaseChain, true
			db.apply = append(db.apply, c)
		}
	}
	if written {
		return step(d, corev1api.ReasonCreatingRole, doing)
	}
	state := stateOf(seen.db.role)
	if state.done() && state.password != seen.source.GetResourceVersion() {
		state.current, state.message = false, "" // Postgres still has an older password
	}
	verdict := unlessApplied(d, seen, cfg, seen.db.role, state, corev1api.ReasonCreatingRole, doing)
	if waiting, ok := errors.AsType[*conditions.Waiting](verdict); ok {
		db.askAgain(d, seen, state, waiting)
	}
	return verdict
}

// askAgain makes CloudNativePG look at the role again where waiting for that would take longer.
func (db *database) askAgain(d *corev1api.Dojo, seen *observed, s appliedState, waiting *conditions.Waiting) {
	switch wait, ask := untilAsked(seen.db.role, s, seen.now); {
	case !ask:
	case wait > 0:
		waiting.Retry = min(waiting.Retry, wait)
	default:
		again := roleFor(d, seen.db.role)
		again.SetAnnotations(map[string]string{askedAnnotation: seen.now.UTC().Format(time.RFC3339)})
		db.apply = append(db.apply, planCustom(seen.db.role, again))
	}
}

// planDatabase writes the database and waits until Postgres has it.
func (db *database) planDatabase(d *corev1api.Dojo, seen *observed, cfg Config) error {
	const doing = "the database"
	if c := planCustom(seen.db.database, databaseFor(d)); c != nil {
		c.chain = databaseChain
		db.apply = append(db.apply, c)
		return step(d, corev1api.ReasonCreatingDatabase, doing)
	}
	return unlessApplied(d, seen, cfg, seen.db.database, stateOf(seen.db.database), corev1api.ReasonCreatingDatabase, doing)
}

func step(d *corev1api.Dojo, reason, what string) *conditions.Waiting {
	return &conditions.Waiting{Reason: reason, Message: fmt.Sprintf("Waiting until Postgres has %s %s.", what, postgresName(d))}
}

// unlessApplied waits until the instance manager has brought an object into Postgres. That it says no is nothing to worry about while
// the Cluster comes up or the objects before are on their way: it counts once nothing has changed for a while.
func unlessApplied(d *corev1api.Dojo, seen *observed, cfg Config, o *unstructured.Unstructured, s appliedState, reason, what string) error {
	if s.done() {
		return nil
	}
	waiting := step(d, reason, what)
	deadline, says := cfg.DatabaseDeadline, "CloudNativePG does not say why"
	if s.applied != nil && !*s.applied {
		deadline, says = cfg.ProgressDeadline, "CloudNativePG says: "+s.message
		waiting.Message += " " + says
	}
	since := later(later(lastWritten(o), lastWritten(seen.source)), stateOfCluster(seen.db.cluster).readySince)
	return impatient(seen.now, since, deadline, waiting, &conditions.Terminal{
		Reason: corev1api.ReasonDatabaseFailed,
		Message: fmt.Sprintf("Postgres does not get %s %s, for more than %s. %s. See `kubectl describe %s %s`.",
			what, postgresName(d), deadline.Round(time.Second), says, o.GetKind(), o.GetName()),
	})
}

// seenDatabase is what there is of the database of a Dojo with spec.postgres. What does not exist is nil.
type seenDatabase struct {
	// missing is a kind of CloudNativePG that the cluster does not have, empty where it has all.
	missing string

	cluster, role, database, schedule, finalBackup *unstructured.Unstructured
	seenSchema
}

// objects are those objects of CloudNativePG that there are and that should be the Dojo's.
func (s *seenDatabase) objects(d *corev1api.Dojo) []*unstructured.Unstructured {
	all := []*unstructured.Unstructured{s.role, s.database}
	if d.Spec.Postgres.Cluster != nil {
		all = append(all, s.cluster, s.schedule)
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o == nil })
}

// firstMissing is the kind of a list that the cluster does not have, or empty.
func firstMissing(has func(optional.Kind) bool, kinds []optional.Kind) string {
	for _, kind := range kinds {
		if !has(kind) {
			return kind.Kind
		}
	}
	return ""
}
