// SPDX-License-Identifier: Apache-2.0

package observability

import "k8s.io/apimachinery/pkg/runtime/schema"

var kinds = []schema.GroupVersionKind{
	{Group: "core.jutsu.com", Version: "v1", Kind: "Dojo"},
	{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordServer"},
	{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordGroup"},
	{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordChannel"},
	{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordRole"},
}
