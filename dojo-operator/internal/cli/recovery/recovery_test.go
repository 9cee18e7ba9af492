// SPDX-License-Identifier: Apache-2.0

package recovery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl/term"
)

func worldOf(d *corev1api.Dojo, objects ...client.Object) *world.World {
	w := &world.World{
		Now: apitest.Now, Dojo: d, Objects: map[world.Ref]client.Object{}, Denied: map[string]bool{}, Absent: map[string]bool{},
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *cnpgv1.Backup:
			w.Backups = append(w.Backups, *o)
		case *cnpgv1.Cluster:
			w.Objects[world.Ref{Resource: kinds.Cluster.Resource(), Name: o.Name}] = o
		case *metav1.PartialObjectMetadata:
			w.Objects[world.Ref{Resource: kinds.Secret.Resource(), Name: o.Name}] = o
		case *cnpgv1.Database:
			w.Objects[world.Ref{Resource: kinds.Database.Resource(), Name: o.Name}] = o
		default:
			panic(fmt.Sprintf("%T", o))
		}
	}
	return w
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"02:45": "2026-11-24T02:45:00Z", "03:00": "2026-11-23T03:00:00Z", "02:45:30": "2026-11-24T02:45:30Z",
		"24 Nov 02:45": "2026-11-24T02:45:00Z", "25 Nov 02:45": "2025-11-25T02:45:00Z",
		"1 Jan 2026 00:00": "2026-01-01T00:00:00Z", "2026-11-24 02:45": "2026-11-24T02:45:00Z",
		"2026-11-24T04:45:00+02:00": "2026-11-24T02:45:00Z", "2026-11-24T02:45:00.5Z": "2026-11-24T02:45:00.5Z",
		"10m": "2026-11-24T02:45:00Z", "1h": "2026-11-24T01:55:00Z",
	} {
		got, err := recovery.ParseMoment(text, apitest.Now)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s is %v (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "25:00", "-10m", "2026-13-01 00:00", "24.11.2026"} {
		if at, err := recovery.ParseMoment(text, apitest.Now); err == nil {
			t.Errorf("%q is %v", text, at)
		}
	}
}

