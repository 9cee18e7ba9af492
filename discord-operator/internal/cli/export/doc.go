// SPDX-License-Identifier: Apache-2.0

// Package export prints a live Discord server as manifests: `kubectl discord export`.
//
// Applied unchanged they change nothing on Discord: every object adopts an existing resource with
// its settings. Settings that the schemas refuse (a channel name from before Discord required lower
// case), or that the operator would change (overwrites without access for the bot), are left out or
// commented out. A comment and standard error have the reason and the remedy.
//
// The tables of fields of the controllers fill the specs; fit.go leaves out fields that the schema
// refuses. Only export.go (the command) and read.go (Discord) do I/O. manifests.go builds the
// document from the parts in server.go, roles.go, channels.go, overwrites.go and names.go;
// document.go writes it.
package export
