// SPDX-License-Identifier: Apache-2.0

// Package exposure exposes the application of a Dojo outside of the cluster: through an Ingress, or
// through an HTTPRoute of the Gateway API (https://gateway-api.sigs.k8s.io), which a cluster may lack.
// It reports what the controllers of the Gateways say of the route.
package exposure
