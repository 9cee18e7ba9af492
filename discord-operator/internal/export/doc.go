// Package export prints a live Discord server as manifests: `discord-operator export`.
//
// Applied unchanged they change nothing on Discord. Every object adopts what exists and names each setting as it is, so that the
// operator finds nothing to do; whoever then edits the file changes Discord.
//
// Not everything on Discord can be written down. What a schema of ours refuses (a channel name from before Discord wrote names in
// lower case), or what would make the operator change something (overwrites that keep the bot itself out), is left
// out or commented out, with the reason beside it and on standard error, and what to do about it.
//
// export.go is the command; read.go asks Discord; manifests.go decides what is printed, with server.go, channels.go, overwrites.go and
// names.go for its parts; document.go puts it into words and YAML. Only the first two do I/O.
package export
