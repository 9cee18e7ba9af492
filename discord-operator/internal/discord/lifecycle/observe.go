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

// Limits of status.differences in the CustomResourceDefinition.
const maxDifferences, maxDifference = 64, 256

// FormatDifferences returns differences for a status, without the values of a create.
func FormatDifferences(differences []resource.Difference) (lines []string) {
	for _, d := range differences {
		if d.Action != resource.ActionSet {
			lines = append(lines, truncate(d.String()))
		}
	}
	if more := len(lines) - maxDifferences + 1; more > 1 {
		lines = append(lines[:maxDifferences-1], fmt.Sprintf("%d more", more))
	}
	return lines
}

// Truncate shortens lines to fit into a status.
func Truncate(lines []string) (short []string) {
	for _, line := range lines {
		short = append(short, truncate(line))
	}
	return short
}

func truncate(line string) string {
	if runes := []rune(line); len(runes) > maxDifference {
		return string(runes[:maxDifference-3]) + "..."
	}
	return line
}

// Observe returns the results for spec.managementPolicy Observe. It changes nothing on Discord.
func (r *Resources) Observe(b Binding, snap *guildcache.Snapshot, plan Plan) Results {
	r.Records.Release(b.Object.GetUID())
	return Results{
		Live: b.Live, Differences: plan.Differences(r.Kind, b, snap, snap),
		Issues: r.Kind.ObservedIssues(b, snap, plan.Issues),
	}
}

// ObservedIssues omits planned issues about permissions that only a change needs. It adds an issue
// if no resource exists.
func (k *Kind) ObservedIssues(b Binding, snap *guildcache.Snapshot, planned []conditions.Issue) []conditions.Issue {
	list := slices.DeleteFunc(slices.Clone(planned), requiredToChange)
	if b.Absent {
		list = append(list, *k.nothingToObserve(b, snap))
	}
	return list
}

// Pause returns the results of a paused object. Without a resource, it removes the finalizer: after
// a restart, a search could otherwise bind a resource that a user has made since.
func (r *Resources) Pause(ctx context.Context, b Binding, plan Plan, pending bool) Results {
	results := Results{Issues: slices.Concat(status.PausedIssue(b.Object, pending), plan.Issues)}
	if b.Absent && b.StatusID == "" && status.Finalized(b.Object) {
		results.Fail(r.Status.RemoveFinalizer(ctx, b.Object), r.Status.Clock.Now())
	}
	return results
}

func requiredToChange(issue conditions.Issue) bool {
	switch issue.Reason {
	case v1alpha1.ReasonMissingPermissions, v1alpha1.ReasonRoleTooHigh:
		return true
	}
	return false
}

func (k *Kind) nothingToObserve(b Binding, snap *guildcache.Snapshot) *conditions.Issue {
	hint := "" // if the object may not adopt the resource, it must not learn the id
	if id := k.FindByName(snap, b.Lookup, b.Name, nil); id != "" && b.Adopt == nil && b.NoAdoption == nil {
		hint = fmt.Sprintf(" The server has a %s with the object's name: id %s.", k.Noun, id)
	}
	advice := "Set spec.adopt.id to"
	if b.Adopt != nil || b.StatusID != "" {
		advice = "Create a new object whose spec.adopt.id is" // spec.adopt cannot be changed, nor set for another resource
	}
	return conditions.Degraded(v1alpha1.ReasonNothingToObserve,
		"The object has no %s on Discord, and spec.managementPolicy is Observe, so the operator does not create "+
			"one.%s %s the id of an existing %[1]s, or set spec.managementPolicy to Manage, which creates a new %[1]s.",
		k.Noun, hint, advice)
}

// FindByName returns the id of the only resource with this name that want allows and taken lacks;
// empty if there are none or several.
func (k *Kind) FindByName(
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
