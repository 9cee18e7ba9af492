// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// Report is what a Database or a DatabaseRole reports, neither of which has conditions.
type Report struct {
	Applied *bool // nil: CloudNativePG has not tried yet
	Current bool  // whether it is about the present spec
	Message string
}

// Done reports whether Postgres has the object.
func (r Report) Done() bool { return r.Current && r.Applied != nil && *r.Applied }

// Pending is an object that Postgres does not have yet.
type Pending struct {
	Object metav1.Object
	Kind   string
	Report Report
	// Reason and What are for the issue: "the role dojo_school_tokyo".
	Reason, What string
	// Cluster and Password are those that the object needs.
	Cluster  *cnpgv1.Cluster
	Password *metav1.PartialObjectMetadata
}

// Waiting is the issue while Postgres does not have an object.
func Waiting(reason, what string) *conditions.Issue {
	return conditions.Progressing(reason, "Waiting until Postgres has %s.", what)
}

// Wait waits until the instance manager has brought an object into Postgres. A refusal is normal while
// the Cluster comes up or the objects before are on their way: it counts once neither the object nor
// the password has changed for a while.
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
	since := Latest(LastAsked(p.Object), ReadySince(p.Cluster))
	if p.Password != nil {
		since = Latest(since, LastWritten(p.Password))
	}
	return conditions.WaitUntil(in.Now, since, deadline, waiting, conditions.Degraded(corev1api.ReasonDatabaseFailed,
		"Postgres has not got %s for more than %s. %s. See `kubectl describe %s %s`.",
		p.What, deadline.Round(time.Second), message, p.Kind, p.Object.GetName()))
}

// Latest returns the last of some times.
func Latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