func TestRestorableWindows(t *testing.T) {
	t.Parallel()
	first, last := apitest.Backup("first", apitest.At(22, 1, 0)), apitest.Backup("last", apitest.At(24, 1, 0))
	failed := apitest.Backup("failed", apitest.At(24, 2, 0))
	failed.Status.Phase = cnpgv1.BackupPhaseFailed
	former := apitest.Backup("former", apitest.At(10, 1, 0))
	former.Spec.PluginConfiguration.Parameters = map[string]string{"barmanObjectName": "backups", "serverName": "sendai-db-0"}
	snapshot := apitest.Backup("snapshot", apitest.At(24, 0, 0))
	snapshot.Spec.Method, snapshot.Spec.PluginConfiguration = cnpgv1.BackupMethodVolumeSnapshot, nil
	window := [2]metav1.Time{apitest.At(20, 2, 0), apitest.At(24, 1, 0)}
	failing := func(c *cnpgv1.Cluster) *cnpgv1.Cluster {
		c.Status.Conditions[0].Status, c.Status.Conditions[0].LastTransitionTime = "False", apitest.At(24, 2, 30)
		return c
	}
	d := apitest.Sendai
	for name, c := range map[string]struct {
		dojo    *corev1api.Dojo
		objects []client.Object
		stores  map[string][2]metav1.Time
		want    []string
	}{
		"no backup":            {dojo: d()},
		"only a failed backup": {dojo: d(), objects: []client.Object{failed}},
		"only a snapshot":      {dojo: d(), objects: []client.Object{snapshot}},
		"two completed backups, a failed backup, and a live Cluster": {d(), []client.Object{first, last, failed, apitest.Cluster(d())}, nil, []string{"sendai-db: 22 Nov 01:00 to now"}},
		"archiving fails":     {d(), []client.Object{first, failing(apitest.Cluster(d()))}, nil, []string{"sendai-db: 22 Nov 01:00 to about 02:30"}},
		"the Cluster is lost": {d(apitest.Lost), []client.Object{first, last}, nil, []string{"sendai-db: 22 Nov 01:00 to about 02:51 or later"}},
		"the WAL is not archived": {d(func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup.Plugin.WALArchiver = new(false) }),
			[]client.Object{first, last, apitest.Cluster(d())}, nil, []string{"sendai-db: 01:00 to 01:00"}},
		"the ObjectStore reports an earlier start":        {d(), []client.Object{last}, map[string][2]metav1.Time{"sendai-db": window}, []string{"sendai-db: 20 Nov 02:00 to 01:00"}},
		"only the ObjectStore reports a window":           {d(), nil, map[string][2]metav1.Time{"sendai-db-2": window}, []string{"sendai-db-2: 20 Nov 02:00 to 01:00"}},
		"the ObjectStore has only windows of other Dojos": {d(), nil, map[string][2]metav1.Time{"osaka-db": window, "sendai-db-x": window, "sendai-dbx": window}, nil},
		"one Backup has a former serverName":              {d(), []client.Object{former, last}, nil, []string{"sendai-db: 01:00 to 01:00", "sendai-db-0: 10 Nov 01:00 to 10 Nov 01:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldOf(c.dojo, c.objects...)
			if c.stores != nil {
				w.Stores = append(w.Stores, *apitest.Store(c.stores))
			}
			var got []string
			for _, window := range recovery.Windows(w) {
				got = append(got, window.ServerName+": "+window.Words(w.Now))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	d := apitest.Sendai
	cluster := func(change ...func(*corev1api.PostgresCluster)) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) {
			for _, f := range change {
				f(d.Spec.Postgres.Cluster)
			}
		}
	}
	last := apitest.Backup("last", apitest.At(24, 1, 0))
	snapshot := apitest.Backup("snapshot", apitest.At(24, 0, 0))
	snapshot.Spec.Method, snapshot.Spec.PluginConfiguration = cnpgv1.BackupMethodVolumeSnapshot, nil
	noID, noPlace := apitest.Backup("a", apitest.At(24, 1, 0)), apitest.Backup("a", apitest.At(24, 1, 0))
	noID.Status.BackupID, noPlace.Spec.PluginConfiguration = "", nil
	const lacks = "the Backup a does not name the place of its data (it lacks spec.pluginConfiguration.parameters or status.backupId): "
	old := apitest.Backup("old", apitest.At(24, 1, 0))
	old.Status.MajorVersion = 17
	newer := apitest.Backup("newer", apitest.At(24, 2, 0))
	imaged := cluster(func(pg *corev1api.PostgresCluster) { pg.Version, pg.ImageName = "", "registry/pg:18.1" })
	catalog := apitest.Cluster(d())
	catalog.Spec.ImageName, catalog.Spec.ImageCatalogRef = "", &cnpgv1.ImageCatalogRef{Major: 18}
	catalog.Spec.ImageCatalogRef.Name = "pinned"
	foreign := apitest.Cluster(d())
	foreign.Labels = nil
	late := &cnpgv1.Database{}
	late.Name, late.CreationTimestamp = "sendai-db", apitest.At(24, 2, 0)
	origin := cluster(func(pg *corev1api.PostgresCluster) {
		pg.Bootstrap = &corev1api.Bootstrap{Recovery: &corev1api.Recovery{Backup: &corev1api.BackupReference{Name: "first"}}}
	})
	for name, c := range map[string]struct {
		dojo          *corev1api.Dojo
		objects       []client.Object
		request       recovery.Request
		has, problem  string
		hasNot, notes string
	}{
		"a snapshot is restored in place": {d(), []client.Object{snapshot, apitest.Cluster(d())}, recovery.Request{},
			"bootstrap:\n    recovery:\n      backup:\n        name: snapshot\n", "", "externalClusters", ""},
		"a snapshot cannot be restored to a time": {d(), []client.Object{snapshot}, recovery.Request{Backup: "snapshot", To: apitest.At(24, 2, 0).Time},
			"", "is a volume snapshot without the write-ahead log that --to needs: leave --to out", "", ""},
		"the Backup lacks its ID":       {d(), []client.Object{noID}, recovery.Request{Backup: "a"}, "", lacks, "", ""},
		"the Backup lacks its location": {d(), []client.Object{noPlace}, recovery.Request{Backup: "a"}, "", lacks, "", ""},
		"--to is before the end of the Backup": {d(), []client.Object{last}, recovery.Request{Backup: "last", To: apitest.At(24, 0, 0).Time},
			"", "ended at 24 Nov 2026 01:00:00 UTC, after --to (24 Nov 2026 00:00:00 UTC)", "", ""},
		"--to is after the end of the Backup": {d(), []client.Object{last}, recovery.Request{Backup: "last", To: apitest.At(24, 2, 0).Time, As: "past"},
			"targetTime: \"2026-11-24T02:00:00Z\"", "", "objectStore", ""},
		"the live Cluster uses an image catalog": {d(), []client.Object{last, catalog}, recovery.Request{}, "name: pinned", "", "imageName", ""},
		"a lost Cluster gets an image from the repository in the request": {d(apitest.Lost), []client.Object{last}, recovery.Request{Image: "registry/pg"},
			"imageName: registry/pg:18.6-", "", "", ""},
		"a lost Cluster without a version in the spec gets the former version": {d(apitest.Lost, cluster(func(pg *corev1api.PostgresCluster) { pg.Version = "" })),
			[]client.Object{last}, recovery.Request{}, "imageName: ghcr.io/cloudnative-pg/postgresql:18.6-", "", "", ""},
		"a lost Cluster keeps the origin in the spec": {d(apitest.Lost, origin), []client.Object{last}, recovery.Request{},
			"core.jutsu.com/origin: Backup first\n", "", "", ""},
		"backup of an older version, in place": {d(), []client.Object{old, apitest.Cluster(d())}, recovery.Request{}, "",
			"the backup is of Postgres 17, but sendai has Postgres 18: restore beside the Dojo with --as", "", ""},
		"backup of an older version, in place, image in the spec": {d(imaged), []client.Object{old, apitest.Cluster(d())},
			recovery.Request{}, "", "the backup is of Postgres 17, but sendai has Postgres 18: restore beside the Dojo with --as", "", ""},
		"backup of an older version, lost Cluster, image in the spec": {d(apitest.Lost, imaged), []client.Object{old}, recovery.Request{}, "",
			"the backup is of Postgres 17, but sendai has Postgres 18: restore beside the Dojo with --as", "", ""},
		"--to is before an upgrade in the same archive": {d(), []client.Object{old, newer, apitest.Cluster(d())},
			recovery.Request{To: apitest.At(24, 1, 30).Time}, "",
			"the backup is of Postgres 17, but sendai has Postgres 18: restore beside the Dojo with --as", "", ""},
		"--to is after an upgrade in the same archive": {d(), []client.Object{old, newer, apitest.Cluster(d())},
			recovery.Request{To: apitest.At(24, 2, 30).Time}, "imageName: ghcr.io/cloudnative-pg/postgresql:18.1", "", "", ""},
		"backup of an older version, beside the Dojo": {d(), []client.Object{old}, recovery.Request{As: "past"}, "version: \"17\"\n", "", "", ""},
		"backup of an older version, beside the Dojo, newer image in the spec": {d(cluster(func(pg *corev1api.PostgresCluster) {
			pg.Version, pg.ImageName = "", "registry/pg:18.1"
		})), []client.Object{old}, recovery.Request{As: "past"}, "version: \"17\"\n", "", "imageName", ""},
		"backup of an older version, beside the Dojo, image of that version in the spec": {d(cluster(func(pg *corev1api.PostgresCluster) {
			pg.Version, pg.ImageName = "", "registry/pg:17.6"
		})), []client.Object{old}, recovery.Request{As: "past"}, "imageName: registry/pg:17.6\n", "", "version: ", ""},
		"the Cluster lacks the Dojo's labels": {d(), []client.Object{last, foreign}, recovery.Request{}, "",
			"the Cluster sendai-db does not belong to the Dojo", "", ""},
		"the Cluster has no primary": {d(), []client.Object{last, func() *cnpgv1.Cluster {
			c := apitest.Cluster(d())
			c.Status.CurrentPrimary = ""
			return c
		}()}, recovery.Request{}, "", "the Cluster sendai-db has no primary, so its current data cannot be backed up", "", ""},
		"the Dojo is being upgraded": {d(func(d *corev1api.Dojo) { d.Status.Database.Upgrade = &corev1api.UpgradeStatus{} }),
			[]client.Object{last, apitest.Cluster(d())}, recovery.Request{}, "", "sendai is being upgraded: restore beside the Dojo", "", ""},
		"--to is before the creation of the Database": {d(), []client.Object{last, late, apitest.Cluster(d())}, recovery.Request{To: apitest.At(24, 1, 30).Time},
			"targetTime: \"2026-11-24T01:30:00Z\"", "", "", "the restored data may lack the database of the Dojo"},
		"a copy gets its own serverName": {d(cluster(func(pg *corev1api.PostgresCluster) { pg.Backup.Plugin.Parameters = nil })),
			[]client.Object{last}, recovery.Request{As: "past"}, "serverName: past-db\n", "", "exposure", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := recovery.New(worldOf(c.dojo, c.objects...), c.request)
			if c.problem != "" || err != nil {
				if err == nil || c.problem == "" || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("the error is %v, want %q", err, c.problem)
				}
				return
			}
			text, err := yaml.Marshal(p.Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.has) || c.hasNot != "" && strings.Contains(string(text), c.hasNot) {
				t.Errorf("the manifest should have %q and not %q:\n%s", c.has, c.hasNot, text)
			}
			if !strings.Contains(strings.Join(p.Notes, "\n"), c.notes) {
				t.Errorf("the notes are %v, want %q", p.Notes, c.notes)
			}
		})
	}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	last, others := apitest.Backup("last", apitest.At(24, 1, 0)), []string{"Database reports", "Dojo kyoto"}
	plan := func(request recovery.Request, others []string, denied kinds.Kind, objects ...client.Object) string {
		w := worldOf(apitest.Sendai(), append(objects, last)...)
		w.Others, w.Denied[denied.Resource()] = others, true
		p, err := recovery.New(w, request)
		if err != nil {
			return err.Error()
		}
		return strings.Join(p.Notes, "\n")
	}
	live := apitest.Cluster(apitest.Sendai())
	granted := &metav1.PartialObjectMetadata{}
	granted.Name, granted.Annotations = "sendai-db-2", map[string]string{corev1api.AllowedNamespacesAnnotation: "team-b"}
	const refused = "the Cluster sendai-db has data of others (Database reports, Dojo kyoto): restore beside the Dojo with --as"
	for name, c := range map[string]struct{ got, has, hasNot string }{
		"in place, shared Cluster":        {plan(recovery.Request{}, others, kinds.Kind{}, live), refused, ""},
		"beside the Dojo, shared Cluster": {plan(recovery.Request{As: "past"}, others, kinds.Kind{}, live), "", "others"},
		"in place, no other users":        {plan(recovery.Request{}, nil, kinds.Kind{}, live), "", "others"},
		"lost shared Cluster": {plan(recovery.Request{}, others, kinds.Kind{}),
			"The Cluster sendai-db also had the data of Database reports, Dojo kyoto. That data is restored to the same moment.", ""},
		"in place, a login shared with team-b": {plan(recovery.Request{}, nil, kinds.Kind{}, live, granted),
			`the annotation core.jutsu.com/allowed-namespaces of the Secret sendai-db-2 allows "team-b". Their data is restored`, ""},
		"beside the Dojo, a login shared with team-b": {plan(recovery.Request{As: "past"}, nil, kinds.Kind{}, live, granted), "", "other namespaces"},
		"the user may not list Databases": {plan(recovery.Request{}, nil, kinds.Database, live),
			"you need the rights to list dojos.core.jutsu.com and databases.postgresql.cnpg.io in the namespace team-a", ""},
		"the user may not list Dojos": {plan(recovery.Request{}, nil, kinds.Dojo, live), "you need the rights to list dojos.core.jutsu.com", ""},
	} {
		if !strings.Contains(c.got, c.has) || c.hasNot != "" && strings.Contains(c.got, c.hasNot) {
			t.Errorf("%s: %q, want %q", name, c.got, c.has)
		}
	}
}

