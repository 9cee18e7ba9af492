// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"jutsu.com/operators/test/testcluster/auditlog"
)

// rest is for how long there must be no write.
const rest = 300 * time.Millisecond

// requests is what was read of the audit log so far.
type requests struct {
	sync.Mutex
	log    *auditlog.Log
	events []auditv1.Event
	// writes are the writes among them by namespace, in words: specs ask for them repeatedly.
	writes map[string][]string
}

// Requests are the operator's requests to the API server so far, oldest first, by the API server's
// audit log.
func (o *Operator) Requests() []auditv1.Event {
	ginkgo.GinkgoHelper()
	o.requests.Lock()
	defer o.requests.Unlock()
	o.readRequests()
	return o.requests.events
}

// readRequests reads what the audit log has gained.
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
		if write := writeOf(&e); write != "" {
			r.writes[e.ObjectRef.Namespace] = append(r.writes[e.ObjectRef.Namespace], write)
		}
		return err
	})).To(gomega.Succeed())
}

// WritesAtRest are Writes once none has come for a while, to count them: what a request has changed
// shows before the API server has logged the request.
func (o *Operator) WritesAtRest(namespace string) []string {
	ginkgo.GinkgoHelper()
	writes := o.Writes(namespace)
	gomega.Eventually(func() int { // the first look comes at once
		before := len(writes)
		writes = o.Writes(namespace)
		return len(writes) - before
	}).WithPolling(rest).MustPassRepeatedly(2).Should(gomega.BeZero(), "%s goes on writing", o.Name)
	return writes
}

// Writes are what the operator has written in a namespace so far, oldest first, as "patch
// deployments/tokyo", "patch dojos/tokyo/status" and the like. Events are not counted.
func (o *Operator) Writes(namespace string) []string {
	ginkgo.GinkgoHelper()
	o.requests.Lock()
	defer o.requests.Unlock()
	o.readRequests()
	return slices.Clone(o.requests.writes[namespace])
}

// writeOf returns what a request writes, empty for one that does not count.
func writeOf(e *auditv1.Event) string {
	if e.ObjectRef == nil || e.ObjectRef.Resource == "events" ||
		!slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb) {
		return ""
	}
	return strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Name+"/"+e.ObjectRef.Subresource, "/")
}
