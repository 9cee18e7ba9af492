// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"jutsu.com/operators/test/testcluster/auditlog"
)

const rest = 300 * time.Millisecond

type requests struct {
	sync.Mutex
	log    *auditlog.Log
	events []auditv1.Event
	writes map[string][]string
}

// Requests returns the operator's requests in the audit log, oldest first.
func (o *Operator) Requests() []auditv1.Event {
	ginkgo.GinkgoHelper()
	o.requests.Lock()
	defer o.requests.Unlock()
	o.readRequests()
	return o.requests.events
}

func (o *Operator) readRequests() {
	ginkgo.GinkgoHelper()
	r := &o.requests
	if r.log == nil {
		var err error
		r.log, err = auditlog.Open(o.Cluster.AuditLog())
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		r.writes = map[string][]string{}
	}
	agent := []byte(`"userAgent":"` + o.Name + `/`)
	gomega.Expect(r.log.Each(func(line []byte) error {
		if !bytes.Contains(line, agent) {
			return nil
		}
		var e auditv1.Event
		err := json.Unmarshal(line, &e)
		r.events = append(r.events, e)
		if write := WriteOf(&e); write != "" {
			r.writes[e.ObjectRef.Namespace] = append(r.writes[e.ObjectRef.Namespace], write)
		}
		return err
	})).To(gomega.Succeed())
}

// WritesAtRest returns Writes after five reads without a new write. The audit log may be late, and
// the simulated CloudNativePG may pause for a second between two steps.
func (o *Operator) WritesAtRest(namespace string) []string {
	ginkgo.GinkgoHelper()
	writes := o.Writes(namespace)
	gomega.Eventually(func() int { // Eventually polls at once, then after each rest
		before := len(writes)
		writes = o.Writes(namespace)
		return len(writes) - before
	}).WithPolling(rest).MustPassRepeatedly(5).Should(gomega.BeZero(), "%s goes on writing", o.Name)
	return writes
}

// Writes returns the operator's writes in a namespace, oldest first, as "patch deployments/tokyo"
// or "patch dojos/tokyo/status", without writes of Events.
func (o *Operator) Writes(namespace string) []string {
	ginkgo.GinkgoHelper()
	o.requests.Lock()
	defer o.requests.Unlock()
	o.readRequests()
	return slices.Clone(o.requests.writes[namespace])
}

// WriteOf formats a write for Writes, and returns "" for reads and Events. It also returns "" for a
// create that failed with a conflict: an operator with an old cache may send one.
func WriteOf(e *auditv1.Event) string {
	if e.ObjectRef == nil || e.ObjectRef.Resource == "events" ||
		e.Verb == "create" && e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusConflict ||
		!slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb) {
		return ""
	}
	return strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Name+"/"+e.ObjectRef.Subresource, "/")
}
