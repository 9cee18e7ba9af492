// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/workload"
)

type indexes map[string]client.IndexerFunc

func (i indexes) IndexField(_ context.Context, o client.Object, name string, values client.IndexerFunc) error {
	i[fmt.Sprintf("%T %s", o, name)] = values
	return nil
}

type failing struct{ after int }

func (f *failing) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	if f.after--; f.after < 0 {
		return errUnreachable
	}
	return nil
}

func labelled(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "school", Name: "a", Labels: ownership.Labels(dojotest.Dojo(), name)}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	found := indexes{}
	must(t, addIndexes(t.Context(), found))
	dojo := dojotest.Dojo
	job := &batchv1.Job{ObjectMeta: labelled(ownership.Schema)}
	applicationPod := &corev1.Pod{ObjectMeta: labelled(ownership.Application)}
	schemaPod := &corev1.Pod{ObjectMeta: labelled(ownership.Schema)}
	noReference := func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef = nil }
	const dojos, scalers = "*v1.Dojo ", "*v2.HorizontalPodAutoscaler " + workload.AutoscalerTarget
	cases := map[string]struct {
		index  string
		object client.Object
		want   []string
	}{
		"Dojo": {dojos + ownership.References, dojo(), []string{"school/pg-app", "school/tokyo", "school/tokyo-credentials",
			"school/tokyo-alertmanager"}},
		"source in another namespace": {dojos + ownership.References, dojo(referring("databases")),
			[]string{"databases/pg-app", "school/tokyo", "school/tokyo-credentials", "school/tokyo-alertmanager"}},
		"no reference to a source": {dojos + ownership.References, dojo(noReference), []string{"school/tokyo", "school/tokyo-credentials",
			"school/tokyo-alertmanager"}},
		"existing Cluster and SQL": {dojos + ownership.References, dojo(inCluster, withSQL), []string{"school/tokyo",
			"school/tokyo-credentials", "school/tokyo-alertmanager", "school/tokyo-db", "school/pg", "school/tokyo-db-2",
			"school/sql", "school/users"}},
		"Cluster of its own": {dojos + ownership.References, dojo(ownCluster), []string{"school/tokyo",
			"school/tokyo-credentials", "school/tokyo-alertmanager", "school/tokyo-db", "school/tokyo-db", "school/tokyo-db-2",
			"school/tokyo-db-pooler-rw", "school/tokyo-db-primary"}},
		"shared channel": {dojos + ownership.References, dojo(inChannel),
			[]string{"school/pg-app", "school/tokyo", "school/tokyo-credentials", "school/all",
				"school/tokyo-alertmanager"}},
		"channel of its own": {dojos + ownership.References, dojo(inGroup),
			[]string{"school/pg-app", "school/tokyo", "school/tokyo-credentials", "school/tokyo-alerts",
				"school/tokyo-alertmanager"}},
		"pod of the application":                        {"*v1.Pod " + pods.OfApplication, applicationPod, []string{"tokyo"}},
		"pod of the schema, in the application's index": {"*v1.Pod " + pods.OfApplication, schemaPod, nil},
		"pod of the schema, in its own index":           {"*v1.Pod " + pods.OfSchema, schemaPod, []string{"tokyo"}},
		"Job of the schema":                             {"*v1.Job " + pods.JobOfSchema, job, []string{"tokyo"}},
		"autoscaler of the Deployment":                  {scalers, scalerOf("Deployment", "tokyo"), []string{"tokyo"}},
		"autoscaler of the Dojo":                        {scalers, scalerOf("Dojo", "tokyo"), nil},
		"autoscaler of a StatefulSet":                   {scalers, scalerOf("StatefulSet", "tokyo"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found[c.index](c.object)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for after := range len(found) {
		if err := addIndexes(t.Context(), &failing{after}); !errors.Is(err, errUnreachable) {
			t.Errorf("an error of the index number %d is lost", after)
		}
	}
}

func kindNamed(t *testing.T, name string) optionalkinds.Kind {
	t.Helper()
	kinds := slices.Concat(cnpg.Kinds(), exposure.Kinds(), monitoring.Kinds())
	i := slices.IndexFunc(kinds, func(kind optionalkinds.Kind) bool { return kind.Kind == name })
	if i < 0 {
		t.Fatalf("no kind %s", name)
	}
	return kinds[i]
}

func TestDojosOfAnObject(t *testing.T) {
	t.Parallel()
	named := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	dojo, called := dojotest.Dojo, dojotest.Named
	guest := dojo(called("guest"), referring("school"), func(dojo *corev1api.Dojo) { dojo.Namespace = "abroad" })
	other := dojo(called("other"), func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Name = "kyoto-credentials" })
	osaka := dojo(called("osaka"), inCluster, withSQL, monitored)
	own := dojo(called("own"), ownCluster, inChannel)
	w := newWorld(t, dojo(), dojo(called("kyoto")), guest, other, osaka, own)
	r, ctx := w.reconciler, t.Context()

	byOwner := func(owner client.Object, m metav1.ObjectMeta, group string) metav1.ObjectMeta {
		reference := *metav1.NewControllerRef(owner, corev1api.GroupVersion.WithKind("Dojo"))
		reference.APIVersion = group
		m.OwnerReferences = []metav1.OwnerReference{reference}
		return m
	}
	child := func(o client.Object) []reconcile.Request { return r.dojosOf(ctx, o) }
	secret := func(m metav1.ObjectMeta) []reconcile.Request {
		return r.dojosOf(ctx, dojotest.Metadata(&corev1.Secret{ObjectMeta: m}))
	}
	configMap := func(namespace, name string) []reconcile.Request {
		return r.dojosOf(ctx, &corev1.ConfigMap{ObjectMeta: named(namespace, name)})
	}
	some := func(o client.Object, namespace, name string) []reconcile.Request {
		o.SetNamespace(namespace)
		o.SetName(name)
		return r.dojosOf(ctx, o)
	}
	backup := func(labels map[string]string) *cnpgv1.Backup {
		return &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	}
	ofChannel := func(name string) metav1.ObjectMeta {
		channel := &discordv1alpha1.DiscordChannel{ObjectMeta: named("school", name)}
		m := named("school", "hook")
		m.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(channel, discordv1alpha1.GroupVersion.WithKind("DiscordChannel"))}
		return m
	}
	const group = "core.jutsu.com/v1"
	ofAnotherGroup := byOwner(osaka, named("school", "tokyo"), "example.org/v1")
	scheduled := backup(nil)
	scheduled.Spec.Cluster.Name = "own-db"
	finalBackup := backup(ownership.Labels(own, ownership.Application))
	ourChannel := &discordv1alpha1.DiscordChannel{ObjectMeta: byOwner(dojo(), metav1.ObjectMeta{}, group)}
	schemaJob := &batchv1.Job{ObjectMeta: labelled(ownership.Schema)}
	cases := map[string]struct {
		got  []reconcile.Request
		want string // names, separated by spaces
	}{
		"our Deployment":                          {child(&appsv1.Deployment{ObjectMeta: childOf(dojo())}), "school/tokyo"},
		"our Secret":                              {secret(byOwner(dojo(), named("school", "x"), group)), "school/tokyo"},
		"foreign Service with a Dojo's name":      {child(&corev1.Service{ObjectMeta: named("school", "kyoto")}), "school/kyoto"},
		"foreign Service":                         {child(&corev1.Service{ObjectMeta: named("school", "theirs")}), ""},
		"foreign Deployment in another namespace": {child(&appsv1.Deployment{ObjectMeta: named("team", "tokyo")}), ""},
		// The Dojo tokyo needs the name of this Service.
		"Service of a Dojo of another API group":                     {child(&corev1.Service{ObjectMeta: ofAnotherGroup}), "school/tokyo"},
		"foreign Job":                                                {child(&batchv1.Job{ObjectMeta: named("school", "theirs")}), ""},
		"foreign Job with a Dojo's name":                             {child(&batchv1.Job{ObjectMeta: named("school", "tokyo")}), "school/tokyo"},
		"Job with the schema's labels":                               {child(schemaJob), "school/tokyo"},
		"source of three Dojos":                                      {secret(named("school", "pg-app")), "abroad/guest school/kyoto school/tokyo"},
		"source of one Dojo, with the name of another Dojo's Secret": {secret(named("school", "kyoto-credentials")), "school/kyoto school/other"},
		"Secret with a channel's URL":                                {secret(ofChannel("all")), "school/own"},
		"Secret with an unused channel's URL":                        {secret(ofChannel("theirs")), ""},
		"another Secret":                                             {secret(named("school", "theirs")), ""},
		"Secret in another namespace":                                {secret(named("team", "pg-app")), ""},
		"existing Cluster":                                           {some(&cnpgv1.Cluster{}, "school", "pg"), "school/osaka"},
		"Cluster of a Dojo":                                          {some(&cnpgv1.Cluster{}, "school", "own-db"), "school/own"},
		"another Cluster":                                            {some(&cnpgv1.Cluster{}, "school", "theirs"), ""},
		"Cluster in another namespace":                               {some(&cnpgv1.Cluster{}, "team", "pg"), ""},
		"Database":                                                   {some(&cnpgv1.Database{}, "school", "osaka-db"), "school/osaka"},
		"DatabaseRole":                                               {some(&cnpgv1.DatabaseRole{}, "school", "osaka-db"), "school/osaka"},
		"ScheduledBackup":                                            {some(&cnpgv1.ScheduledBackup{}, "school", "own-db"), "school/own"},
		"another Database":                                           {some(&cnpgv1.Database{}, "school", "theirs"), ""},
		"final Backup":                                               {some(finalBackup, "school", "own-db-final-1"), "school/own"},
		"another Backup":                                             {some(backup(nil), "school", "own-db-x"), ""},
		"Backup of a schedule":                                       {some(scheduled, "school", "own-db-20260102"), "school/own"},
		"ServiceMonitor":                                             {some(kindNamed(t, "ServiceMonitor").Object(), "school", "osaka"), "school/osaka"},
		"CloudNativePG appears":                                      {r.dojosWithKind(ctx, kindNamed(t, "Database")), "school/osaka school/own"},
		"prometheus-operator appears":                                {r.dojosWithKind(ctx, kindNamed(t, "PrometheusRule")), "school/osaka school/own"},
		"discord-operator appears":                                   {r.dojosWithKind(ctx, kindNamed(t, "DiscordChannel")), "school/own"},
		"shared channel":                                             {some(&discordv1alpha1.DiscordChannel{}, "school", "all"), "school/own"},
		"unused channel":                                             {some(&discordv1alpha1.DiscordChannel{}, "school", "osaka-alerts"), ""},
		"channel no longer desired":                                  {some(ourChannel, "school", "tokyo-alerts"), "school/tokyo"},
		"SQL":                                                        {configMap("school", "sql"), "school/osaka"},
		"ConfigMap in another namespace":                             {configMap("team", "sql"), ""},
		"Secret with SQL":                                            {secret(named("school", "users")), "school/osaka"},
		"password":                                                   {secret(named("school", "osaka-db")), "school/osaka"},
		"password of the second login":                               {secret(named("school", "osaka-db-2")), "school/osaka"},
		"pod":                                                        {dojoOfPod(ctx, &corev1.Pod{ObjectMeta: labelled("dojo")}), "school/tokyo"},
		"autoscaler":                                                 {dojoOfAutoscaler(ctx, scaler()), "school/tokyo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range c.got {
				got = append(got, request.String())
			}
			slices.Sort(got)
			if got := strings.Join(slices.Compact(got), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTargetChanged(t *testing.T) {
	t.Parallel()
	before, after, counted := scaler(), scalerOf("Deployment", "kyoto"), scaler()
	counted.Status.CurrentReplicas = 5
	checkPredicate(t, targetChanged, before,
		map[string]bool{"created": true, "deleted": true, "has scaled": false, "another target": true},
		map[string]client.Object{"has scaled": counted, "another target": after})
}

func TestScalerChanged(t *testing.T) {
	t.Parallel()
	active := func(status corev1.ConditionStatus, replicas int32) *autoscalingv2.HorizontalPodAutoscaler {
		o := scaler()
		o.Status.CurrentReplicas = replicas
		o.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.AbleToScale, Status: status}, {Type: autoscalingv2.ScalingActive, Status: status},
		}
		return o
	}
	edited := active(corev1.ConditionTrue, 3)
	edited.Spec.MaxReplicas++
	checkPredicate(t, scalerChanged, active(corev1.ConditionTrue, 3),
		map[string]bool{"created": true, "deleted": true, "has scaled": false, "lacks metrics": true, "edited": true},
		map[string]client.Object{"has scaled": active(corev1.ConditionTrue, 5), "edited": edited,
			"lacks metrics": active(corev1.ConditionFalse, 3)})
}

func TestRequested(t *testing.T) {
	t.Parallel()
	request := func(value string) *corev1api.Dojo {
		return dojotest.Dojo(func(dojo *corev1api.Dojo) {
			dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: value}
		})
	}
	accepted := request("1")
	accepted.Annotations[corev1api.RecreateDatabaseAnnotation] = "uid"
	note := request("1")
	note.Annotations["example.org/note"] = "x"
	checkPredicate(t, requestChanged, request("1"),
		map[string]bool{"created": false, "deleted": false, "requested again": true, "withdrawn": true, "loss accepted": true,
			"another annotation": false},
		map[string]client.Object{"requested again": request("2"), "loss accepted": accepted, "withdrawn": dojotest.Dojo(), "another annotation": note})
}

