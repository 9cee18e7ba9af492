// SPDX-License-Identifier: Apache-2.0

// Package export prints a live Discord server as manifests: `kubectl discord export`.
//
// Applying the manifests unchanged changes nothing on Discord: every object adopts an existing
// resource with its settings. With --copy-to, the objects adopt nothing, and the operator creates
// the resources on another server. The export leaves out, or comments out, settings that the schemas
// refuse, such as a channel name from before Discord required lower case. It does the same with
// settings that the operator would change, such as overwrites that give the bot no access. It
// writes the reason and the remedy into a comment and to standard error.
//
// The controllers' tables of fields fill the specs; fit.go leaves out fields that the schema
// refuses. Only export.go (the command) and read.go (Discord) do I/O. manifests.go builds the
// document from the parts in server.go, roles.go, channels.go, overwrites.go and names.go;
// document.go writes it.
package export
