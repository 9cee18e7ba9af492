// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/environment/spec"
)

// With PLANS=1, each spec also tests kubectl dojo plan. Before each change of a Dojo,
// planningClient waits until the operator sends no writes, and plans the change. The change opens a
// window. The window ends when the spec writes again, runs kubectl dojo, changes the installed
// kinds or the platform's files, or ends. Then these statements must be true:
//   - The plan lists each successful write of the operator, except of a Dojo's status.
//   - If the Dojo is Ready as planned, or Degraded for a planned reason, the operator has made each
//     planned write.
//   - If the Dojo is Ready, the plan says Ready. If the API server refuses a child, the plan does
//     not say Ready.
//   - The API server refuses the change itself if and only if the plan says so.
//
// A change is not planned if the operator does not come to rest, the Dojo is deleted, the namespace
// has more than eight Dojos, or the plan ends with exit code 2. A planned change is not compared if
// it fails because of a conflict, or if the operator then restarts with other flags.
//
// A plan assumes success. It cannot show failures of other controllers, passed deadlines, and
// refusals that only the operator gets, because dry runs have the user's rights.
//
// The file out/dojo-operator/plans-*.log has a line for each change.
var (
	planEveryChange = os.Getenv("PLANS") != ""
	plans           = &planningClient{}
)

const (
	// After restTime without a write, the operator is at rest. A reconcile takes less time.
	restTime = 500 * time.Millisecond
	restPoll = 50 * time.Millisecond
	// If the operator is not at rest after untilRest, the change is not planned.
	untilRest = 5 * time.Second
	// mostDojos limits planning: a namespace with more Dojos belongs to a spec about load.
	mostDojos = 8
)

// ofOperatorAlone matches refusals that a user of kubectl dojo plan does not get.
var ofOperatorAlone = regexp.MustCompile(
	`forbidden: User "system:serviceaccount:|ValidatingAdmissionPolicy 'dojo-operator`)

// planningClient plans each change of a Dojo before it sends the change.
type planningClient struct {
	client.Client

	mu   sync.Mutex // held while the client plans and sends a change
	open *openWindow
	log  []string // a line for each change of the spec
	// faults lists the wrong plans of the current spec.
	faults []string
}

// openWindow is the window of the last change. The operator's writes in this window are compared
// with the plan of the change.
type openWindow struct {
	planOutcome
	dojo    client.ObjectKey
	change  string
	refused bool
	// from is the number of the operator's requests before the change.
	from int
	args []string
}

func (c *planningClient) of(other client.Client) client.Client {
	c.Client = other
	_ = os.Remove(c.logFile()) // the log file of an earlier run
	return c
}

func (c *planningClient) logFile() string {
	return filepath.Join(filepath.Dir(operator.LogFile()), fmt.Sprintf("plans-%d.log", GinkgoParallelProcess()))
}

func (c *planningClient) asGiven(o client.Object) func() (map[string]any, error) {
	return func() (map[string]any, error) {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		fields = runtime.DeepCopyJSON(fields)
		fields["apiVersion"], fields["kind"] = corev1api.GroupVersion.String(), "Dojo"
		return fields, err
	}
}

