// SPDX-License-Identifier: Apache-2.0

// Package kinds lists the kinds that kubectl discord reads and writes.
package kinds

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/kubectl"
)

// The kinds that commands name.
var (
	Server    = kubectl.KindOf(v1alpha1.GroupVersion, "DiscordServer", "discordservers")
	Group     = kubectl.KindOf(v1alpha1.GroupVersion, "DiscordGroup", "discordgroups")
	Channel   = kubectl.KindOf(v1alpha1.GroupVersion, "DiscordChannel", "discordchannels")
	Role      = kubectl.KindOf(v1alpha1.GroupVersion, "DiscordRole", "discordroles")
	Secret    = kubectl.KindOf(corev1.SchemeGroupVersion, "Secret", "secrets")
	Namespace = kubectl.KindOf(corev1.SchemeGroupVersion, "Namespace", "namespaces").Global()
)

// All returns every kind.
func All() []kubectl.Kind {
	return []kubectl.Kind{Server, Group, Channel, Role, Secret, Namespace, kubectl.AccessReview}
}

// Ours returns the four kinds of discord-operator, by the names that users type.
func Ours() map[string]kubectl.Kind {
	return map[string]kubectl.Kind{"server": Server, "group": Group, "channel": Channel, "role": Role}
}

// Find returns the kind for a name that kubectl accepts, with or without "discord".
func Find(text string) (kubectl.Kind, bool) {
	short := map[string]string{"dsrv": "server", "dgrp": "group", "dch": "channel", "drole": "role"}
	text, _, _ = strings.Cut(strings.ToLower(text), ".")
	if full, ok := short[text]; ok {
		text = full
	}
	kind, ok := Ours()[strings.TrimSuffix(strings.TrimPrefix(text, "discord"), "s")]
	return kind, ok
}

// Short returns the kind without "Discord".
func Short(kind kubectl.Kind) string { return strings.TrimPrefix(kind.Kind, "Discord") }

// New returns an empty object of one of our kinds.
func New(kind kubectl.Kind) status.Object {
	switch kind {
	case Server:
		return &v1alpha1.DiscordServer{}
	case Group:
		return &v1alpha1.DiscordGroup{}
	case Role:
		return &v1alpha1.DiscordRole{}
	}
	return &v1alpha1.DiscordChannel{}
}

// Of returns the kind of an object.
func Of(o status.Object) kubectl.Kind {
	switch o.(type) {
	case *v1alpha1.DiscordServer:
		return Server
	case *v1alpha1.DiscordGroup:
		return Group
	case *v1alpha1.DiscordRole:
		return Role
	}
	return Channel
}

// RoleWith returns the ClusterRole that grants a verb on a resource of discord-operator; "" for a
// resource of another API group.
func RoleWith(verb, resource string) string {
	switch {
	case !strings.HasSuffix(resource, "."+v1alpha1.GroupVersion.Group):
		return ""
	case slices.Contains([]string{"get", "list", "watch"}, verb):
		return "discord-view"
	}
	return "discord-edit"
}

// Scheme returns a scheme with the Go types of the kinds.
var Scheme = kubectl.SchemeOf(v1alpha1.AddToScheme, clientgoscheme.AddToScheme)
