// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

// Action types of Discord's audit log.
const (
	auditChannelCreate = 10
	auditChannelDelete = 12
	auditWebhookCreate = 50
	auditRoleCreate    = 30
	auditRoleDelete    = 32
)

func compareIDs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// origin returns the UID in the operator's audit log reason "Kind UID namespace/name".
func origin(e discordtest.AuditEntry) types.UID {
	if fields := strings.Fields(e.Reason); len(fields) == 3 {
		return types.UID(fields[1])
	}
	return ""
}

var creates, deletes = []int{auditChannelCreate, auditRoleCreate}, []int{auditChannelDelete, auditRoleDelete}

// origins maps the ids of resources that the bot created on Discord to the UIDs of the objects for
// which it created them.
func (w *world) origins(actions ...int) map[string]types.UID {
	made := map[string]types.UID{}
	for _, e := range w.guild.Audit {
		if slices.Contains(actions, e.Action) && e.UserID == w.botID {
			made[e.TargetID] = origin(e)
		}
	}
	return made
}

// unproven reports whether a fault dropped the audit log entry of the create, so that the operator
// cannot know the creator.
func (w *world) unproven(id string) bool {
	return slices.ContainsFunc(w.guild.Audit, func(e discordtest.AuditEntry) bool {
		return e.Lost && slices.Contains(creates, e.Action) && e.TargetID == id
	})
}

// ambiguous reports whether several unproven channels match an object without a channel.
func (w *world) ambiguous(has, name, parent string, of int) bool {
	fits := 0
	for _, c := range w.guild.Channels {
		if c.Name == name && c.ParentID == parent && c.Type == of && w.unproven(c.ID) {
			fits++
		}
	}
	return has == "" && fits > 1
}

func (w *world) channelOnDiscord(id string) (discordtest.Channel, bool) {
	i := slices.IndexFunc(w.guild.Channels, func(c discordtest.Channel) bool { return c.ID == id })
	if i < 0 {
		return discordtest.Channel{}, false
	}
	return w.guild.Channels[i], true
}

type holder struct {
	client.Object
	id     string // of the object's resource on Discord
	policy v1alpha1.DeletionPolicy
	adopt  string // the id in spec.adopt
	// matched means that the operator bound the resource because it alone matched a lost create,
	// without a proof by the audit log. The operator does not delete such a resource.
	matched bool
}

func holderOf(o client.Object) holder {
	h := holder{Object: o}
	var adopt *v1alpha1.Adoption
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		h.id, h.policy, h.matched, adopt = o.Status.GroupID, o.Spec.DeletionPolicy, o.Status.Matched, o.Spec.Adopt
	case *v1alpha1.DiscordChannel:
		h.id, h.policy, h.matched, adopt = o.Status.ChannelID, o.Spec.DeletionPolicy, o.Status.Matched, o.Spec.Adopt
	case *v1alpha1.DiscordRole:
		h.id, h.policy, h.matched, adopt = o.Status.RoleID, o.Spec.DeletionPolicy, o.Status.Matched, o.Spec.Adopt
	}
	if adopt != nil {
		h.adopt = adopt.ID
	}
	return h
}

func (w *world) holders() map[types.UID]holder {
	all := map[types.UID]holder{}
	for _, o := range slices.Concat(objects(w.groups), objects(w.channels), objects(w.roles)) {
		all[o.GetUID()] = holderOf(o)
	}
	return all
}

// checkDuplicates finds resources that were created while their object already had a resource. If
// the audit log lost a create, the object does not count as having this resource, because another
// object may have bound it.
func checkDuplicates(w *world) (wrong violations) {
	live := map[types.UID][]string{}
	for _, e := range w.guild.Audit {
		switch {
		case slices.Contains(deletes, e.Action):
			for uid, ids := range live {
				live[uid] = slices.DeleteFunc(ids, func(id string) bool { return id == e.TargetID })
			}
		case slices.Contains(creates, e.Action) && e.UserID == w.botID:
			uid := origin(e)
			if others := live[uid]; len(others) > 0 {
				wrong.add("at most one for each object", e.Reason, "%s was created while there was %v", e.TargetID, others)
			}
			if !e.Lost {
				live[uid] = append(live[uid], e.TargetID)
			}
		}
	}
	return wrong
}

