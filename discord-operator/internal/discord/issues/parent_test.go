// SPDX-License-Identifier: Apache-2.0

package issues

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWaitFor(t *testing.T) {
	t.Parallel()
	cause := &metav1.Condition{Reason: "TokenNotFound", Message: "Secret bot does not exist. Create it."}
	parent := Parent{"DiscordServer", &metav1.ObjectMeta{Namespace: "platform", Name: "company"}}
	for name, c := range map[string]struct {
		by    string
		cause *metav1.Condition
		want  string
	}{
		"the parent's namespace reads the cause": {"platform", cause,
			"DiscordServer company is not available (TokenNotFound): Secret bot does not exist. Create it."},
		"another namespace reads the reason and the advice to ask the owner": {"team-a", cause,
			"DiscordServer platform/company is not available (TokenNotFound). Ask its owner."},
		"the parent's namespace, without a cause": {"platform", nil, "DiscordServer company is not available yet."},
		"another namespace, without a cause":      {"team-a", nil, "DiscordServer platform/company is not available. Ask its owner."},
	} {
		if got := parent.WaitFor("WaitingForServer", c.by, "is not available", c.cause); got.Message != c.want || got.IsDegraded() {
			t.Errorf("%s: %q, want %q", name, got.Message, c.want)
		}
	}
}
