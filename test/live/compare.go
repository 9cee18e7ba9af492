// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	present = "present"
	absent  = "(absent)"
	// notMade replaces a status if only one of the two runs made the call.
	notMade = "(not made)"
)

type difference struct {
	call, field, expected, real string
	// where lists the steps in which the difference occurs, each with the object of the call.
	where []string
}

func compare(expected, actual recording) []difference {
	all := maps.Clone(expected)
	maps.Copy(all, actual)
	found := map[string]*difference{}
	for k := range all {
		for field, values := range differing(expected[k], actual[k]) {
			d := difference{call: k.call, field: field, expected: values[0], real: values[1]}
			id := strings.Join([]string{d.call, d.field, d.expected, d.real}, "\x00")
			if found[id] == nil {
				found[id] = &d
			}
			where := k.step
			if k.subject != "" {
				where += " (" + k.subject + ")"
			}
			if !slices.Contains(found[id].where, where) {
				found[id].where = append(found[id].where, where)
			}
		}
	}
	var differences []difference
	for _, d := range found {
		slices.Sort(d.where)
		differences = append(differences, *d)
	}
	slices.SortFunc(differences, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.field, b.field), cmp.Compare(a.expected, b.expected),
			cmp.Compare(a.real, b.real))
	})
	return differences
}

// If the classes of the statuses differ, such as 2xx and 4xx, differing compares only status, code
// and message, because other fields cannot be equal.
func differing(expected, actual fields) map[string][2]string {
	differences := map[string][2]string{}
	all := maps.Clone(expected)
	if all == nil {
		all = fields{}
	}
	maps.Copy(all, actual)
	sameOutcome := outcome(expected) == outcome(actual)
	for field := range all {
		explained := !sameOutcome && field != statusField && field != "code" && field != "message"
		if explained || partOfMissing(all, expected, actual, field) {
			continue
		}
		was, is := valueOf(expected, field), valueOf(actual, field)
		if was != is {
			differences[field] = [2]string{was, is}
		}
	}
	return differences
}

func partOfMissing(all, expected, actual fields, field string) bool {
	for parent := range all {
		if all[parent] == present && strings.HasPrefix(field, parent+".") &&
			valueOf(expected, parent) != valueOf(actual, parent) {
			return true
		}
	}
	return false
}

func valueOf(f fields, field string) string {
	switch value, ok := f[field]; {
	case ok:
		return value
	case f == nil && field == statusField:
		return notMade
	}
	return absent
}

// outcome returns the first digit of the status, or notMade.
func outcome(f fields) string {
	if f == nil {
		return notMade
	}
	return f[statusField][:min(1, len(f[statusField]))]
}

const explanation = `Each row is a field of an answer. A value in <> stands for an id, a time or a secret. A word
such as string is the kind of a value that is private or differs with every call. ` + absent + ` means that the answer
has no such field.
`

// Equal runs give equal tables.
func table(target string, differences []difference) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# What differs between discordtest and %s?\n\n", target)
	if len(differences) == 0 {
		out.WriteString("Nothing: all compared fields are equal.\n")
		return out.String()
	}
	out.WriteString(explanation)
	out.WriteString("\n| call | field of the answer | discordtest | real | step |\n|---|---|---|---|---|\n")
	for _, d := range differences {
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", cell(d.call), cell(d.field), cell(d.expected), cell(d.real),
			strings.ReplaceAll(strings.Join(d.where, ", "), "|", `\|`))
	}
	return out.String()
}

func cell(value string) string {
	value = strings.NewReplacer("\n", " ", "|", `\|`, "`", "'").Replace(value)
	if value == "" {
		return "(empty)"
	}
	return "`" + value + "`"
}
