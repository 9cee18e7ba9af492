// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
)

func TestExponent(t *testing.T) {
	for name, test := range map[string]struct {
		points []point
		want   float64
		none   bool
	}{
		"nothing":          {none: true},
		"one size":         {points: []point{{100, 3}}, none: true},
		"one size twice":   {points: []point{{100, 3}, {100, 4}}, none: true},
		"a value of zero":  {points: []point{{100, 0}, {300, 3}}, none: true},
		"a negative value": {points: []point{{100, -1}, {300, 3}}, none: true},
		"no objects":       {points: []point{{0, 1}, {300, 3}}, none: true},
		"constant":         {points: []point{{100, 7}, {300, 7}, {1000, 7}}, want: 0},
		"in step":          {points: []point{{100, 2}, {300, 6}, {1000, 20}}, want: 1},
		"squared":          {points: []point{{10, 3}, {100, 300}, {1000, 30000}}, want: 2},
		"shrinking":        {points: []point{{10, 10}, {1000, 0.1}}, want: -1},
		"in any order":     {points: []point{{1000, 20}, {100, 2}, {300, 6}}, want: 1},
		// The middle point raises the line without turning it.
		"beside the line": {points: []point{{1, 1}, {10, 20}, {100, 100}}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := exponent(test.points)
			if ok == test.none || math.Abs(got-test.want) > 1e-9 {
				t.Errorf("got %v, %v, want %v", got, ok, test.want)
			}
		})
	}
}
