// SPDX-License-Identifier: Apache-2.0

package main

import "math"

type point struct {
	n     int
	value float64
}

// exponent returns e of the growth n^e, by least squares of the logarithms. ok is false for fewer
// than two different n, or a value of 0 or less.
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
	if xx == 0 { // also without points
		return 0, false
	}
	return xy / xx, true
}
