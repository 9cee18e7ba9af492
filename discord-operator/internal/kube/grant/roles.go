// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// UsesRoles reports whether spec.allowedRoles of a server allows roles of a namespace.
func UsesRoles(server *v1alpha1.DiscordServer, by Namespace) bool {
	return Allows(server.Namespace, roleNamespaces(server), by)
}

func roleNamespaces(server *v1alpha1.DiscordServer) *v1alpha1.AllowedNamespaces {
	if server.Spec.AllowedRoles == nil {
		return nil
	}
	return &server.Spec.AllowedRoles.Namespaces
}

// Ceiling is the upper bound of the permissions that a DiscordRole may have.
type Ceiling struct {
	server  *v1alpha1.DiscordServer
	bounded bool
}

// CeilingOf returns the ceiling for DiscordRoles of a namespace. The server's namespace has none.
func CeilingOf(server *v1alpha1.DiscordServer, by string) Ceiling {
	return Ceiling{server, by != server.Namespace}
}

// Bounded reports whether there is a ceiling.
func (c Ceiling) Bounded() bool { return c.bounded }

// Within returns the bits that the ceiling allows. A ceiling with Administrator allows no other
// permission by implication.
func (c Ceiling) Within(bits permissions.Bits) permissions.Bits {
	if !c.bounded {
		return bits
	}
	var allowed permissions.Bits
	for _, name := range c.listed() {
		bit, _ := permissions.Parse(string(name))
		allowed |= bit & permissions.All
	}
	return bits & allowed
}

func (c Ceiling) listed() []v1alpha1.Permission {
	if c.server.Spec.AllowedRoles == nil {
		return nil
	}
	return c.server.Spec.AllowedRoles.Permissions
}

// Exceeded returns an issue that names the requested permissions that the ceiling does not allow. It
// returns nil if the ceiling allows all of them.
func (c Ceiling) Exceeded(asked []v1alpha1.Permission) *conditions.Issue {
	var above []string
	for _, name := range asked {
		if c.bounded && !slices.Contains(c.listed(), name) {
			above = append(above, string(name))
		}
	}
	if above == nil {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "DiscordServer %s/%s does not allow roles of other namespaces "+
		"to have %s (its spec.allowedRoles.permissions). Ask its owner to allow them, or remove them from spec.permissions.",
		c.server.Namespace, c.server.Name, strings.Join(above, ", "))
}

// RoleAdoptionRefused returns an issue if a namespace may not adopt a server's roles, or nil.
func RoleAdoptionRefused(server types.NamespacedName, by string) *conditions.Issue {
	if by == server.Namespace {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "DiscordServer %s is in another namespace, so this object "+
		"cannot adopt roles of that server. Create an object without spec.adopt.", server)
}
