// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

// Effect classifies a [Consequence].
type Effect string

// The effects, from harmless to grave.
const (
	Scales           Effect = "Scales"
	RollsPods        Effect = "RollsPods"
	RestartsPostgres Effect = "RestartsPostgres"
	Downtime         Effect = "Downtime"
	DataAtRisk       Effect = "DataAtRisk"
)

// Consequence is the effect of a change on the application's users or on the data.
type Consequence struct {
	Effect  Effect `json:"effect"`
	Object  string `json:"object"`
	Message string `json:"message"`
}

func consequencesOf(c Change) (all []Consequence) {
	j := &judge{Change: c}
	switch {
	case c.Action == Delete:
		j.deletion()
	case c.Action == Create && c.Kind != kinds.Dojo.Kind:
	case c.Kind == kinds.Dojo.Kind:
		j.dojo()
	case c.Kind == kinds.Deployment.Kind:
		j.deployment()
	case c.Kind == kinds.Cluster.Kind:
		j.cluster()
	case c.Kind == kinds.Service.Kind && c.changed("spec.ports", "spec.selector"):
		j.add(Downtime, "clients that use the former port or pods lose their connections")
	}
	return j.all
}

type judge struct {
	Change
	all []Consequence
}

func (j *judge) add(effect Effect, format string, args ...any) {
	j.all = append(j.all, Consequence{
		Effect: effect, Object: j.Kind + " " + j.Name, Message: fmt.Sprintf(format, args...),
	})
}

func (c Change) changed(paths ...string) bool {
	for _, path := range paths {
		fields := strings.Split(path, ".")
		was, now := field(c.before, fields), field(c.after, fields)
		if !equality.Semantic.DeepEqual(was, now) {
			return true
		}
	}
	return false
}

func field(o *object, path []string) any {
	if o == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}

func (j *judge) deletion() {
	switch j.Kind {
	case kinds.Deployment.Kind:
		j.add(Downtime, "all pods end")
	case kinds.Service.Kind, kinds.Ingress.Kind, kinds.HTTPRoute.Kind:
		j.add(Downtime, "clients can no longer reach the application through it")
	case kinds.Cluster.Kind:
		j.add(DataAtRisk, "Postgres is deleted with its volumes; backups outside of them stay")
	case kinds.Database.Kind:
		if policy, _, _ := nestedString(j.before, "spec", "databaseReclaimPolicy"); policy == "delete" {
			j.add(DataAtRisk, "the database is dropped in Postgres with all of its tables")
		}
	case kinds.Schedule.Kind:
		j.add(DataAtRisk, "scheduled backups end; existing backups stay")
	case kinds.Pooler.Kind:
		j.add(Downtime, "clients of the Pooler lose their connections; before that, the pods are replaced and connect "+
			"to Postgres directly")
	}
}

func (j *judge) dojo() {
	policy, _, _ := nestedString(j.after, "spec", "postgres", "reclaimPolicy")
	if policy == "Delete" && j.changed("spec.postgres.reclaimPolicy") {
		j.add(DataAtRisk, "deleting the Dojo will also delete its database; if "+
			"spec.postgres.cluster.backup.finalBackup is true, the operator first makes a final backup")
	}
	if j.before == nil {
		return
	}
	if j.changed("spec.credentialsRef") || j.changed("spec.postgres.clusterRef") {
		j.add(DataAtRisk, "the application may get another database; the data of the former database is not copied")
	}
	was := field(j.before, []string{"spec", "postgres", "cluster", "backup"})
	if was != nil && field(j.after, []string{"spec", "postgres", "cluster", "backup"}) == nil {
		j.add(DataAtRisk, "backups and the archiving of the write-ahead log end")
	}
	recreate := j.after.GetAnnotations()[corev1api.RecreateDatabaseAnnotation]
	if recreate != "" && recreate != j.before.GetAnnotations()[corev1api.RecreateDatabaseAnnotation] {
		j.add(DataAtRisk, "a new database replaces the lost one: empty, or with the data of spec.postgres.cluster.bootstrap")
	}
}

func (j *judge) deployment() {
	was, now := nestedInt(j.before, "spec", "replicas"), nestedInt(j.after, "spec", "replicas")
	switch {
	case was > 0 && now == 0:
		j.add(Downtime, "the application is stopped: %d pods end", was)
		return
	case was == 0 && now > 0:
		j.add(Scales, "the application starts with %d pods", now)
	case was != now:
		j.add(Scales, "from %d to %d pods", was, now)
	}
	if !j.changed("spec.template") || now == 0 {
		return
	}
	strategy, _, _ := nestedString(j.after, "spec", "strategy", "type")
	if strategy == "Recreate" {
		j.add(Downtime, "all pods end before new pods start")
		return
	}
	j.add(RollsPods, "a rolling update replaces %d pods; by default, old pods end once new pods are ready", now)
}

func (j *judge) cluster() {
	alone := nestedInt(j.after, "spec", "instances") < 2
	interrupted := "with a switchover of a few seconds"
	effect := RestartsPostgres
	if alone {
		interrupted = "with an outage of seconds to minutes, since there is one instance"
	}
	restart := func(why string) { j.add(effect, "Postgres restarts %s, %s", why, interrupted) }
	if was, now := hibernates(j.before), hibernates(j.after); was != now {
		if now {
			j.add(Downtime, "Postgres is stopped; the data stays")
		} else {
			j.add(RestartsPostgres, "Postgres starts again")
		}
	}
	if j.changed("spec.imageName") {
		if was, now := majorOf(imageOf(j.before)), majorOf(imageOf(j.after)); was != now && was != "" && now != "" {
			j.add(Downtime, "Postgres is stopped while CloudNativePG upgrades its data from version %s to %s", was, now)
		} else {
			restart("because its image changes")
		}
	}
	if j.changed("spec.resources") {
		restart("because its resources change")
	}
	if j.changed("spec.postgresql") {
		restart("if a changed parameter needs a restart")
	}
	if was, now := nestedInt(j.before, "spec", "instances"), nestedInt(j.after, "spec", "instances"); was != now {
		j.add(Scales, "from %d to %d instances of Postgres", was, now)
	}
}

func hibernates(o *object) bool {
	return o.GetAnnotations()[cnpg.HibernationAnnotation] == cnpg.HibernationOn
}

func imageOf(cluster *object) string {
	image, _, _ := nestedString(cluster, "spec", "imageName")
	return image
}

func majorOf(image string) string {
	major, _, _ := strings.Cut(images.VersionOf(image), ".")
	return major
}
