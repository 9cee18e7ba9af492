// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient/recovery"
)

// Records remember the creates of this process. They are safe for concurrent use.
type Records struct {
	Wait  time.Duration // how long the result of a create without response may be invisible
	clock clock.PassiveClock

	mu      sync.Mutex
	since   time.Time // time of the first use, after the leader election; a former leader may have sent creates before
	records map[types.UID]Record
	// foreign has the time at which another process's finalizer was first seen.
	foreign           map[types.UID]time.Time
	holders           map[string]types.UID // UID of the object that has a resource, by resource id
	guesses           map[types.UID]string
	stored            map[types.UID]resource.StoredForms
	inherits          map[types.UID]bool // the object's new channel lacks overwrites of its category
	refusedOverwrites map[types.UID]bool // Discord has refused to create the channel with the category's overwrites
}

// Record has this process's knowledge of the creates of one object.
type Record struct {
	Known       bool      // whether the object has no resources except ID and the one in its status
	ID          string    // id of the bound resource; the cached status may lack it
	Adopted     bool      // whether spec.adopt named ID when ID was bound; the status may lack this too
	LastAttempt time.Time // latest time of a possible create, if not Known
}

// NewRecords returns empty records.
func NewRecords(c clock.PassiveClock, wait time.Duration) *Records {
	return &Records{
		Wait: wait, clock: c,
		records: map[types.UID]Record{}, foreign: map[types.UID]time.Time{}, holders: map[string]types.UID{},
		guesses: map[types.UID]string{}, stored: map[types.UID]resource.StoredForms{}, inherits: map[types.UID]bool{},
		refusedOverwrites: map[types.UID]bool{},
	}
}

// LoggedAt returns the time at which Discord's lists and audit log surely have the resource.
func (r *Records) LoggedAt(id string) time.Time { return recovery.LoggedAt(id, r.Wait) }

// Of returns the record of an object. If there is none, the result's LastAttempt is the latest time
// at which another process may have sent a create.
func (r *Records) Of(uid types.UID) Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.since = r.clock.Now()
	}
	if known, ok := r.records[uid]; ok {
		return known
	}
	if first, ok := r.foreign[uid]; ok {
		return Record{LastAttempt: first}
	}
	return Record{LastAttempt: r.since}
}

// Finalized records that an object has a finalizer; call it before Of. If this process has no
// record of the object, another process stored the finalizer, and may have just sent a create.
func (r *Records) Finalized(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.records[uid]
	if _, noted := r.foreign[uid]; !known && !noted {
		r.foreign[uid] = r.clock.Now()
	}
}

// Has reports whether the process has a record of an object.
func (r *Records) Has(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.records[uid]
	return ok
}

// Absent records that the object has no resource except the one in its status.
func (r *Records) Absent(uid types.UID) { r.put(uid, Record{Known: true}) }

// Bound records that the object has the resource id, and no other except the one in its status.
func (r *Records) Bound(uid types.UID, id string) { r.put(uid, Record{Known: true, ID: id}) }

// Adopted is like Bound for a resource that the object adopts. Until the status has the id, later
// reconciles adopt the resource again, so that a failed write of the status does not lose this fact.
func (r *Records) Adopted(uid types.UID, id string) {
	r.put(uid, Record{Known: true, ID: id, Adopted: true})
}

// Unknown records a create without response.
func (r *Records) Unknown(uid types.UID) { r.put(uid, Record{LastAttempt: r.clock.Now()}) }

// Claim is like Bound, but returns false if the resource is bound to another object.
func (r *Records) Claim(uid types.UID, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if holder := r.holders[id]; holder != "" && holder != uid {
		return false
	}
	r.set(uid, Record{Known: true, ID: id})
	return true
}

// Forget drops the records of a deleted object.
func (r *Records) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(uid)
	delete(r.records, uid)
	delete(r.foreign, uid)
	delete(r.stored, uid)
	delete(r.inherits, uid)
	delete(r.refusedOverwrites, uid)
	delete(r.guesses, uid)
}

// Release unbinds an object's resource, so that another object may bind it.
func (r *Records) Release(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(uid)
}

// Guess records that a resource was bound without proof in the audit log.
func (r *Records) Guess(uid types.UID, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guesses[uid] = id
}

// Guessed reports whether a resource was bound without proof in the audit log.
func (r *Records) Guessed(uid types.UID, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return id != "" && r.guesses[uid] == id
}

// SetInherits records whether the operator created an object's channel without some overwrites of
// its category, and has not written them yet.
func (r *Records) SetInherits(uid types.UID, inherits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if inherits {
		r.inherits[uid] = true
	} else {
		delete(r.inherits, uid)
	}
}

// Inherits reports whether an object's new channel lacks overwrites of its category.
func (r *Records) Inherits(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inherits[uid]
}

type inheritance struct {
	records *Records
	uid     types.UID
}

func (i inheritance) Inherit() { i.records.SetInherits(i.uid, true) }

func (i inheritance) Refuse() {
	i.records.mu.Lock()
	defer i.records.mu.Unlock()
	i.records.refusedOverwrites[i.uid] = true
}

func (i inheritance) Refused() bool {
	i.records.mu.Lock()
	defer i.records.mu.Unlock()
	return i.records.refusedOverwrites[i.uid]
}

// Holder returns the UID of the object that has a resource; empty for none.
func (r *Records) Holder(id string) types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holders[id]
}

func (r *Records) put(uid types.UID, record Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(uid, record)
}

func (r *Records) set(uid types.UID, record Record) {
	r.release(uid)
	delete(r.foreign, uid)
	r.records[uid] = record
	if record.ID != "" {
		r.holders[record.ID] = uid
	}
}

func (r *Records) release(uid types.UID) {
	if id := r.records[uid].ID; r.holders[id] == uid {
		delete(r.holders, id)
	}
}
