// SPDX-License-Identifier: Apache-2.0

// Package kubectl has the code that our kubectl plugins share: the connection with the user's
// kubeconfig, exit codes, readable errors, confirmation of changes, and JSON or YAML output.
package kubectl

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/kubectl/term"
)

// Options has the streams, the environment and the clock of a run.
type Options struct {
	genericiooptions.IOStreams
	Version string
	// Env returns an environment variable. NO_COLOR and TERM may disable colours.
	Env   func(string) string
	Clock clock.WithTicker
}

// Plugin is one run of a kubectl plugin. Create it with [New].
type Plugin struct {
	Options
	// Connect sets Client, Config, Namespace and Server.
	client.Client
	Config            *rest.Config
	Namespace, Server string

	Style term.Style
	// Missing says how to install a kind that the API server does not serve.
	Missing string
	// Roles returns the name of our ClusterRole that grants a right, or "". It may be nil.
	Roles func(verb, resource string) string

	name   string
	scheme *runtime.Scheme
	kinds  []Kind
	flags  *genericclioptions.ConfigFlags
}

// New returns one run of the plugin "kubectl NAME", which uses these kinds.
func New(name string, scheme *runtime.Scheme, kinds []Kind, o Options) *Plugin {
	return &Plugin{
		Options: o, Style: term.StyleOf(o.Out, o.Env), name: name, scheme: scheme, kinds: kinds,
		flags: genericclioptions.NewConfigFlags(true),
	}
}

// Now returns the time.
func (p *Plugin) Now() time.Time { return p.Clock.Now() }

// Print writes a formatted text to standard output.
func (p *Plugin) Print(format string, args ...any) { _, _ = fmt.Fprintf(p.Out, format, args...) }

// Note writes a formatted text to standard error.
func (p *Plugin) Note(format string, args ...any) { _, _ = fmt.Fprintf(p.ErrOut, format, args...) }

// Command returns the name of the plugin's command, such as "kubectl dojo".
func (p *Plugin) Command() string { return "kubectl " + p.name }

// FieldOwner is the field manager of the plugin's writes, and the name of its binary.
func (p *Plugin) FieldOwner() string { return "kubectl-" + p.name }

// Run runs a command line, prints its error, and returns its [ExitCode].
func (p *Plugin) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	printed := &spotter{}
	p.Out, p.ErrOut = io.MultiWriter(p.Out, printed), io.MultiWriter(p.ErrOut, printed)
	cmd, err := root.ExecuteContextC(ctx)
	if message := p.explain(ctx, err); message != "" {
		p.Note("%s: %s\n", p.Command(), message)
	}
	if flags := clusterFlags(cmd); flags != "" && printed.command {
		p.Note("Add %s to each command above. Otherwise, kubectl may use another cluster.\n", flags)
	}
	return ExitCode(err)
}

type spotter struct{ command bool }

func (s *spotter) Write(text []byte) (int, error) {
	s.command = s.command || printedCommand.Match(text)
	return len(text), nil
}

var printedCommand = regexp.MustCompile("kubectl [a-z-]+ ") // not the name before an error, "kubectl dojo: "

func clusterFlags(cmd *cobra.Command) string {
	var set []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"kubeconfig", "context", "cluster", "server", "user"}, f.Name) {
			set = append(set, fmt.Sprintf("--%s=%s", f.Name, quoted(f.Value.String())))
		}
	})
	return strings.Join(set, " ")
}

// quoted quotes a value for a shell if it has other characters than the usual ones of names and paths.
func quoted(value string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`).MatchString(value) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// Group is a group of commands below one heading of the help text.
type Group struct {
	ID, Title string
	Commands  []*cobra.Command
}

// Root returns the plugin's command with its groups of commands, help and version.
func (p *Plugin) Root(short, long string, groups ...Group) *cobra.Command {
	root := &cobra.Command{
		Use: p.FieldOwner(), Short: short, Long: long,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: p.Command()},
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return p.unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%w; see %s --help", err, cmd.CommandPath())
	})
	p.addConnection(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("namespace",
		func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return p.completed(cmd, KindOf(corev1.SchemeGroupVersion, "Namespace", "namespaces").Global(), typed)
		})
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.ID, Title: group.Title})
		for _, command := range group.Commands {
			command.GroupID = group.ID
			root.AddCommand(command)
		}
	}
	root.AddGroup(&cobra.Group{ID: "help", Title: "Get help:"})
	root.SetHelpCommandGroupID("help")
	root.SetCompletionCommandGroupID("help")
	root.AddCommand(p.newVersion())
	return root
}

func (p *Plugin) addConnection(flags *pflag.FlagSet) {
	p.flags.AddFlags(flags)
	shown := map[string]string{
		"kubeconfig": "the kubeconfig `file`", "context": "the `name` of a context of the kubeconfig",
		"namespace": "the `name` of the namespace; by default that of the context", "as": "the `user` to act as",
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

func (p *Plugin) unknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(name); len(like) > 0 {
		return Usage("there is no command %q; did you mean %s?", name, strings.Join(like, " or "))
	}
	return Usage("there is no command %q; see %s --help", name, p.Command())
}

func (p *Plugin) newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this plugin", Args: Exactly(0, ""), GroupID: "help",
		RunE: func(*cobra.Command, []string) error {
			p.Print("%s %s\n", p.FieldOwner(), p.Version)
			return nil
		},
	}
}

// Exactly accepts n arguments. missing describes the first missing argument.
func Exactly(n int, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return Usage("%s is missing: %s", missing, cmd.UseLine())
		case len(args) > n:
			return Usage("unexpected argument %q: %s", args[n], cmd.UseLine())
		}
		return nil
	}
}

// Connect creates a client from the user's kubeconfig. It sends no request.
func (p *Plugin) Connect() error {
	loader := p.flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return err
	}
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return err
	}
	config.UserAgent = p.FieldOwner() + "/" + p.Version
	config.QPS = -1                         // no limit: API Priority and Fairness protects the server
	config.ContentType = "application/json" // the only content type of custom resources
	config.WarningHandler = rest.NoWarnings{}
	p.Namespace, p.Server, p.Config = namespace, config.Host, config
	k8s, err := client.New(config, client.Options{Scheme: p.scheme, Mapper: Mapper(p.kinds)})
	if err != nil {
		return err
	}
	p.Client = client.WithFieldOwner(k8s, p.FieldOwner())
	return nil
}
