// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// RetentionRefused returns an issue if deleted objects of the namespace by may not leave resources
// on Discord, or nil.
func RetentionRefused(server *v1alpha1.DiscordServer, by, noun string) *conditions.Issue {
	if retains(server, by) {
		return nil
	}
	deletes := "deletes the " + noun + " on Discord"
	if noun == "channel" {
		deletes += " with its messages"
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "DiscordServer %s/%s does not allow deleted objects of other "+
		"namespaces to leave their %s on Discord (spec.allowRetention). Ask the owner of the server to allow it; "+
		"or set spec.deletionPolicy to Delete and spec.managementPolicy to Manage, which %s.",
		server.Namespace, server.Name, noun, deletes)
}

// RetainRefused returns an issue if the server forbids the object's deletion policy, or nil.
func RetainRefused(server *v1alpha1.DiscordServer, by string, policy v1alpha1.DeletionPolicy) *conditions.Issue {
	if policy != v1alpha1.DeletionPolicyRetain || retains(server, by) {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed,
		"spec.deletionPolicy is Retain, and DiscordServer %s/%s does not "+
			"allow objects of other namespaces to leave anything on Discord (spec.allowRetention). Ask its owner to allow it, "+
			"or remove spec.deletionPolicy. Without it, a deletion of this object can delete its resource on Discord.",
		server.Namespace, server.Name)
}

func retains(server *v1alpha1.DiscordServer, by string) bool {
	return by == server.Namespace || server.Spec.AllowRetention
}

// RetentionRefused calls the function RetentionRefused. A server that no longer exists refuses
// nothing.
func (r *Reader) RetentionRefused(
	ctx context.Context, name types.NamespacedName, by, noun string,
) (*conditions.Issue, error) {
	server := &v1alpha1.DiscordServer{}
	if err := r.Objects.Get(ctx, name, server); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get DiscordServer %s: %w", name, err)
	}
	return RetentionRefused(server, by, noun), nil
}
