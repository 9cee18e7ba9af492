// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	botID, guildID  = "99", "100"
	groupUID        = "11111111-group"
	channelUID      = "22222222-channel"
	dojoUID         = "33333333-dojo"
	category, posts = "200", "300" // ids on Discord
	hookOfPosts     = "400"
	tokenOfHook     = "token-of-the-webhook"
	byHandID        = "500"
	passwordOfDojo  = "password-of-the-dojo"
	secretOfPosts   = "channel-0-webhook"
	otherUID        = "44444444-other"
	roleUID         = "55555555-role"
	botRole, grade  = "101", "600" // ids of roles on Discord
	handRoleID      = "601"
	student         = "700"
)

func conds(reason string, trueOnes ...string) (all []metav1.Condition) {
	for _, kind := range []string{"Available", "Progressing", "Degraded", "Ready"} {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, ObservedGeneration: 1,
			LastTransitionTime: metav1.Now()}
		if slices.Contains(trueOnes, kind) {
			c.Status = metav1.ConditionTrue
		}
		all = append(all, c)
	}
	return all
}

func objectMeta(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), Generation: 1}
}

func ownedBy(kind, name, uid string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(uid), Controller: &yes}}
}

func madeFor(action int, id, uid string) discordtest.AuditEntry {
	return discordtest.AuditEntry{Action: action, UserID: botID, TargetID: id, Reason: "Kind " + uid + " ns/name"}
}

func validWorld() *world {
	ready, one, slow := conds("Reconciled", "Available", "Ready"), int32(1), int32(3)
	channel := &v1alpha1.DiscordChannel{ObjectMeta: objectMeta("channel-0", channelUID),
		Spec: v1alpha1.DiscordChannelSpec{
			GroupRef: &v1alpha1.GroupReference{Name: "group-0"}, Name: "alerts", Position: &slow,
			Webhook: &v1alpha1.ChannelWebhook{Name: "reports"},
			PermissionOverwrites: []v1alpha1.PermissionOverwrite{
				{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}}},
		}, Status: v1alpha1.DiscordChannelStatus{ObservedGeneration: 1, Conditions: ready, ChannelID: posts,
			Webhook: &v1alpha1.WebhookStatus{ID: hookOfPosts}}}
	dojo := &corev1api.Dojo{ObjectMeta: objectMeta("dojo-0", dojoUID), Spec: corev1api.DojoSpec{
		Title: "Dojo", CredentialsRef: &corev1api.SecretReference{Name: credentialsSecret},
	}, Status: corev1api.DojoStatus{ObservedGeneration: 1, Conditions: ready}}
	byHand := discordtest.Channel{ID: byHandID, Name: "general", Topic: "made by hand"}
	return &world{
		servers: []*v1alpha1.DiscordServer{{ObjectMeta: objectMeta(serverName, "server"),
			Status: v1alpha1.DiscordServerStatus{ObservedGeneration: 1, Conditions: ready}}},
		groups: []*v1alpha1.DiscordGroup{
			{ObjectMeta: objectMeta("group-0", groupUID), Spec: v1alpha1.DiscordGroupSpec{Name: "Alerts"},
				Status: v1alpha1.DiscordGroupStatus{ObservedGeneration: 1, Conditions: ready, GroupID: category}}},
		channels: []*v1alpha1.DiscordChannel{channel},
		roles: []*v1alpha1.DiscordRole{{ObjectMeta: objectMeta("role-0", roleUID),
			Spec:   v1alpha1.DiscordRoleSpec{Name: "Grade 1", Position: &slow, Members: []v1alpha1.UserID{student}},
			Status: v1alpha1.DiscordRoleStatus{ObservedGeneration: 1, Conditions: ready, RoleID: grade}}},
		dojos: []*corev1api.Dojo{dojo},
		secrets: []*corev1.Secret{
			{ObjectMeta: metav1.ObjectMeta{Name: secretOfPosts,
				OwnerReferences: ownedBy("DiscordChannel", "channel-0", channelUID)},
				Data: map[string][]byte{"url": []byte("https://discord/api/webhooks/" + hookOfPosts + "/" + tokenOfHook)}},
			{ObjectMeta: metav1.ObjectMeta{Name: credentialsSecret},
				Data: map[string][]byte{"password": []byte(passwordOfDojo)}},
			{ObjectMeta: metav1.ObjectMeta{Name: "dojo-0-credentials", OwnerReferences: ownedBy("Dojo", "dojo-0", dojoUID)},
				Data: map[string][]byte{"DB_PASS": []byte(passwordOfDojo)}},
		},
		deployments: []*appsv1.Deployment{{
			ObjectMeta: metav1.ObjectMeta{Name: "dojo-0", OwnerReferences: ownedBy("Dojo", "dojo-0", dojoUID),
				Labels: map[string]string{"app.kubernetes.io/managed-by": "dojo-operator"}},
			Spec: appsv1.DeploymentSpec{Replicas: &one, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "DOJO_TITLE", Value: "Dojo"}}}},
			}}},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 1},
		}},
		services: []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "dojo-0",
			OwnerReferences: ownedBy("Dojo", "dojo-0", dojoUID)},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}},
		custom:       []*unstructured.Unstructured{postgres("Cluster", sharedCluster)},
		botID:        botID,
		userChannels: map[string]userChannel{byHandID: {Channel: byHand}},
		userRoles:    map[string]discordtest.Role{handRoleID: {ID: handRoleID, Name: "Grade 2", Position: 1}},
		members:      map[string][]string{botID: {botRole}, student: {grade}},
		gone:         map[types.UID]client.Object{},
		abuse:        &abuse{},
		guests:       &guests{},
		guild: discordtest.Guild{
			ID: guildID, Roles: []discordtest.Role{{ID: guildID, Name: "@everyone"}, {ID: botRole, Managed: true, Position: 9},
				{ID: grade, Name: "Grade 1", Position: 2}, {ID: handRoleID, Name: "Grade 2", Position: 1}},
			Channels: []discordtest.Channel{{ID: category, Type: discordtest.TypeCategory, Name: "Alerts"}, {
				ID: posts, Name: "alerts", ParentID: category,
				Overwrites: []discordtest.Overwrite{{ID: guildID, Deny: discordtest.PermSendMessages},
					{ID: botID, Type: 1, Allow: discordtest.PermViewChannel}},
			}, byHand},
			Webhooks: []discordtest.Webhook{
				{ID: hookOfPosts, ChannelID: posts, ApplicationID: botID, Name: "reports", Token: tokenOfHook}},
			Audit: []discordtest.AuditEntry{
				madeFor(auditChannelCreate, category, groupUID), madeFor(auditChannelCreate, posts, channelUID),
				madeFor(auditWebhookCreate, hookOfPosts, channelUID), madeFor(auditRoleCreate, grade, roleUID),
			},
		},
	}
}

