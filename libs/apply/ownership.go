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
	// knownRecords is how many different records of ownership are remembered: as many as there are kinds
	// of objects, and ways to ask for each.
	knownRecords = 128
	// maxRecord is how many bytes a record may have to be remembered. That of a Deployment has 3 KiB.
	maxRecord = 8 << 10
)

// record is what one client owns of an object, as managedFields say. It is never written to.
type record struct {
	fields *metav1.FieldsV1
	set    *fieldpath.Set
}

// records are those that were met last. The objects of one kind have nearly all the same, once it does not
// name their owners, so that the cache holds it once, and it is parsed once.
var records = lru.New(knownRecords)

// recordOf is an entry of the managed fields of an object, in which its controller has no UID. What cannot
// be read is not known to be owned, so that it is applied again.
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

// ownerKey is how a record names an owner reference: by its UID, and that of the controller by none.
func ownerKey(uid string) string {
	return strconv.Quote(`k:{"uid":` + strconv.Quote(uid) + `}`)
}

// named is a record as the API server has it.
func (r *record) named(o metav1.Object) *metav1.FieldsV1 {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil {
		return r.fields
	}
	return metav1.NewFieldsV1(strings.Replace(r.fields.GetRawString(), ownerKey(""), ownerKey(string(owner.UID)), 1))
}

// compact leaves of the managed fields of an object what is read: when each client has written, but what
// it owns only of us, and of the scale subresource.
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

// upgradePatch makes all that we own of an object ours by apply, as csaupgrade of client-go does. It needs
// no more of the other entries than their places, which the version keeps.
func upgradePatch(owner string, live client.Object, all *fieldpath.Set) ([]byte, error) {
	text, err := all.ToJSON()
	if err != nil {
		return nil, err
	}
	fields := (&record{fields: metav1.NewFieldsV1(string(text))}).named(live)
	entries, first := live.GetManagedFields(), -1
	var patch []map[string]any
	for i := len(entries) - 1; i >= 0; i-- { // a removal moves those behind it
		if entries[i].Manager != owner || entries[i].Subresource != "" {
			continue
		}
		if first >= 0 {
			patch = append(patch, map[string]any{"op": "remove", "path": fmt.Sprintf("/metadata/managedFields/%d", first)})
		}
		first = i
	}
	ours := entries[first]
	ours.Operation, ours.FieldsV1 = metav1.ManagedFieldsOperationApply, fields
	return json.Marshal(append(patch,
		map[string]any{"op": "replace", "path": fmt.Sprintf("/metadata/managedFields/%d", first), "value": ours},
		// Not "test", which the API server would answer as invalid, and not as a conflict.
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	))
}
