// SPDX-License-Identifier: Apache-2.0

// Package monitoring lets Prometheus watch a Dojo and brings its alerts to Discord.
//
// An alert takes this path: a rule fires, Alertmanager finds the Dojo's AlertmanagerConfig, and
// posts through the webhook of a DiscordChannel. discord-operator makes that webhook and writes its
// URL into a Secret; the channel's status names this Secret. If alerts are not ready, only the
// Dojo's conditions show it: the application does not wait for the alerts.
//
// A tenant may edit that Secret, and Alertmanager would post to any URL in it. So the
// AlertmanagerConfig names another Secret, the Dojo's own, into which the operator writes only a
// checked URL (endpoint.go). [Safeguards] apply even if the rest of the plan does not.
//
// All kinds here are optional: a cluster may lack the kinds of prometheus-operator or of
// discord-operator.
//
// In each reconcile of a Dojo with alerts, the operator reads both Secrets from the API server. The
// plan reads two fields of the channel's status: the condition Available and the name of the
// Secret. While a new channel is being created, the former channel receives the alerts.
package monitoring
