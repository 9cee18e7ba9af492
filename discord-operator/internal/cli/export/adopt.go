// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/schema"
	"jutsu.com/operators/libs/discordclient"
)

// Adoption names the resource to adopt and the objects that exist in Kubernetes.
type Adoption struct {
	ID       string // of the channel, category or role
	ServerID string
	// Server is the DiscordServer's name. If Name is empty, the object is named after the resource.
	Server, Namespace, Name string
	// Groups has the groups of the server, and Roles the DiscordRoles of Namespace, by Discord id.
	Groups map[string]v1alpha1.GroupReference
	Roles  map[string]string
}

// Adopt returns the manifest that adopts one resource. The manifest of a channel's category comes
// first if the category has no object yet.
func Adopt(ctx context.Context, connection discordclient.Options, a Adoption) ([]byte, error) {
	api, err := discordclient.New(connection)
	if err != nil {
		return nil, err
	}
	live, err := read(ctx, api, a.ServerID)
	if err != nil {
		return nil, cli.Explained(err)
	}
	o := &options{Connection: cli.Connection{ServerID: a.ServerID}, namespace: a.Namespace, name: a.Server}
	kinds, err := schema.Load()
	if err != nil {
		return nil, err
	}
	d, err := manifests(ctx, kinds, live, o)
	if err != nil {
		return nil, err
	}
	return a.only(d)
}

// Adoption.only returns the manifest of the adopted resource. If the resource's category has no
// object yet, the manifest of the category comes first.
func (a Adoption) only(d *document) ([]byte, error) {
	kept := -1
	groups, roles := map[string]int{}, map[string]string{}
	for i, e := range d.entries {
		raw, err := json.Marshal(e.spec)
		spec := map[string]any{}
		if err == nil {
			err = json.Unmarshal(raw, &spec)
		}
		if err != nil {
			return nil, err
		}
		delete(spec, "position") // without a position, Discord keeps the order of the siblings
		adopt, _ := spec["adopt"].(map[string]any)
		id, _ := adopt["id"].(string)
		switch d.entries[i].spec = spec; e.kind {
		case kindGroup:
			groups[e.name] = i
		case kindRole:
			roles[e.name] = id
		}
		if id == a.ID {
			kept = i
		}
	}
	if kept < 0 {
		return nil, a.notFound(d)
	}
	entries := []entry{}
	chosen := d.entries[kept]
	spec := chosen.spec.(map[string]any)
	if ref, ok := spec["groupRef"].(map[string]any); ok {
		group := d.entries[groups[ref["name"].(string)]]
		if existing, ok := a.Groups[group.spec.(map[string]any)["adopt"].(map[string]any)["id"].(string)]; ok {
			spec["groupRef"] = existing
		} else {
			a.referToRoles(group.spec.(map[string]any), roles)
			entries = append(entries, group)
		}
	}
	a.referToRoles(spec, roles)
	if a.Name != "" {
		chosen.name = a.Name
	}
	only := document{namespace: a.Namespace, entries: append(entries, chosen)}
	return only.yaml()
}

// referToRoles makes overwrites refer to existing DiscordRoles by name, and to other roles by id.
func (a Adoption) referToRoles(spec map[string]any, ids map[string]string) {
	list, _ := spec["permissionOverwrites"].([]any)
	for _, o := range list {
		overwrite, _ := o.(map[string]any)
		ref, ok := overwrite["roleRef"].(map[string]any)
		if !ok {
			continue
		}
		id := ids[ref["name"].(string)]
		if name, ok := a.Roles[id]; ok {
			ref["name"] = name
			continue
		}
		delete(overwrite, "roleRef")
		overwrite["role"] = id
	}
}

func (a Adoption) notFound(d *document) error {
	for _, line := range d.leftOut {
		if strings.Contains(line, a.ID) {
			return fmt.Errorf("%s cannot be adopted: %s", a.ID, line)
		}
	}
	return fmt.Errorf("the server %s has no channel, category or role with the id %s", a.ServerID, a.ID)
}
