package dojo

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/conditions"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "things"}
	quota := apierrors.NewForbidden(resource, "tokyo", errors.New("exceeded quota: compute"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "tokyo", field.ErrorList{field.Invalid(field.NewPath("data"), "hollow purple", "is odd")})
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}}, "kubectl has it")
	terminating := apierrors.NewForbidden(resource, "tokyo", errors.New("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	newChild := &child{kind: kindDeployment, name: "tokyo"}
	oldChild := &child{kind: kindDeployment, name: "tokyo", exists: true}
	secret := &child{kind: kindSecret, name: "tokyo-credentials", exists: true}
	newSecret := &child{kind: kindSecret, name: "tokyo-credentials"}
	// An admission webhook decides what its answer says.
	denied := func(code int32, reason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: metav1.StatusReason(reason), Message: message}}
	}
	const quoting = "DB_PASS hollow purple is weak"

	cases := map[string]struct {
		child *child
		err   error
		want  string
		says  string
	}{
		"the namespace goes":                  {newChild, terminating, "Waiting/NamespaceTerminating", "The namespace school is being deleted."},
		"a stranger was faster":               {newChild, conflict, "Terminal/NameTaken", "The Deployment school/tokyo exists"},
		"quota":                               {newChild, quota, "Terminal/ChildRefused", "refuses the Deployment tokyo: things \"tokyo\" is forbidden: exceeded quota: compute"},
		"invalid":                             {oldChild, invalid, "Terminal/ChildRefused", "hollow purple"},
		"a Secret: its values are not quoted": {secret, invalid, "Terminal/ChildRefused", "refuses the Secret tokyo-credentials: 422 Unprocessable Entity. If somebody has made it immutable"},
		"a Secret, forbidden":                 {secret, quota, "Terminal/ChildRefused", "refuses the Secret tokyo-credentials: 403 Forbidden"},
		"a Secret, denied with a message":     {secret, denied(400, "", quoting), "Terminal/ChildRefused", "refuses the Secret tokyo-credentials: 400 Bad Request"},
		"a Secret, denied with a free reason": {newSecret, denied(400, quoting, ""), "Terminal/ChildRefused", "refuses the Secret tokyo-credentials: 400 Bad Request"},
		"a Secret, forbidden freely":          {secret, denied(403, quoting, quoting), "Terminal/ChildRefused", "refuses the Secret tokyo-credentials: 403 Forbidden"},
		"denied as a conflict":                {oldChild, denied(409, "Conflict", "no team label"), "Terminal/ChildRefused", "refuses the Deployment tokyo: no team label"},
		"a Secret, denied as a conflict":      {secret, denied(409, "Conflict", quoting), "Terminal/ChildRefused", "refuses the Secret tokyo-credentials: 409 Conflict"},
		"denied with a message":               {oldChild, denied(400, "", "no team label"), "Terminal/ChildRefused", "refuses the Deployment tokyo: no team label"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := refusal(tokyo(), c.child, c.err)
			if outcomeOf(got) != c.want || !strings.Contains(got.Error(), c.says) {
				t.Errorf("got %v, want %s that says %q", got, c.want, c.says)
			}
			if c.child.kind == kindSecret && strings.Contains(got.Error(), "hollow purple") {
				t.Errorf("tells a password: %v", got)
			}
			// Nothing tells when a quota or a policy has changed.
			if failed, ok := errors.AsType[*conditions.Terminal](got); ok && failed.Reason == corev1api.ReasonChildRefused && failed.Retry <= 0 {
				t.Error("is never tried again")
			}
		})
	}
}

func TestWhatMayPass(t *testing.T) {
	t.Parallel()
	deployment := &child{kind: kindDeployment, name: "tokyo", exists: true}
	secret := &child{kind: kindSecret, name: "tokyo-credentials", exists: true}
	resource := schema.GroupResource{Resource: "things"}
	errIll := apierrors.NewInternalError(errors.New("the webhook says hollow purple"))
	errTaken := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}}, "kubectl has it")
	for name, c := range map[string]struct {
		child *child
		err   error
		says  string
	}{
		"the API server is ill":              {deployment, errIll, "apply Deployment tokyo: " + errIll.Error()},
		"a conflict over what is ours":       {deployment, errTaken, "apply Deployment tokyo: " + errTaken.Error()},
		"the API server is away":             {secret, errAway, "apply Secret tokyo-credentials: connection refused"},
		"a Secret, the API server is ill":    {secret, errIll, "apply Secret tokyo-credentials: 500 Internal Server Error"},
		"a Secret, nobody knows who asks":    {secret, apierrors.NewUnauthorized("hollow purple"), "apply Secret tokyo-credentials: 401 Unauthorized"},
		"a Secret, its namespace is no more": {secret, apierrors.NewNotFound(resource, "hollow purple"), "apply Secret tokyo-credentials: 404 Not Found"},
		"a Secret, too many requests":        {secret, apierrors.NewTooManyRequestsError("hollow purple"), "apply Secret tokyo-credentials: 429 Too Many Requests"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcomeOf(refusal(tokyo(), c.child, c.err)); got != "error: "+c.says {
				t.Errorf("got %v", got)
			}
		})
	}
	// A lost race is retried quietly, so it has to stay what it is.
	if got := refusal(tokyo(), secret, apierrors.NewConflict(resource, "tokyo", errAway)); !conditions.LostRace(got) {
		t.Errorf("got %v", got)
	}
}

