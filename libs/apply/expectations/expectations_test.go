// SPDX-License-Identifier: Apache-2.0

package expectations

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

func TestSatisfied(t *testing.T) {
	wrote := func(s *Set) { s.Expect(tokyo, "100") }
	deleted := func(s *Set) { s.ExpectDeleted(tokyo, "a") }
	cases := map[string]struct {
		write  func(*Set)
		cached metav1.Object
		after  time.Duration
		want   bool
	}{
		"nothing written":                                                 {func(*Set) {}, nil, 0, true},
		"written, not cached yet":                                         {wrote, nil, 0, false},
		"written, an older version is cached":                             {wrote, cached("a", "99"), 0, false},
		"written, this version is cached":                                 {wrote, cached("a", "100"), 0, true},
		"written, a newer version is cached":                              {wrote, cached("a", "1000"), 0, true},
		"written, the cached version has no order":                        {wrote, cached("a", "x"), 0, true},
		"written, deleted by another client since":                        {wrote, nil, absentTimeout + 1, true},
		"written, an older version is cached during an interrupted watch": {wrote, cached("a", "99"), outdatedTimeout, false},
		"written, an older version is cached for too long":                {wrote, cached("a", "99"), outdatedTimeout + 1, true},
		"deleted, still cached after a long time":                         {deleted, cached("a", "99"), absentTimeout + 1, true},
		"deleted, still cached":                                           {deleted, cached("a", "99"), 0, false},
		"deleted, no longer cached":                                       {deleted, nil, 0, true},
		"deleted, created again by another client":                        {deleted, cached("b", "101"), 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Now())
			s := NewSet(clock)
			c.write(s)
			clock.SetTime(clock.Now().Add(c.after))
			if got := s.Satisfied(tokyo, c.cached); got != c.want {
				t.Errorf("Satisfied() is %v", got)
			}
			if c.want && len(s.last) != 0 {
				t.Error("the Set still expects a cached write")
			}
		})
	}
}

func TestByOthers(t *testing.T) {
	s := NewSet(testclock.NewFakePassiveClock(time.Now()))
	passes := s.ByOthers(tokyo.Kind)
	update := func(before, after string) event.UpdateEvent {
		return event.UpdateEvent{ObjectOld: service(before), ObjectNew: service(after)}
	}
	if !passes.Update(update("99", "100")) {
		t.Error("before the first write, another client's update does not pass")
	}
	s.Expect(tokyo, "96")
	s.Expect(tokyo, "100")
	for version, want := range map[string]bool{"96": false, "98": true, "100": false, "101": true, "97": false} {
		if got := passes.Update(update("97", version)); got != want {
			t.Errorf("from version 97 to %s: %v", version, got)
		}
	}
	if s.ExpectDeleted(tokyo, "a"); !passes.Update(update("99", "100")) {
		t.Error("an expected deletion holds back another client's update")
	}
}

func TestNotOurs(t *testing.T) {
	s := NewSet(testclock.NewFakePassiveClock(time.Now()))
	passes := s.NotOurs(tokyo.Kind)
	s.Expect(tokyo, "100")
	for version, want := range map[string]bool{"99": true, "100": false, "101": true} {
		if got := passes.Create(event.CreateEvent{Object: service(version)}); got != want {
			t.Errorf("a create, version %s: %v", version, got)
		}
		if got := passes.Update(event.UpdateEvent{ObjectOld: service("98"), ObjectNew: service(version)}); got != want {
			t.Errorf("an update to version %s: %v", version, got)
		}
	}
	if !passes.Delete(event.DeleteEvent{Object: service("100")}) {
		t.Error("a deletion does not pass")
	}
}

func TestWriting(t *testing.T) {
	cases := map[string]struct {
		shown   []string // resourceVersions that the cache shows during the write
		version string
		others  bool
	}{
		"not shown yet":                      {nil, "101", false},
		"shown":                              {[]string{"101"}, "101", false},
		"shown with our own write before it": {[]string{"100", "101"}, "101", false},
		"another client wrote before":        {[]string{"99", "101"}, "101", true},
		"another client wrote after":         {[]string{"101", "102"}, "101", true},
		"failed":                             {nil, "", false},
		"failed, another client was faster":  {[]string{"99"}, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := NewSet(testclock.NewFakePassiveClock(time.Now()))
			passes := func(version string) bool {
				return s.ByOthers(tokyo.Kind).Update(event.UpdateEvent{ObjectOld: service("98"), ObjectNew: service(version)})
			}
			s.Expect(tokyo, "100")
			done := s.Writing(tokyo)
			for _, version := range c.shown {
				if passes(version) {
					t.Errorf("%s passes", version)
				}
			}
			if others := done(c.version); others != c.others {
				t.Errorf("another client wrote: %v", others)
			}
			if c.version != "" && passes(c.version) {
				t.Error("our own write passes after it has ended")
			}
			if !passes("103") {
				t.Error("a later write does not pass")
			}
		})
	}
}

func service(version string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: tokyo.Namespace, Name: tokyo.Name, ResourceVersion: version}}
}

func TestSweep(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	s := NewSet(clock)
	for i := range 20_000 {
		s.Expect(Key{Kind: "Service", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}, "1")
		clock.SetTime(clock.Now().Add(outdatedTimeout / sweepAt))
	}
	if len(s.last) > 2*sweepAt {
		t.Errorf("the Set keeps %d expectations of objects that are never read", len(s.last))
	}
}
