package dojo

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

func mongo(d *corev1api.Dojo) { d.Spec.Database = corev1api.DatabaseMongo }

var foreign = metav1.ObjectMeta{Namespace: "school", Name: "tokyo"}

func TestPlan(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes   []string
		Removes  bool
		Replicas int32
		Outcome  string
	}
	gone := func(w *world) { w.source = nil }
	noCopy := func(w *world) { w.own = nil }
	hidden := func(w *world) { w.source = pgApp(elsewhere("")) }
	rotated := func(w *world) {
		w.source = pgApp(key("password", "red"), func(s *corev1.Secret) { s.ResourceVersion = "8" })
	}
	autoscaled := func(n int32) func(w *world) {
		return func(w *world) {
			w.scaler = true
			w.deployment = edit(w, w.deployment, "kube-controller-manager", scaleTo(n))
			w.serve(n)
		}
	}
	empty := func(w *world) { *w = world{t: w.t, source: pgApp()} }
	both := func(changes ...func(w *world)) func(w *world) {
		return func(w *world) {
			for _, change := range changes {
				change(w)
			}
		}
	}
	all := []string{kindSecret, kindDeployment, kindService, kindBudget}
	// Each case begins where a tokyo of three replicas is settled.
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(w *world)
		want   result
	}{
		"settled":                 {tokyo(), both(), result{nil, false, 3, "settled"}},
		"new":                     {tokyo(), empty, result{all, false, 3, "Waiting/RollingOut"}},
		"new, one replica":        {tokyo(replicas(1)), empty, result{all[:3], false, 1, "Waiting/RollingOut"}},
		"new, no replicas":        {tokyo(replicas(0)), empty, result{all[:3], false, 0, "Waiting/RollingOut"}},
		"new, no credentials":     {tokyo(), both(empty, gone), result{nil, false, 3, "Waiting/WaitingForCredentials"}},
		"new, Mongo":              {tokyo(mongo), empty, result{nil, false, 3, "Terminal/DatabaseNotSupported"}},
		"scaled up":               {tokyo(replicas(5)), both(), result{all[1:2], false, 5, "Waiting/RollingOut"}},
		"scaled to one":           {tokyo(replicas(1)), both(), result{all[1:2], true, 1, "Waiting/RollingOut"}},
		"scaled to nothing":       {tokyo(replicas(0)), both(), result{all[1:2], true, 0, "Waiting/RollingOut"}},
		"another title":           {tokyo(func(d *corev1api.Dojo) { d.Spec.Title = "x" }), both(), result{all[1:2], false, 3, "Waiting/RollingOut"}},
		"credentials rotated":     {tokyo(), rotated, result{all[:2], false, 3, "Waiting/RollingOut"}},
		"credentials gone":        {tokyo(), gone, result{nil, false, 3, "Waiting/WaitingForCredentials"}},
		"gone, scaled":            {tokyo(replicas(5)), gone, result{all[1:2], false, 5, "Waiting/WaitingForCredentials"}},
		"gone, Service too":       {tokyo(), both(gone, func(w *world) { w.service = nil }), result{all[2:3], false, 3, "Waiting/WaitingForCredentials"}},
		"gone, copy too, scaled":  {tokyo(replicas(5)), both(gone, noCopy), result{all[1:2], false, 5, "Waiting/WaitingForCredentials"}},
		"gone, copy, Service":     {tokyo(), both(gone, noCopy, func(w *world) { w.service = nil }), result{all[2:3], false, 3, "Waiting/WaitingForCredentials"}},
		"gone, and pods crash":    {tokyo(), both(gone, crashing), result{nil, false, 3, "Terminal/CrashLoopBackOff"}},
		"not shared any longer":   {tokyo(referring("databases")), hidden, result{nil, false, 3, "Terminal/CredentialsNotShared"}},
		"not shared, pods crash":  {tokyo(referring("databases")), both(hidden, crashing), result{nil, false, 3, "Terminal/CredentialsNotShared"}},
		"pods crash":              {tokyo(), crashing, result{nil, false, 3, "Terminal/CrashLoopBackOff"}},
		"pods crash, new title":   {tokyo(func(d *corev1api.Dojo) { d.Spec.Title = "x" }), crashing, result{all[1:2], false, 3, "Waiting/RollingOut"}},
		"changed to Mongo":        {tokyo(mongo, replicas(5)), both(), result{nil, false, 5, "Terminal/DatabaseNotSupported"}},
		"Mongo, Service deleted":  {tokyo(mongo), func(w *world) { w.service = nil }, result{nil, false, 3, "Terminal/DatabaseNotSupported"}},
		"autoscaled":              {tokyo(), autoscaled(7), result{nil, false, 7, "settled"}},
		"autoscaled to one":       {tokyo(), autoscaled(1), result{nil, true, 1, "settled"}},
		"autoscaled, spec scaled": {tokyo(replicas(5)), autoscaled(7), result{nil, false, 7, "settled"}},
		"autoscaled, then 0":      {tokyo(replicas(0)), autoscaled(7), result{all[1:2], true, 0, "Waiting/RollingOut"}},
		"autoscaler taken away":   {tokyo(), both(autoscaled(7), func(w *world) { w.scaler = false }), result{all[1:2], false, 3, "Waiting/RollingOut"}},
		"foreign Secret":          {tokyo(), both(empty, func(w *world) { w.own = &corev1.Secret{ObjectMeta: foreign} }), result{nil, false, 3, "Terminal/NameTaken"}},
		"foreign Deployment":      {tokyo(), both(empty, func(w *world) { w.deployment = &appsv1.Deployment{ObjectMeta: foreign} }), result{nil, false, 3, "Terminal/NameTaken"}},
		"foreign Service":         {tokyo(), both(empty, func(w *world) { w.service = &corev1.Service{ObjectMeta: foreign} }), result{nil, false, 3, "Terminal/NameTaken"}},
		"foreign budget, none wanted": {tokyo(replicas(1)), both(empty, func(w *world) { w.budget = &policyv1.PodDisruptionBudget{ObjectMeta: foreign} }),
			result{[]string{"Secret", "Deployment", "Service"}, false, 1, "Waiting/RollingOut"}},
		"foreign budget":                      {tokyo(), both(empty, func(w *world) { w.budget = &policyv1.PodDisruptionBudget{ObjectMeta: foreign} }), result{all[:3], false, 3, "Terminal/NameTaken"}},
		"foreign Ingress, rotated and scaled": {tokyo(exposed, replicas(5)), both(rotated, func(w *world) { w.ingress = &networkingv1.Ingress{ObjectMeta: foreign} }), result{all[:2], false, 5, "Terminal/NameTaken"}},
		"foreign Ingress, none wanted":        {tokyo(), func(w *world) { w.ingress = &networkingv1.Ingress{ObjectMeta: foreign} }, result{nil, false, 3, "settled"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settledWorld(t, tokyo())
			c.change(w)
			s := plan(c.dojo, w.see(c.dojo), testConfig)
			if diff := cmp.Diff(c.want, result{kinds(s), s.remove != nil, s.replicas, outcomeOf(s.verdict)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func crashing(w *world) {
	w.serve(2)
	w.pods = []corev1.Pod{pod("a", crashed(5))}
}

func TestNameTakenNamesTheObject(t *testing.T) {
	t.Parallel()
	w := &world{t: t, source: pgApp(), service: &corev1.Service{ObjectMeta: foreign}}
	want := &conditions.Terminal{
		Reason:  corev1api.ReasonNameTaken,
		Message: "The Service school/tokyo exists and does not belong to this Dojo; it is left alone. Delete it, or give the Dojo another name.",
	}
	if diff := cmp.Diff(error(want), plan(tokyo(), w.see(tokyo()), testConfig).verdict); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsOnItsWayOutIsWaitedFor(t *testing.T) {
	t.Parallel()
	former := tokyo(func(d *corev1api.Dojo) { d.UID = "the former" })
	cases := map[string]metav1.ObjectMeta{
		"a child of the former Dojo":  {Name: "tokyo", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(former, corev1api.GroupVersion.WithKind("Dojo"))}},
		"a stranger's, being deleted": {Name: "tokyo", DeletionTimestamp: &metav1.Time{Time: noon}},
	}
	for name, object := range cases {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, source: pgApp(), service: &corev1.Service{ObjectMeta: object}}
			if got := plan(tokyo(), w.see(tokyo()), testConfig).verdict; outcomeOf(got) != "Waiting/WaitingForDeletion" {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestGraver(t *testing.T) {
	t.Parallel()
	wait, wait2 := &conditions.Waiting{Reason: "A"}, &conditions.Waiting{Reason: "B"}
	fail, fail2 := &conditions.Terminal{Reason: "C"}, &conditions.Terminal{Reason: "D"}
	cases := map[string]struct{ first, second, want error }{
		"all is well":             {nil, nil, nil},
		"only the first":          {wait, nil, wait},
		"only the second":         {nil, wait, wait},
		"only the second, failed": {nil, fail, fail},
		"both wait":               {wait, wait2, wait},
		"the second failed":       {wait, fail, fail},
		"the first failed":        {fail, wait, fail},
		"both failed":             {fail, fail2, fail},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := graver(c.first, c.second); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("got %v", got)
			}
		})
	}
}

var (
	drawName  = rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`)
	drawText  = rapid.StringN(1, 128, -1)
	drawHost  = rapid.StringMatching(`[a-z0-9.-]{1,40}`)
	drawValue = rapid.SliceOfN(rapid.Byte(), 1, 40)
)

// drawDojo is any Dojo of this name that the schema admits.
func drawDojo(t *rapid.T, name string) *corev1api.Dojo {
	return tokyo(replicas(rapid.Int32Range(0, 100).Draw(t, "replicas")), func(d *corev1api.Dojo) {
		d.Name, d.Generation = name, rapid.Int64Range(1, 9).Draw(t, "generation")
		d.Spec.AccountID, d.Spec.Title = drawText.Draw(t, "account"), drawText.Draw(t, "title")
	})
}

// drawSource is any complete source Secret, of the given version.
func drawSource(t *rapid.T, version int) *corev1.Secret {
	return pgApp(func(s *corev1.Secret) {
		s.ResourceVersion = strconv.Itoa(version)
		s.Data["host"] = []byte(drawHost.Draw(t, "host"))
		for _, name := range []string{"dbname", rapid.SampledFrom([]string{"user", "username"}).Draw(t, "key"), "password"} {
			s.Data[name] = drawValue.Draw(t, name)
		}
	})
}

func TestOnePassIsEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := drawName.Draw(t, "name")
		w := &world{t: t}
		var last *corev1api.Dojo
		for version := range rapid.IntRange(1, 3).Draw(t, "specs") {
			last = drawDojo(t, name)
			w.source = drawSource(t, version)
			w.pass(last)
			w.serve(*w.deployment.Spec.Replicas)
			if s := w.pass(last); s.apply != nil || s.remove != nil || s.verdict != nil {
				t.Fatalf("a second pass writes %v, removes %v, ends as %v", kinds(s), s.remove, s.verdict)
			}
		}
		fresh := &world{t: t, source: w.source}
		fresh.pass(last)
		same(t, fresh, w)
	})
}

func TestForeignFieldsAndLostChildrenInAnyMix(t *testing.T) {
	t.Parallel()
	added, broken := harmless(), harmful()
	rapid.Check(t, func(t *rapid.T) {
		d := tokyo(replicas(rapid.Int32Range(2, 5).Draw(t, "replicas")))
		w := settledWorld(t, d)
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(added))), rapid.ID).Draw(t, "added") {
			added[name](w)
		}
		if got := kinds(w.pass(d)); got != nil {
			t.Fatalf("%v written for what is not ours", got)
		}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(broken))), 1, 3, rapid.ID).Draw(t, "broken") {
			broken[name].change(w)
		}
		if kinds(w.pass(d)) == nil {
			t.Fatal("nothing is put right")
		}
		if got := kinds(w.pass(d)); got != nil {
			t.Fatalf("%v written once more", got)
		}
	})
}
