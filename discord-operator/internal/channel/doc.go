// Package channel reconciles DiscordChannel objects.
//
// A channel needs, in this order: its server to be available and, where it names one, its group to exist; its counterpart on Discord, found,
// adopted or created once with everything that the spec says (package counterpart); the settings that the spec names, put right by one edit; its
// place among its siblings (package order); and, where asked for, a webhook and a Secret with the webhook's URL.
//
// Each pass looks (observe.go), decides (plan.go, webhook.go), acts (act.go) and tells (report.go). Discord is looked at in memory,
// so a settled channel costs no call. Deletion (delete.go) has its own path, since it must not depend on a server that is well.
package channel