func postgres(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "postgresql.cnpg.io/v1", "kind": kind, "metadata": map[string]any{"name": name},
	}}
}

func deleteChannelObject(w *world, policy v1alpha1.DeletionPolicy) {
	last := w.channels[0].DeepCopy()
	last.Spec.DeletionPolicy = policy
	w.gone[channelUID], w.channels, w.secrets = last, nil, w.secrets[1:]
}

func TestValidWorlds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"no change":                           func(*world) {},
		"a channel is retained by its policy": func(w *world) { deleteChannelObject(w, v1alpha1.DeletionPolicyRetain) },
		"a channel is retained, because the audit log lacks its create": func(w *world) {
			w.channels[0].Status.Matched = true
			w.guild.Audit[1].Lost = true
			deleteChannelObject(w, "")
			w.guild.Webhooks = nil
		},
		"a channel is retained, because it was matched without the audit log": func(w *world) {
			w.channels[0].Status.Matched = true
			deleteChannelObject(w, "")
			w.guild.Webhooks = nil
		},
		"a deleted group, whose status lacks the id of its new category, waits for its channels": func(w *world) {
			w.groups[0].DeletionTimestamp = now()
			w.groups[0].Status.Conditions = conds("WaitingForDependents")
			w.guild.Channels = append(w.guild.Channels, discordtest.Channel{ID: "201", Name: "Alerts", Type: 4})
			w.guild.Audit = append(w.guild.Audit, discordtest.AuditEntry{Action: auditChannelDelete, TargetID: category},
				madeFor(auditChannelCreate, "201", groupUID))
			w.guild.Channels = w.guild.Channels[1:]
			w.channels[0].Status.Conditions = conds("WaitingForGroup")
		},
		"a role is retained by its policy":            func(w *world) { deleteRoleObject(w, v1alpha1.DeletionPolicyRetain) },
		"a role is deleted with its object":           func(w *world) { removeRole(w, botID); deleteRoleObject(w, "") },
		"a role that a user deleted is created again": func(w *world) { removeRole(w, "user"); remakeRole(w) },
		"an overwrite refers to a DiscordRole":        func(w *world) { refersToRole(w, "role-0", grade) },
		"a channel waits for a DiscordRole": func(w *world) {
			refersToRole(w, "role-5", "")
			w.channels[0].Status.Conditions = conds("WaitingForRole")
		},
		"the operator has edited a user's role, the only match of an interrupted create": func(w *world) {
			lost := madeFor(auditRoleCreate, handRoleID, otherUID)
			lost.Lost = true
			w.guild.Audit = append(w.guild.Audit, lost)
			w.gone["gone"] = &v1alpha1.DiscordRole{ObjectMeta: objectMeta("role-1", "gone"),
				Status: v1alpha1.DiscordRoleStatus{RoleID: handRoleID, Matched: true}}
			w.guild.Roles[3].Color = 1
		},
		"two unproven roles match a DiscordRole": func(w *world) {
			w.roles[0].Status.RoleID, w.roles[0].Status.Conditions = "", conds("CreatePending")
			w.guild.Audit[3].Lost = true
			w.guild.Roles = append(w.guild.Roles, discordtest.Role{ID: "602", Name: "Grade 1"})
			second := madeFor(auditRoleCreate, "602", otherUID)
			second.Lost = true
			w.guild.Audit = append(w.guild.Audit, second)
			w.userRoles["602"], w.userRoles[grade] = w.guild.Roles[4], w.guild.Roles[2]
		},
		"a user has created a webhook": func(w *world) {
			w.guild.Webhooks = append(w.guild.Webhooks, discordtest.Webhook{ID: "401", ChannelID: posts})
		},
		"a channel that a user deleted is created again": func(w *world) { recreateChannel(w, true) },
		"a deleted group waits for its channels": func(w *world) {
			w.groups[0].DeletionTimestamp = now()
			w.groups[0].Status.Conditions = conds("WaitingForDependents")
		},
		"a deleted group does not recreate its category": func(w *world) {
			w.groups[0].DeletionTimestamp, w.groups[0].Status.Conditions = now(), conds("WaitingForDependents")
			w.channels[0].Status.Conditions = conds("WaitingForGroup")
			w.guild.Channels = w.guild.Channels[1:]
		},
		"a webhook that no status names stays after the spec of its channel has changed": func(w *world) {
			w.guild.Webhooks = append(w.guild.Webhooks, discordtest.Webhook{ID: "403", ChannelID: posts, ApplicationID: botID})
			w.abandoned = map[string]bool{"403": true}
		},
		"a channel whose create the audit log lacks is bound to another object": func(w *world) {
			w.guild.Audit[1] = madeFor(auditChannelCreate, posts, otherUID)
			w.guild.Audit[1].Lost = true
		},
		"a former Dojo has left its DatabaseRole in another Cluster": func(w *world) {
			role := postgres("DatabaseRole", "dojo-0-db")
			role.Object["spec"] = map[string]any{"cluster": map[string]any{"name": "another"}}
			w.custom = append(w.custom, role)
			w.dojos[0].Spec.Postgres, w.dojos[0].Status.Conditions = &corev1api.Postgres{}, conds("ChildRefused", "Degraded")
			w.gone["former"] = &corev1api.Dojo{ObjectMeta: objectMeta("dojo-0", "former"),
				Spec: corev1api.DojoSpec{Postgres: &corev1api.Postgres{}}}
		},
		"the overwrites of a user's channel follow its category": func(w *world) {
			w.userChannels[byHandID] = userChannel{Channel: w.userChannels[byHandID].Channel, synced: true}
			w.guild.Channels[2].Overwrites = []discordtest.Overwrite{{ID: guildID, Deny: discordtest.PermViewChannel}}
		},
		"an adopted channel is renamed": func(w *world) { adoptHandMade(w); w.guild.Channels[2].Name = "renamed" },
		"a deleted Dojo retained its database": func(w *world) {
			w.custom = append(w.custom, postgres("Cluster", "dojo-7-db"))
			deleteDojoObject(w, corev1api.ReclaimRetain)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := validWorld()
			change(w)
			if wrong := check(w); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
	}
}

