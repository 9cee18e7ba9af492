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
	// young is the age up to which a role may be the result of a create whose answer no object has yet.
	young = time.Minute
	// youngRetry is when such a role is looked at again; usually an event is sooner.
	youngRetry = 2 * time.Second
)

// anID is a Discord id by its form. A role whose name looks like one is never found by its name: it would
// replace a deleted role that a spec names by its id.
var anID = regexp.MustCompile(`^[1-9][0-9]{16,19}$`)

// Names decide which roles the names in a spec stand for. The zero value has nothing recorded and no roles
// of other namespaces.
type Names struct {
	// Observed reports whether the rest is known.
	Observed bool
	// Recorded are the roles of the object's status.
	Recorded []v1alpha1.ResolvedRole
	// Others are the roles of DiscordRoles of other namespaces.
	Others Others
}

// Others are the roles that DiscordRoles of other namespaces have on Discord, or are about to have.
type Others struct {
	ids     map[string]bool
	pending bool // one may have been created, and its id is not known
	now     time.Time
}

// OthersOf returns the roles that DiscordRoles of other namespaces than one have. held returns the id that
// this process knows an object to have, before its status shows it; empty for none.
func OthersOf(
	roles []v1alpha1.DiscordRole, server types.NamespacedName, namespace string,
	held func(types.UID) string, now time.Time,
) Others {
	others := Others{ids: map[string]bool{}, now: now}
	for i := range roles {
		role := &roles[i]
		if role.Namespace == namespace {
			continue
		}
		switch id := held(role.UID); {
		case role.Status.RoleID != "" || id != "":
			others.ids[role.Status.RoleID], others.ids[id] = true, true
		case role.Spec.ServerRef.In(role.Namespace) == server:
			others.pending = true // whatever its name is now
		}
	}
	return others
}

// IsName reports whether an overwrite names a role by its name.
func IsName(o v1alpha1.PermissionOverwrite, snap *guildcache.Snapshot) bool {
	if o.Role == "" || o.Role == "@everyone" || anID.MatchString(o.Role) {
		return false
	}
	_, exists := snap.Role(o.Role)
	return !exists
}

// Unrecorded reports whether a spec has names that the status does not resolve, for which Others are needed.
func Unrecorded(
	spec []v1alpha1.PermissionOverwrite, recorded []v1alpha1.ResolvedRole, snap *guildcache.Snapshot,
) bool {
	return slices.ContainsFunc(spec, func(o v1alpha1.PermissionOverwrite) bool {
		return IsName(o, snap) && idOf(o.Role, recorded) == ""
	})
}

// Resolve returns the roles that the names in a spec stand for, to be recorded, also where the error says
// that some have none: it is a *conditions.Issue. What is recorded stands, whatever the role is called now;
// a role that was deleted is kept, so that no other one takes its place.
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
		return id, conditions.Degraded(v1alpha1.ReasonRoleNotFound, "The role %s, for which the name %q stands, was deleted "+
			"on Discord. No other role takes its place. Name one by its id or by roleRef, or remove the overwrite.", id, name)
	}
	roles := slices.DeleteFunc(snap.RolesNamed(name), func(r discordclient.Role) bool { return n.Others.ids[r.ID] })
	if n.Others.pending && slices.ContainsFunc(roles, n.Others.young) {
		return "", conditions.Progressing(v1alpha1.ReasonWaitingForRole, "A role %q is new, and it is not known yet whether "+
			"another namespace has created it. To use it at once, name it by its id.", name).After(youngRetry)
	}
	switch len(roles) {
	case 0:
		return "", conditions.Degraded(v1alpha1.ReasonRoleNotFound,
			"The server has no role %q that is yours to name. Create it on Discord, or name another one.", name)
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

// young reports whether a role may be a result that no object has yet.
func (o Others) young(r discordclient.Role) bool {
	return o.now.Sub(discordclient.CreatedAt(r.ID)) < young
}

func idOf(name string, roles []v1alpha1.ResolvedRole) string {
	for _, r := range roles {
		if r.Name == name {
			return r.ID
		}
	}
	return ""
}

// Named returns the overwrites of a spec with the ids of the roles that it names, by roleRef or by name.
func Named(
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
