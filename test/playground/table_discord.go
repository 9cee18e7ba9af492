// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
)

type discordColumns struct {
	is                bool // reports whether the kind is in the API group discord.jutsu.com
	id, server, group string
	created           time.Time
}

const discordHead = "OBJECT\tID\tSERVER\tGROUP\tREADY\tREASON\tAGE\tMESSAGE"

func discordColumnsOf(o *unstructured.Unstructured) discordColumns {
	of := func(path string) string {
		text, _, _ := unstructured.NestedString(o.Object, strings.Split(path, ".")...)
		return text
	}
	c := discordColumns{is: true, created: o.GetCreationTimestamp().UTC(), id: idOf(o)}
	switch o.GroupVersionKind() {
	case serverKind:
		c.server = of("status.name")
	case groupKind:
		c.server, c.group = of("spec.serverRef.name"), of("spec.name")
	case roleKind:
		c.server = of("spec.serverRef.name")
	case channelKind:
		c.server, c.group = of("status.serverRef.name"), of("spec.groupRef.name")
	default:
		return discordColumns{}
	}
	return c
}

func idOf(o *unstructured.Unstructured) string {
	field := map[string]string{serverKind.Kind: "serverId", groupKind.Kind: "groupId",
		channelKind.Kind: "channelId", roleKind.Kind: "roleId"}[o.GetKind()]
	id, _, _ := unstructured.NestedString(o.Object, "status", field)
	return id
}

func (r row) onDiscord(now time.Time) string {
	reason, message, found := strings.Cut(r.why, ": ")
	if !found {
		reason, message = "", r.why
	}
	return strings.Join([]string{r.name, orNone(r.discord.id), orNone(r.discord.server), orNone(r.discord.group),
		orNone(r.ready), orNone(reason), duration.HumanDuration(now.Sub(r.discord.created)), oneLine(message)}, "\t")
}
