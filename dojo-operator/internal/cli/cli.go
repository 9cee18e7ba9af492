// SPDX-License-Identifier: Apache-2.0

// Package cli has the commands of kubectl dojo. They are thin: they read the world of a Dojo
// (world), let pure functions render it (view) or plan a change of it (recovery), show the change,
// ask, and write.
package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"jutsu.com/operators/dojo-operator/internal/cli/term"
)

// Options connects a run to its process.
type Options struct {
	genericiooptions.IOStreams
	// Version is that of the binary.
	Version string
	// Env reads the environment, which may turn colours off.
	Env func(string) string
	// Clock says what time it is.
	Clock clock.WithTicker
}

// Run runs a command line, prints its error, and returns the exit code: 0 well, 1 an error, 2 wrong
// use, 3 answered and something is wrong.
func Run(ctx context.Context, args []string, o Options) int {
	c := &cli{Options: o, flags: newFlags(), style: term.StyleOf(o.Out, o.Env)}
	root := c.newRoot()
	root.SetArgs(args)
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.ErrOut)
	err := root.ExecuteContext(ctx)
	if message := c.explain(ctx, err); message != "" {
		_, _ = fmt.Fprintln(o.ErrOut, "kubectl dojo: "+message)
	}
	return exitCode(err)
}

func newFlags() *genericclioptions.ConfigFlags { return genericclioptions.NewConfigFlags(true) }

// cli holds the state of one run.
type cli struct {
	Options
	flags *genericclioptions.ConfigFlags
	style term.Style
	// namespace and server are known once a command has connected.
	namespace, server string
}

func (c *cli) now() time.Time { return c.Clock.Now() }

func (c *cli) print(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, format, args...)
}

// note prints something beside the answer.
func (c *cli) note(format string, args ...any) {
	_, _ = fmt.Fprintf(c.ErrOut, format, args...)
}

const introduction = `kubectl dojo shows Dojos and what is wrong with them, and does what the pages of dojo-operator
say. Every change is shown before it is made. It has your rights and no others, and says which is missing.

Exit codes: 0 well, 1 an error, 2 wrong use, 3 answered, and something is wrong.`

func (c *cli) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use: "kubectl-dojo", Short: "Dojos, and what is wrong with them", Long: introduction,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl dojo"},
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w; see %s --help", err, cmd.CommandPath())
	})
	c.addConnection(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("namespace", c.namespaceNames)
	root.AddGroup(
		&cobra.Group{ID: "see", Title: "See:"}, &cobra.Group{ID: "data", Title: "Data:"},
		&cobra.Group{ID: "do", Title: "Do:"}, &cobra.Group{ID: "help", Title: "Get help:"})
	for group, commands := range map[string][]*cobra.Command{
		"see":  {c.newList(), c.newStatus(), c.newTree(), c.newLogs(), c.newCheck(), c.newReport(), c.newPlan()},
		"data": {c.newBackups(), c.newBackup(), c.newRestore(), c.newUpgrade(), c.newAcceptLoss()},
		"do":   {c.newRotate(), c.newSuspend(), c.newResume(), c.newOpen(), c.newPsql(), c.newTestAlert()},
	} {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	root.SetHelpCommandGroupID("help")
	root.SetCompletionCommandGroupID("help")
	root.AddCommand(c.newVersion())
	return root
}

// addConnection adds the flags of kubectl that say which cluster is meant and as whom. Of those all
// but a few are hidden: they work, and help fits a screen.
func (c *cli) addConnection(flags *pflag.FlagSet) {
	c.flags.AddFlags(flags)
	shown := map[string]string{
		"kubeconfig": "the kubeconfig `file`", "context": "the `name` of a context of the kubeconfig",
		"namespace": "the `name` of the namespace", "as": "the `user` to act as",
		"request-timeout": "the `duration` that a request may take, such as 10s; 0 is no limit",
	}
	flags.VisitAll(func(f *pflag.Flag) {
		text, ok := shown[f.Name]
		f.Hidden = !ok
		if ok {
			f.Usage = text
		}
	})
}

func unknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(name); len(like) > 0 {
		return usage("there is no command %q; did you mean %s?", name, strings.Join(like, " or "))
	}
	return usage("there is no command %q; see kubectl dojo --help", name)
}

func (c *cli) newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this plugin", Args: exactly(0), GroupID: "help",
		RunE: func(*cobra.Command, []string) error {
			c.print("kubectl-dojo %s\n", c.Version)
			return nil
		},
	}
}

// exactly accepts so many arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return usage("the name of a Dojo is missing: %s", cmd.UseLine())
		case len(args) > n:
			return usage("%q is too much: %s", args[n], cmd.UseLine())
		}
		return nil
	}
}
