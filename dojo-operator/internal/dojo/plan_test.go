// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/conditions"
)

func foreign(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "school", Name: name}
}

func scaler() *autoscalingv2.HorizontalPodAutoscaler {
	return scalerOf("Deployment", "tokyo")
}

func scalerOf(kind, name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "scaler"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name},
		},
	}
}

func (w *world) crash() {
	w.serve(2)
	w.Put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "school", Name: "tokyo-1", Labels: ownership.Labels(dojotest.Dojo(), ownership.Application),
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "dojo", Image: "dojo:9"}}},
	})
	pod := objectOf[corev1.Pod](w, "tokyo-1")
	applytest.EditStatus(w.t, w.Server, "kubelet", pod, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "dojo", RestartCount: 5,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}},
		}}
	})
}

func (w *world) autoscale(n int32) {
	w.Put(scaler())
	applytest.Scale(w.t, w.Server, "kube-controller-manager", w.deployment(), scaledTo(n))
	w.do(dojotest.Dojo())
	w.serve(n)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes, Deletes []string
		Replicas        int32
		Issue           string
	}
	all := []string{"Secret", "Deployment", "Service", "PodDisruptionBudget"}
	first, deployment, service, budget := all[:3], all[1:2], all[2:3], []string{"PodDisruptionBudget/tokyo"}
	const rolling, waiting = "Progressing/RollingOut", "Progressing/WaitingForCredentials"
	const conflict, crashLoop = "Degraded/NameConflict", "Degraded/CrashLoopBackOff"
	const notShared, incomplete = "Degraded/CredentialsNotShared", "Degraded/CredentialsIncomplete"

	nothing := func(*world) {}
	noSource := func(w *world) { w.remove(w.source()) }
	noService := func(w *world) { w.remove(w.service()) }
	noCopy := func(w *world) { w.remove(w.own()) }
	hidden := func(w *world) { w.Put(dojotest.Source(func(s *corev1.Secret) { s.Namespace = "databases" })) }
	rotated := func(w *world) { applytest.Edit(w.t, w.Server, "kubectl", w.source(), key("password", "red")) }
	ofPostgres := func(w *world) {
		applytest.Edit(w.t, w.Server, "kubectl", w.source(), key("uri", "postgresql://pg-rw/app"))
	}
	autoscaled := func(n int32) func(*world) { return func(w *world) { w.autoscale(n) } }
	put := func(o client.Object) func(*world) { return func(w *world) { w.Put(o) } }
	each := func(changes ...func(*world)) func(*world) {
		return func(w *world) {
			for _, change := range changes {
				change(w)
			}
		}
	}
	noScaler := func(w *world) { w.remove(objectOf[autoscalingv2.HorizontalPodAutoscaler](w, "scaler")) }
	foreignBudget := func() client.Object { return &policyv1.PodDisruptionBudget{ObjectMeta: foreign("tokyo")} }
	foreignIngress := func() client.Object { return &networkingv1.Ingress{ObjectMeta: foreign("tokyo")} }
	title := func(dojo *corev1api.Dojo) { dojo.Spec.Title = "Kyoto" }
	dojo, replicas := dojotest.Dojo, dojotest.Replicas
	cases := map[string]struct {
		empty  bool // if false, a Dojo with three replicas runs before the change
		dojo   *corev1api.Dojo
		change func(*world)
		want   result
	}{
		"in sync":                               {false, dojo(), nothing, result{nil, nil, 3, ""}},
		"new":                                   {true, dojo(), nothing, result{all, nil, 3, rolling}},
		"new, one replica":                      {true, dojo(replicas(1)), nothing, result{first, nil, 1, rolling}},
		"new, no replicas":                      {true, dojo(replicas(0)), nothing, result{first, nil, 0, rolling}},
		"new, no credentials":                   {true, dojo(), noSource, result{nil, nil, 3, waiting}},
		"new, Mongo":                            {true, dojo(mongo), nothing, result{all, nil, 3, rolling}},
		"scaled up":                             {false, dojo(replicas(5)), nothing, result{deployment, nil, 5, rolling}},
		"scaled to one":                         {false, dojo(replicas(1)), nothing, result{deployment, budget, 1, rolling}},
		"scaled to zero":                        {false, dojo(replicas(0)), nothing, result{deployment, budget, 0, rolling}},
		"another title":                         {false, dojo(title), nothing, result{deployment, nil, 3, rolling}},
		"credentials rotated":                   {false, dojo(), rotated, result{all[:2], nil, 3, rolling}},
		"credentials removed":                   {false, dojo(), noSource, result{nil, nil, 3, waiting}},
		"credentials removed, scaled":           {false, dojo(replicas(5)), noSource, result{deployment, nil, 5, waiting}},
		"credentials and Service removed":       {false, dojo(), each(noSource, noService), result{service, nil, 3, waiting}},
		"credentials and copy removed, scaled":  {false, dojo(replicas(5)), each(noSource, noCopy), result{deployment, nil, 5, waiting}},
		"credentials, copy and Service removed": {false, dojo(), each(noSource, noCopy, noService), result{service, nil, 3, waiting}},
		"credentials removed, pods crash":       {false, dojo(), each(noSource, (*world).crash), result{nil, nil, 3, crashLoop}},
		"source not shared":                     {false, dojo(referring("databases")), hidden, result{nil, nil, 3, notShared}},
		"source not shared, pods crash": {false, dojo(referring("databases")), each(hidden, (*world).crash),
			result{nil, nil, 3, notShared}},
		"pods crash":                          {false, dojo(), (*world).crash, result{nil, nil, 3, crashLoop}},
		"pods crash, new title":               {false, dojo(title), (*world).crash, result{deployment, nil, 3, rolling}},
		"changed to Mongo":                    {false, dojo(mongo, replicas(5)), nothing, result{all[:2], nil, 5, rolling}},
		"Mongo, no Service":                   {false, dojo(mongo), noService, result{first, nil, 3, rolling}},
		"Mongo, source has a URI of Postgres": {false, dojo(mongo, replicas(5)), ofPostgres, result{deployment, nil, 5, incomplete}},
		"autoscaled":                          {false, dojo(), autoscaled(7), result{nil, nil, 7, ""}},
		"autoscaled to one":                   {false, dojo(), autoscaled(1), result{nil, nil, 1, ""}},
		"autoscaled, spec.replicas changed":   {false, dojo(replicas(5)), autoscaled(7), result{nil, nil, 7, ""}},
		"autoscaled, then scaled to zero":     {false, dojo(replicas(0)), autoscaled(7), result{deployment, budget, 0, rolling}},
		"autoscaler deleted":                  {false, dojo(), each(autoscaled(7), noScaler), result{deployment, nil, 3, rolling}},
		"foreign Secret": {true, dojo(), put(&corev1.Secret{ObjectMeta: foreign("tokyo-credentials")}),
			result{nil, nil, 3, conflict}},
		"foreign Deployment": {true, dojo(), put(&appsv1.Deployment{ObjectMeta: foreign("tokyo")}),
			result{nil, nil, 3, conflict}},
		"foreign Service": {true, dojo(), put(&corev1.Service{ObjectMeta: foreign("tokyo")}),
			result{nil, nil, 3, conflict}},
		"foreign budget":                    {true, dojo(), put(foreignBudget()), result{first, nil, 3, conflict}},
		"foreign budget, no budget desired": {true, dojo(replicas(1)), put(foreignBudget()), result{first, nil, 1, rolling}},
		"foreign Ingress, credentials rotated, Dojo scaled": {false, dojo(exposed, replicas(5)), each(rotated, put(foreignIngress())),
			result{all[:2], nil, 5, conflict}},
		"foreign Ingress, no Ingress desired": {false, dojo(), put(foreignIngress()), result{nil, nil, 3, ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, dojotest.Source())
			if !c.empty {
				w = reconciled(t, dojo())
			}
			c.change(w)
			s, plan := w.plan(c.dojo)
			got := result{
				dojotest.Kinds(plan), dojotest.Deleted(plan), s.Workload.Replicas(c.dojo), dojotest.Worst(plan.Issues),
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// When an autoscaler scales the Deployment, the operator keeps the number of replicas that the
// autoscaler has set, and does not replace the pods.
func TestAutoscalerTakesOver(t *testing.T) {
	t.Parallel()
	w := reconciled(t, dojotest.Dojo())
	uid, template := w.deployment().UID, w.deployment().Spec.Template
	w.autoscale(7)
	if live := w.deployment(); live.UID != uid || *live.Spec.Replicas != 7 || !cmp.Equal(template, live.Spec.Template) {
		t.Errorf("the Deployment is %+v", live.Spec)
	}
}

// An issue that blocks the whole Dojo is reported by each of the Dojo's conditions.
func TestBlockedParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Put(&appsv1.Deployment{ObjectMeta: foreign("tokyo")})
	_, plan := w.plan(dojotest.Dojo(inGroup))
	for _, part := range []string{"", corev1api.ConditionDatabaseReady, corev1api.ConditionAlertsReady} {
		if got := dojotest.Worst(conditions.OfPart(part, plan.Issues)); got != "Degraded/NameConflict" {
			t.Errorf("the issue of the part %q is %s", part, got)
		}
	}
}

func TestOrderOfIssues(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(inGroup, dojotest.WaitingFor("Secret school/pg-app", time.Hour))
	w := reconciled(t, dojotest.Dojo())
	w.remove(w.source())
	w.crash()
	w.without = "DiscordChannel"
	_, plan := w.plan(dojo)
	var got []string
	for _, issue := range plan.Issues {
		got = append(got, issue.Reason)
	}
	want := []string{"CredentialsNotFound", "CrashLoopBackOff", "DiscordOperatorNotInstalled"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var (
	drawName  = rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`)
	drawText  = rapid.StringN(1, 128, -1)
	drawHost  = rapid.StringMatching(`[a-z0-9.-]{1,40}`)
	drawValue = rapid.SliceOfN(rapid.Byte(), 1, 40)
)

func drawDojo(t *rapid.T) *corev1api.Dojo {
	return dojotest.Dojo(dojotest.Replicas(rapid.Int32Range(0, 100).Draw(t, "replicas")), func(dojo *corev1api.Dojo) {
		dojo.Generation = rapid.Int64Range(1, 9).Draw(t, "generation")
		dojo.Spec.AccountID, dojo.Spec.Title = drawText.Draw(t, "account"), drawText.Draw(t, "title")
	})
}

func drawSource(t *rapid.T, s *corev1.Secret) {
	s.Data = map[string][]byte{"host": []byte(drawHost.Draw(t, "host")), "port": []byte("5432")}
	user := rapid.SampledFrom([]string{"user", "username"}).Draw(t, "key")
	for _, name := range []string{"dbname", user, "password"} {
		s.Data[name] = drawValue.Draw(t, name)
	}
}

func TestOneReconcileIsEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, dojotest.Source())
		var last *corev1api.Dojo
		for range rapid.IntRange(1, 3).Draw(t, "specs") {
			last = drawDojo(t)
			applytest.Edit(t, w.Server, "kubectl", w.source(), func(s *corev1.Secret) { drawSource(t, s) })
			w.do(last)
			w.serve(*w.deployment().Spec.Replicas)
			if plan := w.do(last); plan.Apply != nil || plan.Delete != nil || plan.Issues != nil {
				t.Fatalf("the next reconcile plans %+v", plan)
			}
		}
		fresh := newWorld(t, w.source())
		fresh.do(last)
		same(t, fresh, w)
	})
}

func TestAnyName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dojo := dojotest.Dojo(dojotest.Named(drawName.Draw(t, "name")))
		w := newWorld(t, dojotest.Source())
		w.do(dojo)
		if _, plan := w.plan(dojo); plan.Apply != nil || plan.Delete != nil {
			t.Fatalf("the next reconcile writes %v, deletes %v", dojotest.Kinds(plan), dojotest.Deleted(plan))
		}
	})
}

func TestForeignFieldsAndLostChildren(t *testing.T) {
	t.Parallel()
	added, broken := additions(), drifts()
	rapid.Check(t, func(t *rapid.T) {
		dojo := dojotest.Dojo(dojotest.Replicas(rapid.Int32Range(2, 5).Draw(t, "replicas")))
		w := reconciled(t, dojo)
		for _, name := range drawSome(t, "added", slices.Sorted(maps.Keys(added)), 0) {
			added[name](w)
		}
		w.do(dojo) // this reconcile stops setting the replicas, so that an autoscaler owns them
		if _, plan := w.plan(dojo); plan.Apply != nil {
			t.Fatalf("%v is written after harmless additions by other clients", dojotest.Kinds(plan))
		}
		for _, name := range drawSome(t, "broken", slices.Sorted(maps.Keys(broken)), 1) {
			broken[name].change(w)
		}
		if plan := w.do(dojo); plan.Apply == nil {
			t.Fatal("no drift is corrected")
		}
		if plan := w.do(dojo); plan.Apply != nil {
			t.Fatalf("%v written once more", dojotest.Kinds(plan))
		}
	})
}

func drawSome(t *rapid.T, label string, names []string, least int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), least, 3, rapid.ID).Draw(t, label)
}

// Pods get the variables of the present Secret, even if spec.database has just changed.
func TestPodsHaveTheVariablesOfTheirSecret(t *testing.T) {
	t.Parallel()
	variables := func(w *world) (names []string) {
		for _, e := range w.deployment().Spec.Template.Spec.Containers[0].Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				names = append(names, e.Name)
			}
		}
		return names
	}
	w := reconciled(t, dojotest.Dojo())
	ofPostgres := variables(w)
	before := w.deployment().Spec.Template
	applytest.Edit(t, w.Server, "kubectl", w.source(), key("uri", "postgresql://pg-rw/app"))
	w.do(dojotest.Dojo(mongo, dojotest.Replicas(5)))
	if diff := cmp.Diff(before, w.deployment().Spec.Template); diff != "" {
		t.Error("credentials of another kind of database roll the pods", diff)
	}
	applytest.Edit(t, w.Server, "kubectl", w.source(), key("uri", "mongodb://yaga:purple@mongo:27017/app"))
	w.do(dojotest.Dojo(mongo))
	if diff := cmp.Diff(append(ofPostgres, "DB_URI"), variables(w)); diff != "" {
		t.Error(diff)
	}
	w.serve(3)
	w.do(dojotest.Dojo(mongo)) // in this reconcile, the cache already has the operator's last writes
	w.remove(w.source())
	w.remove(w.own())
	before = w.deployment().Spec.Template
	w.do(dojotest.Dojo(mongo, dojotest.Replicas(5)))
	if diff := cmp.Diff(before, w.deployment().Spec.Template); diff != "" {
		t.Error("lost Secrets roll the pods", diff)
	}
}
