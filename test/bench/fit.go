// SPDX-License-Identifier: Apache-2.0

package main

import "math"

// point is what a figure is when there are n things.
type point struct {
	n     int
	value float64
}

// exponent says how a figure grows with the number of things: as n to the power of what is
// returned, 0 for not at all, 1 for in step. It is the slope of the straight line through the
// logarithms that has the least squares; ok is false where no such line can be drawn: through
// points of fewer than two different n, and of a value that is not more than 0.
func exponent(points []point) (slope float64, ok bool) {
	var sumX, sumY float64
	for _, p := range points {
		if p.n <= 0 || p.value <= 0 {
			return 0, false
		}
		sumX += math.Log(float64(p.n))
		sumY += math.Log(p.value)
	}
	count := float64(len(points))
	var xx, xy float64
	for _, p := range points {
		x := math.Log(float64(p.n)) - sumX/count
		xx += x * x
		xy += x * (math.Log(p.value) - sumY/count)
	}
	if xx == 0 { // also where there are no points
		return 0, false
	}
	return xy / xx, true
}
