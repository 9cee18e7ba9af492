// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"jutsu.com/operators/libs/kubectl/term"
)

// Asking has the flags and the input of a command that asks the user to confirm its change.
type Asking struct {
	// Yes (--yes) skips the question of Confirm, but not of ConfirmName.
	Yes  bool
	name string
	in   *bufio.Reader
}

// Bind adds --yes.
func (a *Asking) Bind(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.Yes, "yes", "y", false, "do not ask \"Apply?\"")
}

// BindName adds --confirm. object describes the object in the help text, such as "the Dojo".
func (a *Asking) BindName(cmd *cobra.Command, object string) {
	cmd.Flags().StringVar(&a.name, "confirm", "", "`NAME` of "+object+"; the command then does not ask you to type it")
}

// Confirm asks whether to apply a change. After the answer "yaml", it prints text and asks again.
func (a *Asking) Confirm(ctx context.Context, p *Plugin, text string) error {
	if a.Yes {
		return nil
	}
	for {
		p.Print("Apply? [y/N/yaml] ")
		answer, err := a.read(ctx, p, "--yes")
		if err != nil {
			return err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return nil
		case "yaml":
			p.Print("%s", text)
		default:
			return ErrNotConfirmed
		}
	}
}

// ConfirmName returns an error unless --confirm, or else the answer to question, equals name.
func (a *Asking) ConfirmName(ctx context.Context, p *Plugin, object, name, question string) error {
	answer := a.name
	if answer == "" {
		p.Print("%s Type the name of %s to go on: ", question, object)
		var err error
		if answer, err = a.read(ctx, p, "--confirm "+name); err != nil {
			return err
		}
	}
	if answer != name {
		return fmt.Errorf("the name is %q, not %q: %w", name, answer, ErrNotConfirmed)
	}
	return nil
}

func (a *Asking) read(ctx context.Context, p *Plugin, flag string) (string, error) {
	if a.in == nil {
		a.in = bufio.NewReader(p.In)
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() { // a read of a terminal has no deadline; the goroutine lets ctx end the wait
		text, err := a.in.ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-lines:
		if got.err != nil && (!errors.Is(got.err, io.EOF) || got.text == "") {
			p.Print("\n")
			return "", fmt.Errorf("no answer: %w; answer in advance with %s", ErrNotConfirmed, flag)
		}
		if !term.IsTerminal(p.In) { // a terminal echoes the user's line break; other inputs do not
			p.Print("\n")
		}
		return strings.TrimSpace(got.text), nil
	}
}
