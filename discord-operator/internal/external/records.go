package external

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Records remembers what this process knows of its own creates. It is safe for concurrent use.
type Records struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	since   time.Time // when it was first asked, which is after this process became the leader: until then another one may have created
	entries map[types.UID]Record
	holders map[string]types.UID // by the id of a counterpart
	names   map[types.UID]naming // where Discord has stored another name than it was asked for
}

// naming is under which name Discord has stored what was asked for.
type naming struct{ asked, stored string }

// Record is what is known of one object.
type Record struct {
	// Known says that nothing can exist for the object but what ID or its status names.
	Known bool
	// ID is what was created or found, also while the cache does not show it in the status yet.
	ID string
	// LastAttempt is when a create may have been sent last, where that is not Known.
	LastAttempt time.Time
}

// NewRecords makes an empty ledger; whatever was created before, another process has.
func NewRecords(c clock.PassiveClock) *Records {
	return &Records{clock: c, entries: map[types.UID]Record{}, holders: map[string]types.UID{}, names: map[types.UID]naming{}}
}

// Entry returns what is known of an object.
func (l *Records) Entry(uid types.UID) Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = l.clock.Now()
	}
	e, ok := l.entries[uid]
	if !ok {
		return Record{LastAttempt: l.since}
	}
	return e
}

// Nothing notes that nothing exists for the object that it does not know of.
func (l *Records) Nothing(uid types.UID) { l.put(uid, Record{Known: true}) }

// Is notes that this is the object's counterpart, and the only one.
func (l *Records) Is(uid types.UID, id string) { l.put(uid, Record{Known: true, ID: id}) }

// Claim is Is, unless another object has the counterpart already: of two that have looked at the same time, only one may take it.
func (l *Records) Claim(uid types.UID, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder := l.holders[id]; holder != "" && holder != uid {
		return false
	}
	l.set(uid, Record{Known: true, ID: id})
	return true
}

// Doubt notes that a create may or may not have been carried out just now.
func (l *Records) Doubt(uid types.UID) { l.put(uid, Record{LastAttempt: l.clock.Now()}) }

// Forget drops an object that is gone.
func (l *Records) Forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.letGo(uid)
	delete(l.entries, uid)
	delete(l.names, uid)
}

// Named notes under which name Discord has stored the one that it was asked for. To ask again would change nothing.
func (l *Records) Named(uid types.UID, asked, stored string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if asked == stored {
		delete(l.names, uid)
	} else {
		l.names[uid] = naming{asked, stored}
	}
}

// Stored returns under which other name Discord has stored the one that was asked for last; empty for none, as far as this process knows.
func (l *Records) Stored(uid types.UID, asked string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.names[uid]; n.asked == asked {
		return n.stored
	}
	return ""
}

// Holder returns which object has the counterpart with this id, as far as this process knows; empty for none.
func (l *Records) Holder(id string) types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holders[id]
}

func (l *Records) put(uid types.UID, e Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(uid, e)
}

// set is put for those who hold the lock.
func (l *Records) set(uid types.UID, e Record) {
	l.letGo(uid)
	l.entries[uid] = e
	if e.ID != "" {
		l.holders[e.ID] = uid
	}
}

// letGo takes from an object what it holds; another one may have it already. The lock is held.
func (l *Records) letGo(uid types.UID) {
	if id := l.entries[uid].ID; l.holders[id] == uid {
		delete(l.holders, id)
	}
}
