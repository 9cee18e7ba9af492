// SPDX-License-Identifier: Apache-2.0

// Command project tags Go modules, serves them as a module proxy, and moves the project to another
// repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"syscall"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
	"jutsu.com/operators/tools/project/modules"
	"jutsu.com/operators/tools/project/relocate"
)

const usage = `Usage: project tags     --version v1.2.3 [--operator OPERATOR]
       project proxy    --folder FOLDER
       project relocate --repo HOST/OWNER/NAME [--registry HOST/OWNER/NAME]
       project registry`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "project:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("a command is needed\n%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	version := flags.String("version", "", "`version` of the operators")
	operator := flags.String("operator", "", "the `operator` to release; by default both")
	folder := flags.String("folder", "", "`folder` for the module proxy")
	repo := flags.String("repo", "", "the new `address` of the repository, which is also the path of the modules")
	registry := flags.String("registry", "", "the new `registry` of images; by default that of GitHub or GitLab")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	here, err := location.Read(root)
	if err != nil {
		return err
	}
	c := git.Clone{Root: root}
	switch args[0] {
	case "tags":
		operators := modules.Operators
		if *operator != "" {
			operators = []string{*operator}
		}
		return tag(ctx, out, c, here, operators, *version)
	case "proxy":
		n, err := modules.Proxy(ctx, c, here, *folder)
		if err == nil {
			_, err = fmt.Fprintf(out, "Wrote %d versions of modules. Next, run go with GOPROXY=file://%s,https://proxy.golang.org GONOSUMDB=%s/*\n", n, *folder, here.Repo)
		}
		return err
	case "relocate":
		return move(ctx, out, c, *repo, *registry)
	case "registry":
		_, err := fmt.Fprintln(out, here.Registry)
		return err
	default:
		return fmt.Errorf("there is no command %q\n%s", args[0], usage)
	}
}

func tag(ctx context.Context, out io.Writer, c git.Clone, here location.Location, operators []string, version string) error {
	changed, err := c.Run(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("tags are made of a commit: first commit these changes:\n%s", changed)
	}
	r, err := modules.Plan(ctx, c, here, operators, version)
	if err != nil {
		return err
	}
	if err := r.Create(ctx, c); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The commit %s, on no branch, requires the shared modules at %s. Its tags:\n  %s\nNext:\n%s",
		r.Commit, r.Shared, strings.Join(r.Tags, "\n  "), pushes(r.Tags))
	return err
}

// pushes returns commands that push each operator's tag alone, because GitHub starts no workflow if
// more than three tags are pushed at once.
func pushes(tags []string) string {
	var libraries, commands []string
	for _, tag := range tags {
		if slices.Contains(modules.Operators, path.Dir(tag)) {
			commands = append(commands, "  git push origin "+tag+"\n")
		} else {
			libraries = append(libraries, tag)
		}
	}
	if len(libraries) > 0 {
		commands = append([]string{"  git push --atomic origin " + strings.Join(libraries, " ") + "\n"}, commands...)
	}
	return strings.Join(commands, "")
}

func move(ctx context.Context, out io.Writer, c git.Clone, repo, registry string) error {
	to, err := location.New(repo, registry)
	if err != nil {
		return err
	}
	changed, err := relocate.Move(ctx, c, to)
	if err == nil {
		_, err = fmt.Fprintf(out, "%d files changed: the project is %s, its images are in %s\n", len(changed), to.Repo, to.Registry)
	}
	return err
}
