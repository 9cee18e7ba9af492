// SPDX-License-Identifier: Apache-2.0

// Package gatewayapi pins the version of the Gateway API (https://gateway-api.sigs.k8s.io) for
// tests. They use its CustomResourceDefinition of HTTPRoute. The operators do not compile it.
package gatewayapi

// The import keeps the module in go.mod. The imported package is the smallest of the module.
import _ "sigs.k8s.io/gateway-api/pkg/consts"
