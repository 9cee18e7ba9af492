// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/validation"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/schema"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/manager"
)

// ErrDiffers is the error of a plan with changes. Its exit code is 3.
var ErrDiffers = fmt.Errorf("an apply would change something on Discord: %w", kubectl.ErrIll)

type options struct {
	cli.Connection

	path, before string
	namespace    string
	output       string
}

// Run is `kubectl discord plan`. It prints the changes of an apply on stdout, and notes on stderr.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	err := run(ctx, args, stdout, stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return fmt.Errorf("plan: %w", err)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stdout)
	if err != nil {
		return kubectl.Usage("%w", err)
	}
	after, before, err := o.load(ctx)
	if err != nil {
		return err
	}
	connection, err := o.Options()
	if err != nil {
		return err
	}
	l, err := read(ctx, connection, o.ServerID, webhooks(after) || before != nil && webhooks(before))
	if err != nil {
		return cli.Explained(err)
	}
	report, err := compute(ctx, l, o.ServerID, after, before)
	if err != nil {
		return cli.Explained(err)
	}
	text := report.text()
	if o.output == "json" {
		if text, err = report.json(); err != nil {
			return err
		}
	}
	for _, note := range report.notes {
		if _, err := fmt.Fprintln(stderr, note); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return report.err()
}

func (o *options) load(ctx context.Context) (after, before *objects, err error) {
	kinds, err := schema.Load()
	if err != nil {
		return nil, nil, err
	}
	manifests, err := readAll(o.path, os.Stdin, o.namespace)
	if err != nil {
		return nil, nil, err
	}
	var former []manifest
	if o.before != "" {
		if former, err = readAll(o.before, os.Stdin, o.namespace); err != nil {
			return nil, nil, err
		}
		if before, err = admit(ctx, kinds, former, nil); err != nil {
			return nil, nil, fmt.Errorf("the manifests of --before: %w", err)
		}
	}
	if after, err = admit(ctx, kinds, manifests, former); err != nil {
		return nil, nil, fmt.Errorf("the API server would refuse these manifests: %w", err)
	}
	if len(after.all) == 0 && before == nil {
		return nil, nil, fmt.Errorf("%s has no manifest of the API group %s", o.path, v1alpha1.GroupVersion.Group)
	}
	return after, before, nil
}

func parseFlags(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("kubectl discord plan", flag.ContinueOnError)
	flags.StringVar(&o.path, "f", "",
		"`file` with manifests, or a folder with such files (.yaml, .yml, .json), or - for standard input; required")
	flags.StringVar(&o.before, "before", "",
		"`file` or folder with the manifests that are applied now, such as those of the target branch of a pull request, "+
			"or the output of kubectl get discord -A -o yaml. The plan then shows a deletion for each object that is no "+
			"longer in -f, and a creation for each new object. Without --before, the plan shows no deletion, and assumes that "+
			"each object was already applied: if a resource on Discord has the object's spec.name, the plan shows no "+
			"creation. But for an object that was never applied and has no spec.adopt, the operator creates a new resource")
	o.Bind(flags)
	flags.StringVar(&o.namespace, "namespace", "default", "`namespace` of manifests without metadata.namespace")
	flags.StringVar(&o.output, "o", "text", "`format` of the output, text or json")
	const introduction = "kubectl discord plan prints what an apply of manifests would do on a Discord server. It " +
		"changes nothing,\nneither on Discord nor in a cluster, and needs no cluster.\n\n" +
		"Exit code: 0 if nothing would change, 3 if something would change, 2 for wrong use,\n" +
		"1 for an error, or if an object would not match its spec after the apply.\n\n" +
		"Usage: kubectl discord plan -f DIR --server-id=ID --token-file=FILE [flags]\n\n"
	if err := manager.Parse(flags, introduction, args, out); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) validate() error {
	if o.path == "" {
		return errors.New("-f is missing: a file or folder with manifests; see --help")
	}
	if o.path == "-" && o.before == "-" {
		return errors.New("-f and --before cannot both be standard input")
	}
	if problems := validation.IsDNS1123Label(o.namespace); problems != nil {
		return fmt.Errorf("--namespace is %q: %s", o.namespace, problems[0])
	}
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o is %q, it must be text or json", o.output)
	}
	return o.Validate()
}
