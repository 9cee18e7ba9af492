// SPDX-License-Identifier: Apache-2.0

// Package monitoring lets Prometheus watch a Dojo and brings its alerts to Discord.
//
// An alert takes this path: a rule fires, Alertmanager finds the Dojo's AlertmanagerConfig, and
// posts through the webhook of a DiscordChannel. discord-operator makes that webhook, and reports
// in the channel's status which Secret has its URL. Only the Dojo's conditions wait for the alerts.
//
// A tenant may edit that Secret, and Alertmanager would post to any URL in it. So the
// AlertmanagerConfig names a Secret of the Dojo's own, into which the operator writes only a
// checked URL (endpoint.go). [Safeguards] apply even if the rest of the plan does not.
//
// All kinds here are optional: a cluster may lack prometheus-operator's or discord-operator's.
//
// Both Secrets are read from the API server in each reconcile of a Dojo with alerts. The plan reads
// two fields of the channel's status: the condition Available and the name of the Secret. While a
// new channel is being created, the former channel receives the alerts.
package monitoring
