// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// output is the flag -o.
type output string

var _ pflag.Value = (*output)(nil)

func (o *output) String() string { return string(*o) }

func (o *output) Type() string { return "format" }

var formats = []string{"json", "yaml"}

// Set implements pflag.Value.
func (o *output) Set(text string) error {
	if !slices.Contains(formats, text) {
		return usage("must be %s", strings.Join(formats, " or "))
	}
	*o = output(text)
	return nil
}

// bind adds the flag to a command.
func (o *output) bind(cmd *cobra.Command) {
	cmd.Flags().VarP(o, "output", "o", "print json or yaml, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// write prints a value in the format that was asked for, and otherwise its text.
func (o *output) write(c *cli, value any, text func() string) (err error) {
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
		_, err = c.Out.Write(out)
	}
	return err
}
