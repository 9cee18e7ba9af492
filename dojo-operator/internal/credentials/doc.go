// SPDX-License-Identifier: Apache-2.0

// Package credentials copies the credentials of a Dojo's database into the Dojo's own Secret, in
// the form that the application reads.
//
// For MongoDB the copy has a connection string and its parts; some parts can be empty.
//
// The source is the Secret of spec.credentialsRef. With spec.postgres the source is the Secret that
// was generated for the database.
//
// The cache holds only the metadata of Secrets, which is enough to decide whether the copy is up to
// date: an annotation of the copy records the version of the source, and managedFields show whether
// another field manager has changed a key. If the copy is not up to date, the operator reads both
// Secrets from the API server. If the source is unusable, the copied credentials stay in use.
//
// A Dojo must not reveal which Secrets exist in another namespace. So a missing Secret and a Secret
// that is not shared cause the same issue.
package credentials
