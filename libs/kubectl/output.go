// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Output is the flag -o: json, yaml, or empty for text.
type Output string

var _ pflag.Value = (*Output)(nil)

// String implements pflag.Value.
func (o *Output) String() string { return string(*o) }

// Type implements pflag.Value.
func (o *Output) Type() string { return "format" }

var formats = []string{"json", "yaml"}

// Set implements pflag.Value.
func (o *Output) Set(text string) error {
	if !slices.Contains(formats, text) {
		return Usage("must be %s", strings.Join(formats, " or "))
	}
	*o = Output(text)
	return nil
}

// Bind adds the flag to a command.
func (o *Output) Bind(cmd *cobra.Command) {
	cmd.Flags().VarP(o, "output", "o", "print json or yaml, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Write prints a value in the format that was asked for, and reports whether one was.
func (o *Output) Write(p *Plugin, value any) (bool, error) {
	var text []byte
	var err error
	switch *o {
	case "json":
		text, err = json.MarshalIndent(value, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(value)
	default:
		return false, nil
	}
	if err == nil {
		_, err = p.Out.Write(text)
	}
	return true, err
}
