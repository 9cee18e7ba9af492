// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type violation struct {
	// For the invariants, see docs/contribute/chaos.md.
	invariant string
	// where is an object or a file.
	where, what string
}

type violations []violation

func (v *violations) add(invariant, where, format string, args ...any) {
	*v = append(*v, violation{invariant, where, fmt.Sprintf(format, args...)})
}

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

func check(w *world) violations {
	return slices.Concat(checkReconciled(w), checkResources(w), checkOrder(w), checkWebhooks(w), checkRoles(w),
		checkDuplicates(w), checkLosses(w), checkOrphans(w), checkUserChannels(w), checkUserRoles(w), checkDojos(w),
		checkReleases(w), checkOwners(w), checkAbuser(w), w.checkGuest(), w.data.check())
}

func checkIdle(writes []string, calls int) (wrong violations) {
	const invariant = "the operators come to rest"
	if calls > 0 {
		wrong.add(invariant, "Discord", "%d calls while nothing changed", calls)
	}
	for _, write := range writes {
		wrong.add(invariant, "Kubernetes", "%s", write)
	}
	return wrong
}

func id(o client.Object) string { return kindOf(o) + " " + o.GetName() }
