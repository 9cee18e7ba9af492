// SPDX-License-Identifier: Apache-2.0

// Package exposure makes a Dojo reachable from outside the cluster, through an Ingress or an
// HTTPRoute of the Gateway API, which a cluster may lack (https://gateway-api.sigs.k8s.io).
package exposure
