// Package counterpart finds what an object stands for on Discord, and creates it exactly once.
//
// Discord's creates have no idempotency key: when an answer is lost, or the operator dies before it has saved the new id, a channel may exist
// that nobody knows. So the finalizer is stored before the create; it is the record of the intent. An object with a finalizer and without an
// id may have a counterpart, and it is looked for before anything is created: among the live channels and in the audit log, where every create
// of ours has a reason with the object's UID (discordclient.RecoverChannel).
//
// The Records is what spares this search where the process itself knows: it remembers, for each object, what came of
// its own creates. It is a shortcut and no state; when it is lost, the search is made.
package external
