// SPDX-License-Identifier: Apache-2.0

package status

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// ID returns the id of an object's resource on Discord from the status; empty if there is none.
func ID(o client.Object) string {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return o.Status.ServerID
	case *v1alpha1.DiscordGroup:
		return o.Status.GroupID
	case *v1alpha1.DiscordRole:
		return o.Status.RoleID
	case *v1alpha1.DiscordChannel:
		return o.Status.ChannelID
	}
	return ""
}
