// SPDX-License-Identifier: Apache-2.0

package overwrites

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const (
	// A role younger than recentRole may come from a create that no status shows yet.
	recentRole  = time.Minute
	recentRetry = 2 * time.Second
)

// A text in the form of an id is never a name. Otherwise, a new role with such a name could replace
// the deleted role that had this id.
var idPattern = regexp.MustCompile(`^[1-9][0-9]{16,19}$`)

// Names resolves role names in a spec. The zero value has no recorded roles.
type Names struct {
	Observed bool                    // whether Recorded and Others are known
	Recorded []v1alpha1.ResolvedRole // in the object's status
	Others   Others                  // roles of DiscordRoles in other namespaces
}

// Others has the roles of DiscordRoles in other namespaces. A role name must not resolve to them.
type Others struct {
	ids     map[string]bool
	pending bool // whether some DiscordRole may have created a role whose id no status has yet
	now     time.Time
}

// OthersOf returns the roles of other namespaces. bound returns the role id that this process's
// records have for a DiscordRole; empty for none.
func OthersOf(
	roles []v1alpha1.DiscordRole, server types.NamespacedName, namespace string,
	bound func(types.UID) string, now time.Time,
) Others {
	others := Others{ids: map[string]bool{}, now: now}
	for i := range roles {
		role := &roles[i]
		if role.Namespace == namespace {
			continue
		}
		switch id := bound(role.UID); {
		case role.Status.RoleID != "" || id != "":
			others.ids[role.Status.RoleID], others.ids[id] = true, true
		case role.Spec.ServerRef.In(role.Namespace) == server:
			others.pending = true // the role may have any name, as the spec may have changed
		}
	}
	return others
}

// IsName reports whether an overwrite refers to a role by name.
func IsName(o v1alpha1.PermissionOverwrite, snap *guildcache.Snapshot) bool {
	if o.Role == "" || o.Role == "@everyone" || idPattern.MatchString(o.Role) {
		return false
	}
	_, exists := snap.Role(o.Role)
	return !exists
}

// Unrecorded reports whether the spec has a role name that the status lacks.
func Unrecorded(
	spec []v1alpha1.PermissionOverwrite, recorded []v1alpha1.ResolvedRole, snap *guildcache.Snapshot,
) bool {
	return slices.ContainsFunc(spec, func(o v1alpha1.PermissionOverwrite) bool {
		return IsName(o, snap) && idOf(o.Role, recorded) == ""
	})
}

// Resolve returns the role for each role name in a spec. A name keeps its recorded role, even if
// this role was renamed or deleted.
func (n Names) Resolve(
	spec []v1alpha1.PermissionOverwrite, snap *guildcache.Snapshot,
) (roles []v1alpha1.ResolvedRole, err error) {
	for _, o := range spec {
		if !IsName(o, snap) || idOf(o.Role, roles) != "" {
			continue
		}
		id, issue := n.resolve(o.Role, snap)
		if id != "" {
			roles = append(roles, v1alpha1.ResolvedRole{Name: o.Role, ID: id})
		}
		if issue != nil && err == nil {
			err = issue
		}
	}
	return roles, err
}

func (n Names) resolve(name string, snap *guildcache.Snapshot) (id string, issue *conditions.Issue) {
	if id := idOf(name, n.Recorded); id != "" {
		if _, exists := snap.Role(id); exists {
			return id, nil
		}
		return id, conditions.Degraded(v1alpha1.ReasonRoleNotFound, "The role %[1]s was deleted on Discord. %[2]q "+
			"in spec.permissionOverwrites still means the role %[1]s, even if a new role has this name. Name a role by "+
			"its id or by roleRef, or remove the overwrite.", id, name)
	}
	roles := slices.DeleteFunc(snap.RolesNamed(name), func(r discordclient.Role) bool { return n.Others.ids[r.ID] })
	if n.Others.pending && slices.ContainsFunc(roles, n.Others.recent) {
		return "", conditions.Progressing(v1alpha1.ReasonWaitingForRole, "The role %q is new, and the operator does not "+
			"know yet whether another namespace created it. To use it at once, name it by its id.", name).After(recentRetry)
	}
	switch len(roles) {
	case 0:
		return "", conditions.Degraded(v1alpha1.ReasonRoleNotFound,
			"The server has no role %q that this namespace may use. Create it on Discord, or name another one.", name)
	case 1:
		return roles[0].ID, nil
	}
	ids := make([]string, 0, len(roles))
	for _, r := range roles {
		ids = append(ids, r.ID)
	}
	return "", conditions.Degraded(v1alpha1.ReasonAmbiguousRole,
		"The server has %d roles with the name %q. Refer to one by its id: %s.", len(roles), name, strings.Join(ids, ", "))
}

func (o Others) recent(r discordclient.Role) bool {
	return o.now.Sub(discordclient.CreatedAt(r.ID)) < recentRole
}

func idOf(name string, roles []v1alpha1.ResolvedRole) string {
	for _, r := range roles {
		if r.Name == name {
			return r.ID
		}
	}
	return ""
}

// WithRoleIDs returns a spec's overwrites with role ids in place of names and references.
func WithRoleIDs(
	spec []v1alpha1.PermissionOverwrite, refs map[string]string, names []v1alpha1.ResolvedRole,
) []v1alpha1.PermissionOverwrite {
	spec = slices.Clone(spec)
	for i, o := range spec {
		if o.RoleRef != nil {
			spec[i].Role = refs[o.RoleRef.Name]
		} else if id := idOf(o.Role, names); id != "" {
			spec[i].Role = id
		}
	}
	return spec
}
