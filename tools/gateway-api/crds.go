// SPDX-License-Identifier: Apache-2.0

// Package gatewayapi pins the Gateway API (https://gateway-api.sigs.k8s.io) for tests, which use
// the CustomResourceDefinition of HTTPRoute. The operators do not compile it.
package gatewayapi

// An import keeps the module in go.mod. This package is the smallest of the module.
import _ "sigs.k8s.io/gateway-api/pkg/consts"
