// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply/applytest"
)

func onMongo(dojo *corev1api.Dojo) { dojo.Spec.Database = corev1api.DatabaseMongo }

func only(pairs ...string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Data = map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			s.Data[pairs[i]] = []byte(pairs[i+1])
		}
	}
}

func TestTranslateMongo(t *testing.T) {
	t.Parallel()
	want := func(uri, host, port, name, user, password string) map[string]string {
		return map[string]string{"DB_URI": uri, "DB_ENDPOINT": host, "DB_PORT": port, "DB_NAME": name,
			"DB_USER": user, "DB_PASS": password}
	}
	const three = "mongodb://gojo:p%40ss@m-0.m.db.svc:27017,m-1.m.db.svc:27018/app?replicaSet=m&tls=true"
	const srv = "mongodb+srv://gojo:red@m.db.svc/app?ssl=false"
	const noURI = `has no valid URI of MongoDB (mongodb:// or mongodb+srv://) under the key "uri"`
	type changes []func(*corev1.Secret)
	cases := map[string]struct {
		source changes
		want   map[string]string
		wrong  string // a part of the message for a wrong Secret
	}{
		"fields": {nil, want("mongodb://yaga:hollow%20purple@pg-rw:5432/app", "pg-rw", "5432", "app", "yaga",
			"hollow purple"), ""},
		"fields with characters of URI syntax": {changes{key("password", "a:/?#[]@%+&,b"), key("dbname", "a/b?c")},
			want("mongodb://yaga:a%3A%2F%3F%23%5B%5D%40%25%2B%26%2Cb@pg-rw:5432/a%2Fb%3Fc", "pg-rw", "5432", "a/b?c",
				"yaga", "a:/?#[]@%+&,b"), ""},
		"fields in a Secret of another namespace": {changes{elsewhere("*")},
			want("mongodb://yaga:hollow%20purple@pg-rw.databases.svc:5432/app", "pg-rw.databases.svc", "5432", "app",
				"yaga", "hollow purple"), ""},
		"fields with an IPv6 address": {changes{key("host", "fd00::1")},
			want("mongodb://yaga:hollow%20purple@[fd00::1]:5432/app", "fd00::1", "5432", "app", "yaga", "hollow purple"), ""},
		"uri": {changes{only("uri", three)}, want(three, "m-0.m.db.svc", "27017", "app", "gojo", "p@ss"), ""},
		"the key uri has precedence over other keys": {changes{key("uri", three), key("connectionString.standard", srv)},
			want(three, "m-0.m.db.svc", "27017", "app", "gojo", "p@ss"), ""},
		"a Secret of MongoDB's operator": {
			changes{only("connectionString.standard", three, "connectionString.standardSrv", srv, "username", "gojo",
				"password", "p@ss")}, want(three, "m-0.m.db.svc", "27017", "app", "gojo", "p@ss"), ""},
		"only the SRV connection string": {changes{only("connectionString.standardSrv", srv)}, want(srv, "m.db.svc", "", "app", "gojo", "red"), ""},
		"a Secret of Percona's operator": {
			changes{only("gojo_rs0_connectionString", three, "gojo_rs0_connectionStringSrv", srv)},
			want(three, "m-0.m.db.svc", "27017", "app", "gojo", "p@ss"), ""},
		"a Secret of Percona's operator for a sharded cluster": {
			changes{only("gojo_mongos_connectionString", three, "gojo_cfg_connectionString", srv)},
			want(three, "m-0.m.db.svc", "27017", "app", "gojo", "p@ss"), ""},
		"no port":     {changes{only("uri", "mongodb://a:b@m/app")}, want("mongodb://a:b@m/app", "m", "27017", "app", "a", "b"), ""},
		"no database": {changes{only("uri", "mongodb://a:b@m")}, want("mongodb://a:b@m", "m", "27017", "", "a", "b"), ""},
		"options and no database": {changes{only("uri", "mongodb://a:b@m/?tls=true")},
			want("mongodb://a:b@m/?tls=true", "m", "27017", "", "a", "b"), ""},
		"options after the host": {changes{only("uri", "mongodb://a:b@m?tls=true")},
			want("mongodb://a:b@m?tls=true", "m", "27017", "", "a", "b"), ""},
		"user and password outside the URI": {changes{only("uri", "mongodb://m/app", "username", "x", "password", "y")},
			want("mongodb://m/app", "m", "27017", "app", "x", "y"), ""},
		"no user at all": {changes{only("uri", "mongodb://m/app")}, want("mongodb://m/app", "m", "27017", "app", "", ""), ""},
		"IPv6": {changes{only("uri", "mongodb://[fd00::1]:27019/app")},
			want("mongodb://[fd00::1]:27019/app", "fd00::1", "27019", "app", "", ""), ""},
		"IPv6 without a port": {changes{only("uri", "mongodb://[fd00::1]/app")},
			want("mongodb://[fd00::1]/app", "fd00::1", "27017", "app", "", ""), ""},
		"short hosts in a Secret of another namespace": {changes{elsewhere("*"), only("uri", "mongodb://a:b@m-0:27018,m-1,m.x.svc/app")},
			want("mongodb://a:b@m-0.databases.svc:27018,m-1.databases.svc,m.x.svc/app", "m-0.databases.svc", "27018", "app",
				"a", "b"), ""},

		"URI of Postgres":               {changes{key("uri", "postgresql://yaga:hollow@pg-rw/app")}, nil, noURI},
		"empty URI":                     {changes{key("uri", "")}, nil, noURI},
		"URI with white space":          {changes{only("uri", "mongodb://yaga:hollow@pg-rw/app\n")}, nil, noURI},
		"URI with NUL":                  {changes{only("uri", "mongodb://yaga:hollow@pg-rw/app\x00")}, nil, noURI},
		"URI without a host":            {changes{only("uri", "mongodb://yaga:hollow@/app")}, nil, noURI},
		"an empty second host":          {changes{only("uri", "mongodb://yaga:hollow@pg-rw,/app")}, nil, noURI},
		"URI with the path of a socket": {changes{only("uri", "mongodb://yaga:hollow@%2Ftmp%2Fpg-rw.sock/app")}, nil, noURI},
		"invalid port":                  {changes{only("uri", "mongodb://yaga:hollow@pg-rw:65536/app")}, nil, noURI},
		"an empty port":                 {changes{only("uri", "mongodb://yaga:hollow@pg-rw:/app")}, nil, noURI},
		"invalid escape":                {changes{only("uri", "mongodb://yaga:hollow%2@pg-rw/app")}, nil, noURI},
		"SRV with a port":               {changes{only("uri", "mongodb+srv://yaga:hollow@pg-rw:1/app")}, nil, noURI},
		"SRV with two hosts":            {changes{only("uri", "mongodb+srv://yaga:hollow@pg-rw,b/app")}, nil, noURI},
		"invalid connection string of Percona's operator": {changes{only("a_rs0_connectionString", "hollow")}, nil,
			`under the key "a_rs0_connectionString"`},
		"two hosts in the key host":  {changes{key("host", "pg-rw:1,b")}, nil, `has no host name under the key "host"`},
		"a user in the key host":     {changes{key("host", "yaga@pg-rw")}, nil, `has no host name under the key "host"`},
		"a path in the key host":     {changes{key("host", "pg-rw/x")}, nil, `has no host name under the key "host"`},
		"no password":                {changes{without("password")}, nil, `has no key "password"`},
		"only a user and a password": {changes{only("username", "yaga", "password", "hollow")}, nil, `has no key "host"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, issue := translate(dojotest.Dojo(onMongo), dojotest.Source(c.source...))
			if diff := cmp.Diff(c.want, texts(got)); diff != "" {
				t.Error(diff)
			}
			switch {
			case c.wrong == "" && issue != nil:
				t.Error(issue)
			case c.wrong == "":
				return
			case !issue.IsDegraded() || issue.Reason != corev1api.ReasonCredentialsIncomplete ||
				!strings.Contains(issue.Message, c.wrong) || !strings.Contains(issue.Message, "connectionString.standard"):
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

func TestURIOfFieldsIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 40, -1)
		user, password, name := text.Draw(t, "user"), text.Draw(t, "password"), text.Draw(t, "name")
		data, issue := translate(dojotest.Dojo(onMongo),
			dojotest.Source(key("user", user), key("password", password), key("dbname", name)))
		if issue != nil {
			t.Fatal(issue)
		}
		parsed, ok := parseMongo(string(data[URIKey]))
		if !ok || parsed.user != user || parsed.password != password || parsed.database != name {
			t.Fatalf("%q is read as %+v", data[URIKey], parsed)
		}
		u, err := url.Parse(string(data[URIKey]))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := u.User.Password(); got != password || u.User.Username() != user || u.Host != "pg-rw:5432" {
			t.Fatalf("%q is read by net/url as %+v", data[URIKey], u)
		}
	})
}

// A change of spec.database copies the same source in the form of the new database.
func TestKindOfDatabaseChanges(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	c := copiedFor(t, dojo, dojotest.Source())
	revision := ownOf(t, c).Annotations[ownership.RevisionAnnotation]
	for i, database := range []corev1api.Database{corev1api.DatabaseMongo, corev1api.DatabasePostgres} {
		dojo.Spec.Database = database
		access := Plan(dojo, observe(t, c, dojo, testConfig), true, testConfig)
		if len(access.Plan.Apply) != 1 || access.Plan.Apply[0].Rotation || access.Revision == revision {
			t.Fatalf("%s: writes %v, revision %s after %s", database, dojotest.Kinds(access.Plan), access.Revision, revision)
		}
		revision = access.Revision
		c.Do(dojo, access.Plan)
		if _, has := ownOf(t, c).Data[URIKey]; has != (i == 0) {
			t.Errorf("%s: DB_URI: %v", database, has)
		}
		again := Plan(dojo, observe(t, c, dojo, testConfig), true, testConfig)
		if again.Plan.Apply != nil || again.Revision != revision {
			t.Errorf("%s: the next reconcile writes %v", database, dojotest.Kinds(again.Plan))
		}
		if diff := cmp.Diff(access.Keys, again.Keys); diff != "" {
			t.Error(diff)
		}
		if PoolerOf(dojotest.Metadata(ownOf(t, c))) != "" || SourceOf(dojotest.Metadata(ownOf(t, c))) != "pg-app" {
			t.Errorf("%s: the Pooler or the source is misread", database)
		}
	}
}

func TestMongoRotatesAndDrifts(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(onMongo)
	c := copiedFor(t, dojo, dojotest.Source(only("uri", "mongodb://a:b@m/app")))
	revision := ownOf(t, c).Annotations[ownership.RevisionAnnotation]
	applytest.Edit(t, c.Server, "kubectl", sourceOf(t, c, "school"), key("uri", "mongodb://a:c@m/app"))
	access := Plan(dojo, observe(t, c, dojo, testConfig), true, testConfig)
	if len(access.Plan.Apply) != 1 || !access.Plan.Apply[0].Rotation || access.Revision == revision {
		t.Fatalf("a rotation writes %v", dojotest.Kinds(access.Plan))
	}
	c.Do(dojo, access.Plan)
	for _, edit := range []func(*corev1.Secret){key(URIKey, "x"), without(URIKey)} {
		applytest.Edit(t, c.Server, "kubectl", ownOf(t, c), edit)
		drifted := Plan(dojo, observe(t, c, dojo, testConfig), true, testConfig)
		if len(drifted.Plan.Apply) != 1 || !drifted.Plan.Apply[0].Drift {
			t.Fatalf("a changed copy is left alone: %v", dojotest.Kinds(drifted.Plan))
		}
		c.Do(dojo, drifted.Plan)
		if got := string(ownOf(t, c).Data[URIKey]); got != "mongodb://a:c@m/app" {
			t.Errorf("DB_URI is %q", got)
		}
	}
	applytest.Edit(t, c.Server, "kubectl", sourceOf(t, c, "school"), key("uri", "postgresql://a:c@m/app"))
	broken := Plan(dojo, observe(t, c, dojo, testConfig), true, testConfig)
	if broken.Plan.Apply != nil || dojotest.Worst(broken.Plan.Issues) != "Degraded/CredentialsIncomplete" ||
		broken.Revision == "" || len(broken.Keys) != len(mongoKeys) {
		t.Errorf("with a broken source, got %+v", broken)
	}
}
