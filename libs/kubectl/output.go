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

// Bind adds the flag -o to a command.
func (o *Output) Bind(cmd *cobra.Command) {
	cmd.Flags().VarP(o, "output", "o", "print json or yaml, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Write prints a value as JSON or YAML, or the text if the flag is not set.
func (o *Output) Write(p *Plugin, value any, text func() string) (err error) {
	var out []byte
	switch *o {
	case "json":
		out, err = json.MarshalIndent(value, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yaml.Marshal(value)
	default:
		out = []byte(text())
	}
	if err == nil {
		_, err = p.Out.Write(out)
	}
	return err
}
