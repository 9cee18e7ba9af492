// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"errors"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

var errUnreachable = errors.New("connection refused")

func reported(ready int32, can conditions.Availability, worst *conditions.Issue) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Status.ReadyReplicas, dojo.Status.ReadyStatus, dojo.Status.ObservedGeneration = ready, "3/3", dojo.Generation
		conditions.Set(&dojo.Status.Conditions, dojo.Generation, can, worst)
	}
}

var (
	rolling  = conditions.Progressing(corev1api.ReasonRollingOut, "1 of 3 replicas are ready.")
	crashing = conditions.Degraded(corev1api.ReasonCrashLoopBackOff, "pod a: it crashes")
	starts   = reported(0, conditions.Unusable(corev1api.ReasonStarting, "x"), rolling)
	serves   = reported(3, conditions.Usable(corev1api.ReasonReplicasReady, "x"), nil)
	sleeps   = reported(0, conditions.NothingDesired(corev1api.ReasonSuspended, "x"), nil)
	isOff    = reported(0, conditions.NothingDesired(corev1api.ReasonScaledToZero, "x"), nil)
	scalesUp = reported(0, conditions.Unusable(corev1api.ReasonScalingUp, "x"), rolling)
)

func isSuspended(dojo *corev1api.Dojo) { dojo.Spec.Suspend = true }

func issues(all ...*conditions.Issue) (list []conditions.Issue) {
	for _, issue := range all {
		if issue != nil {
			list = append(list, *issue)
		}
	}
	return list
}

func serving(dojo *corev1api.Dojo, ready int32) State {
	live := &appsv1.Deployment{ObjectMeta: childOf(dojo), Spec: appsv1.DeploymentSpec{Replicas: dojo.Spec.Replicas}}
	live.Status.ReadyReplicas = ready
	return State{Workload: workload.State{Now: dojotest.Noon, Deployment: live}}
}

func childOf(dojo *corev1api.Dojo) metav1.ObjectMeta {
	owner := *metav1.NewControllerRef(dojo, corev1api.GroupVersion.WithKind("Dojo"))
	return metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name, OwnerReferences: []metav1.OwnerReference{owner}}
}

