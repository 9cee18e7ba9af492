// SPDX-License-Identifier: Apache-2.0

// Package images builds container images without a container engine, and serves them in a registry.
package images
