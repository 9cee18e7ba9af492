// SPDX-License-Identifier: Apache-2.0

// Package gatewayapi pins the Gateway API (https://gateway-api.sigs.k8s.io) for tests.
package gatewayapi

// The smallest package of the module keeps the module in go.mod.
import _ "sigs.k8s.io/gateway-api/pkg/consts"