// TestEndOfTheLog asserts that a restore in place beyond the known end of the WAL is refused,
// unless the Cluster is lost.
func TestEndOfTheLog(t *testing.T) {
	t.Parallel()
	turned := func(d *corev1api.Dojo) {
		d.Spec.Postgres.Cluster.Backup.Plugin.Parameters = map[string]string{
			"barmanObjectName": "backups", "serverName": "sendai-db-2",
		}
	}
	logless := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup.Plugin.WALArchiver = new(false) }
	live, silent := apitest.Cluster(apitest.Sendai()), apitest.Cluster(apitest.Sendai())
	silent.Status.Conditions = nil
	backups := []client.Object{apitest.Backup("first", apitest.At(22, 1, 0)), apitest.Backup("last", apitest.At(24, 1, 0))}
	plan := func(request recovery.Request, cluster *cnpgv1.Cluster, changes ...func(*corev1api.Dojo)) string {
		objects := backups
		if cluster != nil {
			objects = append([]client.Object{cluster}, backups...)
		}
		w := worldOf(apitest.Sendai(changes...), objects...)
		p, err := recovery.New(w, request)
		if err != nil {
			return err.Error()
		}
		return p.Text(w, term.Style{})
	}
	inside, after := apitest.At(24, 0, 30).Time, apitest.At(24, 2, 0).Time
	const later = "22 Nov 01:00 to 01:00  --to is after that: the restore succeeds only if the write-ahead log reaches --to\n"
	const tooLate = "--to is after 24 Nov 2026 01:00:00 UTC, the last moment that is known to be in the write-ahead log of " +
		"serverName sendai-db: restore beside the Dojo with --as"
	const backupsAlone = "cannot be restored to 24 Nov 2026 00:30:00 UTC. Choose instead: " +
		"--backup last (01:00), or --backup first (22 Nov 01:00)"
	for name, c := range map[string]struct{ got, want string }{
		"--to is within a former archive":                                               {plan(recovery.Request{To: inside}, live, turned), "22 Nov 01:00 to 01:00  ok\n"},
		"--to is after the end of a former archive":                                     {plan(recovery.Request{To: after}, live, turned), tooLate},
		"--to is after the end of a former archive, from a Backup":                      {plan(recovery.Request{To: after, Backup: "last"}, live, turned), tooLate},
		"--to is after the end of a former archive, with --as":                          {plan(recovery.Request{To: after, As: "past"}, live, turned), later},
		"--to is after the end of a former archive, lost Cluster":                       {plan(recovery.Request{To: after}, nil, turned, apitest.Lost), later},
		"--to is within a growing archive":                                              {plan(recovery.Request{To: after}, live), "22 Nov 01:00 to now  ok\n"},
		"--to is within a growing archive, from a Backup":                               {plan(recovery.Request{To: after, Backup: "last"}, live), "1. stop the application"},
		"the Cluster does not report archiving":                                         {plan(recovery.Request{To: after}, silent), tooLate},
		"no WAL archive":                                                                {plan(recovery.Request{To: inside}, live, logless), backupsAlone},
		"no WAL archive, --to with --as":                                                {plan(recovery.Request{To: inside, As: "past"}, live, logless), backupsAlone},
		"no WAL archive, a Backup with --to":                                            {plan(recovery.Request{To: after, Backup: "last"}, live, logless), "the Backup last has no write-ahead log"},
		"no WAL archive, the newest data is requested":                                  {plan(recovery.Request{}, live, logless), "from Backup team-a/last to"},
		"no WAL archive, a Backup without --to":                                         {plan(recovery.Request{Backup: "first"}, live, logless), "from Backup team-a/first to"},
		"lost Cluster, the newest data is requested, the present archive has no backup": {plan(recovery.Request{}, nil, turned, apitest.Lost), "no backup, so the writes in that archive are not"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %s, want %q", name, c.got, c.want)
		}
	}
}

