// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
)

// Report is the state of a Database or a DatabaseRole. Neither kind has conditions.
type Report struct {
	Applied *bool // nil before CloudNativePG's first try
	Current bool  // the report is about the present spec
	Message string
}

// Done reports whether Postgres has the object.
func (r Report) Done() bool { return r.Current && r.Applied != nil && *r.Applied }

// Pending is an object that Postgres may not have yet.
type Pending struct {
	Object       metav1.Object
	Kind         string
	Report       Report
	Reason, What string
	Cluster      *cnpgv1.Cluster
	Password     *metav1.PartialObjectMetadata
}

// Waiting returns the issue for a missing object of Postgres, such as "the role dojo".
func Waiting(reason, what string) *conditions.Issue {
	return conditions.Progressing(reason, "Waiting until Postgres has %s.", what)
}

// Wait returns an issue until Postgres has the object. A change of the object resets the deadline.
func (p Pending) Wait(in Input) *conditions.Issue {
	if p.Report.Done() {
		return nil
	}
	waiting := Waiting(p.Reason, p.What)
	deadline, message := in.Deadline, "CloudNativePG does not say why"
	if p.Report.Applied != nil && !*p.Report.Applied {
		deadline, message = in.ProgressDeadline, "CloudNativePG reports: "+p.Report.Message
		waiting.Message += " " + message
	}
	since := Latest(LastSpecWrite(p.Object), ReadySince(p.Cluster))
	if p.Password != nil {
		since = Latest(since, LastWritten(p.Password))
	}
	return conditions.WaitUntil(in.Now, since, deadline, waiting, conditions.Degraded(corev1api.ReasonDatabaseFailed,
		"Postgres still lacks %s after more than %s. %s. See `kubectl describe %s %s -n %s`.",
		p.What, deadline.Round(time.Second), message, ownership.Resource(p.Kind), p.Object.GetName(),
		p.Object.GetNamespace()))
}

// Latest returns the latest of the times.
func Latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
