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

// standIn makes up objects that the user may not read, or that other controllers would write.
//
// If the user may not read a Secret, the plan assumes that the Secret has not changed. If another
// program writes the Secret, standIn makes up its values. If the operator writes it, the Secret is
// missing in the model at first, so the operator creates it there. standIn then gives this Secret
// the version and revision that other objects have recorded of the real Secret, so that these
// objects do not change.
type standIn struct {
	now time.Time
	// webhookBase is the prefix of the addresses of webhooks.
	webhookBase string
	dojo        *corev1api.Dojo
}

// ownSecrets names the Secrets that the operator writes for a Dojo.
func ownSecrets(dojo *corev1api.Dojo) []string {
	return []string{
		credentials.Name(dojo), monitoring.SecretName(dojo), cnpg.Owner.ObjectName(dojo), cnpg.Second.ObjectName(dojo),
	}
}

func (s *standIn) owns(k key) bool {
	return s.dojo != nil && k.Namespace == s.dojo.Namespace && slices.Contains(ownSecrets(s.dojo), k.Name)
}

// unreadable makes up a Secret that the user may not read. It returns nil for other kinds, and for
// Secrets that the operator writes.
func (s *standIn) unreadable(k key) *object {
	if k.GroupVersionKind != kinds.Secret.GroupVersionKind || s.owns(k) {
		return nil
	}
	data := map[string]any{}
	for _, name := range []string{"host", "port", "dbname", "user", "username", "password"} {
		data[name] = "NTQzMg==" // "5432" is a valid port and a valid name
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

// webhook returns a made-up address of a Discord webhook.
func (s *standIn) webhook() string {
	return s.webhookBase + "/webhooks/1401681709430341704/" +
		"planned-planned-planned-planned-planned-planned-planned-planned-planned0"
}

// created gives the Secret with the Dojo's credentials the revision that the Deployment has
// recorded, if the user may not read the real Secret.
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

// recorded returns the version of a login's Secret that CloudNativePG has applied, or "".
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