// TestAdviceLeavesOutUnusableBackups asserts that the advice names no Backup that --backup refuses.
func TestAdviceLeavesOutUnusableBackups(t *testing.T) {
	t.Parallel()
	logless := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup.Plugin.WALArchiver = new(false) }
	first, last := apitest.Backup("first", apitest.At(22, 1, 0)), apitest.Backup("last", apitest.At(24, 1, 0))
	request := recovery.Request{To: apitest.At(24, 0, 30).Time}
	for want, unusable := range map[string][]*cnpgv1.Backup{
		"Choose instead: --backup last (01:00), or --backup first (22 Nov 01:00)": nil,
		"Choose instead: --backup last (01:00)":                                   {first},
		"no completed backup of sendai was found that a restore can use":          {first, last},
	} {
		objects := []client.Object{apitest.Cluster(apitest.Sendai())}
		for _, b := range []*cnpgv1.Backup{first, last} {
			if slices.Contains(unusable, b) {
				b = b.DeepCopy()
				b.Status.BackupID = ""
			}
			objects = append(objects, b)
		}
		_, err := recovery.New(worldOf(apitest.Sendai(logless), objects...), request)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestUnknownVersion asserts that a restore from a former archive of unknown version needs an image
// with a version, and does not replace a live Cluster.
func TestUnknownVersion(t *testing.T) {
	t.Parallel()
	upgraded := func(d *corev1api.Dojo) {
		d.Spec.Postgres.Cluster.Backup.Plugin.Parameters = map[string]string{
			"barmanObjectName": "backups", "serverName": "sendai-db-2",
		}
	}
	plan := func(d *corev1api.Dojo, request recovery.Request, objects ...client.Object) string {
		w := worldOf(d, objects...)
		w.Stores = append(w.Stores, *apitest.Store(map[string][2]metav1.Time{
			"sendai-db": {apitest.At(20, 2, 0), apitest.At(24, 1, 0)},
		}))
		p, err := recovery.New(w, request)
		if err != nil {
			return err.Error()
		}
		text, err := yaml.Marshal(p.Object.Object)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	to, live := apitest.At(24, 0, 30).Time, apitest.Cluster(apitest.Sendai())
	const unknown = "the version of Postgres in the archive sendai-db is not known: "
	old := apitest.Sendai(upgraded, func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Version = "17" })
	for name, c := range map[string]struct{ got, want string }{
		"live Cluster, in place": {plan(apitest.Sendai(upgraded), recovery.Request{To: to}, live), unknown + "restore beside the Dojo with --as"},
		"live Cluster, in place, image with a version": {plan(apitest.Sendai(upgraded), recovery.Request{To: to, Image: "pg:18"}, live),
			unknown + "restore beside the Dojo with --as"},
		"lost Cluster": {plan(apitest.Sendai(upgraded, apitest.Lost), recovery.Request{To: to}),
			unknown + "name an image of the right version, with its tag, in --postgres-image"},
		"lost Cluster, image of another version than the spec": {
			plan(apitest.Sendai(upgraded, apitest.Lost), recovery.Request{To: to, Image: "pg:17.6"}),
			"the backup is of Postgres 17, but sendai has Postgres 18: restore beside the Dojo with --as"},
		"lost Cluster, image of the version in the spec": {plan(old, recovery.Request{To: to, Image: "pg:17.6"}), "imageName: pg:17.6\n"},
		"beside the Dojo, image without a version": {plan(apitest.Sendai(upgraded), recovery.Request{To: to, As: "past", Image: "registry/pg"}, live),
			unknown + "name an image of the right version, with its tag, in --postgres-image"},
		"beside the Dojo, image with a version": {plan(apitest.Sendai(upgraded), recovery.Request{To: to, As: "past", Image: "pg:17.6"}, live),
			"version: \"17\"\n"},
		"live Cluster, in place, --to is in the present archive": {plan(apitest.Sendai(), recovery.Request{To: to}, live), "serverName: sendai-db\n"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %s, want %q", name, c.got, c.want)
		}
	}
}

func TestNextServerName(t *testing.T) {
	t.Parallel()
	at := [2]metav1.Time{apitest.At(20, 2, 0), apitest.At(24, 1, 0)}
	named := func(server string) *corev1api.Dojo {
		return apitest.Sendai(func(d *corev1api.Dojo) {
			d.Spec.Postgres.Cluster.Backup.Plugin.Parameters = map[string]string{"serverName": server}
		})
	}
	for name, c := range map[string]struct {
		dojo   *corev1api.Dojo
		stores map[string][2]metav1.Time
		want   string
	}{
		"no serverName in the spec":              {apitest.Sendai(), nil, "sendai-db-2"},
		"a serverName with a number in the spec": {named("sendai-db-2"), nil, "sendai-db-3"},
		"a serverName that a user chose":         {named("mine"), nil, "sendai-db"},
		"a higher number in the ObjectStore":     {named("sendai-db-2"), map[string][2]metav1.Time{"sendai-db-7": at, "osaka-db-9": at}, "sendai-db-8"},
	} {
		w := worldOf(c.dojo)
		if c.stores != nil {
			w.Stores = append(w.Stores, *apitest.Store(c.stores))
		}
		if got := recovery.NextServerName(w, c.dojo); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSizeOfTheRestoredCluster asserts that the Cluster in the manifest has the size's values.
func TestSizeOfTheRestoredCluster(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	cluster := func(change func(*corev1api.PostgresCluster)) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) { change(d.Spec.Postgres.Cluster) }
	}
	medium := cluster(func(pg *corev1api.PostgresCluster) {
		pg.Size, pg.Instances, pg.Storage = "Medium", nil, corev1api.PostgresStorage{StorageClassName: "fast"}
	})
	stored := cluster(func(pg *corev1api.PostgresCluster) { pg.Storage.Size = resource.MustParse("50Gi") })
	reported := func(d *corev1api.Dojo) {
		d.Status.Database.Size = &corev1api.SizeStatus{Name: "Medium", Instances: 3, CPU: "1", Memory: "2Gi", Storage: "20Gi"}
	}
	requests := func(size string) fields {
		return fields{"requests": fields{"cpu": "1", "memory": size}, "limits": fields{"memory": size}}
	}
	live := apitest.Cluster(apitest.Sendai())
	live.Spec.Instances, live.Spec.StorageConfiguration.Size = 5, "30Gi"
	live.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("7Gi")}
	for name, c := range map[string]struct {
		dojo      *corev1api.Dojo
		live      *cnpgv1.Cluster
		instances int64
		storage   string
		resources any
		problem   string
	}{
		"no size": {apitest.Sendai(apitest.Lost), nil, 3, "10Gi", nil, ""},
		"a size":  {apitest.Sendai(apitest.Lost, medium, reported), nil, 3, "20Gi", requests("2Gi"), ""},
		"a size, smaller storage in the spec": {apitest.Sendai(apitest.Lost, medium, reported,
			cluster(func(pg *corev1api.PostgresCluster) { pg.Storage.Size = resource.MustParse("5Gi") })),
			nil, 3, "20Gi", requests("2Gi"), ""},
		"a size, storage and instances in the spec": {apitest.Sendai(apitest.Lost, medium, reported, stored,
			cluster(func(pg *corev1api.PostgresCluster) { pg.Instances = new(int32(2)) })), nil, 2, "50Gi", requests("2Gi"), ""},
		"a size, resources in the spec": {apitest.Sendai(apitest.Lost, medium, reported,
			cluster(func(pg *corev1api.PostgresCluster) {
				pg.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
			})), nil, 3, "20Gi", fields{"limits": fields{"cpu": "2"}}, ""},
		"a size that the status does not have": {apitest.Sendai(apitest.Lost, medium), nil, 0, "", nil,
			"the capacity of the volume is not known, because status.database.size of sendai is not set"},
		"a size that the status does not have, storage in the spec": {apitest.Sendai(apitest.Lost, medium, stored),
			nil, 1, "50Gi", nil, ""},
		"a size, live Cluster": {apitest.Sendai(medium, reported), live, 5, "30Gi", fields{"requests": fields{"memory": "7Gi"}}, ""},
		"a size, live Cluster, storage in the spec": {apitest.Sendai(medium, reported, stored), live, 5, "50Gi",
			fields{"requests": fields{"memory": "7Gi"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []client.Object{apitest.Backup("last", apitest.At(24, 1, 0))}
			if c.live != nil {
				objects = append(objects, c.live)
			}
			p, err := recovery.New(worldOf(c.dojo, objects...), recovery.Request{})
			if c.problem != "" || err != nil {
				if err == nil || c.problem == "" || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("the error is %v, want %q", err, c.problem)
				}
				return
			}
			spec := p.Object.Object["spec"].(fields)
			got := []any{spec["instances"], spec["storage"].(fields)["size"], spec["resources"]}
			if diff := cmp.Diff([]any{c.instances, c.storage, c.resources}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStorageOfTheCopy asserts that the volume of `restore --as` can hold the data.
func TestStorageOfTheCopy(t *testing.T) {
	t.Parallel()
	grown := func(size corev1api.SizeName, storage string) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) {
			own := d.Spec.Postgres.Cluster
			own.Size, own.Instances, own.Storage = size, nil, corev1api.PostgresStorage{}
			if storage != "" {
				own.Storage.Size = resource.MustParse(storage)
			}
			d.Status.Database.Size = &corev1api.SizeStatus{Name: "Medium", Instances: 3, Storage: "50Gi"}
		}
	}
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want any
	}{
		"no size":                         {apitest.Sendai(), "10Gi"},
		"a size":                          {apitest.Sendai(grown("Medium", "")), "50Gi"},
		"a size, smaller storage in spec": {apitest.Sendai(grown("Medium", "5Gi")), "50Gi"},
		"a size, larger storage in spec":  {apitest.Sendai(grown("Medium", "80Gi")), "80Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := recovery.New(worldOf(c.dojo, apitest.Backup("last", apitest.At(24, 1, 0))), recovery.Request{As: "past"})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := unstructured.NestedFieldNoCopy(p.Object.Object, "spec", "postgres", "cluster", "storage", "size")
			if err != nil || got != c.want {
				t.Errorf("storage.size is %v, want %v (%v)", got, c.want, err)
			}
		})
	}
}
