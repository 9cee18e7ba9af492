// SPDX-License-Identifier: Apache-2.0

// Package monitoring makes Prometheus scrape a Dojo, and brings the Dojo's alerts to Discord.
//
// An alert takes this path: a rule fires in Prometheus, Alertmanager finds the Dojo's
// AlertmanagerConfig, and posts the alert to the webhook of a Discord channel. discord-operator
// creates the webhook of a DiscordChannel and writes the webhook's URL into a Secret. The status of
// the DiscordChannel names this Secret. If alerts are not ready, only the Dojo's conditions show
// it: the application does not wait for the alerts.
//
// A tenant may edit the Secret of discord-operator, and Alertmanager would post to any URL in it.
// So the AlertmanagerConfig names another Secret, which the Dojo owns. The operator writes only a
// checked URL into it (endpoint.go). [Safeguards] plans these writes even for a paused or deleted
// Dojo.
//
// All kinds here are optional: a cluster may lack prometheus-operator or discord-operator.
//
// In each reconcile of a Dojo with alerts, the operator reads both Secrets from the API server. Of
// the DiscordChannel's status, it uses only the condition Available and the name of the Secret.
// While a new channel is being created, the alerts still go to the former channel.
package monitoring
