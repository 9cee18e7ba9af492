// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"maps"
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// Enum maps Discord's numbers to the words that a spec uses for them.
type Enum[T ~string] map[int]T

// Number returns the number of a word; nil if n lacks the word.
func (n Enum[T]) Number(word T) *int {
	for number, name := range n {
		if name == word {
			return &number
		}
	}
	return nil
}

// Settings of a server. Source: https://discord.com/developers/docs/resources/guild.
var (
	VerificationLevels = Enum[v1alpha1.VerificationLevel]{
		0: v1alpha1.VerificationLevelNone, 1: v1alpha1.VerificationLevelLow, 2: v1alpha1.VerificationLevelMedium,
		3: v1alpha1.VerificationLevelHigh, 4: v1alpha1.VerificationLevelVeryHigh,
	}
	DefaultNotifications = Enum[v1alpha1.DefaultNotifications]{
		0: v1alpha1.DefaultNotificationsAllMessages, 1: v1alpha1.DefaultNotificationsOnlyMentions,
	}
	ExplicitContentFilters = Enum[v1alpha1.ExplicitContentFilter]{
		0: v1alpha1.ExplicitContentFilterDisabled, 1: v1alpha1.ExplicitContentFilterMembersWithoutRoles,
		2: v1alpha1.ExplicitContentFilterAllMembers,
	}
	AFKTimeouts = Enum[v1alpha1.AFKTimeout]{60: "1m", 300: "5m", 900: "15m", 1800: "30m", 3600: "1h"} // in seconds
)

// VideoQualities of voice and stage channels. Source:
// https://docs.discord.com/developers/resources/channel#channel-object-video-quality-modes
var VideoQualities = Enum[v1alpha1.VideoQuality]{1: v1alpha1.VideoQualityAuto, 2: v1alpha1.VideoQualityFull}

// NoSortOrder is the number in SortOrders for Discord's null.
const NoSortOrder = -1

// SortOrders and ForumLayouts of forums. Sources:
// https://docs.discord.com/developers/resources/channel#channel-object-sort-order-types
// https://docs.discord.com/developers/resources/channel#channel-object-forum-layout-types
var (
	SortOrders = Enum[v1alpha1.SortOrder]{
		NoSortOrder: v1alpha1.SortOrderNotSet, 0: v1alpha1.SortOrderLatestActivity, 1: v1alpha1.SortOrderCreationDate,
	}
	ForumLayouts = Enum[v1alpha1.ForumLayout]{
		0: v1alpha1.ForumLayoutNotSet, 1: v1alpha1.ForumLayoutList, 2: v1alpha1.ForumLayoutGallery,
	}
)

// AutoArchives maps minutes to words: https://discord.com/developers/docs/resources/channel
var AutoArchives = Enum[v1alpha1.AutoArchive]{
	60: v1alpha1.AutoArchiveOneHour, 1440: v1alpha1.AutoArchiveOneDay,
	4320: v1alpha1.AutoArchiveThreeDays, 10080: v1alpha1.AutoArchiveOneWeek,
}

// SystemChannelFlags maps bits to system messages that are not posted. Source:
// https://discord.com/developers/docs/resources/guild#guild-object-system-channel-flags
var SystemChannelFlags = Enum[v1alpha1.SystemChannelFlag]{
	1 << 0: v1alpha1.SuppressJoinNotifications, 1 << 1: v1alpha1.SuppressPremiumSubscriptions,
	1 << 2: v1alpha1.SuppressGuildReminderNotifications, 1 << 3: v1alpha1.SuppressJoinNotificationReplies,
	1 << 4: v1alpha1.SuppressRoleSubscriptionPurchaseNotifications,
	1 << 5: v1alpha1.SuppressRoleSubscriptionPurchaseNotificationReplies,
}

// Bits sets the bits of these words in live, and clears the bits of n's other words.
func (n Enum[T]) Bits(words []T, live int) int {
	for bit, word := range n {
		if live &^= bit; slices.Contains(words, word) {
			live |= bit
		}
	}
	return live
}

// Words returns the words of bits, in the order of the bits. It omits bits without a word.
func (n Enum[T]) Words(bits int) (words []T) {
	for _, bit := range slices.Sorted(maps.Keys(n)) {
		if bits&bit != 0 {
			words = append(words, n[bit])
		}
	}
	return words
}
