// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

var testConfig = Config{ProgressDeadline: 90 * time.Second}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func elsewhere(grant string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Namespace, s.Annotations = "databases", nil
		if grant != "" {
			s.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: grant}
		}
	}
}

func referring(namespace string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Namespace = namespace }
}

func key(name, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data[name] = []byte(value) }
}

func without(name string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { delete(s.Data, name) }
}

func annotate(name, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, name, value) }
}

func relabel(s *corev1.Secret) { s.Labels[ownership.NameLabel] = "another" }

func observe(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo, cfg Config) State {
	t.Helper()
	s, err := Observe(t.Context(), c.Reader(dojo), dojo, nil, cfg, dojotest.Noon)
	must(t, err)
	return s
}

func copiedFor(t *testing.T, dojo *corev1api.Dojo, source *corev1.Secret) *dojotest.Cluster {
	t.Helper()
	c := dojotest.NewCluster(t, source)
	c.Do(dojo, Plan(dojo, observe(t, c, dojo, testConfig), true, testConfig).Plan)
	return c
}

func ownOf(t *testing.T, c *dojotest.Cluster) *corev1.Secret {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo-credentials", &corev1.Secret{})
}

func sourceOf(t *testing.T, c *dojotest.Cluster, namespace string) *corev1.Secret {
	t.Helper()
	return applytest.Get(t, c.Server, namespace, "pg-app", &corev1.Secret{})
}