func conditionOf(s corev1api.DojoStatus, kind string) string {
	c := meta.FindStatusCondition(s.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

func TestStatusConditions(t *testing.T) {
	t.Parallel()
	dojo, replicas := dojotest.Dojo, dojotest.Replicas
	cases := map[string]struct {
		dojo               *corev1api.Dojo
		ready              int32
		issue              *conditions.Issue
		available, isReady string
	}{
		"new":                        {dojo(), 0, rolling, "False/Starting", "False/RollingOut"},
		"still starting":             {dojo(starts), 0, rolling, "False/Starting", "False/RollingOut"},
		"the first pod is ready":     {dojo(starts), 1, rolling, "True/ReplicasReady", "False/RollingOut"},
		"reconciled":                 {dojo(starts), 3, nil, "True/ReplicasReady", "True/Reconciled"},
		"scaling while it serves":    {dojo(serves, replicas(5)), 3, rolling, "True/ReplicasReady", "False/RollingOut"},
		"degraded while it serves":   {dojo(serves), 2, crashing, "True/ReplicasReady", "False/CrashLoopBackOff"},
		"no pod is ready any more":   {dojo(serves), 0, rolling, "False/NoReadyReplicas", "False/RollingOut"},
		"scaled to zero":             {dojo(serves, replicas(0)), 0, nil, "False/ScaledToZero", "True/Reconciled"},
		"scaling to zero":            {dojo(serves, replicas(0)), 2, rolling, "True/ReplicasReady", "False/RollingOut"},
		"scaling up from zero":       {dojo(isOff), 0, rolling, "False/ScalingUp", "False/RollingOut"},
		"suspended":                  {dojo(serves, isSuspended), 0, nil, "False/Suspended", "True/Suspended"},
		"suspended, pods still run":  {dojo(serves, isSuspended), 2, rolling, "True/ReplicasReady", "False/RollingOut"},
		"suspended and Degraded":     {dojo(serves, isSuspended), 0, crashing, "False/Suspended", "False/CrashLoopBackOff"},
		"resumed":                    {dojo(sleeps), 0, rolling, "False/ScalingUp", "False/RollingOut"},
		"still scaling up from zero": {dojo(scalesUp), 0, rolling, "False/ScalingUp", "False/RollingOut"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.dojo.DeepCopy()
			got := status(c.dojo, serving(c.dojo, c.ready), apply.Results{}, issues(c.issue))
			if diff := cmp.Diff(before, c.dojo); diff != "" {
				t.Error("status changes the Dojo", diff)
			}
			checkConditions(t, got, c.available, c.isReady)
		})
	}
}

// If the database is unreachable, Available is False, even if the pods are ready.
func TestAvailabilityWithADatabase(t *testing.T) {
	t.Parallel()
	const reason = corev1api.ReasonDatabaseUnreachable
	unreachable := reported(3, conditions.Unusable(reason, "Requests cannot reach Postgres: x."), rolling)
	up := func(cluster *cnpgv1.Cluster) {
		cluster.Status.CurrentPrimary, cluster.Status.TargetPrimary = "pg-1", "pg-1"
		cluster.Status.InstancesStatus = map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"pg-1"}}
	}
	cases := map[string]struct {
		before     func(*corev1api.Dojo)
		ready      int32
		replicas   int32
		change     func(*postgres.State)
		want, says string
	}{
		"a ready primary and ready pods": {serves, 3, 3, func(*postgres.State) {}, "True/ReplicasReady", "Ready replicas: 3/3."},
		"no ready primary": {serves, 3, 3, func(s *postgres.State) { s.Cluster.Live.Status.InstancesStatus = nil },
			"False/" + reason, "Requests cannot reach Postgres: the primary pg-1 of the Cluster school/pg is not ready."},
		"no ready primary and no ready pods": {unreachable, 0, 3, func(s *postgres.State) { s.Cluster.Live.Status.InstancesStatus = nil },
			"False/" + reason, "Requests cannot reach Postgres: the primary pg-1 of the Cluster school/pg is not ready."},
		"a failover": {serves, 3, 3, func(s *postgres.State) { s.Cluster.Live.Status.TargetPrimary = "pending" },
			"False/" + reason, "Requests cannot reach Postgres: the primary pg-1 of the Cluster school/pg is not ready."},
		"the primary is back, no ready pods": {unreachable, 0, 3, func(*postgres.State) {},
			"False/NoReadyReplicas", "No replica is ready any more."},
		"the primary and the pods are back": {unreachable, 3, 3, func(*postgres.State) {}, "True/ReplicasReady", "Ready replicas: 3/3."},
		"the Cluster is hibernated": {serves, 3, 3, func(s *postgres.State) {
			s.Cluster.Live.Annotations = map[string]string{"cnpg.io/hibernation": "on"}
		}, "False/" + reason, "Requests cannot reach Postgres: the Cluster school/pg is hibernated."},
		"the Cluster is deleted": {serves, 3, 3, func(s *postgres.State) { s.Cluster.Live = nil },
			"False/" + reason, "Requests cannot reach Postgres: the Cluster school/pg does not exist."},
		"the kind Cluster is missing": {serves, 3, 3, func(s *postgres.State) { s.Cluster.Live, s.Missing = nil, []string{"Cluster"} },
			"True/ReplicasReady", "Ready replicas: 3/3."},
		"the first start, without a Cluster": {starts, 0, 3, func(s *postgres.State) { s.Cluster.Live = nil },
			"False/Starting", "No replica has been ready yet."},
		"scaled to zero, without a Cluster": {isOff, 0, 0, func(s *postgres.State) { s.Cluster.Live = nil },
			"False/ScaledToZero", "No replicas are desired, so the application is not available."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo(c.before, inCluster, dojotest.Replicas(c.replicas))
			s := serving(dojo, c.ready)
			s.Postgres.Cluster.Live = &cnpgv1.Cluster{}
			up(s.Postgres.Cluster.Live)
			c.change(&s.Postgres)
			got := status(dojo, s, apply.Results{}, nil)
			available := meta.FindStatusCondition(got.Conditions, conditions.TypeAvailable)
			if is := conditionOf(got, conditions.TypeAvailable); is != c.want || available.Message != c.says {
				t.Errorf("Available is %s: %s", is, available.Message)
			}
		})
	}
	dojo := dojotest.Dojo(unreachable, inCluster)
	if got := lastKnownStatus(dojo, nil); conditionOf(got, conditions.TypeAvailable) != "False/"+reason {
		t.Errorf("the last known status is lost, Available is %s", conditionOf(got, conditions.TypeAvailable))
	}
}

