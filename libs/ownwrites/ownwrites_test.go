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
		return event.UpdateEvent{ObjectOld: service(before), ObjectNew: service(after)}
	}
	if !lets.Update(update("99", "100")) {
		t.Error("nothing was written yet, so it is somebody else's")
	}
	r.Wrote(tokyo, "96")
	r.Wrote(tokyo, "100")
	for version, want := range map[string]bool{"96": false, "98": true, "100": false, "101": true, "97": false} {
		if got := lets.Update(update("97", version)); got != want {
			t.Errorf("from version 97 to %s: %v", version, got)
		}
	}
	if r.Deleted(tokyo, "a"); !lets.Update(update("99", "100")) {
		t.Error("a deletion is no version")
	}
}

// The cache may show a write before its answer is here.
func TestWriting(t *testing.T) {
	cases := map[string]struct {
		shown  []string // while it is under way
		led    string
		others bool
	}{
		"not shown yet":                      {nil, "101", false},
		"shown":                              {[]string{"101"}, "101", false},
		"shown with our own write before it": {[]string{"100", "101"}, "101", false},
		"somebody else has written before":   {[]string{"99", "101"}, "101", true},
		"somebody else has written after":    {[]string{"101", "102"}, "101", true},
		"failed":                             {nil, "", false},
		"failed, somebody else was faster":   {[]string{"99"}, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := NewRecord(testclock.NewFakePassiveClock(time.Now()))
			lets := func(version string) bool {
				return r.ByOthers(tokyo.Kind).Update(event.UpdateEvent{ObjectOld: service("98"), ObjectNew: service(version)})
			}
			r.Wrote(tokyo, "100")
			done := r.Writing(tokyo)
			for _, version := range c.shown {
				if lets(version) {
					t.Errorf("%s is let through", version)
				}
			}
			if others := done(c.led); others != c.others {
				t.Errorf("somebody else has written: %v", others)
			}
			if c.led != "" && lets(c.led) {
				t.Error("our own write is let through once it is over")
			}
			if !lets("103") {
				t.Error("what comes later is held back")
			}
		})
	}
}

func service(version string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: tokyo.Namespace, Name: tokyo.Name, ResourceVersion: version}}
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
