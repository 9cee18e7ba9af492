package dojo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// indexes are those that the cache would have, by kind and name.
type indexes map[string]client.IndexerFunc

func (i indexes) IndexField(_ context.Context, o client.Object, name string, values client.IndexerFunc) error {
	i[fmt.Sprintf("%T %s", o, name)] = values
	return nil
}

type noIndexes struct{ after int }

func (n *noIndexes) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	if n.after--; n.after < 0 {
		return errAway
	}
	return nil
}

func scaler(kind, name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "scaler"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name},
		},
	}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	found := indexes{}
	must(t, addIndexes(t.Context(), found))
	p := pod("a")
	cases := map[string]struct {
		index  string
		object client.Object
		want   []string
	}{
		"source of a Dojo":         {"*v1.Dojo " + dojoBySource, tokyo(), []string{"school/pg-app"}},
		"source elsewhere":         {"*v1.Dojo " + dojoBySource, tokyo(referring("databases")), []string{"databases/pg-app"}},
		"SQL of a Dojo":            {"*v1.Dojo " + dojoBySQL, tokyo(inPG, withSQL), []string{"ConfigMap/sql", "Secret/users"}},
		"no SQL":                   {"*v1.Dojo " + dojoBySQL, tokyo(), nil},
		"standing Cluster":         {"*v1.Dojo " + dojoByCluster, tokyo(inPG), []string{"pg"}},
		"Cluster of its own":       {"*v1.Dojo " + dojoByCluster, tokyo(ownPG), []string{"tokyo-db"}},
		"no Cluster":               {"*v1.Dojo " + dojoByCluster, tokyo(), nil},
		"shared channel":           {"*v1.Dojo " + dojoByChannel, tokyo(inChannel), []string{"all"}},
		"channel of its own":       {"*v1.Dojo " + dojoByChannel, tokyo(inGroup), []string{"tokyo-alarms"}},
		"no channel":               {"*v1.Dojo " + dojoByChannel, tokyo(), nil},
		"pod of the schema":        {"*v1.Pod " + podOfDojo, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: schemaLabels(tokyo())}}, nil},
		"schema's pod":             {"*v1.Pod " + podOfSchema, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: schemaLabels(tokyo())}}, []string{"tokyo"}},
		"schema's Job":             {"*v1.Job " + jobOfDojo, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: schemaLabels(tokyo())}}, []string{"tokyo"}},
		"password":                 {"*v1.Dojo " + dojoBySource, tokyo(inPG), []string{"school/tokyo-db"}},
		"pod":                      {"*v1.Pod " + podOfDojo, &p, []string{"tokyo"}},
		"autoscaler":               {"*v2.HorizontalPodAutoscaler " + scaledDeployment, scaler("Deployment", "tokyo"), []string{"tokyo"}},
		"autoscaler of the Dojo":   {"*v2.HorizontalPodAutoscaler " + scaledDeployment, scaler("Dojo", "tokyo"), nil},
		"autoscaler of other sets": {"*v2.HorizontalPodAutoscaler " + scaledDeployment, scaler("StatefulSet", "tokyo"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found[c.index](c.object)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for after := range len(found) {
		if err := addIndexes(t.Context(), &noIndexes{after}); !errors.Is(err, errAway) {
			t.Errorf("an error of the index number %d is lost", after)
		}
	}
}

// A Secret's events reach every Dojo that reads it or would make it, and no other.
func TestWhomAnObjectConcerns(t *testing.T) {
	t.Parallel()
	found := indexes{}
	must(t, addIndexes(t.Context(), found))
	named := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	kyoto := tokyo(func(d *corev1api.Dojo) { d.Name, d.UID = "kyoto", "uid of kyoto" })
	guest := tokyo(referring("school"), func(d *corev1api.Dojo) { d.Namespace, d.Name = "abroad", "guest" })
	other := tokyo(func(d *corev1api.Dojo) { d.Name = "other"; d.Spec.CredentialsRef.Name = "kyoto-credentials" })
	osaka := tokyo(inPG, withSQL, watched, func(d *corev1api.Dojo) { d.Name, d.UID = "osaka", "uid of osaka" })
	own := tokyo(ownPG, inChannel, func(d *corev1api.Dojo) { d.Name, d.UID = "own", "uid of own" })
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(testScheme).WithObjects(tokyo(), kyoto, guest, other, osaka, own).
		WithIndex(&corev1api.Dojo{}, dojoBySource, found["*v1.Dojo "+dojoBySource]).
		WithIndex(&corev1api.Dojo{}, dojoBySQL, found["*v1.Dojo "+dojoBySQL]).
		WithIndex(&corev1api.Dojo{}, dojoByCluster, found["*v1.Dojo "+dojoByCluster]).
		WithIndex(&corev1api.Dojo{}, dojoByChannel, found["*v1.Dojo "+dojoByChannel]).Build()}
	customObject := func(kind optional.Kind, namespace, name string, labels map[string]string) []reconcile.Request {
		o := kind.Object()
		o.SetNamespace(namespace)
		o.SetName(name)
		o.SetLabels(labels)
		return r.dojosOfCustom(t.Context(), o)
	}
	configMap := func(namespace, name string) []reconcile.Request {
		return r.dojosOfConfigMap(t.Context(), &corev1.ConfigMap{ObjectMeta: named(namespace, name)})
	}
	w := settledWorld(t, tokyo())
	child := func(o client.Object) []reconcile.Request { return r.dojoOfChild(t.Context(), o) }
	secret := func(m metav1.ObjectMeta) []reconcile.Request {
		return r.dojosOfSecret(t.Context(), metadataOf(&corev1.Secret{ObjectMeta: m}))
	}
	claimed := w.service.DeepCopy()
	claimed.OwnerReferences[0].APIVersion, claimed.OwnerReferences[0].Name = "example.org/v1", "osaka"

	cases := map[string]struct {
		got  []reconcile.Request
		want []string
	}{
		"our Deployment":                        {child(w.deployment), []string{"school/tokyo"}},
		"our Service":                           {child(w.service), []string{"school/tokyo"}},
		"our budget":                            {child(w.budget), []string{"school/tokyo"}},
		"our Secret":                            {secret(w.own.ObjectMeta), []string{"school/tokyo"}},
		"a stranger's, in a Dojo's way":         {child(&corev1.Service{ObjectMeta: named("school", "kyoto")}), []string{"school/kyoto"}},
		"a stranger's, in nobody's way":         {child(&corev1.Service{ObjectMeta: named("school", "theirs")}), nil},
		"a stranger's, elsewhere":               {child(&appsv1.Deployment{ObjectMeta: named("team", "tokyo")}), nil},
		"of another group's Dojo":               {child(claimed), []string{"school/tokyo"}}, // it is in the way of ours
		"source of three":                       {secret(named("school", "pg-app")), []string{"abroad/guest", "school/kyoto", "school/tokyo"}},
		"source of one, in the way of a second": {secret(named("school", "kyoto-credentials")), []string{"school/kyoto", "school/other"}},
		"Secret with the name of a Dojo":        {secret(named("school", "tokyo")), nil},
		"Secret of nobody":                      {secret(named("school", "theirs")), nil},
		"Secret of the same name, elsewhere":    {secret(named("team", "pg-app")), nil},
		"standing Cluster":                      {customObject(clusterKind, "school", "pg", nil), []string{"school/osaka"}},
		"Cluster of a Dojo":                     {customObject(clusterKind, "school", "own-db", nil), []string{"school/own"}},
		"Cluster of nobody":                     {customObject(clusterKind, "school", "theirs", nil), nil},
		"Cluster elsewhere":                     {customObject(clusterKind, "team", "pg", nil), nil},
		"Database":                              {customObject(databaseKind, "school", "osaka-db", nil), []string{"school/osaka"}},
		"Database of nobody":                    {customObject(databaseKind, "school", "theirs", nil), nil},
		"final Backup":                          {customObject(backupKind, "school", "own-db-final-1", labels(own)), []string{"school/own"}},
		"Backup of nobody":                      {customObject(backupKind, "school", "own-db-2", nil), nil},
		"ServiceMonitor":                        {customObject(serviceMonitorKind, "school", "osaka", nil), []string{"school/osaka"}},
		"CloudNativePG appears":                 {r.dojosWanting(t.Context(), databaseKind), []string{"school/osaka", "school/own"}},
		"prometheus-operator appears":           {r.dojosWanting(t.Context(), prometheusRuleKind), []string{"school/osaka", "school/own"}},
		"discord-operator appears":              {r.dojosWanting(t.Context(), channelKind), []string{"school/own"}},
		"shared channel":                        {customObject(channelKind, "school", "all", nil), []string{"school/own"}},
		"channel of nobody":                     {customObject(channelKind, "school", "osaka-alarms", nil), nil},
		"channel that is not wanted any more":   {r.dojosOfCustom(t.Context(), channelFor(tokyo(inGroup))), []string{"school/tokyo"}},
		"SQL":                                   {configMap("school", "sql"), []string{"school/osaka"}},
		"SQL of nobody":                         {configMap("team", "sql"), nil},
		"Secret with SQL":                       {secret(named("school", "users")), []string{"school/osaka"}},
		"password":                              {secret(named("school", "osaka-db")), []string{"school/osaka"}},
		"pod":                                   {dojoOfPod(t.Context(), &corev1.Pod{ObjectMeta: pod("a").ObjectMeta}), []string{"school/tokyo"}},
		"autoscaler":                            {dojoOfAutoscaler(t.Context(), scaler("Deployment", "tokyo")), []string{"school/tokyo"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range c.got {
				got = append(got, request.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTroubleChanged(t *testing.T) {
	t.Parallel()
	fine, failing := pod("a"), pod("a", crashed(3))
	again, other := pod("a", crashed(4)), pod("a", waiting("ErrImagePull", ""))
	ready := pod("a", corev1.ContainerStatus{Name: "dojo", Ready: true})
	cases := map[string]struct{ got, want bool }{
		"new and fine":       {troubleChanged.Create(event.CreateEvent{Object: &fine}), false},
		"new with trouble":   {troubleChanged.Create(event.CreateEvent{Object: &failing}), true},
		"becomes ready":      {troubleChanged.Update(event.UpdateEvent{ObjectOld: &fine, ObjectNew: &ready}), false},
		"gets into trouble":  {troubleChanged.Update(event.UpdateEvent{ObjectOld: &fine, ObjectNew: &failing}), true},
		"crashes once more":  {troubleChanged.Update(event.UpdateEvent{ObjectOld: &failing, ObjectNew: &again}), false},
		"another trouble":    {troubleChanged.Update(event.UpdateEvent{ObjectOld: &failing, ObjectNew: &other}), true},
		"recovers":           {troubleChanged.Update(event.UpdateEvent{ObjectOld: &failing, ObjectNew: &ready}), true},
		"the schema fails":   {troubleChanged.Update(event.UpdateEvent{ObjectOld: endedSchemaPod("", 0), ObjectNew: endedSchemaPod("no", 3)}), true},
		"the schema is done": {troubleChanged.Update(event.UpdateEvent{ObjectOld: endedSchemaPod("", 0), ObjectNew: endedSchemaPod("", 0)}), false},
		"gone and was fine":  {troubleChanged.Delete(event.DeleteEvent{Object: &fine}), false},
		"gone, with trouble": {troubleChanged.Delete(event.DeleteEvent{Object: &failing}), true},
		"anything else":      {troubleChanged.Generic(event.GenericEvent{Object: &failing}), false},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: passes is %v", name, c.got)
		}
	}
}

func endedSchemaPod(message string, code int32) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: schemaLabels(tokyo())}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
	}}
	return p
}

func TestTargetChanged(t *testing.T) {
	t.Parallel()
	before, after, counted := scaler("Deployment", "tokyo"), scaler("Deployment", "kyoto"), scaler("Deployment", "tokyo")
	counted.Status.CurrentReplicas = 5
	cases := map[string]struct{ got, want bool }{
		"new":            {targetChanged.Create(event.CreateEvent{Object: before}), true},
		"gone":           {targetChanged.Delete(event.DeleteEvent{Object: before}), true},
		"has scaled":     {targetChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: counted}), false},
		"another target": {targetChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), true},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: passes is %v", name, c.got)
		}
	}
}