func TestShared(t *testing.T) {
	t.Parallel()
	labelled := func(s *corev1.Secret) { s.Labels = map[string]string{corev1api.AllowedNamespacesAnnotation: "school"} }
	cases := map[string]struct {
		changes []func(*corev1.Secret)
		want    bool
	}{
		"of the Dojo's namespace":                      {nil, true},
		"of another namespace, not granted":            {[]func(*corev1.Secret){elsewhere("")}, false},
		"granted to the namespace":                     {[]func(*corev1.Secret){elsewhere("school")}, true},
		"granted to several namespaces":                {[]func(*corev1.Secret){elsewhere("team-a, school ,team-b")}, true},
		"granted to all namespaces":                    {[]func(*corev1.Secret){elsewhere("*")}, true},
		"granted only to other namespaces":             {[]func(*corev1.Secret){elsewhere("team-a,team-b")}, false},
		"granted only to namespaces with longer names": {[]func(*corev1.Secret){elsewhere("old-school,schoolyard")}, false},
		"a pattern grants nothing":                     {[]func(*corev1.Secret){elsewhere("sch*")}, false},
		"a name in upper case grants nothing":          {[]func(*corev1.Secret){elsewhere("School")}, false},
		"a list without commas grants nothing":         {[]func(*corev1.Secret){elsewhere("team-a school")}, false},
		"a list of commas alone grants nothing":        {[]func(*corev1.Secret){elsewhere(",,")}, false},
		"a label grants nothing":                       {[]func(*corev1.Secret){elsewhere(""), labelled}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ownership.Shared(dojotest.Dojo(), dojotest.Source(c.changes...)); got != c.want {
				t.Errorf("shared is %v", got)
			}
		})
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	good := func(changes ...string) map[string]string {
		data := map[string]string{
			"DB_ENDPOINT": "pg-rw", "DB_PORT": "5432", "DB_NAME": "app", "DB_USER": "yaga", "DB_PASS": "hollow purple",
		}
		for i := 0; i < len(changes); i += 2 {
			data[changes[i]] = changes[i+1]
		}
		return data
	}
	type changes []func(*corev1.Secret)
	const noPort = `school/pg-app has no port number (1 to 65535) under the key "port"`
	cases := map[string]struct {
		source changes
		want   map[string]string
		wrong  string // a part of the message for a wrong Secret
	}{
		"a Secret of CloudNativePG": {
			source: changes{key("uri", "postgresql://"), key("username", "ignored")}, want: good(),
		},
		"username without user": {
			source: changes{without("user"), key("username", "gojo")}, want: good("DB_USER", "gojo"),
		},
		"empty user and a username": {
			source: changes{key("user", ""), key("username", "gojo")}, want: good("DB_USER", "gojo"),
		},
		"short host in a Secret of another namespace": {
			source: changes{elsewhere("*")}, want: good("DB_ENDPOINT", "pg-rw.databases.svc"),
		},
		"full host in a Secret of another namespace": {
			source: changes{elsewhere("*"), key("host", "pg.example.org")}, want: good("DB_ENDPOINT", "pg.example.org"),
		},
		"IPv6 address in a Secret of another namespace": {
			source: changes{elsewhere("*"), key("host", "fd00::1")}, want: good("DB_ENDPOINT", "fd00::1"),
		},
		"first port":                 {source: changes{key("port", "1")}, want: good("DB_PORT", "1")},
		"last port":                  {source: changes{key("port", "65535")}, want: good("DB_PORT", "65535")},
		"password that is not UTF-8": {source: changes{key("password", "\xff\x00\n")}, want: good("DB_PASS", "\xff\x00\n")},
		"no host":                    {source: changes{without("host")}, wrong: `school/pg-app has no key "host"`},
		"blank host":                 {source: changes{key("host", " ")}, wrong: `has white space under the key "host"`},
		"host with a line end":       {source: changes{key("host", "pg-rw\n")}, wrong: `has white space under the key "host"`},
		"no port":                    {source: changes{without("port")}, wrong: `school/pg-app has no key "port"`},
		"no dbname":                  {source: changes{without("dbname")}, wrong: `school/pg-app has no key "dbname"`},
		"neither user nor username": {
			source: changes{without("user")}, wrong: `school/pg-app has no key "user"`,
		},
		"no password": {source: changes{without("password")}, wrong: `school/pg-app has no key "password"`},
		"empty host":  {source: changes{key("host", "")}, wrong: `school/pg-app has an empty value under the key "host"`},
		"empty user and username": {
			source: changes{key("user", ""), key("username", "")}, wrong: `has an empty value under the key "user"`,
		},
		"empty password":       {source: changes{key("password", "")}, wrong: `has an empty value under the key "password"`},
		"no data at all":       {source: changes{func(s *corev1.Secret) { s.Data = nil }}, wrong: `has no key "host"`},
		"port with letters":    {source: changes{key("port", "hollow")}, wrong: noPort},
		"port 0":               {source: changes{key("port", "0")}, wrong: noPort},
		"port 65536":           {source: changes{key("port", "65536")}, wrong: noPort},
		"port with a line end": {source: changes{key("port", "5432\n")}, wrong: noPort},
		"two keys missing":     {source: changes{without("dbname"), without("password")}, wrong: `has no key "dbname"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, issue := translate(dojotest.Dojo(), dojotest.Source(c.source...))
			if diff := cmp.Diff(c.want, texts(got)); diff != "" {
				t.Error(diff)
			}
			switch {
			case c.wrong == "" && issue != nil:
				t.Error(issue)
			case c.wrong == "":
				return
			case !issue.IsDegraded() || issue.Reason != corev1api.ReasonCredentialsIncomplete ||
				!strings.Contains(issue.Message, c.wrong):
				t.Errorf("got %v", issue)
			}
			for _, secret := range []string{"hollow", "yaga", "pg-rw", "65536"} {
				if strings.Contains(issue.Message, secret) {
					t.Errorf("the message quotes the value %q: %v", secret, issue)
				}
			}
		})
	}
}

func texts(data map[string][]byte) map[string]string {
	if data == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range data {
		out[k] = string(v)
	}
	return out
}

func TestCopied(t *testing.T) {
	t.Parallel()
	noRevision := func(s *corev1.Secret) { delete(s.Annotations, ownership.RevisionAnnotation) }
	type change = func(t *testing.T, c *dojotest.Cluster, own, source *corev1.Secret)
	unchanged := func(*testing.T, *dojotest.Cluster, *corev1.Secret, *corev1.Secret) {}
	edited := func(manager string, change func(*corev1.Secret)) change {
		return func(t *testing.T, c *dojotest.Cluster, own, _ *corev1.Secret) {
			t.Helper()
			*own = *applytest.Edit(t, c.Server, manager, own, change)
		}
	}
	source := func(change func(*corev1.Secret)) change {
		return func(_ *testing.T, _ *dojotest.Cluster, _, source *corev1.Secret) { change(source) }
	}
	own := func(change func(*corev1.Secret)) change {
		return func(_ *testing.T, _ *dojotest.Cluster, own, _ *corev1.Secret) { change(own) }
	}
	cases := map[string]struct {
		change change
		want   bool
	}{
		"just copied":                        {unchanged, true},
		"source changed":                     {source(func(s *corev1.Secret) { s.ResourceVersion = "8" }), false},
		"source recreated":                   {source(func(s *corev1.Secret) { s.UID = "another" }), false},
		"another source":                     {source(func(s *corev1.Secret) { s.Name = "pg-other" }), false},
		"value changed":                      {edited("kubectl", key("DB_PASS", "x")), false},
		"key deleted":                        {edited("kubectl", without("DB_USER")), false},
		"label changed":                      {edited("kubectl", relabel), false},
		"revision annotation changed":        {edited("kubectl", annotate(ownership.RevisionAnnotation, "mine")), false},
		"revision annotation deleted":        {edited("kubectl", noRevision), false},
		"key added":                          {edited("kubectl", key("EXTRA", "x")), true},
		"annotation added":                   {edited("kubectl", annotate("example.org/note", "x")), true},
		"written with another field manager": {own(func(s *corev1.Secret) { s.ManagedFields[0].Manager = "argocd" }), false},
		// managedFields show no difference between this change and the operator's own POST.
		"value changed under our field manager's name": {edited(ownership.FieldOwner, key("DB_PASS", "x")), true},
		"managedFields lost":                           {own(func(s *corev1.Secret) { s.ManagedFields = nil }), false},
		"managedFields that are not JSON": {
			own(func(s *corev1.Secret) { s.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1("nonsense") }), false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo()
			cluster := copiedFor(t, dojo, dojotest.Source())
			own, source := ownOf(t, cluster), sourceOf(t, cluster, "school")
			c.change(t, cluster, own, source)
			if got := copied(dojo, dojotest.Metadata(own), dojotest.Metadata(source), Hosts{}); got != c.want {
				t.Errorf("copied is %v", got)
			}
		})
	}
	if copied(dojotest.Dojo(), nil, dojotest.Metadata(dojotest.Source()), Hosts{}) {
		t.Error("a missing copy counts as copied")
	}
}

func TestSourceOf(t *testing.T) {
	t.Parallel()
	source := dojotest.Metadata(dojotest.Source())
	own := apply.Metadata("v1", "Secret")
	if got := SourceOf(nil) + SourceOf(own); got != "" {
		t.Errorf("a missing Secret and a Secret without a source have the source %q", got)
	}
	own.Annotations = map[string]string{sourceAnnotation: versionOf(source)}
	if got := SourceOf(own); got != "pg-app" {
		t.Errorf("the source is %q", got)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const kept, renewed = "kept", "renewed"
	type result struct {
		Revision, Worst   string
		Writes, Exists    bool
		Rotation, Drifted bool
	}
	none, same := result{}, result{Revision: kept}
	created := result{Revision: renewed, Writes: true}
	issue := func(before result, worst string) result {
		before.Worst = worst
		return before
	}
	dojo, abroad := dojotest.Dojo(), dojotest.Dojo(referring("databases"))
	waited := func(object string, ago time.Duration) *corev1api.Dojo {
		return dojotest.Dojo(dojotest.WaitingFor(object, ago))
	}
	start := func(objects ...client.Object) func(*testing.T) *dojotest.Cluster {
		return func(t *testing.T) *dojotest.Cluster {
			t.Helper()
			return dojotest.NewCluster(t, objects...)
		}
	}
	after := func(source, own func(*corev1.Secret)) func(*testing.T) *dojotest.Cluster {
		return func(t *testing.T) *dojotest.Cluster {
			t.Helper()
			c := copiedFor(t, dojo, dojotest.Source())
			if source != nil {
				applytest.Edit(t, c.Server, "kubectl", sourceOf(t, c, "school"), source)
			}
			if own != nil {
				applytest.Edit(t, c.Server, "kubectl", ownOf(t, c), own)
			}
			return c
		}
	}
	deleted := func(get func(*testing.T, *dojotest.Cluster) *corev1.Secret) func(*testing.T) *dojotest.Cluster {
		return func(t *testing.T) *dojotest.Cluster {
			t.Helper()
			c := copiedFor(t, dojo, dojotest.Source())
			must(t, c.Delete(t.Context(), get(t, c)))
			return c
		}
	}
	withdrawn := func(grant string) func(*testing.T) *dojotest.Cluster {
		return func(t *testing.T) *dojotest.Cluster {
			t.Helper()
			c := copiedFor(t, abroad, dojotest.Source(elsewhere("school")))
			applytest.Edit(t, c.Server, "kubectl", sourceOf(t, c, "databases"), elsewhere(grant))
			return c
		}
	}
	home := func(t *testing.T, c *dojotest.Cluster) *corev1.Secret {
		t.Helper()
		return sourceOf(t, c, "school")
	}
	const missing, waiting = "Degraded/CredentialsNotFound", "Progressing/WaitingForCredentials"
	const incomplete, notShared = "Degraded/CredentialsIncomplete", "Degraded/CredentialsNotShared"
	cases := map[string]struct {
		dojo    *corev1api.Dojo
		cluster func(*testing.T) *dojotest.Cluster
		want    result
	}{
		"no copy yet": {dojo, start(dojotest.Source()), created},
		"up to date":  {dojo, after(nil, nil), same},
		"password changed in the source": {dojo, after(key("password", "red"), nil),
			result{Revision: renewed, Writes: true, Exists: true, Rotation: true}},
		"unrelated key added to the source": {dojo, after(key("uri", "x"), nil),
			result{Revision: kept, Writes: true, Exists: true}},
		"unrelated keys added to the source and the copy": {dojo, after(key("uri", "x"), key("EXTRA", "x")),
			result{Revision: kept, Writes: true, Exists: true}},
		"copy deleted": {dojo, deleted(ownOf), created},
		"copy edited": {dojo, after(nil, key("DB_PASS", "x")),
			result{Revision: renewed, Writes: true, Exists: true, Drifted: true}},
		"copy relabelled": {dojo, after(nil, relabel),
			result{Revision: kept, Writes: true, Exists: true, Drifted: true}},
		"no source":                                            {dojo, start(), issue(none, waiting)},
		"no source, within the deadline":                       {waited("Secret school/pg-app", 89*time.Second), start(), issue(none, waiting)},
		"no source, past the deadline":                         {waited("Secret school/pg-app", 90*time.Second), start(), issue(none, missing)},
		"no source, after another source was missing for long": {waited("Secret school/other", time.Hour), start(), issue(none, waiting)},
		"no reference to a source": {dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef = nil }), start(),
			issue(none, missing)},
		"source deleted":                                {dojo, deleted(home), issue(same, waiting)},
		"source became incomplete":                      {dojo, after(without("host"), nil), issue(same, incomplete)},
		"source incomplete from the start":              {dojo, start(dojotest.Source(key("password", ""))), issue(none, incomplete)},
		"source of another namespace, missing":          {abroad, start(), issue(none, notShared)},
		"source of another namespace, not shared":       {abroad, start(dojotest.Source(elsewhere(""))), issue(none, notShared)},
		"source of another namespace, shared":           {abroad, start(dojotest.Source(elsewhere("school"))), created},
		"source no longer shared":                       {abroad, withdrawn(""), issue(same, notShared)},
		"source now shared only with another namespace": {abroad, withdrawn("kyoto"), issue(same, notShared)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, before := c.cluster(t), ""
			if own := ownOf(t, cluster); own != nil {
				before = own.Annotations[ownership.RevisionAnnotation]
			}
			s := observe(t, cluster, c.dojo, testConfig)
			access := Plan(c.dojo, s, true, testConfig)
			got := result{Revision: access.Revision, Worst: dojotest.Worst(access.Plan.Issues)}
			for _, o := range access.Plan.Apply {
				got.Writes, got.Exists, got.Rotation, got.Drifted = true, o.Live != nil, o.Rotation, o.Drift
			}
			switch access.Revision {
			case "":
			case before:
				got.Revision = kept
			case s.Nonce:
				got.Revision = renewed
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			cluster.Do(c.dojo, access.Plan)
			again := Plan(c.dojo, observe(t, cluster, c.dojo, testConfig), true, testConfig)
			if again.Plan.Apply != nil || again.Revision != access.Revision {
				t.Errorf("the next reconcile writes %v, and the revision is %q, not %q",
					dojotest.Kinds(again.Plan), again.Revision, access.Revision)
			}
		})
	}
}

// A change of the read-only host replaces the pods, but does not count as a rotation.
func TestStandbys(t *testing.T) {
	t.Parallel()
	dojo, c := dojotest.Dojo(), dojotest.NewCluster(t, dojotest.Source())
	revisions := map[string]bool{}
	for _, host := range []string{"", "pg-ro", "other-ro", ""} {
		observed := func() State {
			source := sourceOf(t, c, "school")
			generated := &Generated{Name: client.ObjectKeyFromObject(source), Secret: dojotest.Metadata(source), Hosts: Hosts{ReadOnly: host}}
			s, err := Observe(t.Context(), c.Reader(dojo), dojo, generated, testConfig, dojotest.Noon)
			must(t, err)
			return s
		}
		access := Plan(dojo, observed(), true, testConfig)
		if len(access.Plan.Apply) != 1 || access.Plan.Apply[0].Rotation || revisions[access.Revision] {
			t.Fatalf("host %q: writes %v, revision %s", host, dojotest.Kinds(access.Plan), access.Revision)
		}
		revisions[access.Revision] = true
		c.Do(dojo, access.Plan)
		own := ownOf(t, c)
		if got, has := own.Data[ReadOnlyKey]; string(got) != host || has != (host != "") {
			t.Errorf("the read-only host is %q, want %q", got, host)
		}
		if SourceOf(dojotest.Metadata(own)) != "pg-app" {
			t.Errorf("the source is %s", SourceOf(dojotest.Metadata(own)))
		}
		if again := Plan(dojo, observed(), true, testConfig); again.Plan.Apply != nil || again.Revision != access.Revision {
			t.Errorf("with %q, the next reconcile writes %v", host, dojotest.Kinds(again.Plan))
		}
	}
	optional := Optional(dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Postgres = &corev1api.Postgres{} }))
	if diff := cmp.Diff([]string{ReadOnlyKey}, optional); diff != "" || Optional(dojo) != nil {
		t.Error("the optional keys are", Optional(dojo), diff)
	}
}

// A change of the Pooler replaces the pods, but does not count as a rotation.
func TestPooler(t *testing.T) {
	t.Parallel()
	dojo, c := dojotest.Dojo(), dojotest.NewCluster(t, dojotest.Source())
	for i, hosts := range []Hosts{{}, {Pooler: "bouncer"}, {"pg-ro", "bouncer"}, {ReadOnly: "pg-ro"}, {}} {
		observed := func() State {
			source := sourceOf(t, c, "school")
			generated := &Generated{Name: client.ObjectKeyFromObject(source), Secret: dojotest.Metadata(source), Hosts: hosts}
			s, err := Observe(t.Context(), c.Reader(dojo), dojo, generated, testConfig, dojotest.Noon)
			must(t, err)
			return s
		}
		access := Plan(dojo, observed(), true, testConfig)
		if len(access.Plan.Apply) != 1 || access.Plan.Apply[0].Rotation {
			t.Fatalf("%d: writes %v", i, dojotest.Kinds(access.Plan))
		}
		c.Do(dojo, access.Plan)
		own := ownOf(t, c)
		want := "pg-rw"
		if hosts.Pooler != "" {
			want = hosts.Pooler
		}
		if got := string(own.Data["DB_ENDPOINT"]); got != want || string(own.Data[ReadOnlyKey]) != hosts.ReadOnly {
			t.Errorf("%d: connects to %q, want %q", i, got, want)
		}
		known := dojotest.Metadata(own)
		if SourceOf(known) != "pg-app" || PoolerOf(known) != hosts.Pooler || copiedVersion(known) != versionOf(observed().Source) {
			t.Errorf("%d: the source is %s, and the Pooler is %q", i, SourceOf(known), PoolerOf(known))
		}
		if again := Plan(dojo, observed(), true, testConfig); again.Plan.Apply != nil || again.Revision != access.Revision {
			t.Errorf("%d: the next reconcile writes %v", i, dojotest.Kinds(again.Plan))
		}
	}
	if PoolerOf(nil) != "" {
		t.Error("without credentials, a Pooler is in use")
	}
}

// While the database is not usable, the operator does not copy changed credentials.
func TestPlanWithoutUsableSource(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	c := copiedFor(t, dojo, dojotest.Source())
	revision := ownOf(t, c).Annotations[ownership.RevisionAnnotation]
	applytest.Edit(t, c.Server, "kubectl", sourceOf(t, c, "school"), key("password", "red"))
	access := Plan(dojo, observe(t, c, dojo, testConfig), false, testConfig)
	if access.Revision != revision || access.Plan.Apply != nil || access.Plan.Issues != nil {
		t.Errorf("got %+v, the revision was %s", access, revision)
	}
}

// A Degraded issue still names the missing Secret, so the status keeps the start of the wait.
func TestMissingSourceIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, ago := range map[string]time.Duration{"for a while": 30 * time.Second, "for too long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const object = "Secret school/pg-app"
			dojo := dojotest.Dojo(dojotest.WaitingFor(object, ago))
			issues := Plan(dojo, observe(t, dojotest.NewCluster(t), dojo, testConfig), true, testConfig).Plan.Issues
			if len(issues) != 1 || issues[0].WaitingFor != object || !strings.Contains(issues[0].Message, object) {
				t.Fatalf("issues are %+v", issues)
			}
			if after := issues[0].RequeueAfter; after != max(0, testConfig.ProgressDeadline-ago) {
				t.Errorf("the next reconcile is after %s", after)
			}
		})
	}
}

func TestNotSharedRevealsNothing(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(referring("databases"))
	issues := func(objects ...client.Object) any {
		return Plan(dojo, observe(t, dojotest.NewCluster(t, objects...), dojo, testConfig), true, testConfig).Plan.Issues
	}
	if diff := cmp.Diff(issues(), issues(dojotest.Source(elsewhere("others")))); diff != "" {
		t.Error("the issues show whether a Secret that is not shared exists", diff)
	}
}

func TestSourceInNamespaceThatIsNotWatched(t *testing.T) {
	t.Parallel()
	cfg := testConfig
	cfg.Namespaces = []string{"school"}
	dojo := dojotest.Dojo(referring("databases"))
	s := observe(t, dojotest.NewCluster(t, dojotest.Source(elsewhere("*"))), dojo, cfg)
	if s.Source != nil || s.SourceSecret != nil {
		t.Errorf("the source was read: %+v", s)
	}
	issues := Plan(dojo, s, true, cfg).Plan.Issues
	if dojotest.Worst(issues) != "Degraded/CredentialsNotShared" ||
		!strings.Contains(issues[0].Message, "a namespace that this operator does not watch") {
		t.Errorf("issues are %+v", issues)
	}
	dojo = dojotest.Dojo()
	issues = Plan(dojo, observe(t, dojotest.NewCluster(t), dojo, cfg), true, cfg).Plan.Issues
	if got := dojotest.Worst(issues); got != "Progressing/WaitingForCredentials" {
		t.Errorf("a missing source in the Dojo's own namespace: %s", got)
	}
}

func TestGrantWithdrawnBeforeTheCacheShowsIt(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(referring("databases"))
	s := observe(t, dojotest.NewCluster(t, dojotest.Source(elsewhere("*"))), dojo, testConfig)
	s.SourceSecret = dojotest.Source(elsewhere(""), key("password", "red")) // newer than the cached metadata
	plan := Plan(dojo, s, true, testConfig).Plan
	if plan.Apply != nil || dojotest.Worst(plan.Issues) != "Degraded/CredentialsNotShared" {
		t.Errorf("writes %v, issues are %+v", dojotest.Kinds(plan), plan.Issues)
	}
}

type hiding struct {
	client.Reader
	name string
}

func (h hiding) Get(ctx context.Context, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if name.Name == h.name {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, h.name)
	}
	return h.Reader.Get(ctx, name, o, opts...)
}

// If the cache lacks the Dojo's own Secret, the operator does not overwrite the Secret.
func TestNoOtherSecretWhileTheCacheLags(t *testing.T) {
	t.Parallel()
	released := func(s *corev1.Secret) { s.OwnerReferences, s.Labels = nil, nil }
	cases := map[string]func(*corev1.Secret){ // nil: the Secret does not exist on the API server
		"unchanged Secret":        func(*corev1.Secret) {},
		"Secret without an owner": released,
		"deleted Secret":          nil,
		"edited Secret":           key("DB_PASS", "x"),
	}
	for _, generated := range []bool{false, true} {
		for name, change := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dojo := dojotest.Dojo()
				cluster := copiedFor(t, dojo, dojotest.Source())
				if change == nil {
					must(t, cluster.Delete(t.Context(), ownOf(t, cluster)))
				} else {
					applytest.Edit(t, cluster.Server, "kubectl", ownOf(t, cluster), change)
				}
				before := ownOf(t, cluster)
				reader := cluster.Reader(dojo)
				reader.Cache = hiding{cluster.Server, Name(dojo)}
				var from *Generated
				if generated {
					source := sourceOf(t, cluster, "school")
					from = &Generated{Name: client.ObjectKeyFromObject(source), Secret: dojotest.Metadata(source)}
					dojo.Spec.CredentialsRef = nil
				}
				s, err := Observe(t.Context(), reader, dojo, from, testConfig, dojotest.Noon)
				must(t, err)
				results := cluster.Run(t.Context(), dojo, Plan(dojo, s, true, testConfig).Plan)
				if exists := change != nil; results.Stale != exists || len(results.Issues) > 0 {
					t.Errorf("results %+v", results)
				} else if diff := cmp.Diff(before, ownOf(t, cluster)); (diff == "") != exists {
					t.Errorf("the Secret: %s", diff)
				}
			})
		}
	}
}