func deleteRoleObject(w *world, policy v1alpha1.DeletionPolicy) {
	last := w.roles[0].DeepCopy()
	last.Spec.DeletionPolicy = policy
	w.gone[roleUID], w.roles = last, nil
}

func removeRole(w *world, user string) {
	w.guild.Roles = slices.DeleteFunc(w.guild.Roles, func(r discordtest.Role) bool { return r.ID == grade })
	w.guild.Audit = append(w.guild.Audit, discordtest.AuditEntry{Action: auditRoleDelete, UserID: user, TargetID: grade})
}

func remakeRole(w *world) {
	w.guild.Roles = append(w.guild.Roles, discordtest.Role{ID: "602", Name: "Grade 1", Position: 2})
	w.guild.Audit = append(w.guild.Audit, madeFor(auditRoleCreate, "602", roleUID))
	w.roles[0].Status.RoleID, w.members[student] = "602", []string{"602"}
}

func refersToRole(w *world, name, roleID string) {
	w.channels[0].Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{
		{RoleRef: &v1alpha1.RoleReference{Name: name}, Allow: []v1alpha1.Permission{"ViewChannel"}}}
	w.guild.Channels[1].Overwrites = []discordtest.Overwrite{{ID: roleID, Allow: discordtest.PermViewChannel}}
}

