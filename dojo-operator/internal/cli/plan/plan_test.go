// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/dojo"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

var testConfig = dojo.Config{
	Postgres: postgres.Config{
		Deadline: 15 * time.Minute, ProgressDeadline: 2 * time.Minute,
	},
	Credentials: credentials.Config{ProgressDeadline: 2 * time.Minute},
	Release:     release.Config{MigrateImage: "dojo-migrate:0.1.0", ProgressDeadline: 2 * time.Minute},
	Workload:    workload.Config{Image: "danijelradakovic/dojo:0.1.0-alpine", ProgressDeadline: 2 * time.Minute},
	Monitoring:  monitoring.Config{ProgressDeadline: 2 * time.Minute, WebhookBase: "https://discord.com/api"},
}

// converged returns a Model in which the Dojo is Ready and has all its children.
func converged(t *testing.T, d *corev1api.Dojo) *Model {
	t.Helper()
	other := dojotest.Source(func(s *corev1.Secret) { s.Name = "pg-other" })
	sql := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "sql"}, Data: map[string]string{"a.sql": "SELECT 1"},
	}
	files := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "migrations"},
		Data:       map[string]string{"1_curses.sql": "-- +goose Up\nCREATE TABLE curses ();"},
	}
	p := plannerOn(t, dojotest.NewCluster(t, dojotest.Source(), other, sql, files).Server, nil)
	p.model.uidPrefix = "uid-of-"
	p.Apply(nil, asObject(t, d))
	planned := planOf(t, p, d)
	if !planned.Ready || len(planned.Problems) > 0 {
		t.Fatalf("the plan does not converge:\n%s", text(planned))
	}
	p.model.made, p.model.written = map[key]bool{}, map[key]bool{}
	return p.model
}

func plannerOn(t *testing.T, live client.Reader, checker Checker) *Planner {
	t.Helper()
	p, err := New(t.Context(), Input{
		Live: live, Checker: checker, Config: testConfig, Now: dojotest.Noon.Add(time.Hour),
		Sizes: sizes.BuiltIn(), Catalog: images.BuiltIn(""),
		Served: func(optionalkinds.Kind) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planOf(t *testing.T, p *Planner, d *corev1api.Dojo) *Dojo {
	t.Helper()
	planned, err := p.Plan(t.Context(), d.Namespace, d.Name)
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

func asObject(t *testing.T, d *corev1api.Dojo) *object {
	t.Helper()
	o, err := content(d)
	if err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(kinds.Dojo.GroupVersionKind)
	return o
}

func liveDojo(t *testing.T, m *Model) (*corev1api.Dojo, *object) {
	t.Helper()
	d := &corev1api.Dojo{}
	if err := m.Get(t.Context(), keyOf(asObject(t, dojotest.Dojo())).NamespacedName, d); err != nil {
		t.Fatal(err)
	}
	return d, asObject(t, d)
}

func ownCluster(d *corev1api.Dojo) {
	d.Spec.CredentialsRef = nil
	d.Spec.Postgres = &corev1api.Postgres{
		ReclaimPolicy: corev1api.ReclaimRetain,
		Cluster: &corev1api.PostgresCluster{
			Instances: new(int32(1)), Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")}, Version: "17",
		},
	}
}

func image(name string) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) { d.Spec.Image = name }
}

func text(planned ...*Dojo) string {
	r := &Report{OperatorVersion: "v1.2.3"}
	for _, d := range planned {
		r.Add(d)
	}
	return r.Text()
}

func expectGolden(t *testing.T, name, text string) {
	t.Helper()
	kubectltest.Golden(t, *update, name, text)
}

func TestCreation(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1api.Dojo){
		"new with credentials": func(*corev1api.Dojo) {},
		"new with a cluster":   ownCluster,
		"new with a release":   func(d *corev1api.Dojo) { d.Spec.Release = &corev1api.Release{Command: []string{"migrate"}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dojotest.Dojo(change)
			p := plannerOn(t, dojotest.NewCluster(t, dojotest.Source()).Server, nil)
			p.Apply(nil, asObject(t, d))
			expectGolden(t, name, text(planOf(t, p, d)))
		})
	}
}

func TestNothingToDo(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1api.Dojo){
		"with credentials": func(*corev1api.Dojo) {},
		"with a cluster":   ownCluster,
		"with a release":   released,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := converged(t, dojotest.Dojo(change))
			d, _ := liveDojo(t, m)
			planned := planOf(t, plannerOn(t, m, nil), d)
			if len(planned.Stages) != 1 || len(planned.Stages[0].Changes)+len(planned.Stages[0].Writes) > 0 || !planned.Ready {
				t.Errorf("a Dojo that matches its spec gets:\n%s%v", text(planned), planned.Stages)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	none := func(*corev1api.Dojo) {}
	for name, c := range map[string]struct{ before, change func(*corev1api.Dojo) }{
		"another image":       {none, image("registry.example/dojo:2")},
		"more replicas":       {none, dojotest.Replicas(5)},
		"suspended":           {ownCluster, func(d *corev1api.Dojo) { d.Spec.Suspend = true }},
		"another Secret":      {none, func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Name = "pg-other" }},
		"reclaimed":           {ownCluster, func(d *corev1api.Dojo) { d.Spec.Postgres.ReclaimPolicy = corev1api.ReclaimDelete }},
		"more memory":         {ownCluster, memory},
		"a password in clear": {none, password},
		"exposed":             {none, exposed},
		"no longer exposed":   {exposed, func(d *corev1api.Dojo) { d.Spec.Exposure = nil }},
		"a major version":     {backedUp, func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Version = "18" }},
		"a rotation":          {ownCluster, rotated},
		"SQL":                 {ownCluster, withSQL},
		"a pooler":            {ownCluster, func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Pooler = &corev1api.Pooler{} }},
		"alerts":              {none, inGroup},
		"a release step":      {released, image("registry.example/dojo:2")},
		"migrations":          {ownCluster, migrated},
		"a size":              {ownCluster, sized},
		"paused":              {none, paused},
		"a lower version":     {ownCluster, func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Version = "16" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := converged(t, dojotest.Dojo(c.before))
			d, live := liveDojo(t, m)
			c.change(d)
			d.Generation++
			p := plannerOn(t, m, nil)
			p.Apply(live, asObject(t, d))
			expectGolden(t, name, text(planOf(t, p, d)))
		})
	}
}

