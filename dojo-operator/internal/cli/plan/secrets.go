// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

// standIn makes up objects that the user may not read, or that other controllers would write. The
// plan treats an unreadable Secret as unchanged. If the operator owns the Secret, the operator
// creates it again in the model. standIn then gives it the credentials revision in the Deployment,
// or the resourceVersion in the DatabaseRole, so that nothing else changes.
type standIn struct {
	now time.Time
	// webhookBase is the prefix of Discord's webhook URLs.
	webhookBase string
	dojo        *corev1api.Dojo
}

func ownSecrets(dojo *corev1api.Dojo) []string {
	return []string{
		credentials.Name(dojo), monitoring.SecretName(dojo), cnpg.Owner.ObjectName(dojo), cnpg.Second.ObjectName(dojo),
	}
}

func (s *standIn) owns(k key) bool {
	return s.dojo != nil && k.Namespace == s.dojo.Namespace && slices.Contains(ownSecrets(s.dojo), k.Name)
}

// unreadable makes up a Secret. It returns nil for other kinds, and for Secrets that the operator
// writes for the Dojo.
func (s *standIn) unreadable(k key) *object {
	if k.GroupVersionKind != kinds.Secret.GroupVersionKind || s.owns(k) {
		return nil
	}
	data := map[string]any{}
	for _, name := range []string{"host", "port", "dbname", "user", "username", "password"} {
		data[name] = "NTQzMg==" // "5432" is valid both as a port and as a name
	}
	data["url"] = encoded(s.webhook())
	o := kinds.Secret.Named(k.Namespace, k.Name)
	o.Object["data"] = data
	o.SetUID(types.UID(plannedUID + k.Name))
	o.SetResourceVersion("1")
	o.SetCreationTimestamp(metav1.NewTime(s.now))
	o.SetAnnotations(map[string]string{corev1api.AllowedNamespacesAnnotation: "*"})
	return o
}

func (s *standIn) webhook() string {
	return s.webhookBase + "/webhooks/1401681709430341704/" +
		"planned-planned-planned-planned-planned-planned-planned-planned-planned0"
}

// created copies the credentials revision of the Deployment to o, an unreadable credentials Secret.
// Otherwise the plan would show a rollout.
func (s *standIn) created(m *Model, k key, o *object) {
	if !m.hides(k) || !s.owns(k) || k.Name != credentials.Name(s.dojo) {
		return
	}
	app := m.objects[key{kinds.Deployment.GroupVersionKind, types.NamespacedName{
		Namespace: s.dojo.Namespace, Name: s.dojo.Name,
	}}]
	if app == nil {
		return
	}
	template, _, _ := nestedMap(app, "spec", "template", "metadata", "annotations")
	if revision, ok := template[ownership.RevisionAnnotation].(string); ok {
		ownership.Annotate(o, ownership.RevisionAnnotation, revision)
	}
}

// recorded returns the resourceVersion that a DatabaseRole reports for its unreadable login Secret.
func (s *standIn) recorded(m *Model, k key) string {
	if !m.hides(k) || !s.owns(k) {
		return ""
	}
	role := m.objects[key{kinds.Role.GroupVersionKind, k.NamespacedName}]
	if role == nil {
		return ""
	}
	version, _, _ := nestedString(role, statusOf, "secretResourceVersion")
	return version
}
