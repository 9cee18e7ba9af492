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
	"jutsu.com/operators/discord-operator/internal/discord/resource"
)

type document struct {
	head      []string
	namespace string
	entries   []entry
	copied    bool     // whether the objects create a copy of the guild
	leftOut   []string // descriptions of channels and roles without an object
}

type entry struct {
	kind, name string
	spec       any
	about      string // describes the resource on Discord
	notes      notes
	disabled   bool // whether the object is printed as a comment; a note has the reason
}

type note struct {
	text     string
	fragment string // YAML that follows the text in the comment
}

type notes []note

func (n *notes) add(format string, args ...any) {
	*n = append(*n, note{text: fmt.Sprintf(format, args...)})
}

func (n *notes) fragment(text, fragment string) { *n = append(*n, note{text, fragment}) }

func (n *notes) omit(field, why string) {
	n.add("%s is left out, so that it stays as it is: %s.", field, why)
}

func (n *notes) omitAll(omitted []resource.Omission) {
	for _, o := range omitted {
		n.omit(o.Path, o.Why)
	}
}

func (e *entry) disable(why string) {
	e.notes.disable(why)
	e.disabled = true
}

func (n *notes) disable(why string) { *n = append(notes{{text: "Commented out: " + why}}, *n...) }

type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              any `json:"spec"`
}

// yaml returns the document. A line break in a text from Discord does not end a comment.
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
			"These channels and roles have no manifest, and stay as they are:\n- "+
				strings.Join(d.leftOut, "\n- "))
	}
	return out.Bytes(), nil
}

// toYAML returns a value as YAML, or as JSON if the value contains line breaks that the versions of
// YAML treat differently.
func toYAML(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	var escaped bytes.Buffer
	for _, r := range string(text) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			_, _ = fmt.Fprintf(&escaped, `\u%04x`, r) // only strings contain these characters
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

const width = 120 // maximum line length of comments in the document

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
	effect := "adopt what exists"
	if d.copied {
		effect = "create a copy"
	}
	fmt.Fprintf(&out, "Objects that %s: %s %d, %s %d, %s %d, %s %d; commented out: %d; left out: %d.\n",
		effect, kindServer, counts[kindServer], kindRole, counts[kindRole], kindGroup, counts[kindGroup], kindChannel,
		counts[kindChannel], disabled, len(d.leftOut))
	for _, e := range d.entries {
		for _, n := range e.notes {
			fmt.Fprintf(&out, "%s %s: %s\n", e.kind, e.name, n.text)
		}
	}
	for _, one := range d.leftOut {
		fmt.Fprintf(&out, "left out: %s\n", one)
	}
	out.WriteString("Next: the head of the output says how to apply the manifests.\n")
	return out.String()
}
