// SPDX-License-Identifier: Apache-2.0

// Package grant decides what may be used across namespaces: which namespaces may refer to a server or
// a group, and which guilds a bot's token may be used for. The decisions are pure; Reader has the I/O.
package grant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// Namespace is one whose objects refer to others.
type Namespace struct {
	Name string
	// Labels are nil where they are not known. Every namespace has one at least: its name.
	Labels labels.Set
}

// Allows reports whether the objects of a namespace may refer to one of the namespace owner, which
// allows these namespaces.
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
	selector, err := metav1.LabelSelectorAsSelector(allowed.Selector) // of nil: none
	return err == nil && selector.Matches(by.Labels)
}

// Uses reports whether the objects of a namespace may use a server: directly, where group is nil, or
// through a group, which is of the namespace via. A group cannot pass on what its namespace was
// granted: where that is not the server's, the server has to allow both namespaces.
func Uses(server *v1alpha1.DiscordServer, group *v1alpha1.DiscordGroup, via, by Namespace) bool {
	owner, allowed := server.Namespace, server.Spec.AllowedNamespaces
	if group == nil {
		return Allows(owner, allowed, by)
	}
	return Allows(via.Name, group.Spec.AllowedNamespaces, by) &&
		(via.Name == owner || Allows(owner, allowed, via) && Allows(owner, allowed, by))
}

// Guilds are those that a token may be used for.
type Guilds struct {
	ids     []string
	limited bool
}

// GuildsOf reads them from the annotations of the token's Secret.
func GuildsOf(annotations map[string]string) Guilds {
	list, limited := annotations[v1alpha1.AllowedServersAnnotation]
	ids := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	return Guilds{ids, limited}
}

// Allow reports whether the token may be used for a guild; "" is one that is yet to be created.
func (g Guilds) Allow(id string) bool { return !g.limited || slices.Contains(g.ids, id) }

// The fields that grant the use of a server or a group.
const (
	fieldNamespaces = "spec.allowedNamespaces"
	fieldRoles      = "spec.allowedRoles"
)

// refused is the issue that an object of a namespace may not refer to another object, or that this
// does not exist: which of the two is not for others to know. The field would grant it.
func refused(kind string, name types.NamespacedName, field, by string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "%s %s does not exist, or does not allow the namespace %s in "+
		"%s. Ask its owner, or change the reference.", kind, name, by, field)
}

// Refused returns the issue that a reference is not allowed, out of an error; nil for none.
func Refused(err error) *conditions.Issue {
	if issue, _ := errors.AsType[*conditions.Issue](err); issue != nil && issue.Reason == v1alpha1.ReasonNotAllowed {
		return issue
	}
	return nil
}

// AdoptionRefused is why an object of a namespace may not adopt what exists in a server; nil where it
// may.
func AdoptionRefused(server *v1alpha1.DiscordServer, by string) *conditions.Issue {
	if by == server.Namespace || server.Spec.AllowAdoption {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed, "DiscordServer %s/%s does not allow objects of other "+
		"namespaces to adopt what exists (spec.allowAdoption). Ask its owner, or create an object without spec.adopt.",
		server.Namespace, server.Name)
}

// TokenRefused is why the token of a server may not be used for its guild; nil where it may.
func TokenRefused(server *v1alpha1.DiscordServer, guilds Guilds, id string) *conditions.Issue {
	if guilds.Allow(id) {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonNotAllowed,
		"The annotation %s of Secret %s does not allow its token to be used for server %s. Add the id, or use another bot.",
		v1alpha1.AllowedServersAnnotation, server.Spec.TokenSecretRef.Name, id)
}

// selectorUnusable is why the selector of a field selects nothing; nil where it may select something.
// unread is why the labels of namespaces are not known; empty where they are.
func selectorUnusable(field string, allowed *v1alpha1.AllowedNamespaces, unread string) *conditions.Issue {
	if allowed == nil || allowed.From != v1alpha1.FromSelector {
		return nil
	}
	if _, err := metav1.LabelSelectorAsSelector(allowed.Selector); err != nil {
		unread = fmt.Sprintf("it is not valid: %v.", err)
	}
	if unread == "" {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonSelectorUnusable,
		"%s.selector allows no other namespace: %s", field, unread)
}
