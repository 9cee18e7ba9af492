// SPDX-License-Identifier: Apache-2.0

// Package pods finds out why pods are not ready and how they ended, and builds pod specs.
package pods
