// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	exitWell  = 0
	exitError = 1
	exitUsage = 2
	exitIll   = 3
)

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage returns an error about wrong use. The plugin then exits with code 2.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

var (
	// ErrIll means that the output reports a problem. It is not printed, and the exit code is 3.
	ErrIll = errors.New("something is wrong")
	// ErrNotConfirmed means that the user has not confirmed a change.
	ErrNotConfirmed = errors.New("nothing was changed")
)

// ExitCode returns 0 for success, 1 for an error, 2 for wrong use, 3 for a problem in the output.
func ExitCode(err error) int {
	var wrong usageError
	switch {
	case err == nil:
		return exitWell
	case errors.Is(err, ErrIll):
		return exitIll
	case errors.As(err, &wrong):
		return exitUsage
	}
	return exitError
}

// forbidden matches a 403 by RBAC only (forbiddenMessage in apiserver's responsewriters/errors.go).
var forbidden = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"` +
	`(?: in the namespace "([^"]*)"| (at the cluster scope))?`)

func (p *Plugin) explain(ctx context.Context, err error) string {
	var wrongURL *url.Error
	switch {
	case err == nil || errors.Is(err, ErrIll):
		return ""
	case errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled):
		return "interrupted"
	case apierrors.IsUnauthorized(err):
		return fmt.Sprintf("%s does not accept your credentials. Log in again, or name another --context.", p.where())
	case apierrors.IsForbidden(err):
		return p.explainForbidden(err)
	case NotServed(err):
		return fmt.Sprintf("%s does not serve a kind that this command needs (%v). %s", p.where(), err, p.Missing)
	case clientcmd.IsEmptyConfig(err):
		return "there is no kubeconfig: set KUBECONFIG, or name a file with --kubeconfig."
	case errors.As(err, &wrongURL) && unreachable(err):
		return fmt.Sprintf("%s does not answer: %v", p.where(), wrongURL.Err)
	}
	return err.Error()
}

func (p *Plugin) where() string {
	if p.Server == "" {
		return "the API server"
	}
	return "the API server " + p.Server
}

func unreachable(err error) bool {
	var network net.Error
	var operation *net.OpError
	var lookup *net.DNSError
	return errors.As(err, &operation) || errors.As(err, &lookup) || errors.As(err, &network) && network.Timeout() ||
		errors.Is(err, context.DeadlineExceeded)
}

func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var wrongURL *url.Error
	return errors.As(err, &wrongURL) || unreachable(err)
}

func (p *Plugin) explainForbidden(err error) string {
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
	where := " in the namespace " + m[5]
	clusterScoped := func(k Kind) bool { return k.ClusterScoped && k.Resource() == resource }
	switch {
	case m[5] != "":
	case slices.ContainsFunc(p.kinds, clusterScoped):
		where = ""
	default:
		where = " in all namespaces; leave -A out, and name a namespace with -n"
	}
	text := fmt.Sprintf("you (%s) may not %s %s%s.", m[1], m[2], resource, where)
	if p.Roles == nil {
		return text
	}
	if role := p.Roles(m[2], resource); role != "" {
		text += " Ask an administrator for a RoleBinding to the ClusterRole " + role + "."
	}
	return text
}
