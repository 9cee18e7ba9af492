// SPDX-License-Identifier: Apache-2.0

// Package credentials copies a Dojo's database credentials into a Secret of its own, with the keys
// that the application reads.
// The cache holds only metadata of Secrets. The copy records its source's version, and
// managedFields show changed keys, so Secrets are read only if the copy is not in sync. Copied
// credentials stay in use whatever happens to the source.
package credentials