func backedUp(d *corev1api.Dojo) {
	ownCluster(d)
	d.Spec.Postgres.Cluster.Backup = &corev1api.Backup{
		Schedule: "0 1 * * *", Method: corev1api.BackupPlugin,
		Plugin: &corev1api.BackupPluginSpec{Name: "barman-cloud.cloudnative-pg.io"},
	}
}

func rotated(d *corev1api.Dojo) {
	d.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "1"}
}

func paused(d *corev1api.Dojo) {
	d.Annotations = map[string]string{corev1api.PausedAnnotation: "true"}
	d.Spec.Image = "registry.example/dojo:2"
}

func withSQL(d *corev1api.Dojo) {
	d.Spec.Postgres.InitSQL = []corev1api.SQLSource{{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "a.sql"}}}
}

func released(d *corev1api.Dojo) {
	ownCluster(d)
	d.Spec.Release = &corev1api.Release{Command: []string{"migrate"}}
}

func migrated(d *corev1api.Dojo) {
	d.Spec.Release = &corev1api.Release{Migrations: &corev1api.Migrations{
		ConfigMapRefs: []corev1api.ConfigMapReference{{Name: "migrations"}},
	}}
}

func sized(d *corev1api.Dojo) {
	d.Spec.Postgres.Cluster = &corev1api.PostgresCluster{Size: "Medium", Version: "17"}
}

func inGroup(d *corev1api.Dojo) {
	d.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{
		GroupRef: &corev1api.DiscordGroupReference{Name: "alerts"},
	}}
}

func memory(d *corev1api.Dojo) {
	d.Spec.Postgres.Cluster.Resources = &corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
	}
}

func password(d *corev1api.Dojo) {
	d.Spec.Env = append(d.Spec.Env, corev1.EnvVar{Name: "API_TOKEN", Value: "hollow-purple"})
}

func exposed(d *corev1api.Dojo) {
	d.Spec.Exposure = &corev1api.Exposure{
		Hosts: []corev1api.Hostname{"dojo.example.org"}, Ingress: &corev1api.IngressExposure{},
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	d := dojotest.Dojo(password)
	p := plannerOn(t, dojotest.NewCluster(t, dojotest.Source()).Server, nil)
	p.Apply(nil, asObject(t, d))
	r := &Report{}
	r.Add(planOf(t, p, d))
	whole := r.Text() + jsonOf(t, r)
	for _, secret := range []string{"hollow purple", "aG9sbG93IHB1cnBsZQ", "hollow-purple"} {
		if strings.Contains(whole, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
}

type refuses struct {
	kind  string
	error error
	asked bool
	tried *[]string
}

func (r refuses) Check(_ context.Context, request Request) (bool, *object, error) {
	*r.tried = append(*r.tried, request.Verb+" "+request.Desired.GetKind())
	if request.Desired.GetKind() == r.kind {
		return r.asked, nil, r.error
	}
	return true, nil, nil
}

func (refuses) Defaults(context.Context, *object) *object { return nil }

func jsonOf(t *testing.T, r *Report) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRefusal asserts that a refused dry run ends a plan, as it ends the operator's reconcile. A
// dry run that the user may not send does not end the plan.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused error
		asked   bool
	}{
		"a quota":   {apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "tokyo", errors.New("exceeded quota")), true},
		"no rights": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tried []string
			d := dojotest.Dojo()
			p := plannerOn(t, dojotest.NewCluster(t, dojotest.Source()).Server, refuses{"Deployment", c.refused, c.asked, &tried})
			p.Apply(nil, asObject(t, d))
			planned := planOf(t, p, d)
			expectGolden(t, "refused by "+name, text(planned))
			if slices.Contains(tried, "create Secret") || !slices.Contains(tried, "create Deployment") {
				t.Errorf("the dry runs are %v, but must include the Deployment and no Secret", tried)
			}
		})
	}
}

