// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
)

// OrNull returns null for an empty string.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// TimeLayout is Discord's format of times.
const TimeLayout = "2006-01-02T15:04:05.000000-07:00"

// JSON encodes this package's own values, which cannot fail.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
