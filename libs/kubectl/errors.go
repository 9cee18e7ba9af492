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

// Usage returns an error about wrong use of the command line. The plugin then exits with code 2.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

var (
	// ErrIll is the error of a command whose output reports a problem. The plugin exits with code 3
	// and does not print ErrIll.
	ErrIll = errors.New("something is wrong")
	// ErrNotConfirmed is the error of a command whose change the user has not confirmed.
	ErrNotConfirmed = errors.New("nothing was changed")
)

// ExitCode returns the exit code of an error.
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

// forbidden matches a 403 by the API server's RBAC (forbiddenMessage in
// pkg/endpoints/handlers/responsewriters/errors.go of k8s.io/apiserver). The 403s of quotas and
// admission policies have other texts.
var forbidden = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"` +
	`(?: in the namespace "([^"]*)"| (at the cluster scope))?`)

// explain translates an error for the user. It returns "" if the output already reports the error.
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

// transient reports whether the API server did not answer, or refused a request because it is
// overloaded or has failed.
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
	where := "in the namespace " + m[5]
	if m[5] == "" {
		where = "in all namespaces; name a namespace with -n"
	}
	text := fmt.Sprintf("you (%s) may not %s %s %s.", m[1], m[2], resource, where)
	if p.Roles == nil {
		return text
	}
	if role := p.Roles(m[2], resource); role != "" {
		text += " Ask an administrator for a RoleBinding to the ClusterRole " + role + "."
	}
	return text
}
