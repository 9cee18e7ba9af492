// SPDX-License-Identifier: Apache-2.0

// Package credentials copies the credentials of a Dojo's database into a Secret of its own, in the
// form that the application reads.
//
// Of MongoDB they are a connection string and its parts; some may be empty.
//
// They come from the Secret of spec.credentialsRef, or with spec.postgres from the one that was
// generated for the database. The cache holds the metadata of Secrets alone. The copy records the
// version of its source in an annotation, and its managedFields show whether a key was changed, so
// metadata says whether it is up to date; only where it is not are both Secrets read, from the API
// server. Whatever is wrong with the source, credentials that were copied before stay in use.
//
// In another namespace, a Secret that is not shared reads the same as one that does not exist: a Dojo
// must not reveal which Secrets exist there.
package credentials
