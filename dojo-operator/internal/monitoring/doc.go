// SPDX-License-Identifier: Apache-2.0

// Package monitoring lets Prometheus watch a Dojo and brings its alerts to Discord.
//
// An alert goes this way: a rule fires, Alertmanager finds the Dojo's AlertmanagerConfig, and posts
// through the webhook of a DiscordChannel. discord-operator makes that webhook, and reports in the
// channel's status which Secret has its URL, which is never read here. Nothing waits for the alerts
// but the Dojo's conditions.
//
// All kinds here are optional: a cluster may lack prometheus-operator's or discord-operator's.
package monitoring
