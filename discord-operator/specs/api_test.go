// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/permissions"
)

var smallest = map[string]string{
	"DiscordServer":  `{tokenSecretRef: {name: discord-bot}, serverId: "123456"}`,
	"DiscordGroup":   `{serverRef: {name: jujutsu}, name: Incidents}`,
	"DiscordChannel": `{groupRef: {name: incidents}, name: alerts}`,
}

// object returns the smallest object of a kind. change has fields of the spec; null removes a
// field.
func object(kind, change string) *unstructured.Unstructured {
	GinkgoHelper()
	spec, more := map[string]any{}, map[string]any{}
	Expect(yaml.Unmarshal([]byte(smallest[kind]), &spec)).To(Succeed())
	Expect(yaml.Unmarshal([]byte(change), &more)).To(Succeed())
	maps.Copy(spec, more)
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(v1alpha1.GroupVersion.String())
	o.SetKind(kind)
	o.SetNamespace("default")
	o.SetName("yaga")
	return o
}

func submit(ctx context.Context, o client.Object) error {
	return k8s.Create(ctx, o, client.DryRunAll)
}

func overwrites(n int) string {
	half := len(permissions.Documented()) / 2
	allow, deny := permissions.Documented()[:half], permissions.Documented()[half:]
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("{role: %q, allow: [%s], deny: [%s]}",
			fmt.Sprintf("%0100d", i), strings.Join(allow, ", "), strings.Join(deny, ", ")))
	}
	return "{permissionOverwrites: [" + strings.Join(list, ", ") + "]}"
}

func expressions(n, values int) string {
	each := "{key: a, operator: In, values: [" + strings.Repeat("b, ", values) + "]}, "
	return "{allowedNamespaces: {from: Selector, selector: {matchExpressions: [" + strings.Repeat(each, n) + "]}}}"
}

func longest(n int) string { return strings.Repeat("a", n) }

