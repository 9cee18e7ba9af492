// SPDX-License-Identifier: Apache-2.0

// Package export prints a live Discord server as manifests: `kubectl discord export`.
//
// Applied unchanged they change nothing on Discord: every object adopts what exists and has each
// setting as it is. An edit of the file then changes Discord.
//
// What our schemas refuse (a channel name from before Discord required lower case), or what would
// make the operator change something (overwrites without access for the bot), is left out or
// commented out, with the reason and what to do about it beside it and on standard error.
//
// export.go is the command; read.go calls Discord; manifests.go plans the document, with server.go,
// roles.go, channels.go, overwrites.go and names.go for its parts; document.go writes it as YAML. Only the
// first two do I/O.
package export
