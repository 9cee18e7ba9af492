// SPDX-License-Identifier: Apache-2.0

// Package monitoring lets Prometheus watch a Dojo and brings its alerts to Discord.
//
// An alert goes this way: a rule fires, Alertmanager finds the Dojo's AlertmanagerConfig, and posts
// through the webhook of a DiscordChannel. discord-operator makes that webhook, and reports in the
// channel's status which Secret has its URL. Nothing waits for the alerts but the Dojo's conditions.
//
// A tenant may edit that Secret, and Alertmanager would post wherever it says. So the
// AlertmanagerConfig names a Secret of the Dojo's own, into which only a checked URL is written
// (endpoint.go). [Safeguards] keep it so where nothing else of the plan is carried out.
//
// All kinds here are optional: a cluster may lack prometheus-operator's or discord-operator's.
//
// Both Secrets are read from the API server in each reconcile of a Dojo with alerts. Of the channel's
// status, Available and the name of the Secret count. While a new channel is being created, the
// former one receives the alerts.
package monitoring