func (c *planningClient) write(
	ctx context.Context, o client.Object, verb string, dryRun []string, next func() (map[string]any, error),
	send func() error,
) error {
	if len(dryRun) > 0 {
		return send()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(ctx)
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil || gvk != corev1api.GroupVersion.WithKind("Dojo") {
		return send()
	}
	w := &openWindow{dojo: client.ObjectKeyFromObject(o), change: verb + " " + o.GetName()}
	skipped := c.plan(ctx, w, next)
	err = send()
	switch {
	case skipped != "":
		c.note(w, "skipped: "+skipped)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		c.note(w, "skipped: the change was refused for another one")
	default:
		w.refused = err != nil
		c.open = w
	}
	return err
}

// plan runs kubectl dojo plan while the operator is at rest. If there is no usable plan of the
// change, skipped is the cause.
func (c *planningClient) plan(
	ctx context.Context, w *openWindow, next func() (map[string]any, error),
) (skipped string) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(corev1api.GroupVersion.WithKind("Dojo"))
	err := c.Get(ctx, w.dojo, live)
	if client.IgnoreNotFound(err) != nil {
		return err.Error()
	}
	if live.GetDeletionTimestamp() != nil {
		return "the Dojo is deleted"
	}
	all := &corev1api.DojoList{}
	if err := c.List(ctx, all, client.InNamespace(w.dojo.Namespace)); err != nil {
		return err.Error()
	}
	if len(all.Items) > mostDojos {
		return "the namespace has many Dojos"
	}
	for range 3 {
		if !c.rest(ctx, w.dojo.Namespace) {
			return "the operator is not at rest"
		}
		before := len(operator.Requests())
		fields, err := next()
		if err != nil {
			return err.Error()
		}
		file, err := c.file(ctx, w.dojo, manifest(live.Object, fields))
		if err != nil {
			return err.Error()
		}
		w.args = operator.Process().Args()
		code, output := kubectlDojo(ctx, w.dojo.Namespace, "plan", "-f", file, "-o", "json",
			"--operator-args="+strings.Join(w.args, " "))
		if code == 2 {
			return output
		}
		if err := json.NewDecoder(strings.NewReader(output)).Decode(&w.planReport); err != nil {
			w.Refused = true
			w.change += ": " + firstLine(output)
		}
		w.from = len(operator.Requests())
		if len(successfulWrites(w.dojo.Namespace, before)) == 0 {
			return ""
		}
		w.planOutcome = planOutcome{}
	}
	return "the operator wrote meanwhile"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// file writes a manifest with the change. It adds the other Dojos that are neither Ready nor being
// deleted, because the operator may send writes for them too.
func (c *planningClient) file(ctx context.Context, changed client.ObjectKey, first map[string]any) (string, error) {
	all := &corev1api.DojoList{}
	if err := c.List(ctx, all, client.InNamespace(changed.Namespace)); err != nil {
		return "", err
	}
	items := []any{first}
	for i := range all.Items {
		d := &all.Items[i]
		if ready, _ := stateOf(d); ready || d.Name == changed.Name || d.DeletionTimestamp != nil {
			continue
		}
		fields, err := c.asGiven(d)()
		if err != nil {
			return "", err
		}
		items = append(items, manifest(nil, fields))
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return "", err
	}
	path := filepath.Join(GinkgoT().TempDir(), "dojo.json")
	return path, os.WriteFile(path, text, 0o600)
}

// stateOf ignores conditions of former generations.
func stateOf(d *corev1api.Dojo) (ready bool, degraded string) {
	reasonOf := func(kind string) string {
		condition := meta.FindStatusCondition(d.Status.Conditions, kind)
		if condition == nil || condition.Status != "True" || condition.ObservedGeneration != d.Generation {
			return ""
		}
		return condition.Reason
	}
	return reasonOf("Ready") != "", reasonOf("Degraded")
}

func (c *planningClient) rest(ctx context.Context, namespace string) bool {
	count := func() int { return len(operator.Writes(namespace)) }
	quiet, writes := time.Now(), count()
	atRest := func(context.Context) (bool, error) {
		if now := count(); now != writes {
			quiet, writes = time.Now(), now
		}
		return time.Since(quiet) > restTime, nil
	}
	return wait.PollUntilContextTimeout(ctx, restPoll, untilRest, true, atRest) == nil
}

// successfulWrites ignores writes of the status, and the operator's first requests. The parameter
// from is the number of these first requests.
func successfulWrites(namespace string, from int) (all []string) {
	requests := operator.Requests()
	for i := from; i < len(requests); i++ {
		if write := writeIn(namespace, &requests[i]); write != "" && !isStatus(write) {
			all = append(all, write)
		}
	}
	return all
}

// writeIn returns the write of an event, or "" if the event is not a successful write in the
// namespace.
func writeIn(namespace string, e *auditv1.Event) string {
	if e.ObjectRef == nil || e.ObjectRef.Namespace != namespace || strings.Contains(e.RequestURI, "dryRun=") ||
		e.ResponseStatus == nil || e.ResponseStatus.Code >= 300 {
		return ""
	}
	return spec.WriteOf(e)
}

func (c *planningClient) end(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(ctx)
}

func (c *planningClient) close(ctx context.Context) {
	w := c.open
	if w == nil {
		return
	}
	c.open = nil
	if !slices.Equal(w.args, operator.Process().Args()) {
		c.note(w, "skipped: the operator has other flags")
		return
	}
	seen := c.state(ctx, w)
	if w.ended(w.dojo.Name, seen) {
		c.rest(ctx, w.dojo.Namespace) // the operator may still send writes after the write of the status
		seen = c.state(ctx, w)
	}
	faults := w.mismatches(w.dojo.Name, seen)
	// On a busy machine, the operator's last writes may be late.
	_ = wait.PollUntilContextTimeout(ctx, restTime, untilRest, true, func(ctx context.Context) (bool, error) {
		if len(faults) > 0 && w.ended(w.dojo.Name, seen) {
			seen = c.state(ctx, w)
			faults = w.mismatches(w.dojo.Name, seen)
		}
		return len(faults) == 0 || !w.ended(w.dojo.Name, seen), nil
	})
	ready, problems := w.endOf(w.dojo.Name)
	result := fmt.Sprintf("plan: ready %t, refused %t, problems %q, writes %q; Dojo: ready %t, degraded %q, writes %q",
		ready, w.Refused, problems, w.distinct(w.hashed()), seen.Ready, seen.Degraded, seen.Written)
	if len(faults) > 0 {
		c.faults = append(c.faults, fmt.Sprintf("%s: %q; %s", w.change, faults, result))
		result = fmt.Sprintf("%q; %s", faults, result)
	}
	c.note(w, map[bool]string{true: "ok: ", false: "MISMATCH: "}[len(faults) == 0]+result)
}

func (c *planningClient) state(ctx context.Context, w *openWindow) window {
	seen := window{Refused: w.refused, Written: successfulWrites(w.dojo.Namespace, w.from)}
	d := &corev1api.Dojo{}
	if err := c.Get(ctx, w.dojo, d); err == nil {
		seen.Ready, seen.Degraded = stateOf(d)
		if ofOperatorAlone.MatchString(message(d, "Degraded")) {
			seen.Degraded = ""
		}
	}
	policies := &admissionv1.MutatingAdmissionPolicyList{}
	if err := c.List(ctx, policies, client.Limit(1)); err == nil {
		seen.Rewritten = len(policies.Items) > 0
	}
	return seen
}

func (c *planningClient) note(w *openWindow, result string) {
	c.log = append(c.log, w.change+": "+result)
	GinkgoWriter.Println("plan of", w.change, result)
}

var _ = AfterEach(func(ctx context.Context) {
	if !planEveryChange {
		return
	}
	plans.end(ctx)
	log, faults := plans.log, plans.faults
	plans.log, plans.faults = nil, nil
	file, err := os.OpenFile(plans.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	for _, line := range log {
		_, _ = fmt.Fprintf(file, "%s | %s\n", CurrentSpecReport().FullText(), line)
	}
	Expect(faults).To(BeEmpty(), "the operator's writes should equal the plan of each change")
})
