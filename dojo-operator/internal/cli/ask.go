// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"jutsu.com/operators/dojo-operator/internal/cli/term"
)

// asking are the flags of a command that writes.
type asking struct {
	yes  bool
	name string
	in   *bufio.Reader
}

// bind adds --yes.
func (a *asking) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask")
}

// bindName adds --confirm, for a change that loses data.
func (a *asking) bindName(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.name, "confirm", "", "`NAME` of the Dojo, instead of typing it when asked")
}

// confirm asks whether to apply what was shown. The answer yaml prints the text first.
func (a *asking) confirm(ctx context.Context, c *cli, text string) error {
	if a.yes {
		return nil
	}
	for {
		c.print("Apply? [y/N/yaml] ")
		answer, err := a.read(ctx, c)
		if err != nil {
			return err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return nil
		case "yaml":
			c.print("%s", text)
		default:
			return errNotConfirmed
		}
	}
}

// asker returns confirm for a run.
func (a *asking) asker(ctx context.Context, c *cli) func(text string) error {
	return func(text string) error { return a.confirm(ctx, c, text) }
}

// confirmName asks for the name of the Dojo whose data would be lost.
func (a *asking) confirmName(ctx context.Context, c *cli, name, question string) error {
	answer := a.name
	if answer == "" {
		c.print("%s Type the name of the Dojo to go on: ", question)
		var err error
		if answer, err = a.read(ctx, c); err != nil {
			return err
		}
	}
	if answer != name {
		return fmt.Errorf("%q is not %s: %w", answer, name, errNotConfirmed)
	}
	return nil
}

// read reads a line. An input that ends answers nothing.
func (a *asking) read(ctx context.Context, c *cli) (string, error) {
	if a.in == nil {
		a.in = bufio.NewReader(c.In)
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() { // a terminal cannot be read with a deadline
		text, err := a.in.ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-lines:
		if got.err != nil && (!errors.Is(got.err, io.EOF) || got.text == "") {
			c.print("\n")
			return "", fmt.Errorf("no answer: %w; --yes does not ask", errNotConfirmed)
		}
		if !term.IsTerminal(c.In) { // where nobody has pressed Return
			c.print("\n")
		}
		return strings.TrimSpace(got.text), nil
	}
}
