// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"jutsu.com/operators/libs/conditions"
)

type row struct {
	// name is kind/name, or kind/namespace/name if the namespace is not default.
	name string
	// count is "ready/desired" replicas.
	count string
	// current is true if the conditions are about the current generation.
	current bool
	// The conditions are "True", "False" or, if they do not exist, "".
	ready, available, progressing, degraded string
	// why is the reason and the message of the condition Ready.
	why string

	discord discordColumns
}

func rowOf(o *unstructured.Unstructured) row {
	r := row{name: nameOf(o)}
	var object struct {
		Status struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			ReadyStatus        string             `json:"readyStatus"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &object); err != nil {
		r.why = err.Error()
		return r
	}
	status := func(kind string) string {
		c := meta.FindStatusCondition(object.Status.Conditions, kind)
		if c == nil {
			return ""
		}
		return string(c.Status)
	}
	r.count = object.Status.ReadyStatus
	r.current = object.Status.ObservedGeneration == o.GetGeneration()
	r.ready, r.available = status(conditions.TypeReady), status(conditions.TypeAvailable)
	r.progressing, r.degraded = status(conditions.TypeProgressing), status(conditions.TypeDegraded)
	r.why = "the operator has not reconciled it yet"
	if c := meta.FindStatusCondition(object.Status.Conditions, conditions.TypeReady); c != nil {
		r.why = c.Reason + ": " + c.Message
	}
	r.discord = discordColumnsOf(o)
	return r
}

func nameOf(o *unstructured.Unstructured) string {
	kind := strings.ToLower(o.GetKind())
	if ns := o.GetNamespace(); ns != "" && ns != metav1.NamespaceDefault {
		return kind + "/" + ns + "/" + o.GetName()
	}
	return kind + "/" + o.GetName()
}

func allReady(rows []row) bool {
	for _, r := range rows {
		if !r.isReady() {
			return false
		}
	}
	return len(rows) > 0
}

func (r row) isReady() bool { return r.current && r.ready == "True" }

// complaints returns a line for each object that is not Ready. If unseen is not nil, complaints
// returns only the text of this error.
func complaints(rows []row, unseen error) []string {
	if unseen != nil {
		return []string{unseen.Error()}
	}
	if len(rows) == 0 {
		return []string{"there are no objects"}
	}
	var lines []string
	for _, r := range rows {
		if !r.isReady() {
			lines = append(lines, r.line())
		}
	}
	return lines
}

func (r row) line() string {
	state := "Ready=" + orNone(r.ready)
	switch {
	case r.degraded == "True":
		state += " Degraded=True"
	case r.progressing == "True":
		state += " Progressing=True"
	}
	if r.count != "" {
		state += " " + r.count
	}
	if r.ready != "" && !r.current {
		state += " (of an older generation)"
	}
	return fmt.Sprintf("%s %s %s", r.name, state, r.why)
}

// Dojos and Discord kinds have different columns, so renderTable draws two blocks.
func renderTable(rows []row, width int, now time.Time) []string {
	blocks := []block{{head: "OBJECT\tREPLICAS\tREADY\tAVAILABLE\tPROGRESSING\tDEGRADED\tWHY"}, {head: discordHead}}
	for _, r := range rows {
		if r.discord.is {
			blocks[1].lines = append(blocks[1].lines, r.onDiscord(now))
			continue
		}
		blocks[0].lines = append(blocks[0].lines, strings.Join([]string{r.name, orNone(r.count),
			orNone(r.ready), orNone(r.available), orNone(r.progressing), orNone(r.degraded), oneLine(r.why)}, "\t"))
	}
	var lines []string
	for _, b := range blocks {
		if b.lines == nil {
			continue
		}
		if lines != nil {
			lines = append(lines, "")
		}
		lines = append(lines, b.render()...)
	}
	for i, line := range lines {
		lines[i] = clip(line, width)
	}
	return lines
}

type block struct {
	head  string
	lines []string
}

func (b block) render() []string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, b.head)
	for _, line := range b.lines {
		_, _ = fmt.Fprintln(w, line)
	}
	_ = w.Flush() // a write to a strings.Builder never fails
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

func changedLines(before, after []row) []string {
	was := map[string]row{}
	for _, r := range before {
		was[r.name] = r
	}
	var lines []string
	for _, r := range after {
		if old, ok := was[r.name]; !ok || old != r {
			lines = append(lines, oneLine(r.line()))
		}
		delete(was, r.name)
	}
	for _, r := range before {
		if _, gone := was[r.name]; gone {
			lines = append(lines, r.name+" is deleted")
		}
	}
	return lines
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:max(0, width-1)]) + "…"
	}
	return line
}
