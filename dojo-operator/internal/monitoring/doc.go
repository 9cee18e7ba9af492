// SPDX-License-Identifier: Apache-2.0

// Package monitoring lets Prometheus watch a Dojo and brings its alerts to Discord.
//
// An alert passes the Dojo's PrometheusRule and AlertmanagerConfig, and the webhook of a
// DiscordChannel, whose status names the Secret with its URL. A tenant may edit that Secret. So the
// AlertmanagerConfig names a Secret of the Dojo's own with a checked URL (endpoint.go).
// [Safeguards] hold that while nothing else is applied.
package monitoring
