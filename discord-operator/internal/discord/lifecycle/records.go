// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"jutsu.com/operators/discord-operator/internal/discord/resource"
)

// Records remember the creates of this process. They are safe for concurrent use.
type Records struct {
	// Wait after a create of unknown outcome until its result counts as absent.
	Wait  time.Duration
	clock clock.PassiveClock

	mu      sync.Mutex
	since   time.Time // of the first use, after this process became the leader: until then another one may have created
	records map[types.UID]Record
	// foreign are the objects with a finalizer that another process has stored, and since when this one
	// knows: until then the other may have created.
	foreign map[types.UID]time.Time
	holders map[string]types.UID // by the id of a resource
	guesses map[types.UID]string
	stored  map[types.UID]resource.StoredForms
	// inherits are the objects whose new channel lacks overwrites of its category, which it is to have.
	inherits map[types.UID]bool
	// refused are the objects with whose new channel Discord has not taken the overwrites of its category.
	refused map[types.UID]bool
}

// Record has the creates of one object.
type Record struct {
	// Known says that nothing can exist for the object but what ID or its status names.
	Known bool
	// ID of the created or found resource, also while the cache does not show it in the status yet.
	ID string
	// LastAttempt is when a create may have been sent last, where that is not Known.
	LastAttempt time.Time
}

// NewRecords makes empty records: what was created before, another process has created.
func NewRecords(c clock.PassiveClock, wait time.Duration) *Records {
	return &Records{
		Wait: wait, clock: c,
		records: map[types.UID]Record{}, foreign: map[types.UID]time.Time{}, holders: map[string]types.UID{},
		guesses: map[types.UID]string{}, stored: map[types.UID]resource.StoredForms{}, inherits: map[types.UID]bool{},
		refused: map[types.UID]bool{},
	}
}

// Of returns what is known of an object.
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

// Finalized records that the object has a finalizer. Where nothing is known of it, another process has
// stored that, and may have sent a create since: the former leader, or one that does not know yet that
// it does not lead any more. Call it before Of.
func (r *Records) Finalized(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.records[uid]
	if _, noted := r.foreign[uid]; !known && !noted {
		r.foreign[uid] = r.clock.Now()
	}
}

// Has reports whether anything is known of an object.
func (r *Records) Has(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.records[uid]
	return ok
}

// Absent records that nothing exists for the object but what its status names.
func (r *Records) Absent(uid types.UID) { r.put(uid, Record{Known: true}) }

// Bound records that this is the object's resource, and the only one.
func (r *Records) Bound(uid types.UID, id string) { r.put(uid, Record{Known: true, ID: id}) }

// Unknown records that a create may or may not have been carried out just now.
func (r *Records) Unknown(uid types.UID) { r.put(uid, Record{LastAttempt: r.clock.Now()}) }

// Claim is Bound, unless another object has the resource already: of two that look for one at the
// same time, only one may take it.
func (r *Records) Claim(uid types.UID, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if holder := r.holders[id]; holder != "" && holder != uid {
		return false
	}
	r.set(uid, Record{Known: true, ID: id})
	return true
}

// Forget drops an object that is gone.
func (r *Records) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(uid)
	delete(r.records, uid)
	delete(r.foreign, uid)
	delete(r.stored, uid)
	delete(r.inherits, uid)
	delete(r.refused, uid)
	delete(r.guesses, uid)
}

// Release takes from an object what it holds, so that another one may have it.
func (r *Records) Release(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(uid)
}

// Guess records that a resource is taken for the object's without proof.
func (r *Records) Guess(uid types.UID, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guesses[uid] = id
}

// Guessed reports whether a resource was taken for the object's without proof.
func (r *Records) Guessed(uid types.UID, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return id != "" && r.guesses[uid] == id
}

// SetInherits records whether an object's new channel lacks overwrites of its category.
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

// inheritance implements resource.Inheritance for an object.
type inheritance struct {
	records *Records
	uid     types.UID
}

// Inherit implements resource.Inheritance.
func (i inheritance) Inherit() { i.records.SetInherits(i.uid, true) }

// Refuse implements resource.Inheritance.
func (i inheritance) Refuse() {
	i.records.mu.Lock()
	defer i.records.mu.Unlock()
	i.records.refused[i.uid] = true
}

// Refused implements resource.Inheritance.
func (i inheritance) Refused() bool {
	i.records.mu.Lock()
	defer i.records.mu.Unlock()
	return i.records.refused[i.uid]
}

// Holder returns which object has the resource with this id, empty for none.
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

// set is put under the lock.
func (r *Records) set(uid types.UID, record Record) {
	r.release(uid)
	delete(r.foreign, uid)
	r.records[uid] = record
	if record.ID != "" {
		r.holders[record.ID] = uid
	}
}

// release takes from an object what it holds, unless another one has it already. The lock is held.
func (r *Records) release(uid types.UID) {
	if id := r.records[uid].ID; r.holders[id] == uid {
		delete(r.holders, id)
	}
}