// checkLosses finds resources that the operator deleted although nobody has deleted their object,
// or although their DiscordRole had the deletionPolicy Retain.
func checkLosses(w *world) (wrong violations) {
	made, holders := w.origins(creates...), w.holders()
	for _, e := range w.guild.Audit {
		if !slices.Contains(deletes, e.Action) || e.UserID != w.botID {
			continue
		}
		if h := holders[made[e.TargetID]]; h.Object != nil && h.GetDeletionTimestamp() == nil {
			wrong.add("no channel or role is lost", id(h.Object),
				"the operator deleted its resource %s, although nobody has deleted the object", e.TargetID)
		}
		if role, ok := w.gone[made[e.TargetID]].(*v1alpha1.DiscordRole); ok &&
			role.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain {
			wrong.add("no channel or role is lost", id(role), "its role %s was deleted, and not retained", e.TargetID)
		}
	}
	return wrong
}

// checkResources compares categories and channels with the specs, and finds two objects with the
// same category or channel.
func checkResources(w *world) (wrong violations) {
	owner := map[string]string{}
	for _, g := range w.groups {
		if g.DeletionTimestamp == nil && len(w.expectGroup(g).reasons) == 0 {
			wrong = append(wrong, w.checkResource(owner, g, g.Status.GroupID, func(live discordtest.Channel) []string {
				return append(differ("name", g.Spec.Name, live.Name), w.overwritesDiffer(g.Spec.PermissionOverwrites, live)...)
			})...)
		}
	}
	for _, c := range w.channels {
		if c.DeletionTimestamp == nil && len(w.expectChannel(c).reasons) == 0 {
			wrong = append(wrong, w.checkResource(owner, c, c.Status.ChannelID,
				func(live discordtest.Channel) []string { return w.channelDiffers(c, live) })...)
		}
	}
	return wrong
}

func (w *world) checkResource(owner map[string]string, o client.Object, has string,
	differs func(discordtest.Channel) []string) (wrong violations) {
	const invariant = "Discord is as the specs say"
	if other := owner[has]; other != "" {
		wrong.add("at most one object for each", id(o), "%s is in the status of %s as well", has, other)
	}
	owner[has] = id(o)
	live, there := w.channelOnDiscord(has)
	if !there {
		return append(wrong, violation{invariant, id(o), fmt.Sprintf("%q of its status is not on Discord", has)})
	}
	for _, what := range differs(live) {
		wrong.add(invariant, id(o), "%s", what)
	}
	return wrong
}

