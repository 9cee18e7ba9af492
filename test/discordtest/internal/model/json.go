// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
)

// OrNull returns s, or nil (null in JSON) if s is empty.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// TimeLayout is the layout of times in Discord's JSON.
const TimeLayout = "2006-01-02T15:04:05.000000-07:00"

// JSON encodes a value of the simulator. It panics on an error, which cannot happen.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
