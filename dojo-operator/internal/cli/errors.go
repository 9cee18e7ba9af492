// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
)

// The exit codes.
const (
	exitWell  = 0
	exitError = 1
	exitUsage = 2
	exitIll   = 3
)

// usageError reports wrong use of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

var (
	// errIll ends a command that has answered, and whose answer says that something is wrong.
	errIll = errors.New("something is wrong")
	// errNotConfirmed ends a command whose change nobody has confirmed.
	errNotConfirmed = errors.New("nothing was changed")
)

func exitCode(err error) int {
	var wrong usageError
	switch {
	case err == nil:
		return exitWell
	case errors.Is(err, errIll):
		return exitIll
	case errors.As(err, &wrong):
		return exitUsage
	}
	return exitError
}

// forbidden matches a refusal by the API server's authorization (forbiddenMessage in
// pkg/endpoints/handlers/responsewriters/errors.go of k8s.io/apiserver). Quotas and policies use
// other words.
var forbidden = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"` +
	`(?: in the namespace "([^"]*)"| (at the cluster scope))?`)

// explain translates an error for the user; empty if the output has said it.
func (c *cli) explain(ctx context.Context, err error) string {
	var wrongURL *url.Error
	switch {
	case err == nil || errors.Is(err, errIll):
		return ""
	case errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled):
		return "interrupted"
	case apierrors.IsUnauthorized(err):
		return fmt.Sprintf("%s does not accept your credentials. Log in again, or name another --context.", c.where())
	case apierrors.IsForbidden(err):
		return explainForbidden(err)
	case world.NotServed(err):
		return fmt.Sprintf("%s does not have a kind that this needs (%v). See kubectl dojo check.", c.where(), err)
	case clientcmd.IsEmptyConfig(err):
		return "there is no kubeconfig: set KUBECONFIG, or name a file with --kubeconfig."
	case errors.As(err, &wrongURL) && unreachable(err):
		return fmt.Sprintf("%s does not answer: %v", c.where(), wrongURL.Err)
	}
	return err.Error()
}

// where names the API server.
func (c *cli) where() string {
	if c.server == "" {
		return "the API server"
	}
	return "the API server " + c.server
}

func unreachable(err error) bool {
	var network net.Error
	var operation *net.OpError
	var lookup *net.DNSError
	return errors.As(err, &operation) || errors.As(err, &lookup) || errors.As(err, &network) && network.Timeout() ||
		errors.Is(err, context.DeadlineExceeded)
}

// seeStatus names the command that shows more about a Dojo.
func seeStatus(d *corev1api.Dojo) string {
	return fmt.Sprintf("see kubectl dojo status %s -n %s", d.Name, d.Namespace)
}

func explainForbidden(err error) string {
	m := forbidden.FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error()
	}
	resource := m[3]
	if m[4] != "" {
		resource = m[3] + "." + m[4]
		if name, sub, found := strings.Cut(m[3], "/"); found {
			resource = name + "." + m[4] + "/" + sub
		}
	}
	where := "in the namespace " + m[5]
	if m[5] == "" {
		where = "in all namespaces; name one with -n"
	}
	text := fmt.Sprintf("you (%s) may not %s %s %s.", m[1], m[2], resource, where)
	if strings.HasSuffix(resource, kinds.Dojo.Resource()) {
		role := "dojos-edit"
		if m[2] == "get" || m[2] == "list" {
			role = "dojos-view"
		}
		text += " The ClusterRole " + role + " has it: ask for a RoleBinding."
	}
	return text
}
