// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// What the schema allows of the differences in a status.
const maxDifferences, maxDifference = 64, 256

// Lines are differences for a status. What a create sets, the spec says.
func Lines(differences []resource.Difference) (lines []string) {
	for _, d := range differences {
		if d.Action != resource.ActionSet {
			lines = append(lines, shortened(d.String()))
		}
	}
	if more := len(lines) - maxDifferences + 1; more > 1 {
		lines = append(lines[:maxDifferences-1], fmt.Sprintf("%d more", more))
	}
	return lines
}

// Shortened returns lines that fit into a status.
func Shortened(lines []string) (short []string) {
	for _, line := range lines {
		short = append(short, shortened(line))
	}
	return short
}

func shortened(line string) string {
	if runes := []rune(line); len(runes) > maxDifference {
		return string(runes[:maxDifference-3]) + "..."
	}
	return line
}

// Observe is what comes of the plan of an object that is only observed: its differences, and nothing on
// Discord.
func (r *Resources) Observe(b Binding, snap *guildcache.Snapshot, plan Plan) Results {
	r.Records.Release(b.Object.GetUID())
	return Results{
		Live: b.Live, Differences: plan.Differences(r.Kind, b, snap, snap),
		Issues: r.Kind.ObservedIssues(b, snap, plan.Issues),
	}
}

// ObservedIssues are those of the plan of an object that is only observed. What only a change would
// require of the bot is none.
func (k *Kind) ObservedIssues(b Binding, snap *guildcache.Snapshot, planned []conditions.Issue) []conditions.Issue {
	list := slices.DeleteFunc(slices.Clone(planned), requiredToChange)
	if b.Absent {
		list = append(list, *k.nothing(b, snap))
	}
	return list
}

// Pause is what comes of the plan of a paused object: its issues, and nothing on Discord. Where it surely has
// nothing there, no create was sent that the finalizer stands for, so that goes: after a restart the
// operator would look for its result, and could find what a user has made since.
func (r *Resources) Pause(ctx context.Context, b Binding, plan Plan, pending bool) Results {
	results := Results{Issues: slices.Concat(status.PausedIssue(b.Object, pending), plan.Issues)}
	if b.Absent && b.StatusID == "" && status.Finalized(b.Object) {
		results.Fail(r.Status.RemoveFinalizer(ctx, b.Object), r.Status.Clock.Now())
	}
	return results
}

// requiredToChange reports whether an issue says what the bot would need to change something.
func requiredToChange(issue conditions.Issue) bool {
	switch issue.Reason {
	case v1alpha1.ReasonMissingPermissions, v1alpha1.ReasonRoleTooHigh:
		return true
	}
	return false
}

// nothing is the issue that an observed object has nothing on Discord.
func (k *Kind) nothing(b Binding, snap *guildcache.Snapshot) *conditions.Issue {
	hint := "" // who may not adopt it does not learn of it
	if id := k.Named(snap, b.Lookup, b.Name, nil); id != "" && b.Adopt == nil && b.NoAdoption == nil {
		hint = fmt.Sprintf(" The server has one of this name, %s.", id)
	}
	return conditions.Degraded(v1alpha1.ReasonNothingToObserve,
		"The object has no %s on Discord, and spec.managementPolicy is Observe, so none is created.%s Name an existing one "+
			"in spec.adopt, or set spec.managementPolicy to Manage.", k.Noun, hint)
}

// Named is the id of the one resource that has a name, at the place where an object's would be, besides
// those that are taken; empty for none, or several.
func (k *Kind) Named(
	snap *guildcache.Snapshot, want Lookup, name string, taken map[string]status.Object,
) (id string) {
	for _, live := range k.Calls.Candidates(snap, want.ParentID) {
		if live.GetName() != name || k.Calls.Mismatch(live, want.GuildID, want.Types) != nil || taken[live.GetID()] != nil {
			continue
		}
		if id != "" {
			return ""
		}
		id = live.GetID()
	}
	return id
}