// DatabaseReady has the reason Suspended only for the Dojo's own Cluster: the operator hibernates
// no other Cluster.
func TestDatabaseOfASuspendedDojo(t *testing.T) {
	t.Parallel()
	own := dojotest.Dojo(ownCluster, isSuspended)
	for name, c := range map[string]struct {
		dojo            *corev1api.Dojo
		live            *cnpgv1.Cluster
		reason, message string
	}{
		"own Cluster":                  {own.DeepCopy(), &cnpgv1.Cluster{}, "True/Suspended", "The Cluster is hibernated"},
		"own Cluster, not created yet": {own.DeepCopy(), nil, "True/Suspended", "The Cluster will be created when the Dojo is resumed."},
		"another owner's Cluster":      {dojotest.Dojo(inCluster, isSuspended), nil, "True/Ready", ""},
	} {
		dojo, s := c.dojo, serving(c.dojo, 0)
		s.Postgres.Cluster.Live = c.live
		got := status(dojo, s, apply.Results{}, nil)
		if is := conditionOf(got, corev1api.ConditionDatabaseReady); is != c.reason {
			t.Errorf("%s: DatabaseReady is %s, want %s", name, is, c.reason)
		}
		ready := meta.FindStatusCondition(got.Conditions, corev1api.ConditionDatabaseReady)
		if !strings.HasPrefix(ready.Message, c.message) {
			t.Errorf("%s: %s, want %s", name, ready.Message, c.message)
		}
		dojo.Status = got
		if again := status(dojo, s, apply.Results{}, nil); cmp.Diff(got, again) != "" {
			t.Errorf("%s: the next status differs: %s", name, cmp.Diff(got, again))
		}
	}
}

func checkConditions(t *testing.T, got corev1api.DojoStatus, available, ready string) {
	t.Helper()
	if is := conditionOf(got, conditions.TypeAvailable); is != available {
		t.Errorf("Available is %s, want %s", is, available)
	}
	if is := conditionOf(got, conditions.TypeReady); is != ready {
		t.Errorf("Ready is %s, want %s", is, ready)
	}
	if got.ObservedGeneration != 3 {
		t.Errorf("observedGeneration is %d", got.ObservedGeneration)
	}
}

func TestUnobserved(t *testing.T) {
	t.Parallel()
	failed := conditions.Of(errUnreachable)
	for name, c := range map[string]struct {
		dojo      *corev1api.Dojo
		available string
	}{
		"scaled to zero": {dojotest.Dojo(isOff, dojotest.Replicas(0)), "False/ScaledToZero"},
		"serving":        {dojotest.Dojo(serves), "True/ReplicasReady"},
		"starting":       {dojotest.Dojo(starts), "False/Starting"},
		"new":            {dojotest.Dojo(), "False/Starting"},
		"suspended":      {dojotest.Dojo(sleeps, isSuspended), "False/Suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			checkConditions(t, lastKnownStatus(c.dojo, failed), c.available, "False/Retrying")
		})
	}

	dojo := dojotest.Dojo(serves, dojotest.WaitingFor("Secret school/pg-app", time.Minute))
	dojo.Status.Endpoint, dojo.Status.AvailableReplicas, dojo.Status.DesiredReplicas = "tokyo.school.svc:80", 2, new(int32(7))
	before := dojo.DeepCopy()
	got := lastKnownStatus(dojo, failed)
	if diff := cmp.Diff(before, dojo); diff != "" {
		t.Error("lastKnownStatus changes the Dojo", diff)
	}
	got.Conditions = dojo.Status.Conditions
	if diff := cmp.Diff(dojo.Status, got); diff != "" {
		t.Error("a last known field of the status is lost", diff)
	}
}