func differ[T comparable](field string, want, have T) []string {
	if want == have {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v and should be %v", field, have, want)}
}

func (w *world) channelDiffers(c *v1alpha1.DiscordChannel, live discordtest.Channel) []string {
	parent := ""
	if ref := c.Spec.GroupRef; ref != nil && find(w.groups, ref.Name) != nil {
		parent = find(w.groups, ref.Name).Status.GroupID
	}
	all := append(differ("name", c.Spec.Name, live.Name), differ("category", parent, live.ParentID)...)
	if c.Spec.Topic != nil {
		all = append(all, differ("topic", *c.Spec.Topic, live.Topic)...)
	}
	if c.Spec.NSFW != nil {
		all = append(all, differ("nsfw", *c.Spec.NSFW, live.NSFW)...)
	}
	if c.Spec.Slowmode != nil {
		all = append(all, differ("slowmode", int(c.Spec.Slowmode.Seconds()), live.RateLimitPerUser)...)
	}
	if c.Spec.Forum != nil {
		all = append(all, tagsDiffer(c.Spec.Forum.Tags, live.Tags)...)
	}
	all = append(all, differ("type", typeOf(c), live.Type)...)
	return append(all, w.overwritesDiffer(c.Spec.PermissionOverwrites, live)...)
}

func typeOf(c *v1alpha1.DiscordChannel) int {
	if c.Spec.Type == v1alpha1.ChannelTypeForum {
		return discordtest.TypeForum
	}
	return discordtest.TypeText
}

// tagsDiffer ignores fields of a tag that the actions do not set.
func tagsDiffer(spec []v1alpha1.ForumTag, live []discordtest.Tag) []string {
	same := slices.EqualFunc(spec, live, func(want v1alpha1.ForumTag, have discordtest.Tag) bool {
		return want.Name == have.Name && want.Moderated == have.Moderated
	})
	if same {
		return nil
	}
	return []string{fmt.Sprintf("tags are %v and should be %v", live, spec)}
}

var permissionBits = map[v1alpha1.Permission]discordtest.Permissions{
	"ViewChannel": discordtest.PermViewChannel, "SendMessages": discordtest.PermSendMessages,
}

// overwritesDiffer ignores the overwrite that gives the bot access.
func (w *world) overwritesDiffer(spec []v1alpha1.PermissionOverwrite, live discordtest.Channel) []string {
	if spec == nil {
		return nil
	}
	bits := func(names []v1alpha1.Permission) (all discordtest.Permissions) {
		for _, name := range names {
			all |= permissionBits[name]
		}
		return all
	}
	var want []discordtest.Overwrite
	for _, o := range spec {
		want = append(want, discordtest.Overwrite{ID: w.roleOf(o), Allow: bits(o.Allow), Deny: bits(o.Deny)})
	}
	have := slices.DeleteFunc(slices.Clone(live.Overwrites),
		func(o discordtest.Overwrite) bool { return o.ID == w.botID })
	byID := func(a, b discordtest.Overwrite) int { return compareIDs(a.ID, b.ID) }
	slices.SortFunc(want, byID)
	slices.SortFunc(have, byID)
	if slices.Equal(want, have) {
		return nil
	}
	return []string{fmt.Sprintf("overwrites are %v and should be %v", have, want)}
}

// checkOrder expects sibling channels and categories in the order of their spec.position.
func checkOrder(w *world) (wrong violations) {
	ranks := map[string]int32{}
	for _, g := range w.groups {
		if g.Spec.Position != nil && g.DeletionTimestamp == nil && len(w.expectGroup(g).reasons) == 0 {
			ranks[g.Status.GroupID] = *g.Spec.Position
		}
	}
	for _, c := range w.channels {
		if c.Spec.Position != nil && c.DeletionTimestamp == nil &&
			len(w.expectChannel(c).reasons) == 0 {
			ranks[c.Status.ChannelID] = *c.Spec.Position
		}
	}
	last := map[string]int32{}
	for _, c := range w.guild.Channels {
		rank, managed := ranks[c.ID]
		siblings := fmt.Sprintf("%s/%t", c.ParentID, c.Type == discordtest.TypeCategory)
		if !managed {
			continue
		}
		if rank < last[siblings] {
			wrong.add("siblings stand in order", "#"+c.Name, "spec.position %d stands below spec.position %d",
				rank, last[siblings])
		}
		last[siblings] = max(last[siblings], rank)
	}
	return wrong
}

func checkOrphans(w *world) (wrong violations) {
	holders, made, ofGuest := w.holders(), w.origins(creates...), w.madeForGuests()
	held := map[string]holder{}
	for _, h := range holders {
		if h.id != "" {
			held[h.id] = h
		}
	}
	for _, c := range w.resources() {
		where := fmt.Sprintf("%q (%s) on Discord", c.name, c.id)
		uid, ours := made[c.id]
		switch {
		case c.byHand, ofGuest[c.id] != "" && held[c.id].Object == nil: // guestLeftovers checks these resources of the guest
		case !ours:
			wrong.add("no orphan", where, "its creator is unknown")
		case held[c.id].Object != nil && held[c.id].GetUID() != uid && !w.unproven(c.id):
			wrong.add("no object takes what another one owns", where, "%s has it, and it was made for %s",
				id(held[c.id].Object), w.nameOf(uid))
		case held[c.id].Object != nil:
		case holders[uid].Object != nil && holders[uid].GetDeletionTimestamp() != nil:
			// The response to the create was lost. While the object is being deleted, the operator
			// looks for this resource only after all dependents are gone.
		case holders[uid].Object != nil:
			wrong.add("no orphan", where, "made for %s, whose status has %q", id(holders[uid].Object), holders[uid].id)
		case w.gone[uid] == nil:
			wrong.add("no orphan", where, "made for an object that is unknown: %s", uid)
		case holderOf(w.gone[uid]).policy != v1alpha1.DeletionPolicyRetain && !holderOf(w.gone[uid]).matched &&
			(holderOf(w.gone[uid]).id != "" || !w.unproven(c.id)):
			wrong.add("no orphan", where, "made for %s, which is gone", w.nameOf(uid))
		}
	}
	return wrong
}

func (w *world) nameOf(uid types.UID) string {
	if h := w.holders()[uid]; h.Object != nil {
		return id(h.Object)
	}
	if o := w.gone[uid]; o != nil {
		return id(o) + " (gone)"
	}
	return string(uid)
}

// checkUserChannels finds channels of users that the operator bound or changed without spec.adopt,
// or deleted without the deletionPolicy Delete.
func checkUserChannels(w *world) (wrong violations) {
	const invariant = "what users made is theirs"
	adopted, deletable := map[string]bool{}, map[string]bool{}
	note := func(h holder) {
		adopted[h.adopt] = true
		deletable[h.adopt] = deletable[h.adopt] || h.policy == v1alpha1.DeletionPolicyDelete
		if byHand := w.byHand(h.id); byHand && w.unproven(h.id) {
			// The operator cannot know the creator, so it may bind the channel as the only match.
			adopted[h.id], deletable[h.id] = true, true
		} else if byHand && h.id != h.adopt {
			wrong.add(invariant, id(h.Object), "it adopted %s without spec.adopt", h.id)
		}
	}
	for _, o := range w.gone {
		note(holderOf(o))
	}
	for _, h := range w.holders() {
		note(h)
	}
	for madeID, was := range w.userChannels {
		where := fmt.Sprintf("#%s (%s) on Discord", was.Name, madeID)
		now, there := w.channelOnDiscord(madeID)
		switch {
		case !there && !deletable[madeID]:
			wrong.add(invariant, where, "it was deleted")
		case !there, adopted[madeID]:
		case now.Name != was.Name, now.Topic != was.Topic, now.NSFW != was.NSFW,
			now.RateLimitPerUser != was.RateLimitPerUser,
			!was.synced && !slices.Equal(now.Overwrites, was.Overwrites):
			wrong.add(invariant, where, "it was %+v and is %+v", was.Channel, now)
		}
	}
	return wrong
}

func checkWebhooks(w *world) (wrong violations) {
	const invariant = "webhooks are as the specs say"
	wanted := map[string]bool{}
	for _, c := range w.channels {
		if c.DeletionTimestamp != nil || len(w.expectChannel(c).reasons) > 0 {
			wanted[hookID(c)] = true
			continue
		}
		if c.Spec.Webhook == nil && c.Status.Webhook != nil {
			wrong.add(invariant, id(c), "its status names a webhook that the spec does not have")
		}
		if c.Spec.Webhook != nil {
			wanted[hookID(c)] = true
			for _, what := range w.hookDiffers(c) {
				wrong.add(invariant, id(c), "%s", what)
			}
		}
	}
	ofGuest := w.madeForGuests()
	for _, hook := range w.guild.Webhooks {
		uid := w.origins(auditWebhookCreate)[hook.ID]
		if hook.ApplicationID == "" || ofGuest[hook.ID] != "" || wanted[hook.ID] || w.abandoned[hook.ID] ||
			w.gone[uid] != nil && holderOf(w.gone[uid]).policy == v1alpha1.DeletionPolicyRetain {
			continue
		}
		wrong.add("no orphan", hook.ID, "webhook %q of %s, made for %s", hook.Name, hook.ChannelID, w.nameOf(uid))
	}
	return wrong
}

func hookID(c *v1alpha1.DiscordChannel) string {
	if c.Status.Webhook == nil {
		return ""
	}
	return c.Status.Webhook.ID
}

func (w *world) hookDiffers(c *v1alpha1.DiscordChannel) []string {
	i := slices.IndexFunc(w.guild.Webhooks,
		func(h discordtest.Webhook) bool { return h.ID == hookID(c) && h.ChannelID == c.Status.ChannelID })
	if i < 0 {
		return []string{fmt.Sprintf("webhook %q of its status is not in the channel", hookID(c))}
	}
	hook, name := w.guild.Webhooks[i], c.WebhookSecretName()
	all := differ("name of the webhook", c.Spec.Webhook.Name, hook.Name)
	secret := find(w.secrets, name)
	switch {
	case secret == nil:
		all = append(all, "there is no Secret "+name)
	case !strings.HasSuffix(string(secret.Data[v1alpha1.WebhookSecretKey]), "/"+hook.ID+"/"+hook.Token):
		all = append(all, "the Secret "+name+" does not hold the URL of the webhook")
	case !metav1.IsControlledBy(secret, c):
		all = append(all, "the Secret "+name+" is not owned by it")
	}
	return all
}