// Only what somebody has changed or taken away is told of as corrected.
func TestCorrects(t *testing.T) {
	t.Parallel()
	told := func(w *world, d *corev1api.Dojo, cfg Config) []string {
		var kinds []string
		for _, c := range plan(d, w.see(d), cfg).apply {
			if corrects(d, c) {
				kinds = append(kinds, c.kind)
			}
		}
		return kinds
	}
	seen := func(d *corev1api.Dojo) { d.Status.ObservedGeneration = d.Generation }
	for name, c := range harmful() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo(seen)
			w := settledWorld(t, d)
			c.change(w)
			want := c.writes
			if w.own == nil || w.deployment == nil || w.service == nil || w.budget == nil {
				want = nil // made anew
			} else if len(want) == 2 {
				want = want[:1] // the Deployment follows the Secret
			}
			if diff := cmp.Diff(want, told(w, d, testConfig)); diff != "" {
				t.Error(diff)
			}
			d.Generation++
			if got := told(w, d, testConfig); got != nil {
				t.Errorf("with a new spec, %v", got)
			}
		})
	}
	d := tokyo(seen, exposed, inGroup)
	w := settledAlerts(t, d)
	w.source = pgApp(key("password", "red"), func(s *corev1.Secret) { s.ResourceVersion = "8" })
	w.put("DiscordChannel", "another", "status", "webhook", "secretRef", "name")
	cfg := testConfig
	cfg.Image, cfg.ProgressDeadline = "registry.example/dojo:10", time.Hour
	if got := kinds(plan(d, w.see(d), cfg)); len(got) != 3 {
		t.Errorf("writes %v", got)
	}
	if got := told(w, d, cfg); got != nil {
		t.Errorf("the operator's flags, another password and another webhook are followed, not corrected: %v", got)
	}
	w.custom["PrometheusRule"].SetManagedFields(nil) // nothing of it is ours any more
	if diff := cmp.Diff([]string{"PrometheusRule"}, told(w, d, cfg)); diff != "" {
		t.Error(diff)
	}
}

// TestAnAutoscalerThatGoesIsNoEdit: its replicas go back to the spec's, which nobody need hear of; what somebody else has changed is told all the same.
func TestAnAutoscalerThatGoesIsNoEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manager, subresource string
		also                 func(*appsv1.Deployment)
		want                 bool
	}{
		"an autoscaler's replicas":                      {"kube-controller-manager", "scale", func(*appsv1.Deployment) {}, false},
		"an autoscaler's replicas, and another's image": {"kube-controller-manager", "scale", container(func(c *corev1.Container) { c.Image = "nginx" }), true},
		"replicas that a person has scaled":             {"kubectl", "scale", func(*appsv1.Deployment) {}, true},
		"replicas that a person has edited":             {"kubectl-edit", "", func(*appsv1.Deployment) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo(func(d *corev1api.Dojo) { d.Status.ObservedGeneration = d.Generation })
			w := settledWorld(t, d)
			w.deployment = edit(w, w.deployment, c.manager, scaleTo(7))
			for i := range w.deployment.ManagedFields {
				if entry := &w.deployment.ManagedFields[i]; entry.Manager == c.manager {
					entry.Subresource = c.subresource
				}
			}
			w.deployment = edit(w, w.deployment, "somebody", c.also)
			s := plan(d, w.see(d), testConfig)
			if diff := cmp.Diff([]string{kindDeployment}, kinds(s)); diff != "" {
				t.Fatal(diff)
			}
			if got := corrects(d, s.apply[0]); got != c.want {
				t.Errorf("told as corrected: %v", got)
			}
		})
	}
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "databaseroles"}, "tokyo-db", errors.New("no"))
