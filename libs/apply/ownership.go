// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	knownRecords = 128
	// maxRecord is the size limit, in bytes, of an entry that records keeps. A Deployment's entry
	// has 3 KiB.
	maxRecord = 8 << 10
)

type record struct {
	fields *metav1.FieldsV1
	set    *fieldpath.Set
}

// records caches parsed managedFields without the controller's UID, so most objects share a record.
var records = lru.New(knownRecords)

// recordOf parses an entry without the controller's UID. Unreadable fields count as not owned.
func recordOf(o metav1.Object, entry *metav1.ManagedFieldsEntry) *record {
	text := entry.FieldsV1.GetRawString()
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		text = strings.Replace(text, ownerKey(string(owner.UID)), ownerKey(""), 1)
	}
	if known, ok := records.Get(text); ok {
		return known.(*record)
	}
	r := &record{fields: metav1.NewFieldsV1(text), set: fieldpath.NewSet()}
	if text == "" || r.set.FromJSON(strings.NewReader(text)) != nil {
		r.set = fieldpath.NewSet()
	}
	if len(text) <= maxRecord {
		records.Add(text, r)
	}
	return r
}

func ownerKey(uid string) string {
	return strconv.Quote(`k:{"uid":` + strconv.Quote(uid) + `}`)
}

func (r *record) withUID(o metav1.Object) *metav1.FieldsV1 {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil {
		return r.fields
	}
	return metav1.NewFieldsV1(strings.Replace(r.fields.GetRawString(), ownerKey(""), ownerKey(string(owner.UID)), 1))
}

func compact(owner string, o client.Object) {
	entries := o.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		ShareStrings(&entry.Manager, &entry.APIVersion, &entry.FieldsType, &entry.Subresource)
		ShareStrings(&entry.Operation)
		switch {
		case entry.FieldsV1 == nil:
		case entry.Manager == owner, entry.Subresource == scale:
			entry.FieldsV1 = recordOf(o, entry).fields
		default:
			entry.FieldsV1 = nil
		}
	}
	o.SetManagedFields(entries)
}

// upgradePatch merges our managedFields into one Apply entry, as csaupgrade of client-go does. It
// names entries by index, so it must fail if the resourceVersion has changed.
func upgradePatch(owner string, live client.Object, all *fieldpath.Set) ([]byte, error) {
	text, err := all.ToJSON()
	if err != nil {
		return nil, err
	}
	fields := (&record{fields: metav1.NewFieldsV1(string(text))}).withUID(live)
	entries, ourIndex := live.GetManagedFields(), -1
	var patch []map[string]any
	for i := len(entries) - 1; i >= 0; i-- { // last first, because a removal moves the later entries
		if entries[i].Manager != owner || entries[i].Subresource != "" {
			continue
		}
		if ourIndex >= 0 {
			patch = append(patch, map[string]any{"op": "remove", "path": fmt.Sprintf("/metadata/managedFields/%d", ourIndex)})
		}
		ourIndex = i
	}
	ours := entries[ourIndex]
	ours.Operation, ours.FieldsV1 = metav1.ManagedFieldsOperationApply, fields
	return json.Marshal(append(patch,
		map[string]any{"op": "replace", "path": fmt.Sprintf("/metadata/managedFields/%d", ourIndex), "value": ours},
		// With the operation "test", the API server would report Invalid instead of a Conflict.
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	))
}
