// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of [For] besides the Dojo and its Cluster.
type Input struct {
	Catalog Catalog
	Now     time.Time
	// Busy reports whether SQL runs or may begin. A restart of the primary would interrupt the SQL.
	Busy bool
}

// tag has the form of https://github.com/cloudnative-pg/postgres-containers#image-tags.
var tag = regexp.MustCompile(`^(\d{1,4})\.(\d{1,4})(?:-(\d{8,14}))?((?:-[a-z].*)?)$`)

type build struct {
	major, minor int
	date         string
	kind         string
}

func buildOf(image string) (b build, ok bool) {
	parts := tag.FindStringSubmatch(Tag(image))
	if parts == nil {
		return b, false
	}
	b.major, _ = strconv.Atoi(parts[1])
	b.minor, _ = strconv.Atoi(parts[2])
	b.date, b.kind = parts[3], parts[4]
	return b, true
}

// newer requires the same kind of image: another operating system may sort text differently, which
// breaks indexes (https://www.postgresql.org/docs/current/collation.html).
func (b build) newer(former build) bool {
	if b.major != former.major || b.kind != former.kind {
		return false
	}
	return b.minor > former.minor || b.minor == former.minor && len(b.date) == len(former.date) && b.date > former.date
}

// Newer returns the version of the catalog's image if its minor version or build is newer than that
// of the Cluster's image, or "".
func Newer(dojo *corev1api.Dojo, live *cnpgv1.Cluster, catalog Catalog) string {
	own := dojo.Spec.Postgres.Cluster
	if own == nil || own.Version == "" || own.ImageName != "" {
		return ""
	}
	major, _ := strconv.Atoi(own.Version)
	former, known := buildOf(current(live, major))
	next, ok := buildOf(catalog.images[major])
	switch {
	case !known || !ok || !next.newer(former):
		return ""
	case next.minor == former.minor:
		return fmt.Sprintf("%d.%d-%s", next.major, next.minor, next.date)
	}
	return fmt.Sprintf("%d.%d", next.major, next.minor)
}

func minorDue(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) bool {
	newer := Newer(dojo, live, in.Catalog)
	if newer == "" || in.Busy {
		return false
	}
	if dojo.Annotations[corev1api.MinorUpgradeAnnotation] == newer {
		return true
	}
	policy := dojo.Spec.Postgres.Cluster.VersionPolicy
	if policy == nil || policy.Minor != corev1api.MinorAutomatic ||
		!cnpg.Up(live) || live.Status.ReadyInstances < live.Spec.Instances {
		return false
	}
	if policy.Window == nil {
		return true
	}
	_, open, err := opening(policy.Window, in.Now)
	return err == nil && open
}

// NewerAt returns the start of the current or next maintenance window for a newer version, or nil.
func NewerAt(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) *metav1.Time {
	if Newer(dojo, live, in.Catalog) == "" {
		return nil
	}
	policy := dojo.Spec.Postgres.Cluster.VersionPolicy
	if policy == nil || policy.Window == nil {
		return nil
	}
	at, _, err := opening(policy.Window, in.Now)
	if err != nil {
		return nil
	}
	return &metav1.Time{Time: at}
}

// UnknownZone returns an issue if the window's time zone does not exist.
func UnknownZone(dojo *corev1api.Dojo) *conditions.Issue {
	own := dojo.Spec.Postgres.Cluster
	if own == nil || own.VersionPolicy == nil || own.VersionPolicy.Window == nil {
		return nil
	}
	zone := own.VersionPolicy.Window.TimeZone
	if _, err := time.LoadLocation(zone); err == nil {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonUnknownTimeZone,
		"The time zone %s of spec.postgres.cluster.versionPolicy.window does not exist, so no automatic minor upgrade "+
			"begins. Use a name of the IANA database, such as Europe/Belgrade or UTC.", zone)
}
