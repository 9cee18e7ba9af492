// SPDX-License-Identifier: Apache-2.0

// Package gatewayapi pins the Gateway API (https://gateway-api.sigs.k8s.io), of which tests take the
// CustomResourceDefinition of HTTPRoute. Nothing of it is compiled into the operators.
package gatewayapi

// The smallest package of the module, which keeps it in go.mod.
import _ "sigs.k8s.io/gateway-api/pkg/consts"
