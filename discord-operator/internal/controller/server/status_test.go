// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// A paused server becomes Available again after a failure, and a harmless issue does not end that.
func TestPausedServerIsAvailable(t *testing.T) {
	t.Parallel()
	lacks := *conditions.Degraded(v1alpha1.ReasonMissingPermissions, "The bot lacks the permission ViewAuditLog.")
	for name, c := range map[string]struct {
		managed   string // status.serverId
		plan      Plan
		available bool
	}{
		"after a failure":              {"7", Plan{Manageable: true}, true},
		"a missing permission":         {"7", Plan{Manageable: true, Issues: []conditions.Issue{lacks}}, true},
		"the bot is not in the server": {"7", Plan{Issues: []conditions.Issue{lacks}}, false},
		"paused before it managed it":  {"", Plan{Manageable: true}, false},
	} {
		server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{v1alpha1.PausedAnnotation: "true"}, Finalizers: []string{v1alpha1.CleanupFinalizer},
		}}
		server.Status.ServerID = c.managed
		conditions.Set(&server.Status.Conditions, 0, conditions.Unusable(v1alpha1.ReasonNotManageable, "x"), &lacks)
		s := State{GuildID: "7", Snapshot: &guildcache.Snapshot{Guild: discordclient.Guild{ID: "7", Name: "Jujutsu High"}}}
		results := paused(server, s, c.plan)
		worst := issues.Worst(results.Issues)
		conditions.Set(&server.Status.Conditions, 0, availability(server, results, worst), worst)
		if got := meta.IsStatusConditionTrue(server.Status.Conditions, conditions.TypeAvailable); got != c.available {
			t.Errorf("%s: Available is %t", name, got)
		}
	}
}

// The API server would refuse the whole status if a name were too long.
func TestLongNameIsTruncated(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Jujutsu High":           "Jujutsu High",
		strings.Repeat("ü", 256): strings.Repeat("ü", 256),
		strings.Repeat("ü", 257): strings.Repeat("ü", 256),
	} {
		if got := truncated(name); got != want {
			t.Errorf("%s becomes %s", name, got)
		}
	}
}
