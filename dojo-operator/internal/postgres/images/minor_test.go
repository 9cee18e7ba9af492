// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

const repository = "registry.example/postgres:"

var friday = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func dojoOf(change ...func(*corev1api.Dojo)) *corev1api.Dojo {
	d := dojotest.Dojo()
	d.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{Version: "17"}}
	for _, f := range change {
		f(d)
	}
	return d
}

func policy(minor corev1api.MinorPolicy, window *corev1api.Window) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Spec.Postgres.Cluster.VersionPolicy = &corev1api.VersionPolicy{Minor: minor, Window: window}
	}
}

func approved(version string) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Annotations = map[string]string{corev1api.MinorUpgradeAnnotation: version}
	}
}

func running(tag string, change ...func(*cnpgv1.Cluster)) *cnpgv1.Cluster {
	c := &cnpgv1.Cluster{}
	c.Spec.ImageName, c.Spec.Instances = repository+tag, 3
	c.Status = cnpgv1.ClusterStatus{
		Image: c.Spec.ImageName, ReadyInstances: 3, CurrentPrimary: "db-1", TargetPrimary: "db-1",
		InstancesStatus: map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"db-1"}},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func weekend(start string, lasting time.Duration) *corev1api.Window {
	return &corev1api.Window{
		Days: []corev1api.Weekday{"Sat", "Sun"}, Start: start, Duration: metav1.Duration{Duration: lasting},
		TimeZone: "Europe/Belgrade", // an hour ahead of UTC in winter
	}
}

