// SPDX-License-Identifier: Apache-2.0

// Package exposure exposes a Dojo through an Ingress or an HTTPRoute. A cluster may lack the
// Gateway API, which defines HTTPRoutes (https://gateway-api.sigs.k8s.io).
package exposure
