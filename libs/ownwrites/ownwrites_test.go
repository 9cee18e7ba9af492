package ownwrites

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

var tokyo = Key{Kind: "Service", NamespacedName: types.NamespacedName{Namespace: "default", Name: "tokyo"}}

func cached(uid, version string) metav1.Object {
	return &metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}
}

func TestShows(t *testing.T) {
	wrote := func(r *Record) { r.Wrote(tokyo, "100") }
	deleted := func(r *Record) { r.Deleted(tokyo, "a") }
	cases := map[string]struct {
		write  func(*Record)
		cached metav1.Object
		after  time.Duration
		want   bool
	}{
		"nothing written":                         {func(*Record) {}, nil, 0, true},
		"written, not there yet":                  {wrote, nil, 0, false},
		"written, older":                          {wrote, cached("a", "99"), 0, false},
		"written, shown":                          {wrote, cached("a", "100"), 0, true},
		"written, newer":                          {wrote, cached("a", "1000"), 0, true},
		"written, version that has no order":      {wrote, cached("a", "x"), 0, true},
		"written, deleted by somebody else since": {wrote, nil, patience + 1, true},
		"written, older while nobody watches":     {wrote, cached("a", "99"), outage, false},
		"written, older for ever":                 {wrote, cached("a", "99"), outage + 1, true},
		"deleted, there for long":                 {deleted, cached("a", "99"), patience + 1, true},
		"deleted, still there":                    {deleted, cached("a", "99"), 0, false},
		"deleted, gone":                           {deleted, nil, 0, true},
		"deleted, made again by somebody":         {deleted, cached("b", "101"), 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Now())
			r := NewRecord(clock)
			c.write(r)
			clock.SetTime(clock.Now().Add(c.after))
			if got := r.Shows(tokyo, c.cached); got != c.want {
				t.Errorf("Shows() is %v", got)
			}
			if c.want && len(r.last) != 0 {
				t.Error("a write that was shown is still kept")
			}
		})
	}
}

func TestByOthers(t *testing.T) {
	r := NewRecord(testclock.NewFakePassiveClock(time.Now()))
	lets := r.ByOthers(tokyo.Kind)
	update := func(before, after string) event.UpdateEvent {
		service := func(version string) client.Object {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: tokyo.Namespace, Name: tokyo.Name, ResourceVersion: version}}
		}
		return event.UpdateEvent{ObjectOld: service(before), ObjectNew: service(after)}
	}
	if !lets.Update(update("99", "100")) {
		t.Error("nothing was written yet, so it is somebody else's")
	}
	r.Wrote(tokyo, "100")
	for version, want := range map[string]bool{"98": true, "100": false, "101": true, "97": false} {
		if got := lets.Update(update("97", version)); got != want {
			t.Errorf("from version 97 to %s: %v", version, got)
		}
	}
	if r.Deleted(tokyo, "a"); !lets.Update(update("99", "100")) {
		t.Error("a deletion is no version")
	}
}

func TestForgotten(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	r := NewRecord(clock)
	for i := range 20_000 {
		r.Wrote(Key{Kind: "Service", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}, "1")
		clock.SetTime(clock.Now().Add(outage / many))
	}
	if len(r.last) > 2*many {
		t.Errorf("%d writes kept of objects that nobody reads", len(r.last))
	}
}
