// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

type withoutKey struct{ client.Reader }

func (withoutKey) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.(*corev1.ConfigMap).Name = key.Name
	return nil
}

func TestMissingKeyMessageSuggestsToAddTheKey(t *testing.T) {
	t.Parallel()
	var server v1alpha1.DiscordServer
	server.Spec.Icon = &v1alpha1.ServerIcon{ConfigMapKeyRef: v1alpha1.ConfigMapKeyReference{Name: "icon", Key: "icon.png"}}
	icon, err := ReadIcon(t.Context(), withoutKey{}, &server)
	if err != nil || icon.Issue == nil || icon.Issue.Reason != v1alpha1.ReasonIconNotFound {
		t.Fatal(icon, err)
	}
	if message := icon.Issue.Message; strings.Contains(message, "create configmap") ||
		!strings.Contains(message, `has no key "icon.png" in binaryData. Add the image under that key`) {
		t.Error(message)
	}
}
