// SPDX-License-Identifier: Apache-2.0

// Package grant decides which objects a namespace may use in other namespaces.
package grant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// Namespace is the namespace of a referring object.
type Namespace struct {
	Name   string
	Labels labels.Set // nil if unknown; every known namespace has a label with its name
}

// Allows reports whether objects of one namespace (by) may refer to an object of another (owner).
func Allows(owner string, allowed *v1alpha1.AllowedNamespaces, by Namespace) bool {
	switch {
	case by.Name == owner:
		return true
	case allowed == nil:
		return false
	case allowed.From == v1alpha1.FromAll:
		return true
	case allowed.From != v1alpha1.FromSelector || by.Labels == nil:
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(allowed.Selector) // nil selects no namespace
	return err == nil && selector.Matches(by.Labels)
}

// Uses reports whether objects in the namespace by may use a server. If they are in a group (in the
// namespace via), the group must allow by. A group outside the server's namespace cannot pass on a
// grant: the server must then allow both via and by.
func Uses(server *v1alpha1.DiscordServer, group *v1alpha1.DiscordGroup, via, by Namespace) bool {
	owner, allowed := server.Namespace, server.Spec.AllowedNamespaces
	if group == nil {
		return Allows(owner, allowed, by)
	}
	return Allows(via.Name, group.Spec.AllowedNamespaces, by) &&
		(via.Name == owner || Allows(owner, allowed, via) && Allows(owner, allowed, by))
}

// Guilds are the guilds for which a bot's token may be used.
type Guilds struct {
	ids     []string
	limited bool
}

// GuildsOf returns the guilds that an annotation of the token's Secret allows; all by default.
func GuildsOf(annotations map[string]string) Guilds {
	list, limited := annotations[v1alpha1.AllowedServersAnnotation]
	ids := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	return Guilds{ids, limited}
}

// Allow reports whether the token may be used for a guild.
func (g Guilds) Allow(id string) bool { return !g.limited || slices.Contains(g.ids, id) }

const (
	fieldNamespaces = "spec.allowedNamespaces"
	fieldRoles      = "spec.allowedRoles"
)

// refused returns an issue that does not reveal whether the object exists. Its advice is for both
// fields: the API server refuses a change of serverRef, but accepts a change of groupRef.
func refused(to reference, by string) *conditions.Issue {
	namespaces := "the namespace " + by
	switch to.via {
	case "", by, to.name.Namespace:
	default:
		namespaces = fmt.Sprintf("both namespaces, %s and %s", to.via, by)
		if by == to.name.Namespace {
			namespaces = "the namespace " + to.via
		}
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "%[1]s %[2]s does not exist, or its %[3]s does not allow "+
		"%[4]s. A user who may edit the %[1]s in the namespace %[5]s can change this field. "+
		"Or name another %[1]s; if the API server refuses this change, create a new object.",
		to.kind, to.name, to.field, namespaces, to.name.Namespace)
}

// Refused returns the issue in err if err reports a refused reference; otherwise nil.
func Refused(err error) *conditions.Issue {
	if issue, _ := errors.AsType[*conditions.Issue](err); issue != nil && issue.Reason == v1alpha1.ReasonNotAllowed {
		return issue
	}
	return nil
}

// AdoptionRefused returns an issue if a namespace may not adopt a server's resources, or nil.
func AdoptionRefused(server *v1alpha1.DiscordServer, by string) *conditions.Issue {
	if by == server.Namespace || server.Spec.AllowAdoption {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "DiscordServer %s/%s does not allow objects of other "+
		"namespaces to adopt existing resources (spec.allowAdoption). Ask its owner to allow it, "+
		"or create an object without spec.adopt.",
		server.Namespace, server.Name)
}

// TokenRefused returns an issue if the server's token may not be used for a guild, or nil.
func TokenRefused(server *v1alpha1.DiscordServer, guilds Guilds, id string) *conditions.Issue {
	if guilds.Allow(id) {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed,
		"The annotation %[1]s of Secret %[2]s does not list server %[3]s, so the operator does not use the bot's token for "+
			"this server. Add %[3]s to the annotation, or use another bot.",
		v1alpha1.AllowedServersAnnotation, server.Spec.TokenSecretRef.Name, id)
}

func selectorUnusable(field string, allowed *v1alpha1.AllowedNamespaces, unread string) *conditions.Issue {
	if allowed == nil || allowed.From != v1alpha1.FromSelector {
		return nil
	}
	if _, err := metav1.LabelSelectorAsSelector(allowed.Selector); err != nil {
		unread = fmt.Sprintf("the selector is not valid: %v.", err)
	}
	if unread == "" {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonSelectorUnusable,
		"The operator cannot use %s.selector, so other namespaces are not allowed: %s", field, unread)
}
