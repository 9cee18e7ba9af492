// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// violation is one thing that is wrong.
type violation struct {
	// invariant is what should hold, as in docs/chaos.md.
	invariant string
	// where is the object or file that is concerned, what what is wrong with it.
	where, what string
}

// violations are an error.
type violations []violation

func (v *violations) add(invariant, where, format string, args ...any) {
	*v = append(*v, violation{invariant, where, fmt.Sprintf(format, args...)})
}

// Error implements error.
func (v violations) Error() string {
	const most = 20
	var lines []string
	for _, one := range v {
		lines = append(lines, fmt.Sprintf("  [%s] %s: %s", one.invariant, one.where, one.what))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("  and %d more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}

// check returns what is wrong with the world, which should be at rest.
func check(w *world) violations {
	return slices.Concat(reconciled(w), externalResources(w), order(w), hooks(w), roles(w), once(w), lost(w), orphans(w),
		untouched(w), untouchedRoles(w), dojos(w), ownerless(w), tenant(w), w.guest(), w.data.check())
}

// quiet says what the operators have done while there was nothing to do.
func quiet(writes []string, calls int) (wrong violations) {
	const invariant = "the operators come to rest"
	if calls > 0 {
		wrong.add(invariant, "Discord", "%d calls while nothing changed", calls)
	}
	for _, write := range writes {
		wrong.add(invariant, "Kubernetes", "%s", write)
	}
	return wrong
}

// id names an object.
func id(o client.Object) string { return kindOf(o) + " " + o.GetName() }
