// SPDX-License-Identifier: Apache-2.0

// Package credentials copies the credentials of a Dojo's database into a Secret of its own, in the
// form that the application reads.
//
// For MongoDB the copy has a connection string and its parts; some parts may be empty.
//
// The source is the Secret of spec.credentialsRef. With spec.postgres it is the Secret that was
// generated for the database. The cache holds only the metadata of Secrets. An annotation of the
// copy records the version of the source, and managedFields show whether another client changed a
// key. So metadata shows whether the copy is up to date. If it is not, both Secrets are read from
// the API server. Whatever is wrong with the source, copied credentials stay in use.
//
// A Dojo must not reveal which Secrets exist in another namespace. So the issue for a Secret that
// is not shared equals the issue for a missing Secret.
package credentials
