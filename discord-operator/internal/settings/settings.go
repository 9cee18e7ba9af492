// SPDX-License-Identifier: Apache-2.0

// Package settings translates the settings that a spec names by words to Discord's numbers, and
// back.
package settings

import "jutsu.com/operators/apis/discord/v1alpha1"

// Names are the words of a setting by Discord's numbers.
type Names[T ~string] map[int]T

// Number returns the number of a word; nil for the empty one, which leaves the setting alone.
func (n Names[T]) Number(word T) *int {
	for number, name := range n {
		if name == word {
			return &number
		}
	}
	return nil
}

// The settings of a server. Source: https://discord.com/developers/docs/resources/guild.
var (
	VerificationLevels = Names[v1alpha1.VerificationLevel]{
		0: v1alpha1.VerificationLevelNone, 1: v1alpha1.VerificationLevelLow, 2: v1alpha1.VerificationLevelMedium,
		3: v1alpha1.VerificationLevelHigh, 4: v1alpha1.VerificationLevelVeryHigh,
	}
	DefaultNotifications = Names[v1alpha1.DefaultNotifications]{
		0: v1alpha1.DefaultNotificationsAllMessages, 1: v1alpha1.DefaultNotificationsOnlyMentions,
	}
	ExplicitContentFilters = Names[v1alpha1.ExplicitContentFilter]{
		0: v1alpha1.ExplicitContentFilterDisabled, 1: v1alpha1.ExplicitContentFilterMembersWithoutRoles,
		2: v1alpha1.ExplicitContentFilterAllMembers,
	}
	AFKTimeouts = Names[v1alpha1.AFKTimeout]{60: "1m", 300: "5m", 900: "15m", 1800: "30m", 3600: "1h"} // by seconds
)

// AutoArchives are the default times of a channel's threads, by minutes. Source:
// https://discord.com/developers/docs/resources/channel.
var AutoArchives = Names[v1alpha1.AutoArchive]{
	60: v1alpha1.AutoArchiveOneHour, 1440: v1alpha1.AutoArchiveOneDay,
	4320: v1alpha1.AutoArchiveThreeDays, 10080: v1alpha1.AutoArchiveOneWeek,
}