func TestStatusFacts(t *testing.T) {
	t.Parallel()
	all := func(desired int32, s corev1api.DojoStatus) corev1api.DojoStatus {
		s.ObservedGeneration, s.Endpoint, s.DesiredReplicas = 3, "tokyo.school.svc:80", &desired
		s.Selector = "app.kubernetes.io/instance=tokyo,app.kubernetes.io/name=dojo"
		s.Credentials = &corev1api.LocalCredentials{Name: "tokyo-credentials", Namespace: "school"}
		return s
	}
	none := all(3, corev1api.DojoStatus{ReadyStatus: "0/3"})
	none.Endpoint, none.Credentials = "", nil
	dojo := dojotest.Dojo()
	counted := func(desired int32, counts appsv1.DeploymentStatus) State {
		s := serving(dojotest.Dojo(dojotest.Replicas(desired)), 0)
		s.Workload.Deployment.Status = counts
		s.Workload.Service = &corev1.Service{ObjectMeta: childOf(dojo)}
		s.Credentials.Own = dojotest.Metadata(&corev1.Secret{ObjectMeta: childOf(dojo)})
		return s
	}
	autoscaled := counted(7, appsv1.DeploymentStatus{
		Replicas: 7, ReadyReplicas: 6, UpdatedReplicas: 7, AvailableReplicas: 6,
	})
	autoscaled.Workload.Autoscaled = true
	foreign := counted(3, appsv1.DeploymentStatus{Replicas: 3, ReadyReplicas: 3})
	foreign.Workload.Deployment.OwnerReferences, foreign.Workload.Service.OwnerReferences = nil, nil
	foreign.Credentials.Own.OwnerReferences = nil
	written := func(outcome apply.Outcome) (results apply.Results) {
		for kind, name := range map[string]string{"Secret": "tokyo-credentials", "Service": "tokyo", "Deployment": "tokyo"} {
			o := &apply.Object{Key: expectations.KeyOf(kind, "school", name)}
			results.Objects = append(results.Objects, apply.Result{Object: o, Outcome: outcome})
		}
		return results
	}
	serviceAlone := none
	serviceAlone.Endpoint = "tokyo.school.svc:80"
	cases := map[string]struct {
		state   State
		results apply.Results
		want    corev1api.DojoStatus
	}{
		"reconciled": {
			counted(3, appsv1.DeploymentStatus{Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}),
			apply.Results{}, all(3, corev1api.DojoStatus{
				Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3, ReadyStatus: "3/3",
			}),
		},
		"during a rollout": {
			counted(3, appsv1.DeploymentStatus{Replicas: 4, ReadyReplicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2}),
			apply.Results{}, all(3, corev1api.DojoStatus{
				Replicas: 4, ReadyReplicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2, ReadyStatus: "3/3",
			}),
		},
		"autoscaled": {autoscaled, apply.Results{}, all(7, corev1api.DojoStatus{
			Replicas: 7, ReadyReplicas: 6, UpdatedReplicas: 7, AvailableReplicas: 6, ReadyStatus: "6/7",
		})},
		"the children were just created": {State{}, written(apply.Created), all(3, corev1api.DojoStatus{ReadyStatus: "0/3"})},
		"only the Service was created": {
			State{}, apply.Results{Objects: []apply.Result{{
				Object: &apply.Object{Key: expectations.KeyOf("Service", "school", "tokyo")}, Outcome: apply.Created,
			}}}, serviceAlone,
		},
		"the writes failed, no child exists": {State{}, written(apply.Failed), none},
		"the writes failed, the children exist": {
			counted(3, appsv1.DeploymentStatus{}), written(apply.Failed), all(3, corev1api.DojoStatus{ReadyStatus: "0/3"}),
		},
		"no children and no writes": {State{}, apply.Results{}, none},
		"foreign objects":           {foreign, apply.Results{}, none},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := status(dojo, c.state, c.results, nil)
			got.Conditions = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusIsStable(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(inGroup)
	w := newWorld(t, dojotest.Source())
	w.do(dojo)
	w.serve(2)
	s, plan := w.plan(dojo)
	dojo.Status = status(dojo, s, apply.Results{}, plan.Issues)
	if diff := cmp.Diff(dojo.Status, status(dojo, s, apply.Results{}, plan.Issues)); diff != "" {
		t.Error(diff)
	}
}

func TestOptionalParts(t *testing.T) {
	t.Parallel()
	part := func(part string, issue *conditions.Issue) *conditions.Issue {
		of := *issue
		of.Part = part
		return &of
	}
	both := func(dojo *corev1api.Dojo) { inCluster(dojo); inGroup(dojo) }
	const databaseReady, alertsReady = "True/" + corev1api.ReasonDatabaseReady, "True/" + corev1api.ReasonAlertsReady
	cases := map[string]struct {
		dojo             *corev1api.Dojo
		issues           []conditions.Issue
		database, alerts string
	}{
		"no database and no alerts":   {dojotest.Dojo(), issues(crashing), "", ""},
		"a database and alerts":       {dojotest.Dojo(both), nil, databaseReady, alertsReady},
		"an issue of the application": {dojotest.Dojo(both), issues(crashing), databaseReady, alertsReady},
		"an issue of the alerts": {dojotest.Dojo(both), issues(part(corev1api.ConditionAlertsReady, crashing)),
			databaseReady, "False/CrashLoopBackOff"},
		"an issue of the database": {dojotest.Dojo(both), issues(part(corev1api.ConditionDatabaseReady, rolling)),
			"False/RollingOut", alertsReady},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := status(c.dojo, State{}, apply.Results{}, c.issues)
			if is := conditionOf(got, corev1api.ConditionDatabaseReady); is != c.database {
				t.Errorf("DatabaseReady is %s", is)
			}
			if is := conditionOf(got, corev1api.ConditionAlertsReady); is != c.alerts {
				t.Errorf("AlertsReady is %s", is)
			}
			for _, found := range got.Conditions {
				if found.ObservedGeneration != 3 {
					t.Errorf("%s is about generation %d", found.Type, found.ObservedGeneration)
				}
			}
			c.dojo.Spec.Alerts, c.dojo.Status = nil, got
			after := status(c.dojo, State{}, apply.Results{}, c.issues)
			if is := conditionOf(after, corev1api.ConditionAlertsReady); is != "" || after.Alerts != nil {
				t.Errorf("without spec.alerts, AlertsReady is %q, and status.alerts is %v", is, after.Alerts)
			}
		})
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	const secret, channel = "Secret school/pg-app", "DiscordChannel school/all"
	waiting := func(object string) *conditions.Issue { return conditions.Progressing("Waiting", "x").For(object) }
	exceeded := func(object string) *conditions.Issue { return conditions.Degraded("Missing", "x").For(object) }
	since := func(object string, ago time.Duration) corev1api.Wait {
		return corev1api.Wait{Object: object, Since: metav1.NewTime(dojotest.Noon.Add(-ago))}
	}
	hour := dojotest.WaitingFor(secret, time.Hour)
	wanted := func(waits ...corev1api.Wait) []corev1api.Wait { return waits }
	both := issues(waiting(secret), waiting(channel))
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		issues []conditions.Issue
		want   []corev1api.Wait
	}{
		"no wait":                     {dojotest.Dojo(), issues(rolling), nil},
		"a wait begins":               {dojotest.Dojo(), issues(rolling, waiting(secret)), wanted(since(secret, 0))},
		"a wait continues":            {dojotest.Dojo(hour), issues(waiting(secret)), wanted(since(secret, time.Hour))},
		"a wait exceeds its deadline": {dojotest.Dojo(hour), issues(exceeded(secret)), wanted(since(secret, time.Hour))},
		"a wait ends":                 {dojotest.Dojo(hour), issues(rolling), nil},
		"a wait ends, and a wait for another object begins":      {dojotest.Dojo(hour), issues(waiting(channel)), wanted(since(channel, 0))},
		"two issues wait for one object":                         {dojotest.Dojo(), issues(waiting(secret), waiting(secret)), wanted(since(secret, 0))},
		"a wait continues, and a wait for another object begins": {dojotest.Dojo(hour), both, wanted(since(secret, time.Hour), since(channel, 0))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, awaitedObjects(c.dojo, dojotest.Noon, c.issues)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeferral(t *testing.T) {
	t.Parallel()
	moved := func(ago time.Duration) *appsv1.Deployment {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}, Status: appsv1.DeploymentStatus{
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, LastUpdateTime: metav1.NewTime(dojotest.Noon.Add(-ago)),
			}},
		}}
	}
	ending := func(ready int32, count string, worst *conditions.Issue) corev1api.DojoStatus {
		dojo := dojotest.Dojo(reported(ready, conditions.Usable(corev1api.ReasonReplicasReady, count), worst))
		dojo.Status.ReadyStatus = count
		for i := range dojo.Status.Conditions {
			dojo.Status.Conditions[i].LastTransitionTime = metav1.NewTime(dojotest.Noon)
		}
		return dojo.Status
	}
	progress := func(count string) *conditions.Issue {
		return conditions.Progressing(corev1api.ReasonRollingOut, "%s", count)
	}
	before := ending(1, "1/3", progress("1 of 3"))
	next := ending(2, "2/3", progress("2 of 3"))
	large := moved(0)
	large.Spec.Replicas = new(int32(100))
	neverMoved := moved(0)
	neverMoved.Status.Conditions = nil
	many, few := *next.DeepCopy(), *next.DeepCopy()
	many.ReadyReplicas, few.ReadyReplicas = before.ReadyReplicas+11, before.ReadyReplicas+10
	generation, served, desired, waits := *next.DeepCopy(), *next.DeepCopy(), *next.DeepCopy(), *next.DeepCopy()
	generation.ObservedGeneration++
	served.Endpoint = "tokyo.school.svc:80"
	desired.DesiredReplicas = new(int32(5))
	waits.WaitingFor = []corev1api.Wait{{Object: "Secret school/pg-app"}}
	another := conditions.Progressing(corev1api.ReasonWaitingForCredentials, "x")
	cases := map[string]struct {
		next corev1api.DojoStatus
		live *appsv1.Deployment
		want time.Duration
	}{
		"no change":                               {before, moved(0), 0},
		"counts changed just now":                 {next, moved(0), 2 * time.Second},
		"counts changed a moment ago":             {next, moved(1500 * time.Millisecond), 500 * time.Millisecond},
		"counts changed two seconds ago":          {next, moved(2 * time.Second), 0},
		"counts changed long ago":                 {next, moved(time.Hour), 0},
		"many pods became ready":                  {many, large, 0},
		"a few of many pods became ready":         {few, large, 2 * time.Second},
		"counts changed, at a time in the future": {next, moved(-time.Hour), 0},
		"counts changed at an unknown time":       {next, neverMoved, 0},
		"no Deployment":                           {next, nil, 0},
		"a foreign Deployment":                    {next, &appsv1.Deployment{}, 0},
		"the Dojo became Ready":                   {ending(3, "3/3", nil), moved(0), 0},
		"the reason of Progressing changed":       {ending(2, "2/3", another), moved(0), 0},
		"a pod crashes":                           {ending(2, "2/3", crashing), moved(0), 0},
		"the generation changed":                  {generation, moved(0), 0},
		"the Service was created":                 {served, moved(0), 0},
		"more replicas are desired":               {desired, moved(0), 0},
		"a wait began":                            {waits, moved(0), 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := deferral(before, c.next, workload.State{Now: dojotest.Noon, Deployment: c.live})
			if got != c.want {
				t.Errorf("deferred by %s, want %s", got, c.want)
			}
		})
	}
}

func TestNotReadySince(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	stopped := created.Add(time.Hour)
	usable := conditions.Usable(corev1api.ReasonReplicasReady, "x")
	outage := conditions.Unusable(corev1api.ReasonNoReadyReplicas, "x")
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want time.Time
	}{
		"new":                              {dojotest.Dojo(), created},
		"never Available":                  {dojotest.Dojo(starts), created},
		"rolling out, and still Available": {dojotest.Dojo(reported(3, usable, rolling)), stopped},
		"Degraded, and still Available":    {dojotest.Dojo(reported(2, usable, crashing)), stopped},
		"no pod is ready any more":         {dojotest.Dojo(reported(0, outage, rolling)), stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.dojo.CreationTimestamp = metav1.NewTime(created)
			for i := range c.dojo.Status.Conditions {
				c.dojo.Status.Conditions[i].LastTransitionTime = metav1.NewTime(stopped)
			}
			if got := notReadySince(c.dojo, c.dojo.Status.Conditions); !got.Equal(c.want) {
				t.Errorf("since %s, want %s", got, c.want)
			}
		})
	}
}