var _ = Describe("The API", func() {
	DescribeTable("accepts values that Discord allows", func(ctx context.Context, kind, change string) {
		Expect(submit(ctx, object(kind, change))).To(Succeed())
	},
		Entry("a server with only the required fields", "DiscordServer", ``),
		Entry("a group with only the required fields", "DiscordGroup", ``),
		Entry("a channel with only the required fields", "DiscordChannel", ``),
		Entry("a tokenSecretRef with a key other than token", "DiscordServer",
			`{tokenSecretRef: {name: discord-bot, key: bot.token}}`),
		Entry("a server with many fields", "DiscordServer", `{serverId: "1401681709430341704", name: Jujutsu High,
			description: The school, verificationLevel: VeryHigh, defaultNotifications: OnlyMentions,
			explicitContentFilter: MembersWithoutRoles, preferredLocale: es-419, afkChannelId: "1401681709430341705",
			afkTimeout: 15m, systemChannelRef: {name: welcome}, rulesChannelRef: {name: rules},
			publicUpdatesChannelRef: {name: moderators}, icon: {configMapKeyRef: {name: icon, key: icon.png}},
			deletionPolicy: Delete}`),
		Entry("a community", "DiscordServer", `{community: Enabled, rulesChannelRef: {name: rules},
			publicUpdatesChannelRef: {name: moderators}, verificationLevel: Low, explicitContentFilter: AllMembers}`),
		Entry("an afkChannelRef instead of an afkChannelId", "DiscordServer", `{afkChannelRef: {name: lounge}}`),
		Entry("a server with an empty description and an empty afkChannelId", "DiscordServer",
			`{description: "", afkChannelId: ""}`),
		Entry("the shortest serverId", "DiscordServer", `{serverId: "100000"}`),
		Entry("the longest serverId", "DiscordServer", `{serverId: "18446744073709551615"}`),
		Entry("the shortest server name", "DiscordServer", `{name: ab}`),
		Entry("the longest server name", "DiscordServer", `{name: `+longest(100)+`}`),
		Entry("the longest server description", "DiscordServer", `{description: `+longest(300)+`}`),
		Entry("a group with many fields", "DiscordGroup", `{
			position: 0, adopt: {id: "1401681709430341704"}, deletionPolicy: Retain,
			permissionOverwrites: [{role: "@everyone", deny: [ViewChannel]}, {role: Sensei, allow: [ViewChannel, SendMessages]},
				{user: "1401681709430341704", allow: [ViewChannel]}]}`),
		Entry("a group name with spaces, capitals and an emoji", "DiscordGroup",
			`{name: "🚨 Incidents & Co. — HIGH  priority"}`),
		Entry("the longest group name", "DiscordGroup", `{name: `+strings.Repeat("Ü", 100)+`}`),
		Entry("an empty list of overwrites", "DiscordGroup", `{permissionOverwrites: []}`),
		Entry("an overwrite that allows and denies nothing", "DiscordGroup", `{permissionOverwrites: [{role: Sensei}]}`),
		Entry("overwrites of a role and a user with the same id", "DiscordGroup",
			`{permissionOverwrites: [{role: "1401681709430341704"}, {user: "1401681709430341704"}]}`),
		Entry("the maximum number of overwrites, each as long as possible", "DiscordChannel", overwrites(100)),
		Entry("a channel with many fields", "DiscordChannel", `{type: Announcement, topic: What is broken,
			nsfw: false, slowmode: 1h30m, defaultAutoArchive: ThreeDays, position: 2147483647, permissionOverwrites: [],
			webhook: {name: Alertmanager, secretName: alerts.webhook-1}, adopt: {id: "1401681709430341704"},
			deletionPolicy: Delete}`),
		Entry("a channel in a group of another namespace", "DiscordChannel", `{groupRef: {name: a, namespace: platform}}`),
		Entry("a server that allows all namespaces", "DiscordServer",
			`{allowedNamespaces: {from: All}, allowAdoption: true}`),
		Entry("a group that allows namespaces with a label", "DiscordGroup",
			`{allowedNamespaces: {from: Selector, selector: {matchLabels: {discord: "yes"}}}}`),
		Entry("a selector of namespaces with the maximum number of label values", "DiscordServer", expressions(16, 64)),
		Entry("a channel outside of any group", "DiscordChannel", `{groupRef: null, serverRef: {name: jujutsu}}`),
		Entry("an empty topic", "DiscordChannel", `{topic: ""}`),
		Entry("the longest topic", "DiscordChannel", `{topic: `+strings.Repeat("ü", 1024)+`}`),
		Entry("slowmode off", "DiscordChannel", `{slowmode: 0s}`),
		Entry("a voice channel with only the required fields", "DiscordChannel", `{type: Voice}`),
		Entry("a voice channel with many fields", "DiscordChannel", `{type: Voice, name: "The Great Hall, 2nd floor!",
			nsfw: true, slowmode: 5s, position: 1, permissionOverwrites: [], webhook: {name: a},
			voice: {bitrate: 384000, userLimit: 99, region: us-east, videoQuality: Full}}`),
		Entry("a forum with many fields", "DiscordChannel", `{type: Forum, topic: `+strings.Repeat("ü", 4096)+`, nsfw: true,
			slowmode: 1m, defaultAutoArchive: OneWeek, position: 2, forum: {requireTag: true, defaultReaction: "✅",
			sortOrder: CreationDate, layout: Gallery, threadSlowmode: 6h,
			tags: [{name: bug, emoji: "🐛"}, {name: a tag of 20 letters, emoji: "1401681709430341704", moderated: true}]}}`),
		Entry("a media channel with many fields", "DiscordChannel", `{type: Media, topic: "", forum: {tags: [],
			defaultReaction: "", sortOrder: NotSet, hideMediaDownload: true, threadSlowmode: 0s}}`),
		Entry("tags with emoji of all sorts", "DiscordChannel", `{type: Forum, forum: {tags: [{name: a, emoji: "1️⃣"},
			{name: b, emoji: "❤️‍🔥"}, {name: c, emoji: "🏴󠁧󠁢󠁥󠁮󠁧󠁿"}, {name: d, emoji: "👩🏽‍💻"}, {name: e, emoji: "©"}]}}`),
		Entry("a stage with many fields", "DiscordChannel", `{type: Stage, name: Main Stage, nsfw: false, slowmode: 6h,
			webhook: {name: a}, voice: {bitrate: 64000, userLimit: 10000, region: "", videoQuality: Auto}}`),
		Entry("the longest slowmode", "DiscordChannel", `{slowmode: 6h0m0s}`),
		Entry("the longest webhook name", "DiscordChannel", `{webhook: {name: `+strings.Repeat("é", 80)+`}}`),
	)

	DescribeTable("refuses values that are invalid or that Discord would rewrite, and says why",
		func(ctx context.Context, kind, change, says string) {
			Expect(submit(ctx, object(kind, change))).To(MatchError(ContainSubstring(says)))
		},
		Entry("a selector of namespaces with 17 expressions", "DiscordServer", expressions(17, 1),
			"matchExpressions has at most 16 entries"),
		Entry("a selector of namespaces with 65 values in an expression", "DiscordGroup", expressions(1, 65),
			"and with at most 64 values"),
		Entry("a selector of namespaces with a label value of 64 characters", "DiscordGroup",
			`{allowedNamespaces: {from: Selector, selector: {matchLabels: {a: `+longest(64)+`}}}}`,
			"matchLabels has at most 16 entries, with keys of at most 317 and values of at most 63 characters"),
		Entry("a server without a tokenSecretRef", "DiscordServer", `{tokenSecretRef: null}`,
			`spec.tokenSecretRef: Required value`),
		Entry("a tokenSecretRef without a name", "DiscordServer", `{tokenSecretRef: {key: token}}`,
			`spec.tokenSecretRef.name: Required value`),
		Entry("a tokenSecretRef with an empty name", "DiscordServer", `{tokenSecretRef: {name: ""}}`,
			`spec.tokenSecretRef.name in body should be at least 1 chars long`),
		Entry("a tokenSecretRef with an empty key", "DiscordServer", `{tokenSecretRef: {name: a, key: ""}}`,
			`spec.tokenSecretRef.key in body should be at least 1 chars long`),
		Entry("a tokenSecretRef with a namespace", "DiscordServer", `{tokenSecretRef: {name: a, namespace: b}}`,
			`unknown field "spec.tokenSecretRef.namespace"`),
		Entry("a server without a serverId", "DiscordServer", `{serverId: null}`, `spec.serverId: Required value`),
		Entry("a serverId without quotes", "DiscordServer", `{serverId: 1401681709430341704}`,
			`spec.serverId in body must be of type string: "integer"`),
		Entry("a name as the serverId", "DiscordServer", `{serverId: jujutsu}`,
			`spec.serverId: Invalid value: "jujutsu": must be the id of a Discord server: 6 to 20 digits, in quotes`),
		Entry("too short a serverId", "DiscordServer", `{serverId: "12345"}`, `must be the id of a Discord server`),
		Entry("too long a serverId", "DiscordServer", `{serverId: "184467440737095516150"}`,
			`spec.serverId: Too long: may not be more than 20 bytes`),
		Entry("a serverId with a leading zero", "DiscordServer", `{serverId: "0401681709430341704"}`,
			`must be the id of a Discord server`),
		Entry("an empty serverId", "DiscordServer", `{serverId: ""}`, `must be the id of a Discord server`),
		Entry("a server name of one character", "DiscordServer", `{name: a}`,
			`spec.name in body should be at least 2 chars long`),
		Entry("an over-long server name", "DiscordServer", `{name: `+longest(101)+`}`,
			`spec.name: Too long: may not be more than 100 bytes`),
		Entry("a server name that ends with a space", "DiscordServer", `{name: "jujutsu "}`,
			`must not begin or end with white space, which Discord removes`),
		Entry("an over-long server description", "DiscordServer", `{description: `+longest(301)+`}`,
			`spec.description: Too long: may not be more than 300 bytes`),
		Entry("an unknown verification level", "DiscordServer", `{verificationLevel: Highest}`,
			`spec.verificationLevel: Unsupported value: "Highest": `+
				`supported values: "None", "Low", "Medium", "High", "VeryHigh"`),
		Entry("an unknown value of defaultNotifications", "DiscordServer", `{defaultNotifications: None}`,
			`supported values: "AllMessages", "OnlyMentions"`),
		Entry("an unknown value of explicitContentFilter", "DiscordServer", `{explicitContentFilter: None}`,
			`supported values: "Disabled", "MembersWithoutRoles", "AllMembers"`),
		Entry("an unknown locale", "DiscordServer", `{preferredLocale: en}`,
			`spec.preferredLocale: Unsupported value: "en": supported values: "ar", "bg"`),
		Entry("a name as the afkChannelId", "DiscordServer", `{afkChannelId: lounge}`,
			`must be the id of a voice channel: 6 to 20 digits, in quotes, or empty`),
		Entry("an afkChannelId and an afkChannelRef together", "DiscordServer",
			`{afkChannelId: "", afkChannelRef: {name: lounge}}`,
			`afkChannelId and afkChannelRef cannot both be set`),
		Entry("an unsupported AFK timeout", "DiscordServer", `{afkTimeout: 10m}`,
			`spec.afkTimeout: Unsupported value: "10m": supported values: "1m", "5m", "15m", "30m", "1h"`),
		Entry("a systemChannelRef without a name", "DiscordServer", `{systemChannelRef: {}}`,
			`spec.systemChannelRef.name: Required value`),
		Entry("an unknown deletion policy", "DiscordServer", `{deletionPolicy: Orphan}`,
			`spec.deletionPolicy: Unsupported value: "Orphan": supported values: "Delete", "Retain"`),
		Entry("a server with an unknown field", "DiscordServer", `{banner: x}`,
			`strict decoding error: unknown field "spec.banner"`),
		Entry("a community without a rules channel", "DiscordServer",
			`{community: Enabled, publicUpdatesChannelRef: {name: a}}`,
			`community requires rulesChannelRef and publicUpdatesChannelRef`),
		Entry("a community with the verificationLevel None", "DiscordServer", `{community: Enabled, rulesChannelRef: {name: a},
			publicUpdatesChannelRef: {name: a}, verificationLevel: None}`, `community requires a verificationLevel of Low or higher`),
		Entry("a community with the explicitContentFilter Disabled", "DiscordServer",
			`{community: Enabled, rulesChannelRef: {name: a},
			publicUpdatesChannelRef: {name: a}, explicitContentFilter: Disabled}`,
			`community requires the explicitContentFilter AllMembers`),
		Entry("an unknown value of community", "DiscordServer", `{community: Disabled}`,
			`spec.community: Unsupported value: "Disabled": supported values: "Enabled"`),
		Entry("an icon without a ConfigMap", "DiscordServer", `{icon: {}}`, `spec.icon.configMapKeyRef: Required value`),
		Entry("an icon without a key of its ConfigMap", "DiscordServer", `{icon: {configMapKeyRef: {name: icon}}}`,
			`spec.icon.configMapKeyRef.key: Required value`),
		Entry("an icon in a ConfigMap with an invalid name", "DiscordServer", `{icon: {configMapKeyRef: {name: Icon, key: a}}}`,
			`spec.icon.configMapKeyRef.name: Invalid value: "Icon": must be the name of an object`),

		Entry("a group in no server", "DiscordGroup", `{serverRef: null}`, `spec.serverRef: Required value`),
		Entry("a group with an empty name in its serverRef", "DiscordGroup", `{serverRef: {name: ""}}`,
			`spec.serverRef.name in body should be at least 1 chars long`),
		Entry("a group without a name", "DiscordGroup", `{name: null}`, `spec.name: Required value`),
		Entry("a group with an empty name", "DiscordGroup", `{name: ""}`,
			`spec.name in body should be at least 1 chars long`),
		Entry("a group with a blank name", "DiscordGroup", `{name: " "}`, `must not begin or end with white space`),
		Entry("a group name that begins with a space", "DiscordGroup", `{name: "\u00a0Incidents"}`,
			`must not begin or end with white space`),
		Entry("an over-long group name", "DiscordGroup", `{name: `+longest(101)+`}`,
			`spec.name: Too long: may not be more than 100 bytes`),
		Entry("a negative position of a group", "DiscordGroup", `{position: -1}`,
			`spec.position in body should be greater than or equal to 0`),
		Entry("a group with an unknown field", "DiscordGroup", `{topic: x}`,
			`strict decoding error: unknown field "spec.topic"`),

		Entry("an overwrite with neither a role nor a user", "DiscordGroup",
			`{permissionOverwrites: [{deny: [ViewChannel]}]}`,
			`spec.permissionOverwrites[0]: Invalid value: name one of role, roleRef and user`),
		Entry("an overwrite with both a role and a user", "DiscordGroup",
			`{permissionOverwrites: [{role: a, user: "123456"}]}`,
			`name one of role, roleRef and user`),
		Entry("an overwrite for a role with an empty name", "DiscordGroup", `{permissionOverwrites: [{role: ""}]}`,
			`spec.permissionOverwrites[0].role in body should be at least 1 chars long`),
		Entry("an overwrite for a role with an over-long name", "DiscordGroup",
			`{permissionOverwrites: [{role: `+longest(101)+`}]}`, `role: Too long: may not be more than 100 bytes`),
		Entry("an overwrite with a user's name instead of the id", "DiscordGroup", `{permissionOverwrites: [{user: yaga}]}`,
			`spec.permissionOverwrites[0].user: Invalid value: "yaga": `+
				`must be the id of a Discord user: 6 to 20 digits, in quotes`),
		Entry("a permission's bit value instead of its name", "DiscordGroup",
			`{permissionOverwrites: [{role: a, allow: ["1024"]}]}`,
			`spec.permissionOverwrites[0].allow[0]: Unsupported value: "1024": `+
				`supported values: "CreateInstantInvite", "KickMembers"`),
		Entry("a permission in Discord's spelling", "DiscordGroup",
			`{permissionOverwrites: [{role: a, deny: [VIEW_CHANNEL]}]}`, `deny[0]: Unsupported value: "VIEW_CHANNEL"`),
		Entry("an overwrite that denies a permission twice", "DiscordGroup",
			`{permissionOverwrites: [{role: a, deny: [Connect, Connect]}]}`,
			`spec.permissionOverwrites[0].deny[1]: Duplicate value: "Connect"`),
		Entry("an overwrite that both allows and denies a permission", "DiscordGroup",
			`{permissionOverwrites: [{role: a, allow: [Speak, Connect], deny: [Connect]}]}`,
			`a permission cannot be both allowed and denied`),
		Entry("two overwrites for the same role", "DiscordGroup", `{permissionOverwrites: [{role: a}, {role: b}, {role: a}]}`,
			`spec.permissionOverwrites: Invalid value: a role or user may be listed only once`),
		Entry("two overwrites for the same user", "DiscordChannel",
			`{permissionOverwrites: [{user: "123456"}, {user: "123456", allow: [Connect]}]}`,
			`a role or user may be listed only once`),
		Entry("101 overwrites", "DiscordChannel", overwrites(101),
			`spec.permissionOverwrites: Too many: 101: must have at most 100 items`),

		Entry("a channel in no group and no server", "DiscordChannel", `{groupRef: null}`,
			`spec: Invalid value: name either the groupRef or, for a channel outside of any group, the serverRef`),
		Entry("a channel with both a groupRef and a serverRef", "DiscordChannel", `{serverRef: {name: jujutsu}}`,
			`name either the groupRef or`),
		Entry("a channel with an empty name in its groupRef", "DiscordChannel", `{groupRef: {name: ""}}`,
			`spec.groupRef.name in body should be at least 1 chars long`),
		Entry("a groupRef with an invalid namespace", "DiscordChannel", `{groupRef: {name: a, namespace: "Team A"}}`,
			`spec.groupRef.namespace: Invalid value: "Team A": must be the name of a namespace: lower case letters`),
		Entry("a serverRef with an invalid namespace", "DiscordGroup", `{serverRef: {name: a, namespace: "team.a"}}`,
			`spec.serverRef.namespace: Invalid value: "team.a": must be the name of a namespace`),
		Entry("allowedNamespaces.from Selector without a selector", "DiscordServer", `{allowedNamespaces: {from: Selector}}`,
			`selector is required with 'from: Selector', and not allowed with another value of 'from'`),
		Entry("an allowedNamespaces.selector without from: Selector", "DiscordGroup", `{allowedNamespaces: {selector: {}}}`,
			`spec.allowedNamespaces: Invalid value: selector is required with 'from: Selector', and not allowed with `+
				`another value of 'from'`),
		Entry("allowedNamespaces.from None, as in Gateway API", "DiscordGroup", `{allowedNamespaces: {from: None}}`,
			`spec.allowedNamespaces.from: Unsupported value: "None": supported values: "Same", "All", "Selector"`),
		Entry("a channel without a name", "DiscordChannel", `{name: null}`, `spec.name: Required value`),
		Entry("a channel with an empty name", "DiscordChannel", `{name: ""}`,
			`spec.name in body should be at least 1 chars long`),
		Entry("an over-long channel name", "DiscordChannel", `{name: `+longest(101)+`}`,
			`spec.name: Too long: may not be more than 100 bytes`),
		Entry("an unknown type of channel", "DiscordChannel", `{type: Radio}`,
			`spec.type: Unsupported value: "Radio": supported values: "Text", "Announcement", "Voice", "Stage", "Forum", "Media"`),
		Entry("a topic of a voice channel", "DiscordChannel", `{type: Voice, topic: ""}`,
			`spec.topic: Invalid value`),
		Entry("a topic of a stage", "DiscordChannel", `{type: Stage, topic: x}`,
			`topic is for channels of the type Text, Announcement, Forum or Media: a Voice or Stage channel has none`),
		Entry("a defaultAutoArchive of a stage", "DiscordChannel", `{type: Stage, defaultAutoArchive: OneDay}`,
			`defaultAutoArchive is for channels of the type Text, Announcement, Forum or Media: a Voice or Stage channel has no threads`),
		Entry("a bitrate of a text channel", "DiscordChannel", `{type: Text, voice: {bitrate: 64000}}`,
			`voice is for channels of the type Voice or Stage`),
		Entry("the field voice in a channel without a type", "DiscordChannel", `{voice: {}}`,
			`voice is for channels of the type Voice or Stage`),
		Entry("too low a bitrate", "DiscordChannel", `{type: Voice, voice: {bitrate: 7999}}`,
			`spec.voice.bitrate in body should be greater than or equal to 8000`),
		Entry("too high a bitrate", "DiscordChannel", `{type: Voice, voice: {bitrate: 384001}}`,
			`spec.voice.bitrate in body should be less than or equal to 384000`),
		Entry("too high a bitrate of a stage", "DiscordChannel", `{type: Stage, voice: {bitrate: 64001}}`,
			`voice.bitrate is at most 64000 in a Stage channel`),
		Entry("too high a user limit of a voice channel", "DiscordChannel", `{type: Voice, voice: {userLimit: 100}}`,
			`voice.userLimit is at most 99 in a Voice channel; 0 is no limit`),
		Entry("too high a user limit of a stage", "DiscordChannel", `{type: Stage, voice: {userLimit: 10001}}`,
			`spec.voice.userLimit in body should be less than or equal to 10000`),
		Entry("a negative user limit", "DiscordChannel", `{type: Voice, voice: {userLimit: -1}}`,
			`spec.voice.userLimit in body should be greater than or equal to 0`),
		Entry("an invalid region", "DiscordChannel", `{type: Voice, voice: {region: US East}}`,
			`spec.voice.region: Invalid value: "US East": must be the id of a voice region`),
		Entry("an unknown video quality", "DiscordChannel", `{type: Voice, voice: {videoQuality: High}}`,
			`spec.voice.videoQuality: Unsupported value: "High": supported values: "Auto", "Full"`),
		Entry("a voice channel name that ends with a space", "DiscordChannel", `{type: Voice, name: "Lounge "}`,
			`must not begin or end with white space, which Discord removes`),
		Entry("a blank name of a stage", "DiscordChannel", `{type: Stage, name: " "}`,
			`must not begin or end with white space`),
		Entry("an over-long topic", "DiscordChannel", `{topic: `+longest(1025)+`}`,
			`spec.topic: Invalid value: topic has at most 1024 characters; in a channel of the type Forum or Media`),
		Entry("an over-long topic of a forum", "DiscordChannel", `{type: Forum, topic: `+longest(4097)+`}`,
			`spec.topic: Too long: may not be more than 4096 bytes`),
		Entry("tags of a text channel", "DiscordChannel", `{type: Text, forum: {tags: []}}`,
			`forum is for channels of the type Forum or Media`),
		Entry("the field forum in a channel without a type", "DiscordChannel", `{forum: {}}`,
			`spec.forum: Invalid value: forum is for channels of the type Forum or Media`),
		Entry("the field forum in a stage", "DiscordChannel", `{type: Stage, forum: {}}`,
			`forum is for channels of the type Forum or Media`),
		Entry("the field voice in a forum", "DiscordChannel", `{type: Forum, voice: {}}`,
			`voice is for channels of the type Voice or Stage`),
		Entry("a layout of a media channel", "DiscordChannel", `{type: Media, forum: {layout: List}}`,
			`forum.layout is for channels of the type Forum: a Media channel is always a gallery`),
		Entry("the field hideMediaDownload in a forum", "DiscordChannel", `{type: Forum, forum: {hideMediaDownload: false}}`,
			`forum.hideMediaDownload is for channels of the type Media`),
		Entry("a webhook of a forum", "DiscordChannel", `{type: Forum, webhook: {name: a}}`,
			`webhook is for channels of the type Text, Announcement, Voice or Stage: in a Forum or Media channel, Discord `+
				`refuses messages that do not name a post, such as the messages of Alertmanager`),
		Entry("a webhook of a media channel", "DiscordChannel", `{type: Media, webhook: {name: a}}`,
			`webhook is for channels of the type Text, Announcement, Voice or Stage`),
		Entry("a forum with 21 tags", "DiscordChannel",
			`{type: Forum, forum: {tags: [`+strings.Repeat("{name: a}, ", 21)+`]}}`,
			`spec.forum.tags: Too many: 21: must have at most 20 items`),
		Entry("two tags whose names differ only in case", "DiscordChannel",
			`{type: Forum, forum: {tags: [{name: Bug}, {name: bug}]}}`,
			`spec.forum.tags: Invalid value: no two tags may have the same name`),
		Entry("a tag without a name", "DiscordChannel", `{type: Forum, forum: {tags: [{emoji: "🔥"}]}}`,
			`spec.forum.tags[0].name: Required value`),
		Entry("a tag with an over-long name", "DiscordChannel", `{type: Media, forum: {tags: [{name: `+longest(21)+`}]}}`,
			`spec.forum.tags[0].name: Too long: may not be more than 20 bytes`),
		Entry("a tag name that ends with a space", "DiscordChannel", `{type: Forum, forum: {tags: [{name: "a "}]}}`,
			`must not begin or end with white space`),
		Entry("an emoji by its name, such as :fire:", "DiscordChannel", `{type: Forum, forum: {defaultReaction: ":fire:"}}`,
			`spec.forum.defaultReaction: Invalid value: ":fire:": must be a Unicode emoji, or the id of an emoji of the server`),
		Entry("a tag with two emoji", "DiscordChannel", `{type: Forum, forum: {tags: [{name: a, emoji: "🔥 🔥"}]}}`,
			`must be a Unicode emoji, or the id of an emoji of the server`),
		Entry("requireTag if all tags are moderated", "DiscordChannel",
			`{type: Forum, forum: {requireTag: true, tags: [{name: a, moderated: true}]}}`,
			`requireTag needs a tag that every member may use: one that is not moderated`),
		Entry("an unknown sort order", "DiscordChannel", `{type: Forum, forum: {sortOrder: Name}}`,
			`spec.forum.sortOrder: Unsupported value: "Name": supported values: "NotSet", "LatestActivity", "CreationDate"`),
		Entry("an unknown layout", "DiscordChannel", `{type: Forum, forum: {layout: Grid}}`,
			`spec.forum.layout: Unsupported value: "Grid": supported values: "NotSet", "List", "Gallery"`),
		Entry("a threadSlowmode of more than six hours", "DiscordChannel", `{type: Forum, forum: {threadSlowmode: 7h}}`,
			`spec.forum.threadSlowmode: Invalid value: "7h": must be at most 6h`),
		Entry("a forum name with capitals and a space", "DiscordChannel", `{type: Forum, name: Good Ideas}`,
			`write "good-ideas"`),
		Entry("a topic that ends with a line break", "DiscordChannel", `{topic: "all is well\n"}`,
			`spec.topic: Invalid value: "all is well\n": must not begin or end with white space`),
		Entry("slowmode of more than six hours", "DiscordChannel", `{slowmode: 6h0m1s}`,
			`spec.slowmode: Invalid value: "6h0m1s": must be at most 6h`),
		Entry("slowmode in milliseconds", "DiscordChannel", `{slowmode: 1500ms}`,
			`spec.slowmode: Invalid value: "1500ms": must be a duration in whole seconds, such as 30s or 1h30m`),
		Entry("slowmode with a decimal point", "DiscordChannel", `{slowmode: 1.5h}`, `must be a duration in whole seconds`),
		Entry("negative slowmode", "DiscordChannel", `{slowmode: -5s}`, `must be a duration in whole seconds`),
		Entry("empty slowmode", "DiscordChannel", `{slowmode: ""}`, `must be a duration in whole seconds`),
		Entry("slowmode without a unit", "DiscordChannel", `{slowmode: "30"}`, `must be a duration in whole seconds`),
		Entry("slowmode as a number", "DiscordChannel", `{slowmode: 30}`,
			`spec.slowmode in body must be of type string: "integer"`),
		Entry("an unknown value of defaultAutoArchive", "DiscordChannel", `{defaultAutoArchive: TwoDays}`,
			`supported values: "OneHour", "OneDay", "ThreeDays", "OneWeek"`),
		Entry("a negative position of a channel", "DiscordChannel", `{position: -1}`,
			`spec.position in body should be greater than or equal to 0`),
		Entry("a webhook without a name", "DiscordChannel", `{webhook: {}}`, `spec.webhook.name: Required value`),
		Entry("a webhook with an empty name", "DiscordChannel", `{webhook: {name: ""}}`,
			`spec.webhook.name in body should be at least 1 chars long`),
		Entry("a webhook with a blank name", "DiscordChannel", `{webhook: {name: " "}}`,
			`must not begin or end with white space`),
		Entry("a webhook name with two white spaces in a row", "DiscordChannel", `{webhook: {name: "a  b"}}`,
			`must not have two white spaces in a row`),
		Entry("an over-long webhook name", "DiscordChannel", `{webhook: {name: `+longest(81)+`}}`,
			`spec.webhook.name: Too long: may not be more than 80 bytes`),
		Entry("a webhook with Discord in its name", "DiscordChannel", `{webhook: {name: My DISCORD hook}}`,
			`must contain neither "discord" nor "clyde", which Discord refuses`),
		Entry("a webhook with the name clyde, which Discord reserves", "DiscordChannel", `{webhook: {name: clyde}}`,
			`must contain neither "discord" nor "clyde"`),
		Entry("a webhook Secret with a capital letter in its name", "DiscordChannel",
			`{webhook: {name: a, secretName: Alerts}}`,
			`spec.webhook.secretName: Invalid value: "Alerts": must be the name of a Secret`),
		Entry("a webhook Secret with two dots in a row in its name", "DiscordChannel",
			`{webhook: {name: a, secretName: a..b}}`,
			`must be the name of a Secret`),
		Entry("a webhook Secret whose name ends with a dash", "DiscordChannel", `{webhook: {name: a, secretName: a-}}`,
			`must be the name of a Secret`),
		Entry("a webhook Secret with an empty name", "DiscordChannel", `{webhook: {name: a, secretName: ""}}`,
			`spec.webhook.secretName in body should be at least 1 chars long`),
		Entry("a spec.adopt without an id", "DiscordChannel", `{adopt: {}}`, `spec.adopt.id: Required value`),
		Entry("a spec.adopt with a channel's name instead of its id", "DiscordChannel", `{adopt: {id: alerts}}`,
			`spec.adopt.id: Invalid value: "alerts": must be a Discord id: 6 to 20 digits, in quotes`),
		Entry("a channel with an unknown field", "DiscordChannel", `{nfsw: true}`,
			`strict decoding error: unknown field "spec.nfsw"`),
	)

	It("knows every permission that Discord documents, and no other", func(ctx context.Context) {
		all := strings.Join(permissions.Documented(), ", ")
		Expect(submit(ctx, object("DiscordChannel", `{permissionOverwrites: [{role: a, allow: [`+all+`]}]}`))).To(Succeed())
		err := submit(ctx, object("DiscordChannel", `{permissionOverwrites: [{role: a, allow: [Fly]}]}`))
		Expect(err).
			To(MatchError(ContainSubstring(`supported values: "` + strings.Join(permissions.Documented(), `", "`) + `"`)))
	})

	It("requires spec.webhook.secretName if the object's name with -webhook "+
		"is too long for the name of a Secret", func(ctx context.Context) {
		o := object("DiscordChannel", `{webhook: {name: a}}`)
		o.SetName(longest(245))
		Expect(submit(ctx, o)).To(Succeed())
		o.SetName(longest(246))
		Expect(submit(ctx, o)).To(MatchError(ContainSubstring(`metadata.name is too long for a Secret ` +
			`with the suffix "-webhook": set spec.webhook.secretName`)))
		named := object("DiscordChannel", `{webhook: {name: a, secretName: b}}`)
		named.SetName(longest(253))
		Expect(submit(ctx, named)).To(Succeed())
	})

	DescribeTable("allows changes that Discord allows, and refuses others",
		func(ctx context.Context, kind, before, status, change, refused string) {
			o := object(kind, before)
			o.SetNamespace(newNamespace(ctx))
			create(ctx, o)
			DeferCleanup(func(ctx context.Context) { deleteAll(ctx, o.GetNamespace()) })
			if status != "" {
				Expect(k8s.Status().Patch(ctx, o, mergePatch("status", status))).To(Succeed())
			}
			err := k8s.Patch(ctx, o, mergePatch("spec", change), client.DryRunAll)
			if refused == "" {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(err).To(MatchError(ContainSubstring(refused)))
			}
		},
		Entry("allowed: another tokenSecretRef", "DiscordServer", ``, ``, `{tokenSecretRef: {name: other, key: other}}`, ``),
		Entry("refused: another server id", "DiscordServer", `{serverId: "123456"}`, ``, `{serverId: "123457"}`,
			`spec: Invalid value: serverId cannot be changed: create a new DiscordServer for another server`),
		Entry("refused: the removal of the server id", "DiscordServer", `{serverId: "123456"}`, ``, `{serverId: null}`,
			`spec.serverId: Required value`),
		Entry("allowed: another name, position, permissions and deletionPolicy of a group", "DiscordGroup", ``, ``,
			`{name: B, position: 3, permissionOverwrites: [], deletionPolicy: Retain}`, ``),
		Entry("refused: another server for a group", "DiscordGroup", ``, ``, `{serverRef: {name: kyoto}}`,
			`spec.serverRef: Invalid value: serverRef cannot be changed: Discord cannot move a category to another server`),
		Entry("refused: the move of a group to a server of the same name in another namespace", "DiscordGroup", ``, ``,
			`{serverRef: {name: jujutsu, namespace: kyoto}}`, `serverRef cannot be changed`),
		Entry("allowed: the addition of spec.adopt to a group", "DiscordGroup", ``, ``, `{adopt: {id: "123456"}}`, ``),
		Entry("refused: a change of a group's spec.adopt", "DiscordGroup", `{adopt: {id: "123456"}}`, ``,
			`{adopt: {id: "123457"}}`,
			`spec: Invalid value: adopt cannot be changed or removed once it is set: create a new object`),
		Entry("refused: the removal of a group's spec.adopt", "DiscordGroup", `{adopt: {id: "123456"}}`, ``, `{adopt: null}`,
			`adopt cannot be changed or removed once it is set`),
		Entry("allowed: the addition of spec.adopt with the id of the group's current category", "DiscordGroup", ``,
			`{groupId: "123456"}`, `{adopt: {id: "123456"}}`, ``),
		Entry("refused: the addition of spec.adopt to a group that already has another category", "DiscordGroup", ``,
			`{groupId: "123456"}`,
			`{adopt: {id: "123457"}}`,
			`spec.adopt.id must be the id in status.groupId, because this object already has that category`),
		Entry("allowed: another group for a channel", "DiscordChannel", ``, ``, `{groupRef: {name: other}}`, ``),
		Entry("allowed: a channel that leaves its group", "DiscordChannel", ``, ``, `{groupRef: null, serverRef: {name: jujutsu}}`,
			``),
		Entry("allowed: a channel that enters a group", "DiscordChannel", `{groupRef: null, serverRef: {name: jujutsu}}`, ``,
			`{groupRef: {name: a}, serverRef: null}`, ``),
		Entry("refused: another server for a channel", "DiscordChannel", `{groupRef: null, serverRef: {name: jujutsu}}`, ``,
			`{serverRef: {name: kyoto}}`,
			`spec.serverRef: Invalid value: serverRef cannot be changed: Discord cannot move a channel to another server`),
		Entry("allowed: another name, type, topic and webhook of a channel", "DiscordChannel", `{webhook: {name: a}}`, ``,
			`{name: b, type: Announcement, topic: "", webhook: {name: b, secretName: c}}`, ``),
		Entry("allowed: another name and other settings of a voice channel", "DiscordChannel",
			`{type: Voice, name: Hall}`, ``,
			`{name: Great Hall, voice: {userLimit: 5}, slowmode: 5s}`, ``),
		Entry("allowed: the addition of the type Announcement to a channel without a type", "DiscordChannel", ``, ``,
			`{type: Announcement}`, ``),
		Entry("allowed: the removal of the type Announcement from a channel", "DiscordChannel", `{type: Announcement}`, ``,
			`{type: null}`, ``),
		Entry("refused: a text channel that becomes a voice channel", "DiscordChannel", `{type: Text}`, ``, `{type: Voice}`,
			`type can change only between Text and Announcement, because Discord does not convert other channels`),
		Entry("refused: a channel without a type that becomes a stage", "DiscordChannel", ``, ``, `{type: Stage}`,
			`type can change only between Text and Announcement`),
		Entry("refused: a voice channel that becomes a stage", "DiscordChannel", `{type: Voice}`, ``, `{type: Stage}`,
			`type can change only between Text and Announcement`),
		Entry("refused: a forum that becomes a media channel", "DiscordChannel", `{type: Forum}`, ``, `{type: Media}`,
			`type can change only between Text and Announcement`),
		Entry("refused: an announcement channel that becomes a forum", "DiscordChannel", `{type: Announcement}`, ``,
			`{type: Forum}`,
			`type can change only between Text and Announcement, because Discord does not convert other channels`),
		Entry("refused: the removal of the type Voice from a channel", "DiscordChannel", `{type: Voice}`, ``, `{type: null}`,
			`type can change only between Text and Announcement`),
		Entry("allowed: the removal of a channel's webhook", "DiscordChannel", `{webhook: {name: a}}`, ``, `{webhook: null}`, ``),
		Entry("refused: a change of a channel's spec.adopt", "DiscordChannel", `{adopt: {id: "123456"}}`, ``,
			`{adopt: {id: "123457"}}`, `adopt cannot be changed or removed once it is set`),
		Entry("refused: the removal of a channel's spec.adopt", "DiscordChannel", `{adopt: {id: "123456"}}`, ``,
			`{adopt: null}`, `adopt cannot be changed or removed once it is set`),
		Entry("allowed: the addition of spec.adopt with the id of the object's current channel", "DiscordChannel", ``,
			`{channelId: "123456"}`, `{adopt: {id: "123456"}}`,
			``),
		Entry("refused: the addition of spec.adopt to an object that already has another channel", "DiscordChannel", ``,
			`{channelId: "123456"}`,
			`{adopt: {id: "123457"}}`,
			`spec.adopt.id must be the id in status.channelId, because this object already has that channel`),
	)

	It("distinguishes an empty list of overwrites from no list "+
		"for clients that use the Go types", func(ctx context.Context) {
		ns := newNamespace(ctx)
		DeferCleanup(func(ctx context.Context) { deleteAll(ctx, ns) })
		for name, list := range map[string][]v1alpha1.PermissionOverwrite{"none": {}, "unmanaged": nil} {
			g := (&world{ns: ns}).group(name)
			g.Spec.PermissionOverwrites = list
			create(ctx, g)
			Expect(refetch(g)(ctx)).To(HaveField("Spec.PermissionOverwrites", Equal(list)))
			edit(ctx, g, func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "Renamed" })
			Expect(refetch(g)(ctx)).To(HaveField("Spec.PermissionOverwrites", Equal(list)))

			stored := object("DiscordGroup", "")
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(g), stored)).To(Succeed())
			_, found, err := unstructured.NestedSlice(stored.Object, "spec", "permissionOverwrites")
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(Equal(name == "none"))
		}
	})

	It("sets the defaults and no other field", func(ctx context.Context) {
		for kind, spec := range map[string]string{
			"DiscordServer":  `{tokenSecretRef: {name: discord-bot, key: token}, serverId: "123456", deletionPolicy: Retain}`,
			"DiscordGroup":   smallest["DiscordGroup"],
			"DiscordChannel": smallest["DiscordChannel"],
		} {
			spec = strings.TrimSuffix(spec, "}") + ", managementPolicy: Manage}"
			o, want := object(kind, ""), map[string]any{}
			Expect(submit(ctx, o)).To(Succeed())
			Expect(yaml.Unmarshal([]byte(spec), &want)).To(Succeed())
			Expect(o.Object["spec"]).To(Equal(want), kind)
		}
	})

	It("accepts slowmode of up to six hours from clients that use the Go types", func(ctx context.Context) {
		w := &world{ns: "default"}
		for _, seconds := range []int{0, 5, 60, 90, 3600, 3661, 21600} {
			Expect(submit(ctx, w.channel("incidents", "slow", slowmode(seconds)))).To(Succeed(), "%d s", seconds)
		}
		Expect(submit(ctx, w.channel("incidents", "slow", slowmode(21601)))).
			To(MatchError(ContainSubstring("must be at most 6h")))
	})
})

func mergePatch(part, change string) client.Patch {
	GinkgoHelper()
	patch, err := yaml.YAMLToJSON(fmt.Appendf(nil, "{%s: %s}", part, change))
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, patch)
}