func TestUnreadableSecrets(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*corev1api.Dojo){
		"with credentials": func(*corev1api.Dojo) {},
		"with a cluster":   ownCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := converged(t, dojotest.Dojo(before))
			d, live := liveDojo(t, m)
			planned := planOf(t, plannerOn(t, withoutSecrets{m}, nil), d)
			if len(planned.Stages) != 1 || len(planned.Stages[0].Changes)+len(planned.Stages[0].Writes) > 0 ||
				len(planned.Unknown) != 1 {
				t.Errorf("nothing is to be done, and the plan is:\n%s%v", text(planned), planned.Stages[0].Writes)
			}
			image("registry.example/dojo:2")(d)
			d.Generation++
			p := plannerOn(t, withoutSecrets{m}, nil)
			p.Apply(live, asObject(t, d))
			expectGolden(t, "unreadable Secrets "+name, text(planOf(t, p, d)))
		})
	}
}

type withoutSecrets struct{ client.Reader }

func (r withoutSecrets) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "Secret" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, k.Name, errors.New("no right"))
	}
	return r.Reader.Get(ctx, k, o, opts...)
}

// TestPlannedIsWritten compares the first stage of a plan with the writes of the Reconciler.
func TestPlannedIsWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1api.Dojo){
		"with credentials": func(*corev1api.Dojo) {}, "with a cluster": ownCluster, "exposed": exposed,
		"missing credentials": func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Name = "missing" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dojotest.Dojo(change)
			c := dojotest.NewCluster(t, dojotest.Source(), d)
			stage := planOf(t, plannerOn(t, c.Server, nil), d).Stages[0]
			c.Writes = nil
			p := plannerOn(t, c.Server, nil)
			p.reconciler.Client, p.reconciler.Live = c.Server, c.Server
			if err := p.reconciler.Prepare(t.Context(), c.Server); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				live := applytest.Get(t, c.Server, d.Namespace, d.Name, &corev1api.Dojo{})
				if _, err := p.reconciler.Reconcile(t.Context(), live); err != nil {
					t.Fatal(err)
				}
			}
			var written []string
			for _, w := range c.Writes {
				verb, rest, _ := strings.Cut(w, " ")
				kind, name, _ := strings.Cut(rest, " ")
				if kind != "Dojo" {
					written = append(written, verb+" "+kind+" "+name[strings.Index(name, "/")+1:])
				}
			}
			var planned []string
			for _, change := range stage.Changes {
				planned = append(planned, map[Action]string{Create: "POST ", Update: "APPLY ", Delete: "DELETE "}[change.Action]+
					change.Kind+" "+change.Name)
			}
			slices.Sort(written)
			slices.Sort(planned)
			if diff := cmp.Diff(written, planned); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDefaults asserts that restore sets a removed field again only if it had its default.
func TestDefaults(t *testing.T) {
	t.Parallel()
	spec := func(fields map[string]any) *object { return &object{Object: map[string]any{"spec": fields}} }
	list := func(fields map[string]any) []any { return []any{fields} }
	before := func() *object {
		return spec(map[string]any{"restartPolicy": "Always", "walSize": int64(5), "former": "x",
			"containers": list(map[string]any{"name": "a", "image": "1", "imagePullPolicy": "Always", "old": "y"})})
	}
	after := map[string]any{"containers": list(map[string]any{"name": "a", "image": "2"})}
	for name, c := range map[string]struct {
		created *object
		want    map[string]any
	}{
		"the dry run returns the defaults": {
			spec(map[string]any{"walSize": int64(5), "restartPolicy": "Never", "former": "z",
				"containers": list(map[string]any{"name": "a", "image": "2", "imagePullPolicy": "Always"})}),
			map[string]any{"walSize": int64(5), "containers": list(map[string]any{
				"name": "a", "image": "2", "imagePullPolicy": "Always"})},
		},
		"no dry run": {nil, map[string]any{"restartPolicy": "Always", "containers": list(map[string]any{
			"name": "a", "image": "2", "imagePullPolicy": "Always"})}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewModel(nil, creates{c.created})
			got := spec(after).DeepCopy()
			m.restore(t.Context(), before(), got, got)
			if diff := cmp.Diff(c.want, got.Object["spec"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

type creates struct{ object *object }

func (creates) Check(context.Context, Request) (bool, *object, error) { return true, nil, nil }

func (c creates) Defaults(context.Context, *object) *object { return c.object }