func TestMayLeaveCluster(t *testing.T) {
	t.Parallel()
	edited := dojotest.Dojo(dojotest.Replicas(7))
	edited.Generation++
	checkPredicate(t, mayLeaveCluster, dojotest.Dojo(),
		map[string]bool{"created": true, "deleted": true, "suspended": true, "edited": false, "another Secret": true},
		map[string]client.Object{"suspended": dojotest.Dojo(isSuspended), "edited": edited,
			"another Secret": dojotest.Dojo(referring("elsewhere"))})
	guest := dojotest.Dojo(func(d *corev1api.Dojo) {
		d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "shared"}}
	})
	checkPredicate(t, mayLeaveCluster, guest, map[string]bool{"created": true, "deleted": true}, nil)
}

func TestPodEnds(t *testing.T) {
	t.Parallel()
	in := func(phase corev1.PodPhase) *corev1.Pod { return &corev1.Pod{Status: corev1.PodStatus{Phase: phase}} }
	updates := map[string]client.Object{"runs": in(corev1.PodRunning), "succeeds": in(corev1.PodSucceeded), "fails": in(corev1.PodFailed)}
	checkPredicate(t, podEnds, in(corev1.PodPending),
		map[string]bool{"created": false, "deleted": true, "runs": false, "succeeds": true, "fails": true}, updates)
	checkPredicate(t, podEnds, in(corev1.PodSucceeded),
		map[string]bool{"created": false, "deleted": true, "runs": false, "succeeds": false, "fails": false}, updates)
}

func checkPredicate(
	t *testing.T, p predicate.Predicate, before client.Object, want map[string]bool, updates map[string]client.Object,
) {
	t.Helper()
	got := map[string]bool{
		"created": p.Create(event.CreateEvent{Object: before}), "deleted": p.Delete(event.DeleteEvent{Object: before}),
	}
	for name, after := range updates {
		got[name] = p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