func TestMinorUpgrade(t *testing.T) {
	t.Parallel()
	automatic := policy(corev1api.MinorAutomatic, nil)
	saturday := time.Date(2026, 11, 28, 1, 30, 0, 0, time.UTC)
	inWindow := policy(corev1api.MinorAutomatic, weekend("02:00", time.Hour))
	missing := func(c *cnpgv1.Cluster) { c.Status.ReadyInstances = 2 }
	down := func(c *cnpgv1.Cluster) { c.Status.InstancesStatus = nil }
	for name, c := range map[string]struct {
		dojo        *corev1api.Dojo
		live        *cnpgv1.Cluster
		offered     string
		now         time.Time
		busy        bool
		want, newer string
	}{
		"a new Cluster":                         {dojoOf(), nil, "17.11", friday, false, "17.11", ""},
		"no policy, not approved":               {dojoOf(), running("17.6"), "17.11", friday, false, "17.6", "17.11"},
		"Manual, not approved":                  {dojoOf(policy("Manual", nil)), running("17.6"), "17.11", friday, false, "17.6", "17.11"},
		"approved":                              {dojoOf(approved("17.11")), running("17.6"), "17.11", friday, false, "17.11", "17.11"},
		"approved, the primary is missing":      {dojoOf(approved("17.11")), running("17.6", down), "17.11", friday, false, "17.11", "17.11"},
		"another version is approved":           {dojoOf(approved("17.10")), running("17.6"), "17.11", friday, false, "17.6", "17.11"},
		"Automatic":                             {dojoOf(automatic), running("17.6"), "17.11", friday, false, "17.11", "17.11"},
		"Automatic, the catalog's version runs": {dojoOf(automatic), running("17.11"), "17.11", friday, false, "17.11", ""},
		"the catalog has an older version":      {dojoOf(automatic), running("17.12"), "17.11", friday, false, "17.12", ""},
		"a release step runs":                   {dojoOf(automatic), running("17.6"), "17.11", friday, true, "17.6", "17.11"},
		"a standby is missing":                  {dojoOf(automatic), running("17.6", missing), "17.11", friday, false, "17.6", "17.11"},
		"Automatic, the primary is missing":     {dojoOf(automatic), running("17.6", down), "17.11", friday, false, "17.6", "17.11"},
		"before the window":                     {dojoOf(inWindow), running("17.6"), "17.11", friday, false, "17.6", "17.11"},
		"in the window":                         {dojoOf(inWindow), running("17.6"), "17.11", saturday, false, "17.11", "17.11"},
		"after the window":                      {dojoOf(inWindow), running("17.6"), "17.11", saturday.Add(time.Hour), false, "17.6", "17.11"},
		"the catalog's image has another operating system": {
			dojoOf(automatic), running("17.6-standard-bookworm"), "17.11-standard-trixie", friday, false, "17.6-standard-bookworm", "",
		},
		"the catalog's image has the same operating system": {
			dojoOf(automatic), running("17.6-202601010000-standard-trixie"), "17.11-202608310816-standard-trixie", friday, false,
			"17.11-202608310816-standard-trixie", "17.11",
		},
		"a newer build of the same version, approved": {
			dojoOf(approved("17.6-202608310816")), running("17.6-202601010000-standard-trixie"), "17.6-202608310816-standard-trixie",
			friday, false, "17.6-202608310816-standard-trixie", "17.6-202608310816",
		},
		"the catalog has an older build": {
			dojoOf(automatic), running("17.6-202608310816-minimal-trixie"), "17.6-202601010000-minimal-trixie", friday, false,
			"17.6-202608310816-minimal-trixie", "",
		},
		"the Cluster's image has a floating tag": {dojoOf(automatic), running("17"), "17.11", friday, false, "17", ""},
		"an upgrade to the next major version":   {dojoOf(), running("16.9"), "17.11", friday, false, "17.11", ""},
		"the spec names an image": {dojoOf(automatic, func(d *corev1api.Dojo) {
			d.Spec.Postgres.Cluster.Version, d.Spec.Postgres.Cluster.ImageName = "", repository+"17.5"
		}), running("17.6"), "17.11", friday, false, "17.5", ""},
		"another client changed the image": {dojoOf(), running("17.1", func(c *cnpgv1.Cluster) {
			c.Annotations = map[string]string{images.Annotation: repository + "17.6"}
		}), "17.11", friday, false, "17.6", "17.11"},
		"the Cluster names a catalog of the API server": {dojoOf(), running("17.6", func(c *cnpgv1.Cluster) {
			c.Spec.ImageName, c.Spec.ImageCatalogRef = "", &cnpgv1.ImageCatalogRef{Major: 17}
		}), "17.11", friday, false, "17.6", "17.11"},
	} {
		in := images.Input{Catalog: dojotest.Catalog(c.offered), Now: c.now, Busy: c.busy}
		if got := images.For(c.dojo, c.live, in); got != repository+c.want {
			t.Errorf("%s: the image is %s, not %s", name, got, c.want)
		}
		if got := images.Newer(c.dojo, c.live, in.Catalog); got != c.newer {
			t.Errorf("%s: the newer version is %q, not %q", name, got, c.newer)
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	daily := &corev1api.Window{Start: "23:00", Duration: metav1.Duration{Duration: 4 * time.Hour}, TimeZone: "UTC"}
	utc := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, time.UTC)
	}
	for name, c := range map[string]struct {
		window   *corev1api.Window
		now, at  time.Time
		upgrades bool
	}{
		"before the window":                 {weekend("02:00", time.Hour), friday, utc(11, 28, 1, 0), false},
		"at the start of the window":        {weekend("02:00", time.Hour), utc(11, 28, 1, 0), utc(11, 28, 1, 0), true},
		"at the end of the window":          {weekend("02:00", time.Hour), utc(11, 28, 2, 0), utc(11, 29, 1, 0), false},
		"after the last window of the week": {weekend("02:00", time.Hour), utc(11, 29, 3, 0), utc(12, 5, 1, 0), false},
		"in a daily window, after midnight": {daily, utc(11, 28, 2, 59), utc(11, 27, 23, 0), true},
		"at the end of a daily window":      {daily, utc(11, 28, 3, 0), utc(11, 28, 23, 0), false},
		"in a window from Sunday to Monday": {weekend("23:30", 2*time.Hour), utc(11, 30, 0, 0), utc(11, 29, 22, 30), true},
		"the clocks skip the start":         {weekend("02:30", time.Hour), utc(3, 29, 0, 0), utc(3, 29, 1, 30), false},
		"the start occurs twice":            {weekend("02:30", time.Hour), utc(10, 25, 0, 0), utc(10, 25, 1, 30), false},
	} {
		d := dojoOf(policy(corev1api.MinorAutomatic, c.window))
		in := images.Input{Catalog: dojotest.Catalog("17.11"), Now: c.now}
		at := images.NewerAt(d, running("17.6"), in)
		if at == nil || !at.Time.Equal(c.at) {
			t.Errorf("%s: the window opens at %v, not %s", name, at, c.at)
		}
		if got := images.For(d, running("17.6"), in) == repository+"17.11"; got != c.upgrades {
			t.Errorf("%s: upgrades %v", name, got)
		}
	}
	for name, d := range map[string]*corev1api.Dojo{
		"no window":        dojoOf(policy(corev1api.MinorAutomatic, nil)),
		"no newer version": dojoOf(policy(corev1api.MinorAutomatic, daily), func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Version = "16" }),
	} {
		if at := images.NewerAt(d, running("17.6"), images.Input{Catalog: dojotest.Catalog("17.11"), Now: friday}); at != nil {
			t.Errorf("%s: the window opens at %s", name, at)
		}
	}
}

