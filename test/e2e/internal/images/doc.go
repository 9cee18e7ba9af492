// SPDX-License-Identifier: Apache-2.0

// Package images makes container images without a container engine, and a registry that serves
// them: programs of this project, pinned programs of others (tools/) and Postgres out of Debian's
// packages.
package images
