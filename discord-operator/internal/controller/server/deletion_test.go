// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/libs/conditions"
)

func TestPlanDeletion(t *testing.T) {
	t.Parallel()
	retained := &lifecycle.Deletion{How: lifecycle.Retained}
	waiting := []conditions.Issue{*conditions.Progressing("W", "w")}
	cases := map[string]struct {
		policy  v1alpha1.DeletionPolicy
		guild   string
		manager string // UID of the server that manages the guild
		claimed bool   // whether another DiscordServer names the guild
		known   []conditions.Issue
		want    *lifecycle.Deletion
	}{
		"retained by default":                   {guild: "7", want: retained},
		"Retain":                                {policy: v1alpha1.DeletionPolicyRetain, guild: "7", want: retained},
		"Delete":                                {policy: v1alpha1.DeletionPolicyDelete, guild: "7", want: &lifecycle.Deletion{By: deleter{}, ID: "7"}},
		"Delete, this server manages the guild": {policy: v1alpha1.DeletionPolicyDelete, guild: "7", manager: "uid", want: &lifecycle.Deletion{By: deleter{}, ID: "7"}},
		"Delete, another server manages the guild": {policy: v1alpha1.DeletionPolicyDelete, guild: "7", manager: "other", want: retained},
		"Delete, another server names the guild":   {policy: v1alpha1.DeletionPolicyDelete, guild: "7", manager: "uid", claimed: true, want: retained},
		"Delete, without a guild":                  {policy: v1alpha1.DeletionPolicyDelete, want: retained},
		"an issue blocks the deletion":             {policy: v1alpha1.DeletionPolicyDelete, guild: "7", known: waiting},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
			server.Spec.DeletionPolicy, server.Status.ServerID = c.policy, c.guild
			s := State{Claimed: c.claimed}
			if c.manager != "" {
				s.Manager = &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{UID: types.UID(c.manager)}}
			}
			got := PlanDeletion(server, s, c.known)
			if diff := cmp.Diff(c.want, got.Delete); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.known, got.Issues); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletedServerSaysHowToUndo(t *testing.T) {
	t.Parallel()
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "company"}}
	got := waitingFor(server, []string{"DiscordGroup alerts"}, false).Message
	undo := strings.Index(got, "To undo the deletion: `kubectl discord undelete server company -n platform`.")
	loss := strings.Index(got, "The operator then also deletes their categories, channels and roles on Discord")
	keep := strings.Index(got, "except resources that spec.deletionPolicy retains.")
	if undo < 0 || loss < undo || keep < loss || !strings.HasSuffix(got, "retains.") {
		t.Errorf("undo at %d, loss at %d, keep at %d: %s", undo, loss, keep, got)
	}
	const yet, stop = "Nothing is deleted on Discord yet.", "discordroles.discord.jutsu.com --all -n platform discord.jutsu.com/paused=true"
	if !strings.Contains(got, yet) {
		t.Errorf("%q is not in %s", yet, got)
	}
	got = waitingFor(server, []string{"DiscordChannel alerts"}, true).Message
	if strings.Contains(got, yet) || !strings.Contains(got, stop) {
		t.Errorf("a channel is being deleted, and the message is %s", got)
	}
}
