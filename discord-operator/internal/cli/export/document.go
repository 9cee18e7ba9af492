// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// document is the printed file.
type document struct {
	head      []string
	namespace string
	entries   []entry
	// copied says that the objects create what they have.
	copied bool
	// leftOut are the channels and roles on Discord that no kind represents, or that the bot may not view
	// or manage.
	leftOut []string
}

// entry is one object.
type entry struct {
	kind, name string
	spec       any
	// about describes it as it is on Discord.
	about string
	notes notes
	// disabled objects are printed as a comment; a note has the reason.
	disabled bool
}

// note is what a user should know about an object.
type note struct {
	text string
	// fragment is YAML that belongs to the text.
	fragment string
}

// notes are those of one object, in the order of its fields.
type notes []note

func (n *notes) add(format string, args ...any) {
	*n = append(*n, note{text: fmt.Sprintf(format, args...)})
}

func (n *notes) fragment(text, fragment string) { *n = append(*n, note{text, fragment}) }

// leave notes why a field is left out, so that it stays unmanaged.
func (n *notes) leave(field, why string) {
	n.add("%s is left out, so that it stays as it is: %s.", field, why)
}

// keep sets a field of the spec to the value on Discord, or notes why it is left out.
func keep[T any](n *notes, field string, to *T, value T, valid bool, why string) {
	if valid {
		*to = value
	} else {
		n.leave(field, why)
	}
}

// disable notes, before all other notes, why the object is commented out.
func (n *notes) disable(why string) { *n = append(notes{{text: "Commented out: " + why}}, *n...) }

// manifest is an object without a status.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              any `json:"spec"`
}

// yaml is the document as a file for kubectl. Text from Discord is quoted in comments, so that it
// cannot end one.
func (d *document) yaml() ([]byte, error) {
	var out bytes.Buffer
	comment(&out, strings.Join(d.head, "\n"))
	for _, e := range d.entries {
		text, err := toYAML(manifest{
			metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: e.kind},
			metav1.ObjectMeta{Name: e.name, Namespace: d.namespace}, e.spec,
		})
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", e.kind, e.name, err)
		}
		out.WriteString("---\n")
		comment(&out, e.about)
		for _, n := range e.notes {
			comment(&out, wrapped("NOTE: "+n.text))
			comment(&out, indented(n.fragment))
		}
		if e.disabled {
			comment(&out, string(text))
			continue
		}
		out.Write(text)
	}
	if d.leftOut != nil {
		out.WriteString("---\n")
		comment(&out,
			"Left out, because no kind represents them or the bot may not manage them; they stay as they are:\n- "+
				strings.Join(d.leftOut, "\n- "))
	}
	return out.Bytes(), nil
}

// toYAML writes a value. YAML, unlike JSON, requires some characters to be escaped, and its
// versions disagree on which others are line breaks: a value with one of the latter is written as
// JSON, which is YAML too.
func toYAML(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	var escaped bytes.Buffer
	for _, r := range string(text) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			_, _ = fmt.Fprintf(&escaped, `\u%04x`, r) // they stand in strings only
			continue
		}
		escaped.WriteRune(r)
	}
	written, err := yaml.JSONToYAML(escaped.Bytes())
	if err != nil || !bytes.ContainsAny(written, "\u0085\u2028\u2029") {
		return written, err
	}
	return append(escaped.Bytes(), '\n'), nil
}

// width is that of the comments in the file.
const width = 120

// wrapped breaks a text into lines between words.
func wrapped(text string) string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last < 0 || length(lines[last])+1+length(word) > width {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return strings.Join(lines, "\n")
}

// comment writes lines as comments.
func comment(out *bytes.Buffer, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
}

func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
}

// summary reports what was printed, and the notes.
func (d *document) summary() string {
	var out strings.Builder
	counts, disabled := map[string]int{}, 0
	for _, e := range d.entries {
		if e.disabled {
			disabled++
			continue
		}
		counts[e.kind]++
	}
	does := "adopt what exists"
	if d.copied {
		does = "create what they have"
	}
	fmt.Fprintf(&out, "Objects that %s: %s %d, %s %d, %s %d, %s %d; commented out: %d; left out: %d.\n",
		does, kindServer, counts[kindServer], kindRole, counts[kindRole], kindGroup, counts[kindGroup], kindChannel,
		counts[kindChannel], disabled, len(d.leftOut))
	for _, e := range d.entries {
		for _, n := range e.notes {
			fmt.Fprintf(&out, "%s %s: %s\n", e.kind, e.name, n.text)
		}
	}
	for _, one := range d.leftOut {
		fmt.Fprintf(&out, "left out: %s\n", one)
	}
	out.WriteString("Next: the head of the output says how to apply it.\n")
	return out.String()
}