func now() *metav1.Time { t := metav1.Now(); return &t }

func recreateChannel(w *world, deleted bool) {
	log := []discordtest.AuditEntry{madeFor(auditChannelCreate, "299", channelUID)}
	if deleted {
		log = append(log, discordtest.AuditEntry{Action: auditChannelDelete, TargetID: "299"})
	}
	w.guild.Audit = append(log, w.guild.Audit...)
}

func adoptHandMade(w *world) {
	w.gone["gone"] = &v1alpha1.DiscordChannel{ObjectMeta: objectMeta("channel-9", "gone"),
		Spec: v1alpha1.DiscordChannelSpec{Adopt: &v1alpha1.Adoption{ID: byHandID}}}
}

func deleteDojoObject(w *world, policy corev1api.ReclaimPolicy) {
	w.gone["parted"] = &corev1api.Dojo{ObjectMeta: objectMeta("dojo-7", "parted"),
		Spec: corev1api.DojoSpec{Postgres: &corev1api.Postgres{ReclaimPolicy: policy}}}
}

func TestEveryInvariantIsChecked(t *testing.T) {
	t.Parallel()
	channel := func(change func(*v1alpha1.DiscordChannel)) func(*world) {
		return func(w *world) { change(w.channels[0]) }
	}
	role := func(change func(*v1alpha1.DiscordRole)) func(*world) {
		return func(w *world) { change(w.roles[0]) }
	}
	cases := map[string]struct {
		change    func(*world)
		invariant string
		says      string
	}{
		"a role is not Ready": {role(func(r *v1alpha1.DiscordRole) { r.Status.Conditions = conds("RoleTooHigh", "Degraded") }),
			"everything is reconciled", "RoleTooHigh"},
		"the deletion of a role does not end": {role(func(r *v1alpha1.DiscordRole) { r.DeletionTimestamp = now() }),
			"everything is reconciled", "its deletion does not end"},
		"a deleted server is Ready while it has roles": {func(w *world) {
			w.groups, w.channels = nil, nil
			w.servers[0].DeletionTimestamp = now()
		}, "everything is reconciled", "should not be Ready"},
		"a channel is Ready without its DiscordRole": {func(w *world) { refersToRole(w, "role-5", "") }, "everything is reconciled",
			"WaitingForRole"},
		"an overwrite on Discord is for another role than in the spec": {func(w *world) {
			refersToRole(w, "role-0", handRoleID)
		}, "Discord is as the specs say", "overwrites"},
		"a role has a wrong name": {func(w *world) { w.guild.Roles[2].Name = "other" }, "Discord is as the specs say", "name is other"},
		"a role has a wrong color": {role(func(r *v1alpha1.DiscordRole) { color := "#00000A"; r.Spec.Color = &color }),
			"Discord is as the specs say", "color is 0 and should be 10"},
		"a role is not hoisted": {role(func(r *v1alpha1.DiscordRole) { yes := true; r.Spec.Hoist = &yes }),
			"Discord is as the specs say", "hoist"},
		"a role is not mentionable": {role(func(r *v1alpha1.DiscordRole) { yes := true; r.Spec.Mentionable = &yes }),
			"Discord is as the specs say", "mentionable"},
		"a role has wrong permissions": {role(func(r *v1alpha1.DiscordRole) { r.Spec.Permissions = []v1alpha1.Permission{"ViewChannel"} }),
			"Discord is as the specs say", "permissions"},
		"a member lacks the role": {func(w *world) { w.members[student] = nil }, "Discord is as the specs say",
			"has it is false"},
		"a removed member keeps the role": {role(func(r *v1alpha1.DiscordRole) { r.Spec.Members = nil }), "Discord is as the specs say",
			"has it is true"},
		"a role is not on Discord": {func(w *world) { removeRole(w, "user") }, "Discord is as the specs say", "not on Discord"},
		"two objects have the same role": {func(w *world) {
			other := w.roles[0].DeepCopy()
			other.Name, other.UID = "role-1", otherUID
			w.roles = append(w.roles, other)
		}, "at most one object for each", "as well"},
		"a role is created twice": {remakeRole, "at most one for each object", "was created while there was [600]"},
		"the operator deletes a role of an existing object": {func(w *world) { removeRole(w, botID); remakeRole(w) }, "no channel or role is lost",
			"the operator deleted its resource 600"},
		"the operator deletes a role with the policy Retain": {func(w *world) { removeRole(w, botID); deleteRoleObject(w, v1alpha1.DeletionPolicyRetain) },
			"no channel or role is lost", "and not retained"},
		"roles are in the wrong order": {func(w *world) {
			first := int32(1)
			other := w.roles[0].DeepCopy()
			other.Name, other.UID, other.Spec.Position, other.Status.RoleID = "role-1", otherUID, &first, "602"
			other.Spec.Members = nil
			w.roles = append(w.roles, other)
			w.guild.Roles = append(w.guild.Roles, discordtest.Role{ID: "602", Name: "Grade 1", Position: 1})
			w.guild.Audit = append(w.guild.Audit, madeFor(auditRoleCreate, "602", otherUID))
		}, "siblings stand in order", "spec.position 1 stands below spec.position 3"},
		"a role is above the bot's role":  {func(w *world) { w.guild.Roles[2].Position = 10 }, "no role is above the bot's", "600 is above"},
		"a role stays without its object": {func(w *world) { deleteRoleObject(w, "") }, "no orphan", "which is gone"},
		"a role of unknown origin": {func(w *world) { w.guild.Roles = append(w.guild.Roles, discordtest.Role{ID: "603"}) },
			"no orphan", "its creator is unknown"},
		"an object has another object's role": {func(w *world) { w.guild.Audit[3] = madeFor(auditRoleCreate, grade, otherUID) },
			"no object takes what another one owns", "was made for"},
		"a user's role is changed": {func(w *world) { w.guild.Roles[3].Color = 1 }, "what users made is theirs",
			"it was {"},
		"a user's role is deleted": {func(w *world) { w.guild.Roles = w.guild.Roles[:3] }, "what users made is theirs",
			"it was deleted"},
		"an object binds a user's role without spec.adopt": {role(func(r *v1alpha1.DiscordRole) { r.Status.RoleID = handRoleID }),
			"what users made is theirs", "without spec.adopt"},

		"a channel is not Ready": {channel(func(c *v1alpha1.DiscordChannel) {
			c.Status.Conditions = conds("Retrying", "Progressing")
		}), "everything is reconciled", "Retrying"},
		"a channel has no conditions": {channel(func(c *v1alpha1.DiscordChannel) { c.Status.Conditions = nil }),
			"everything is reconciled", "was not reconciled"},
		"a channel's status is outdated": {channel(func(c *v1alpha1.DiscordChannel) { c.Generation = 2 }), "everything is reconciled",
			"generation 2, observed 1"},
		"the deletion of a channel does not end": {channel(func(c *v1alpha1.DiscordChannel) { c.DeletionTimestamp = now() }),
			"everything is reconciled", "its deletion does not end"},
		"a channel is Ready without its group": {func(w *world) {
			w.groups, w.guild.Channels, w.guild.Audit = nil, w.guild.Channels[1:], w.guild.Audit[1:]
		}, "everything is reconciled", "should not be Ready"},
		"a Dojo is not Ready": {func(w *world) { w.dojos[0].Status.Conditions = conds("RollingOut", "Progressing") },
			"everything is reconciled", "RollingOut"},

		"a channel has a wrong name": {func(w *world) { w.guild.Channels[1].Name = "other" }, "Discord is as the specs say",
			"name is other"},
		"a channel has a wrong type": {func(w *world) { w.guild.Channels[1].Type = discordtest.TypeForum }, "Discord is as the specs say",
			"type"},
		"a forum has its tags in the wrong order": {func(w *world) {
			w.channels[0].Spec.Type, w.guild.Channels[1].Type = v1alpha1.ChannelTypeForum, discordtest.TypeForum
			w.channels[0].Spec.Forum = &v1alpha1.ChannelForum{Tags: []v1alpha1.ForumTag{{Name: "bug"}, {Name: "solved"}}}
			w.guild.Channels[1].Tags = []discordtest.Tag{{Name: "solved"}, {Name: "bug"}}
		}, "Discord is as the specs say", "tags"},
		"a channel is outside its category": {func(w *world) { w.guild.Channels[1].ParentID = "" }, "Discord is as the specs say",
			"category"},
		"a channel lacks an overwrite": {func(w *world) { w.guild.Channels[1].Overwrites = nil }, "Discord is as the specs say",
			"overwrites"},
		"a category has a wrong name": {func(w *world) { w.guild.Channels[0].Name = "other" }, "Discord is as the specs say",
			"name is other"},
		"a channel is not on Discord": {func(w *world) { w.guild.Channels = slices.Delete(w.guild.Channels, 1, 2) },
			"Discord is as the specs say", "not on Discord"},
		"two objects have the same channel": {func(w *world) { w.channels = append(w.channels, w.channels[0].DeepCopy()) },
			"at most one object for each", "as well"},
		"a channel is created twice": {func(w *world) { recreateChannel(w, false) }, "at most one for each object",
			"was created while there was [299]"},
		"the operator deletes a channel of an existing object": {func(w *world) {
			recreateChannel(w, true)
			w.guild.Audit[1].UserID = botID
		}, "no channel or role is lost", "the operator deleted its resource 299"},
		"channels are in the wrong order": {addMisplacedChannel, "siblings stand in order", "spec.position 1 stands below spec.position 3"},

		"an unproven channel stays without its object": {func(w *world) {
			w.guild.Audit[1].Lost = true
			deleteChannelObject(w, "")
		}, "no orphan",
			"which is gone"},
		"a channel stays without its object": {func(w *world) { deleteChannelObject(w, "") }, "no orphan", "which is gone"},
		"an object has a second channel": {func(w *world) {
			w.guild.Channels = append(w.guild.Channels, discordtest.Channel{ID: "301", Name: "alerts"})
			w.guild.Audit = append(w.guild.Audit, madeFor(auditChannelCreate, "301", channelUID))
		}, "no orphan", `whose status has "300"`},
		"a channel of unknown origin": {func(w *world) { w.guild.Channels = append(w.guild.Channels, discordtest.Channel{ID: "302"}) },
			"no orphan", "its creator is unknown"},
		"an object has another object's channel": {func(w *world) { w.guild.Audit[1] = madeFor(auditChannelCreate, posts, otherUID) },
			"no object takes what another one owns", "was made for"},

		"a user's channel is changed": {func(w *world) { w.guild.Channels[2].Topic = "" }, "what users made is theirs",
			"it was {"},
		"a user's channel becomes visible to everyone": {func(w *world) {
			w.guild.Channels[2].Overwrites = []discordtest.Overwrite{{ID: guildID, Allow: discordtest.PermViewChannel}}
		}, "what users made is theirs", "it was {"},
		"a user's channel is deleted": {func(w *world) { w.guild.Channels = w.guild.Channels[:2] }, "what users made is theirs",
			"it was deleted"},
		"an object binds a user's channel without spec.adopt": {channel(func(c *v1alpha1.DiscordChannel) { c.Status.ChannelID = byHandID }),
			"what users made is theirs", "without spec.adopt"},
		"an adopted channel is deleted without the policy Delete": {func(w *world) {
			adoptHandMade(w)
			w.guild.Channels = w.guild.Channels[:2]
		}, "what users made is theirs", "it was deleted"},

		"a webhook is not on Discord": {func(w *world) { w.guild.Webhooks = nil }, "webhooks are as the specs say",
			"not in the channel"},
		"a webhook has a wrong name": {func(w *world) { w.guild.Webhooks[0].Name = "other" }, "webhooks are as the specs say",
			"name of the webhook"},
		"a webhook has no Secret": {func(w *world) { w.secrets = w.secrets[1:] }, "webhooks are as the specs say",
			"no Secret"},
		"a webhook's Secret has a wrong URL": {func(w *world) { w.secrets[0].Data["url"] = []byte("nonsense") },
			"webhooks are as the specs say", "does not hold the URL"},
		"a webhook's Secret has no owner": {func(w *world) { w.secrets[0].OwnerReferences = nil }, "webhooks are as the specs say",
			"not owned"},
		"the bot has a webhook without an object": {func(w *world) {
			w.guild.Webhooks = append(w.guild.Webhooks, discordtest.Webhook{ID: "402", ApplicationID: botID})
		}, "no orphan", "402"},
		"a webhook stays without spec.webhook": {channel(func(c *v1alpha1.DiscordChannel) { c.Spec.Webhook = nil }),
			"webhooks are as the specs say", "the spec does not have"},

		"a Dojo has no Deployment": {func(w *world) { w.deployments = nil }, "a Dojo matches its spec", "no Deployment"},
		"a Dojo has too few ready pods": {func(w *world) { w.deployments[0].Status.ReadyReplicas = 0 }, "a Dojo matches its spec",
			"ready replicas is 0"},
		"a Deployment has an old title": {func(w *world) { w.dojos[0].Spec.Title = "New" }, "a Dojo matches its spec", "title"},
		"a Dojo has no Service":         {func(w *world) { w.services = nil }, "a Dojo matches its spec", "no Service"},
		"a Dojo's Secret has an old password": {func(w *world) { w.secrets[2].Data["DB_PASS"] = []byte("old") }, "a Dojo matches its spec",
			"the password"},
		"a Dojo has no DiscordChannel for alerts": {func(w *world) { w.dojos[0].Spec.Alerts = alerts() }, "a Dojo matches its spec",
			"DiscordChannel is false"},
		"a Dojo has no database": {func(w *world) { w.dojos[0].Spec.Postgres = &corev1api.Postgres{} }, "a Dojo matches its spec",
			"it is not there"},
		"a database stays without its Dojo": {func(w *world) {
			w.custom = append(w.custom, postgres("Cluster", "dojo-7-db"))
			deleteDojoObject(w, corev1api.ReclaimDelete)
		}, "no orphan", "its Dojo is gone"},
		"a Service stays without its Dojo": {func(w *world) { w.services[0].OwnerReferences[0].UID = "gone" }, "no orphan",
			"owner Dojo dojo-0 is gone"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := validWorld()
			c.change(w)
			expect(t, check(w), c.invariant, c.says)
		})
	}
}

