package dojo

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// Config is what the operator's flags say about every Dojo.
type Config struct {
	// Image is the Dojo application's image.
	Image string
	// ProgressDeadline is how long something may be waited for before the Dojo counts as Degraded; at least a second.
	ProgressDeadline time.Duration
	// DatabaseDeadline is how long CloudNativePG may take for a step towards a database before the Dojo counts as Degraded; at least a
	// second.
	DatabaseDeadline time.Duration
	// PostgresImage is the image of Postgres without its tag, which is the major version that a Dojo asks for.
	PostgresImage string
	// Namespaces are those that are watched; none means all.
	Namespaces []string
}

// watches reports whether objects of a namespace can be seen.
func (c Config) watches(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// steps is what a pass has to do, in order.
type steps struct {
	apply []*child
	// remove are objects of ours that are no longer wanted.
	remove []*leftover
	// finalizers are those that the Dojo should have, nil where it has them; they are written before anything else.
	finalizers []string
	// replicas is how many pods should run.
	replicas int32
	// verdict is how the Dojo is once the steps are done: nil where the spec is true.
	verdict error
	// database is how the database of a Dojo with spec.postgres is: nil where it is as it should be.
	database error
	// alerts is how the way of the alarms of a Dojo with spec.alerts is: nil where they show.
	alerts error
	// unmoved is the verdict instead where writing the Deployment has changed nothing, since an admission policy of the
	// cluster rewrites what we want.
	unmoved error
}

// plan decides what has to be done so that the spec becomes true. It is a pure function of what was seen. What goes wrong with
// one child does not keep the others from being put right: a Dojo whose credentials are gone can still be scaled.
func plan(d *corev1api.Dojo, seen *observed, cfg Config) *steps {
	if d.DeletionTimestamp != nil {
		return planReclaim(d, seen)
	}
	s := &steps{replicas: wantedReplicas(d, seen.deployment, seen.autoscaled)}
	if s.verdict = hopeless(d, seen); s.verdict != nil {
		s.database, s.alerts = s.verdict, s.verdict
		return s
	}

	s.finalizers = planFinalizers(d)
	s.planApplication(d, seen, cfg)
	before := len(s.apply)
	for _, kind := range monitoringKinds {
		if live := seen.monitors[kind.Kind]; monitored(d) && taken(d, live) {
			s.alerts = graver(s.alerts, inTheWay(d, kind.Kind, live))
		}
		s.add(planMonitor(d, kind, seen.monitors))
	}
	s.alerts = graver(s.alerts, s.planAlerts(d, seen, cfg))
	for _, c := range s.apply[before:] {
		c.part = corev1api.ConditionAlertsReady
	}
	s.verdict, s.unmoved = graver(s.verdict, s.alerts), graver(s.unmoved, s.alerts)
	return s
}

// hopeless says why nothing at all is done about a Dojo.
func hopeless(d *corev1api.Dojo, seen *observed) error {
	if d.Spec.Database == corev1api.DatabaseMongo {
		return &conditions.Terminal{
			Reason:  corev1api.ReasonDatabaseNotSupported,
			Message: "spec.database Mongo is not supported yet; what runs is left as it is. Use Postgres.",
		}
	}
	return namesTaken(d, seen)
}

// planApplication decides about the database, the credentials and what runs with them.
func (s *steps) planApplication(d *corev1api.Dojo, seen *observed, cfg Config) {
	passOn := true
	if d.Spec.Postgres != nil {
		db := planDatabase(d, seen, cfg)
		for _, c := range db.apply {
			c.part = corev1api.ConditionDatabaseReady
		}
		s.apply, s.remove, s.database, passOn = db.apply, db.remove, db.verdict, db.usable
	}
	revision, secret, verdict := planCredentials(d, seen, cfg, passOn)
	verdict = graver(s.database, verdict)
	if secret != nil {
		secret.chain = credentialsChain
		s.apply = append(s.apply, secret)
	}
	if revision == "" && seen.deployment != nil {
		revision = seen.deployment.Spec.Template.Annotations[revisionAnnotation] // the Secret is gone, but pods may run on
	}
	if revision == "" {
		s.verdict = verdict // pods without credentials would only fail
		return
	}
	s.planWorkload(d, seen, cfg, revision)
	s.verdict, s.unmoved = graver(verdict, s.verdict), graver(verdict, s.unmoved)
}

func (s *steps) planWorkload(d *corev1api.Dojo, seen *observed, cfg Config, revision string) {
	if seen.deployment != nil {
		s.unmoved = rollout(d, seen, cfg)
	}
	if deployment := planDeployment(d, seen, cfg, revision); deployment != nil {
		deployment.chain = credentialsChain
		s.apply = append(s.apply, deployment)
		// What serves now serves the old spec: the Deployment's own events bring us back.
		s.verdict = &conditions.Waiting{Reason: corev1api.ReasonRollingOut, Message: readyCount(seen.deployment, s.replicas)}
	} else {
		s.verdict = s.unmoved
	}
	if service := planService(d, seen.service); service != nil {
		s.apply = append(s.apply, service)
	}
	s.add(planBudget(d, seen.budget, s.replicas))
	s.add(planIngress(d, seen.ingress))
	blocked := extrasTaken(d, seen, s.replicas)
	s.verdict, s.unmoved = graver(s.verdict, blocked), graver(s.unmoved, blocked)
}

// add takes up what is to be written and what is to go, either of which may be nil.
func (s *steps) add(write *child, remove *leftover) {
	if write != nil {
		s.apply = append(s.apply, write)
	}
	if remove != nil {
		s.remove = append(s.remove, remove)
	}
}

// corrects reports whether a write puts right what is there, rather than to follow something.
func corrects(d *corev1api.Dojo, c *child) bool {
	return c.exists && c.altered && d.Status.ObservedGeneration == d.Generation
}

// namesTaken says which name belongs to somebody else's object, which is never adopted or overwritten, of the children that a Dojo cannot
// do without.
func namesTaken(d *corev1api.Dojo, seen *observed) error {
	switch {
	case taken(d, seen.own):
		return inTheWay(d, kindSecret, seen.own)
	case taken(d, seen.deployment):
		return inTheWay(d, kindDeployment, seen.deployment)
	case taken(d, seen.service):
		return inTheWay(d, kindService, seen.service)
	}
	return nil
}

// extrasTaken says the same of the children without which it serves. The others are put right all the same.
func extrasTaken(d *corev1api.Dojo, seen *observed, wanted int32) error {
	switch {
	case wanted > 1 && taken(d, seen.budget):
		return inTheWay(d, kindBudget, seen.budget)
	case d.Spec.Ingress != nil && taken(d, seen.ingress):
		return inTheWay(d, kindIngress, seen.ingress)
	}
	return nil
}

// inTheWay tells an object that is on its way out from one that stays.
func inTheWay(d *corev1api.Dojo, kind string, live metav1.Object) error {
	if ownedByDojo(live) && metav1.GetControllerOfNoCopy(live).Name == d.Name || live.GetDeletionTimestamp() != nil {
		return &conditions.Waiting{
			Reason:  corev1api.ReasonWaitingForDeletion,
			Message: fmt.Sprintf("The former %s %s/%s is still being deleted.", kind, d.Namespace, live.GetName()),
		}
	}
	return nameTaken(d, kind, live.GetName())
}

func nameTaken(d *corev1api.Dojo, kind, name string) error {
	return &conditions.Terminal{
		Reason: corev1api.ReasonNameTaken,
		Message: fmt.Sprintf("The %s %s/%s exists and does not belong to this Dojo; it is left alone. Delete it, or give the Dojo another name.",
			kind, d.Namespace, name),
	}
}

// graver returns the outcome that a person should hear of first: the first one, unless only the second needs a person.
func graver(a, b error) error {
	_, needed := errors.AsType[*conditions.Terminal](a)
	_, alsoNeeded := errors.AsType[*conditions.Terminal](b)
	if a == nil || alsoNeeded && !needed {
		return b
	}
	return a
}
