package dojo

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// outcomeOf names an outcome by its kind and reason.
func outcomeOf(err error) string {
	if w, ok := errors.AsType[*conditions.Waiting](err); ok {
		return "Waiting/" + w.Reason
	}
	if t, ok := errors.AsType[*conditions.Terminal](err); ok {
		return "Terminal/" + t.Reason
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return "settled"
}

// elsewhere puts the source Secret into another namespace, with the given grant where it is not empty.
func elsewhere(grant string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Namespace = "databases"
		if grant != "" {
			s.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: grant}
		}
	}
}

// referring makes the Dojo refer to pg-app in the given namespace.
func referring(namespace string) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Namespace = namespace }
}

func key(name, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data[name] = []byte(value) }
}

func without(name string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { delete(s.Data, name) }
}

func TestShared(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		source *corev1.Secret
		want   bool
	}{
		"of the Dojo's namespace":      {pgApp(), true},
		"elsewhere, not granted":       {pgApp(elsewhere("")), false},
		"granted to the namespace":     {pgApp(elsewhere("school")), true},
		"granted to several":           {pgApp(elsewhere("team-a, school ,team-b")), true},
		"granted to all":               {pgApp(elsewhere("*")), true},
		"granted to others":            {pgApp(elsewhere("team-a,team-b")), false},
		"granted to a longer name":     {pgApp(elsewhere("old-school,schoolyard")), false},
		"granted by a pattern: no":     {pgApp(elsewhere("sch*")), false},
		"granted in upper case: no":    {pgApp(elsewhere("School")), false},
		"separated by a space: no":     {pgApp(elsewhere("team-a school")), false},
		"granted to nobody: commas":    {pgApp(elsewhere(",,")), false},
		"granted by another's mistake": {pgApp(elsewhere(""), func(s *corev1.Secret) { s.Labels = map[string]string{corev1api.AllowedNamespacesAnnotation: "school"} }), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := shared(tokyo(), metadataOf(c.source)); got != c.want {
				t.Errorf("shared is %v", got)
			}
		})
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	good := func(changes ...string) map[string]string {
		data := map[string]string{"DB_ENDPOINT": "pg-rw", "DB_PORT": "5432", "DB_NAME": "app", "DB_USER": "yaga", "DB_PASS": "hollow purple"}
		for i := 0; i < len(changes); i += 2 {
			data[changes[i]] = changes[i+1]
		}
		return data
	}
	cases := map[string]struct {
		source *corev1.Secret
		want   map[string]string
		wrong  string // what the message must say, where the Secret is wrong
	}{
		"as CloudNativePG writes it":       {source: pgApp(key("uri", "postgresql://"), key("username", "ignored")), want: good()},
		"username alone":                   {source: pgApp(without("user"), key("username", "gojo")), want: good("DB_USER", "gojo")},
		"user empty, username not":         {source: pgApp(key("user", ""), key("username", "gojo")), want: good("DB_USER", "gojo")},
		"short host of another namespace":  {source: pgApp(elsewhere("*")), want: good("DB_ENDPOINT", "pg-rw.databases.svc")},
		"full host of another namespace":   {source: pgApp(elsewhere("*"), key("host", "pg.example.org")), want: good("DB_ENDPOINT", "pg.example.org")},
		"IPv6 address, another namespace":  {source: pgApp(elsewhere("*"), key("host", "fd00::1")), want: good("DB_ENDPOINT", "fd00::1")},
		"first port":                       {source: pgApp(key("port", "1")), want: good("DB_PORT", "1")},
		"last port":                        {source: pgApp(key("port", "65535")), want: good("DB_PORT", "65535")},
		"password that is no text":         {source: pgApp(key("password", "\xff\x00\n")), want: good("DB_PASS", "\xff\x00\n")},
		"no host":                          {source: pgApp(without("host")), wrong: `school/pg-app lacks the key "host"`},
		"blank host":                       {source: pgApp(key("host", " ")), wrong: `school/pg-app has white space under the key "host"`},
		"host with a line end":             {source: pgApp(key("host", "pg-rw\n")), wrong: `school/pg-app has white space under the key "host"`},
		"no port":                          {source: pgApp(without("port")), wrong: `school/pg-app lacks the key "port"`},
		"no dbname":                        {source: pgApp(without("dbname")), wrong: `school/pg-app lacks the key "dbname"`},
		"neither user nor username":        {source: pgApp(without("user")), wrong: `school/pg-app lacks the key "user"`},
		"no password":                      {source: pgApp(without("password")), wrong: `school/pg-app lacks the key "password"`},
		"empty host":                       {source: pgApp(key("host", "")), wrong: `school/pg-app has nothing under the key "host"`},
		"empty user and username":          {source: pgApp(key("user", ""), key("username", "")), wrong: `school/pg-app has nothing under the key "user"`},
		"empty password":                   {source: pgApp(key("password", "")), wrong: `school/pg-app has nothing under the key "password"`},
		"no data at all":                   {source: pgApp(func(s *corev1.Secret) { s.Data = nil }), wrong: `school/pg-app lacks the key "host"`},
		"port that is a word":              {source: pgApp(key("port", "hollow")), wrong: `no port number (1 to 65535) under the key "port"`},
		"port 0":                           {source: pgApp(key("port", "0")), wrong: `no port number (1 to 65535) under the key "port"`},
		"port beyond the last":             {source: pgApp(key("port", "65536")), wrong: `no port number (1 to 65535) under the key "port"`},
		"port with a line end":             {source: pgApp(key("port", "5432\n")), wrong: `no port number (1 to 65535) under the key "port"`},
		"what is wrong is told one by one": {source: pgApp(without("dbname"), without("password")), wrong: `lacks the key "dbname"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := translate(tokyo(), c.source)
			if diff := cmp.Diff(c.want, texts(got)); diff != "" {
				t.Error(diff)
			}
			if c.wrong == "" {
				must(t, err)
				return
			}
			if outcomeOf(err) != "Terminal/CredentialsIncomplete" || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("got %v", err)
			}
			for _, secret := range []string{"hollow", "yaga", "pg-rw", "65536"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the message tells the value %q: %v", secret, err)
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
	edited := func(manager string, change func(*corev1.Secret)) func(w *world) {
		return func(w *world) { w.own = edit(w, w.own, manager, change) }
	}
	cases := map[string]struct {
		change func(w *world)
		want   bool
	}{
		"just copied":                   {func(*world) {}, true},
		"source changed":                {func(w *world) { w.source.ResourceVersion = "8" }, false},
		"source made anew":              {func(w *world) { w.source.UID = "another" }, false},
		"another source":                {func(w *world) { w.source.Name = "pg-other" }, false},
		"copy deleted":                  {func(w *world) { w.own = nil }, false},
		"value changed":                 {edited("kubectl", key("DB_PASS", "x")), false},
		"value changed in our own name": {edited(FieldOwner, key("DB_PASS", "x")), false},
		"all of it, in our own name": {edited(FieldOwner, func(s *corev1.Secret) {
			s.Annotations[revisionAnnotation] = "mine"
			for _, name := range appKeys {
				s.Data[name] = []byte("x")
			}
		}), false},
		"all of it, by another applier":   {func(w *world) { w.own.ManagedFields[0].Manager = "argocd" }, false},
		"key deleted":                     {edited("kubectl", without("DB_USER")), false},
		"label changed":                   {edited("kubectl", relabel[*corev1.Secret]), false},
		"revision changed":                {edited("kubectl", func(s *corev1.Secret) { s.Annotations[revisionAnnotation] = "mine" }), false},
		"revision deleted":                {edited("kubectl", func(s *corev1.Secret) { delete(s.Annotations, revisionAnnotation) }), false},
		"key and note added":              {edited("kubectl", func(s *corev1.Secret) { annotate(s); s.Data["EXTRA"] = []byte("x") }), true},
		"managedFields lost":              {func(w *world) { w.own.ManagedFields = nil }, false},
		"managedFields that are not JSON": {func(w *world) { w.own.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1("nonsense") }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo()
			w := settledWorld(t, d)
			c.change(w)
			if got := copied(d, metadataOf(w.own), metadataOf(w.source)); got != c.want {
				t.Errorf("copied is %v", got)
			}
		})
	}
}

func TestPlanCredentials(t *testing.T) {
	t.Parallel()
	const kept, fresh = "kept", "fresh"
	type result struct {
		Revision, Outcome string
		Writes, Exists    bool
		Rotation, Altered bool
	}
	d, there := tokyo(), tokyo(referring("databases"))
	fresher := func(changes ...func(*corev1.Secret)) func(w *world) {
		return func(w *world) {
			w.source = pgApp(append(changes, func(s *corev1.Secret) { s.ResourceVersion = "8" })...)
		}
	}
	const soon = "Waiting for the Secret school/pg-app with the database credentials."
	const inVain = "The Secret school/pg-app does not exist. Create it, or name another in spec.credentialsRef."
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		from   *world // nil: one where tokyo is settled
		change func(w *world)
		want   result
	}{
		"first time":               {d, &world{}, fresher(), result{fresh, "settled", true, false, false, false}},
		"up to date":               {d, nil, func(*world) {}, result{kept, "settled", false, false, false, false}},
		"rotated":                  {d, nil, fresher(key("password", "red")), result{fresh, "settled", true, true, true, false}},
		"touched, the same values": {d, nil, fresher(key("uri", "x")), result{kept, "settled", true, true, false, false}},
		"touched, with a further key": {d, nil, func(w *world) {
			w.own = edit(w, w.own, "x", key("EXTRA", "x"))
			w.source.ResourceVersion = "8"
		}, result{kept, "settled", true, true, false, false}},
		"copy deleted":       {d, nil, func(w *world) { w.own = nil }, result{fresh, "settled", true, false, false, false}},
		"copy edited":        {d, nil, func(w *world) { w.own = edit(w, w.own, "x", key("DB_PASS", "x")) }, result{fresh, "settled", true, true, false, true}},
		"copy relabelled":    {d, nil, func(w *world) { w.own = edit(w, w.own, "x", relabel[*corev1.Secret]) }, result{kept, "settled", true, true, false, true}},
		"source never there": {d, &world{}, func(*world) {}, result{"", "Waiting/WaitingForCredentials", false, false, false, false}},
		"missed for a while": {tokyo(since(89*time.Second, conditions.Progressing, soon, 3)), &world{},
			func(*world) {}, result{"", "Waiting/WaitingForCredentials", false, false, false, false}},
		"missed for too long": {tokyo(since(90*time.Second, conditions.Progressing, soon, 3)), &world{},
			func(*world) {}, result{"", "Terminal/CredentialsNotFound", false, false, false, false}},
		"missed for too long, scaled meanwhile": {tokyo(since(90*time.Second, conditions.Progressing, soon, 2)), &world{},
			func(*world) {}, result{"", "Terminal/CredentialsNotFound", false, false, false, false}},
		"given up, scaled": {tokyo(since(0, conditions.Degraded, inVain, 2)), &world{},
			func(*world) {}, result{"", "Terminal/CredentialsNotFound", false, false, false, false}},
		"another Secret was missed": {tokyo(since(time.Hour, conditions.Progressing, "Waiting for the Secret school/other with the database credentials.", 3)), &world{},
			func(*world) {}, result{"", "Waiting/WaitingForCredentials", false, false, false, false}},
		"no reference at all": {tokyo(func(d *corev1api.Dojo) { d.Spec.CredentialsRef = nil }), &world{},
			func(*world) {}, result{"", "Terminal/CredentialsNotFound", false, false, false, false}},
		"source gone":              {d, nil, func(w *world) { w.source = nil }, result{kept, "Waiting/WaitingForCredentials", false, false, false, false}},
		"source became incomplete": {d, nil, fresher(without("host")), result{kept, "Terminal/CredentialsIncomplete", false, false, false, false}},
		"incomplete from the start": {d, &world{}, fresher(key("password", "")),
			result{"", "Terminal/CredentialsIncomplete", false, false, false, false}},
		"elsewhere, not there":     {there, &world{}, func(*world) {}, result{"", "Terminal/CredentialsNotShared", false, false, false, false}},
		"elsewhere, not shared":    {there, &world{}, fresher(elsewhere("")), result{"", "Terminal/CredentialsNotShared", false, false, false, false}},
		"elsewhere, shared":        {there, &world{}, fresher(elsewhere("school")), result{fresh, "settled", true, false, false, false}},
		"grant taken back, copied": {there, nil, fresher(elsewhere(""), key("password", "red")), result{kept, "Terminal/CredentialsNotShared", false, false, false, false}},
		"grant to another":         {there, nil, fresher(elsewhere("kyoto")), result{kept, "Terminal/CredentialsNotShared", false, false, false, false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, before := c.from, ""
			if w == nil {
				w = settledWorld(t, tokyo())
				before = w.own.Annotations[revisionAnnotation]
			}
			c.change(w)
			seen := w.see(c.dojo)
			revision, write, verdict := planCredentials(c.dojo, seen, testConfig, true)
			got := result{Revision: revision, Outcome: outcomeOf(verdict), Writes: write != nil}
			if write != nil {
				got.Exists, got.Rotation, got.Altered = write.exists, write.rotation, write.altered
			}
			switch revision {
			case "":
			case before:
				got.Revision = kept
			case seen.nonce:
				got.Revision = fresh
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whoever may create Dojos must not find out which Secrets another namespace has.
func TestNotSharedTellsNothing(t *testing.T) {
	t.Parallel()
	d := tokyo(referring("databases"))
	_, _, absent := planCredentials(d, (&world{}).see(d), testConfig, true)
	_, _, secret := planCredentials(d, (&world{source: pgApp(elsewhere("others"))}).see(d), testConfig, true)
	if diff := cmp.Diff(absent, secret); diff != "" {
		t.Error("a Secret that is not there and one that is not shared read differently", diff)
	}
}

// An operator that does not watch a namespace must not be made to read there.
func TestSourceOutOfSight(t *testing.T) {
	t.Parallel()
	cfg := testConfig
	cfg.Namespaces = []string{"school"}
	_, _, err := planCredentials(tokyo(referring("databases")), (&world{}).see(tokyo()), cfg, true)
	if outcomeOf(err) != "Terminal/CredentialsNotShared" || !strings.Contains(err.Error(), "a namespace that this operator does not watch") {
		t.Errorf("got %v", err)
	}
	if _, _, err = planCredentials(tokyo(), (&world{}).see(tokyo()), cfg, true); outcomeOf(err) == "Terminal/CredentialsNotShared" {
		t.Errorf("its own namespace is watched: %v", err)
	}
}

func TestGrantTakenBackBehindTheCache(t *testing.T) {
	t.Parallel()
	d := tokyo(referring("databases"))
	w := settledWorld(t, tokyo())
	w.source, w.own = pgApp(elsewhere("*")), nil
	seen := w.see(d)
	seen.sourceSecret = pgApp(elsewhere(""), key("password", "red")) // what the live read brings
	if s := plan(d, seen, testConfig); s.apply != nil || outcomeOf(s.verdict) != "Terminal/CredentialsNotShared" {
		t.Errorf("writes %v, ends as %v", kinds(s), s.verdict)
	}
}

// TestACacheThatLagsMakesNoOtherSecret: a Secret that was made is not in the cache, for longer than our own writes are waited for.
func TestACacheThatLagsMakesNoOtherSecret(t *testing.T) {
	t.Parallel()
	ownOf := func(w *world) *corev1.Secret { return w.own }
	passwordOf := func(w *world) *corev1.Secret { return w.password }
	strangers := func(s *corev1.Secret) { s.OwnerReferences, s.Labels, s.ManagedFields = nil, nil, nil }
	for name, c := range map[string]struct {
		dojo    *corev1api.Dojo
		late    func(*world) *corev1.Secret
		change  func(*corev1.Secret)
		without bool // whether it is not there either
		want    string
		writes  []string
	}{
		"the credentials, ours":      {tokyo(), ownOf, func(*corev1.Secret) {}, false, "settled", nil},
		"the credentials, not ours":  {tokyo(), ownOf, strangers, false, "Terminal/NameTaken", nil},
		"the credentials, gone":      {tokyo(), ownOf, nil, true, "Waiting/RollingOut", []string{kindSecret, kindDeployment}},
		"the password, ours":         {tokyo(inPG), passwordOf, func(*corev1.Secret) {}, false, "settled", nil},
		"the password, kept":         {tokyo(inPG, dropping), passwordOf, func(*corev1.Secret) {}, false, "settled", nil},
		"the password, not ours":     {tokyo(inPG), passwordOf, strangers, false, "Terminal/NameTaken", nil},
		"the password, gone":         {tokyo(inPG), passwordOf, nil, true, "Waiting/CreatingRole", []string{kindSecret}},
		"its copy for the pods":      {tokyo(inPG), ownOf, func(*corev1.Secret) {}, false, "settled", nil},
		"its copy, now a stranger's": {tokyo(inPG), ownOf, strangers, false, "Terminal/NameTaken", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := c.dojo
			var w *world
			if d.Spec.Postgres != nil {
				w = settledDatabase(t, d)
			} else {
				w = settledWorld(t, d)
			}
			var cached, live []client.Object
			for _, secret := range []*corev1.Secret{w.source, w.own, w.password} {
				switch {
				case secret == nil:
				case secret != c.late(w):
					cached, live = append(cached, secret), append(live, secret)
				case !c.without:
					c.change(secret)
					live = append(live, secret)
				}
			}
			r, _ := reconcilerOf(t, func(string) error { return nil })
			r.Client, r.Live = secretsOf(cached), secretsOf(live)

			seen := w.see(d)
			seen.source, seen.own, seen.sourceSecret, seen.ownSecret = nil, nil, nil, nil
			must(t, r.observeCredentials(t.Context(), d, seen))
			s := plan(d, seen, testConfig)
			if outcomeOf(s.verdict) != c.want || !slices.Equal(kinds(s), c.writes) {
				t.Errorf("writes %v, ends as %s; want %v, %s", kinds(s), outcomeOf(s.verdict), c.writes, c.want)
			}
		})
	}
}

func secretsOf(objects []client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(testScheme).WithReturnManagedFields().WithObjects(objects...).Build()
}
