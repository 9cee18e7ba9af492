// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/redact"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// Action classifies a [Change].
type Action string

// The actions of a change.
const (
	Create Action = "create"
	Update Action = "change"
	Delete Action = "delete"
)

// Change is the planned change of one object.
type Change struct {
	Action Action `json:"action"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	// Unknown is true if the name ends with a hash that the plan cannot know yet.
	Unknown bool `json:"nameUnknown,omitempty"`
	// Fields are sorted by path.
	Fields []Field `json:"fields,omitempty"`

	before, after *object
}

// Field is a changed field. Old is empty for a new field, New for a removed field.
type Field struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

const (
	hiddenValue  = "(not shown)"
	unknownValue = "(known later)"
	// maxValue is the length in bytes at which the report cuts a value.
	maxValue = 160
)

// compare returns nil if nothing changes. It ignores the status and the API server's own metadata.
func compare(before, after *object) *Change {
	c := &Change{Action: Update, before: before, after: after}
	named := after
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		c.Action = Create
	case after == nil, before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		c.Action, named = Delete, before
	}
	c.Kind, c.Name = named.GetKind(), named.GetName()
	if c.Action != Delete {
		c.Fields = fieldsOf(before, after)
	}
	if c.Action == Update && len(c.Fields) == 0 {
		return nil
	}
	return c
}

func fieldsOf(before, after *object) (all []Field) {
	was, now := flat(before), flat(after)
	paths := maps.Clone(was)
	maps.Copy(paths, now)
	hide := &redact.Redactor{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if was[path] == now[path] {
			continue
		}
		f := Field{Path: path, Old: was[path], New: now[path]}
		if after.GetKind() == kinds.Secret.Kind && isValue.MatchString(path) || isSecret.MatchString(path) {
			f.Old, f.New = hidden(f.Old), hidden(f.New)
		}
		f.Old, f.New = readable(hide, path, f.Old), readable(hide, path, f.New)
		if f.Old == f.New {
			f.New = "(another)"
		}
		all = append(all, f)
	}
	return all
}

// hideHashes hides hashes that the plan cannot know, because they depend on a later time, or on the
// UID of an object that does not exist yet.
func (c *Change) hideHashes(newDatabase bool) {
	for i := range c.Fields {
		f := &c.Fields[i]
		schema := newDatabase && strings.HasPrefix(f.Path, "metadata.annotations[core.jutsu.com/schema") && f.New != `"none"`
		release := c.Unknown && f.Path == "metadata.annotations[core.jutsu.com/release-step]"
		if f.New != "" && (schema || release || f.Path == "metadata.annotations[core.jutsu.com/upgrade-backup]") {
			f.New = unknownValue
		}
	}
}

var (
	isValue = regexp.MustCompile(`^(?:data|stringData)\.`)
	// isSecret matches paths of variables such as API_TOKEN, and kubectl's last applied manifest.
	isSecret = regexp.MustCompile(`(?i)\[[^\]]*(?:pass|pwd|token|secret|key|cred|auth|dsn|webhook)[^\]]*\]\.value$|` +
		`^metadata\.annotations\[kubectl\.kubernetes\.io/last-applied-configuration\]$`)
)

func hidden(value string) string {
	if value == "" {
		return ""
	}
	return hiddenValue
}

func readable(hide *redact.Redactor, path, value string) string {
	if strings.Contains(value, plannedUID) || strings.Contains(value, "/"+plannedVersion) ||
		strings.Contains(value, unknownImage) {
		return unknownValue
	}
	if strings.HasSuffix(path, "["+ownership.RevisionAnnotation+"]") && value != "" {
		return "(a revision)"
	}
	value = hide.Text(value)
	if len(value) > maxValue {
		value = strings.ToValidUTF8(value[:maxValue], "") + "..."
	}
	return value
}

func flat(o *object) map[string]string {
	all := map[string]string{}
	if o == nil {
		return all
	}
	for name, value := range o.Object {
		switch name {
		case "apiVersion", "kind", statusOf:
		case "metadata":
			head, _ := value.(map[string]any)
			for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
				flatten("metadata."+field, head[field], all)
			}
		default:
			flatten(name, value, all)
		}
	}
	for path := range all {
		if strings.HasSuffix(path, "["+apply.ShapeAnnotation+"]") || strings.HasPrefix(path, "metadata.ownerReferences") &&
			!strings.HasSuffix(path, ".name") {
			delete(all, path)
		}
	}
	return all
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func flatten(path string, value any, into map[string]string) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		if len(value) == 0 {
			into[path] = "{}"
		}
		for name, inner := range value {
			if plain.MatchString(name) {
				flatten(path+"."+name, inner, into)
			} else {
				flatten(path+"["+name+"]", inner, into)
			}
		}
	case []any:
		for i, inner := range value {
			flatten(fmt.Sprintf("%s[%s]", path, nameOf(inner, i)), inner, into)
		}
	case string:
		text, _ := json.Marshal(value)
		into[path] = unescape.Replace(string(text))
	default:
		into[path] = fmt.Sprint(value)
	}
}

var unescape = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func nameOf(item any, at int) string {
	fields, _ := item.(map[string]any)
	if name, ok := fields["name"].(string); ok && name != "" {
		return name
	}
	return strconv.Itoa(at)
}
