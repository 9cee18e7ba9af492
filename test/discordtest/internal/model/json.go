// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
)

// OrNull is a string, or null when it is empty.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// TimeLayout is how Discord writes moments.
const TimeLayout = "2006-01-02T15:04:05.000000-07:00"

// JSON is JSON of what this package itself has put together; it cannot fail.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