func TestUnknownZone(t *testing.T) {
	t.Parallel()
	for zone, known := range map[string]bool{
		"UTC": true, "Europe/Belgrade": true, "Europe/Atlantis": false, "../../etc/passwd": false, "Etc/../UTC": false,
	} {
		d := dojoOf(policy(corev1api.MinorAutomatic, &corev1api.Window{
			Start: "00:00", Duration: metav1.Duration{Duration: 24 * time.Hour}, TimeZone: zone,
		}))
		if issue := images.UnknownZone(d); known != (issue == nil) {
			t.Errorf("%s: %v", zone, issue)
		}
		in := images.Input{Catalog: dojotest.Catalog("17.11"), Now: friday}
		if upgrades := images.For(d, running("17.6"), in) == repository+"17.11"; upgrades != known {
			t.Errorf("%s: upgrades %v", zone, upgrades)
		}
	}
	if issue := images.UnknownZone(dojoOf()); issue != nil {
		t.Error(issue)
	}
}

func TestUnknownVersion(t *testing.T) {
	t.Parallel()
	broken := images.Parse(map[string][]byte{"a": []byte("kind: ConfigMap")})
	for name, c := range map[string]struct {
		catalog images.Catalog
		live    *cnpgv1.Cluster
		want    string
	}{
		"known":                                 {dojotest.Catalog(), nil, ""},
		"unknown":                               {dojotest.Catalog("16", "18"), nil, "has no version 17, so the Cluster is neither created nor changed. Use one of 16, 18,"},
		"unknown, the Cluster has this version": {dojotest.Catalog("18"), running("17.6"), ""},
		"unknown, the Cluster has 16":           {dojotest.Catalog("16", "18"), running("16.9"), "Use one of 16, 18, or set spec.postgres.cluster.imageName instead of version. A major version above 16 upgrades the database."},
		"unknown, the catalog has only older versions":   {dojotest.Catalog("14", "15"), running("16.9"), "Use one of 16, or set"},
		"unknown, an empty catalog":                      {images.Parse(nil), nil, "neither created nor changed. Set spec.postgres.cluster.imageName"},
		"a broken catalog":                               {broken, nil, `is not valid (a: the kind "ConfigMap" is not ClusterImageCatalog`},
		"a broken catalog, the Cluster has this version": {broken, running("17.6"), ""},
	} {
		in := images.Input{Catalog: c.catalog, Now: friday}
		issue := images.Unknown(dojoOf(), c.live, in)
		if c.want == "" != (issue == nil) || issue != nil && (!strings.Contains(issue.Message, c.want) || !issue.IsDegraded()) {
			t.Errorf("%s: %v", name, issue)
		}
		if c.live != nil && images.For(dojoOf(), c.live, in) != c.live.Spec.ImageName {
			t.Errorf("%s: the Cluster does not keep its image", name)
		}
	}
}

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	own := images.BuiltIn("")
	if diff := cmp.Diff("14, 15, 16, 17, 18", own.Offers(0)); diff != "" {
		t.Error(diff)
	}
	mirror := images.BuiltIn("registry.example:5000/pg")
	for major := 14; major <= 18; major++ {
		name, digest, pinned := strings.Cut(own.Image(major), "@sha256:")
		if !pinned || len(digest) != 64 || !strings.HasPrefix(name, "ghcr.io/cloudnative-pg/postgresql:") {
			t.Errorf("the image of Postgres %d is not pinned: %s", major, own.Image(major))
		}
		want := "registry.example:5000/pg" + strings.TrimPrefix(own.Image(major), "ghcr.io/cloudnative-pg/postgresql")
		if diff := cmp.Diff(want, mirror.Image(major)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: ClusterImageCatalog\nspec: {images: [{major: 17, image: 'pg:17.6'}]}":                         "",
		"kind: ImageCatalog\nspec: {images: [{major: 17, image: 'pg:18.1'}]}":                                "the tag of the image pg:18.1 is not of version 17",
		"kind: ImageCatalog\nspec: {images: [{major: 17, image: 'pg:17.1'}, {major: 17, image: 'pg:17.2'}]}": "two images of version 17",
		"kind: ImageCatalog\nspec: {images: [{major: 17, image: 'pg:17." + strings.Repeat("1", 600) + "'}]}": "more than 512 characters",
		"kind: [": "yaml",
		"kind: Secret\nstringData: {token: t0psecret}": `the kind "Secret" is not ClusterImageCatalog or ImageCatalog`,
	} {
		d := dojoOf(func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Version = "99" })
		issue := images.Unknown(d, nil, images.Input{Catalog: images.Parse(map[string][]byte{"f": []byte(text)})})
		if issue == nil || !strings.Contains(issue.Message, want) || strings.Contains(issue.Message, "t0psecret") {
			t.Errorf("%.80s: %v", text, issue)
		}
	}
}
