// SPDX-License-Identifier: Apache-2.0

// Package exposure makes a Dojo's application reachable from outside the cluster, through an
// Ingress or an HTTPRoute. HTTPRoute is a kind of the Gateway API, which a cluster may lack
// (https://gateway-api.sigs.k8s.io).
package exposure
