// SPDX-License-Identifier: Apache-2.0

// Package exposure exposes a Dojo through an Ingress, or an HTTPRoute of the Gateway API
// (https://gateway-api.sigs.k8s.io), which a cluster may lack.
package exposure