func alerts() *corev1api.Alerts {
	return &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{GroupRef: &corev1api.DiscordGroupReference{Name: "group-0"}}}
}

func addMisplacedChannel(w *world) {
	first := int32(1)
	other := w.channels[0].DeepCopy()
	other.Name, other.UID, other.Spec.Position, other.Status.ChannelID = "channel-1", otherUID, &first, "301"
	other.Spec.Webhook, other.Status.Webhook = nil, nil
	w.channels = append(w.channels, other)
	live := w.guild.Channels[1]
	live.ID = "301"
	w.guild.Channels = append(w.guild.Channels, live)
	w.guild.Audit = append(w.guild.Audit, madeFor(auditChannelCreate, "301", otherUID))
}

func expect(t *testing.T, wrong violations, invariant, says string) {
	t.Helper()
	if !slices.ContainsFunc(wrong,
		func(v violation) bool { return v.invariant == invariant && strings.Contains(v.what+v.where, says) }) {
		t.Errorf("no violation of [%s] contains %q; found:\n%s", invariant, says, wrong)
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	object := func(generation int64, conds []metav1.Condition) *v1alpha1.DiscordGroup {
		g := &v1alpha1.DiscordGroup{ObjectMeta: objectMeta("group-0", groupUID)}
		g.Generation, g.Status.ObservedGeneration, g.Status.Conditions = generation, 1, conds
		return g
	}
	if wrong := checkVersion(object(1, conds("Reconciled", "Available", "Ready"))); len(wrong) > 0 {
		t.Error(wrong)
	}
	for invariant, o := range map[string]*v1alpha1.DiscordGroup{
		"never Degraded and Progressing":          object(1, conds("X", "Degraded", "Progressing")),
		"never Ready and Progressing or Degraded": object(1, conds("X", "Ready", "Progressing")),
		"observedGeneration is never ahead":       object(0, nil),
		"every condition has a reason":            object(1, conds("")),
	} {
		expect(t, checkVersion(o), invariant, "group-0")
	}
	expect(t, checkVersion(object(0, conds("X"))), "observedGeneration is never ahead", "in Ready")
}

func TestWebhookIsAbandonedOnlyAfterASpecChange(t *testing.T) {
	t.Parallel()
	asks := func(uid, name, status string) *v1alpha1.DiscordChannel {
		c := &v1alpha1.DiscordChannel{ObjectMeta: objectMeta("channel-0", uid),
			Status: v1alpha1.DiscordChannelStatus{Webhook: &v1alpha1.WebhookStatus{ID: status}}}
		if name != "" {
			c.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: name}
		}
		return c
	}
	w := &observer{requested: map[types.UID]map[string]bool{}, reported: map[string]bool{}}
	for _, c := range []*v1alpha1.DiscordChannel{asks("same", "a", "1"), asks("same", "a", "2"), asks("other", "a", "3"),
		asks("other", "b", "3"), asks("none", "a", ""), asks("none", "", "")} {
		w.noteWebhook(c)
	}
	want := map[string]bool{"1": false, "3": false, "never reported": false, "of other": true, "of none": true}
	got := w.abandoned(map[string]types.UID{"1": "same", "never reported": "same", "3": "other", "of other": "other",
		"of none": "none"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An interrupted watch may miss an object or its last versions. Lists and edits still show them.
func TestDeletedObjectsHaveTheirLastVersion(t *testing.T) {
	t.Parallel()
	object := func(uid, version string) client.Object {
		c := &v1alpha1.DiscordChannel{ObjectMeta: objectMeta("channel-0", uid)}
		c.ResourceVersion = version
		return c
	}
	seen, short, lasting := object("seen", "1"), object("short", "2"), object("lasting", "3")
	old, edited := object("edited", "9"), object("edited", "10")
	current, listed := object("current", "10"), object("current", "9")
	w := &observer{gone: map[types.UID]client.Object{"seen": seen}, listed: map[types.UID]client.Object{}}
	w.deletedObjects([]client.Object{short, lasting, edited, listed})
	w.deleted(old)
	w.deleted(current)
	w.wrote(object("short", "4"))
	want := map[types.UID]client.Object{"seen": seen, "short": object("short", "4"), "edited": edited, "current": current}
	if diff := cmp.Diff(want, w.deletedObjects([]client.Object{lasting})); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreFound(t *testing.T) {
	t.Parallel()
	w := &secrets{}
	w.addFrom("url", "https://discord/api/webhooks/1/"+tokenOfHook)
	w.addFrom("DB_PASS", passwordOfDojo)
	w.addFrom("port", "5432-is-no-secret")
	w.addFrom("password", "short")
	for text, leaks := range map[string]bool{
		"all is well, 5432-is-no-secret, short": false, "posting to /" + tokenOfHook: true,
		`{"p":"` + passwordOfDojo + `"}`: true,
		"cGFzc3dvcmQtb2YtdGhlLWRvam8=":   true,
	} {
		if found := len(textLeaks(w, text)) > 0; found != leaks {
			t.Errorf("%q: found %t", text, found)
		}
	}
	for _, v := range textLeaks(w, tokenOfHook) {
		if strings.Contains(v.what, tokenOfHook) {
			t.Error("the violation reveals the secret")
		}
	}
}

func textLeaks(w *secrets, what string) violations { return w.leaks(text{"somewhere", what}) }

func TestCheckIdle(t *testing.T) {
	t.Parallel()
	if wrong := checkIdle(nil, 0); len(wrong) > 0 {
		t.Error(wrong)
	}
	expect(t, checkIdle([]string{"dojo-operator: patch dojos/status d"}, 0), "the operators come to rest",
		"patch dojos/status")
	expect(t, checkIdle(nil, 1), "the operators come to rest", "1 calls")
}

func TestPanicsAreFound(t *testing.T) {
	t.Parallel()
	for log, found := range map[string]bool{
		`{"msg":"all well"}`: false, "x\npanic: runtime error": true, "WARNING: DATA RACE": true,
		`{"msg":"Observed a panic"}`: true, "don't panic: no": false,
	} {
		if panicked.MatchString(log) != found {
			t.Errorf("%q", log)
		}
	}
}
