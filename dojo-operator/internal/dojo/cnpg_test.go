package dojo

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// CloudNativePG is asked a second after the role was made, then after twice the time each, and no more once its own retry is due.
func TestUntilAsked(t *testing.T) {
	t.Parallel()
	const forbidden = `secrets "tokyo-db" is forbidden: User "system:serviceaccount:tokyo:pg" cannot get resource "secrets"`
	cases := map[string]struct {
		state      appliedState
		asked, now time.Duration // since the role was made; asked 0 for never
		want       time.Duration
		wantAsk    bool
	}{
		"not looked at":        {appliedState{}, 0, time.Minute, 0, false},
		"applied":              {appliedState{applied: ptr.To(true), message: forbidden}, 0, time.Minute, 0, false},
		"another failure":      {appliedState{applied: ptr.To(false), message: `secrets "tokyo-db" not found`}, 0, time.Minute, 0, false},
		"just now":             {appliedState{applied: ptr.To(false), message: forbidden}, 0, 200 * time.Millisecond, 800 * time.Millisecond, true},
		"after a second":       {appliedState{applied: ptr.To(false), message: forbidden}, 0, time.Second, 0, true},
		"asked once":           {appliedState{applied: ptr.To(false), message: forbidden}, time.Second, time.Second, time.Second, true},
		"asked twice":          {appliedState{applied: ptr.To(false), message: forbidden}, 2 * time.Second, 3 * time.Second, time.Second, true},
		"asked after eight":    {appliedState{applied: ptr.To(false), message: forbidden}, 8 * time.Second, 9 * time.Second, 7 * time.Second, true},
		"asked often enough":   {appliedState{applied: ptr.To(false), message: forbidden}, 16 * time.Second, 17 * time.Second, 15 * time.Second, false},
		"an old one, not once": {appliedState{applied: ptr.To(false), message: forbidden}, 0, time.Hour, -time.Hour + time.Second, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := &unstructured.Unstructured{Object: map[string]any{}}
			role.SetCreationTimestamp(metav1.NewTime(noon))
			if c.asked != 0 {
				role.SetAnnotations(map[string]string{askedAnnotation: noon.Add(c.asked).Format(time.RFC3339)})
			}
			wait, ask := untilAsked(role, c.state, noon.Add(c.now))
			if wait != c.want || ask != c.wantAsk {
				t.Errorf("got %v, %v, want %v, %v", wait, ask, c.want, c.wantAsk)
			}
		})
	}
}
