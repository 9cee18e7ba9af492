// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
)

type target struct {
	context string
	server  string
	named   bool // reports whether the command line names the context
	// raw is the kubeconfig with only this context, and with embedded files.
	raw    *clientcmdapi.Config
	config *rest.Config
	client client.Client // as the user of the context
}

func findTarget(name string) (*target, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	loaded, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	t := &target{context: loaded.CurrentContext, named: name != ""}
	if t.named {
		t.context, loaded.CurrentContext = name, name
	}
	if t.context == "" {
		return nil, errors.New("kubectl has no current context. Start a cluster (docs/learn/quickstart.md), " +
			"choose one with kubectl config use-context NAME, or set KUBECONFIG")
	}
	if loaded.Contexts[t.context] == nil {
		return nil, fmt.Errorf("there is no kubectl context %q; kubectl config get-contexts lists them", t.context)
	}
	if err := errors.Join(clientcmdapi.MinifyConfig(loaded), clientcmdapi.FlattenConfig(loaded)); err != nil {
		return nil, fmt.Errorf("read the context %s: %w", t.context, err)
	}
	t.raw = loaded
	if t.config, err = clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig(); err != nil {
		return nil, fmt.Errorf("read the context %s: %w", t.context, err)
	}
	t.server, t.config.QPS = t.config.Host, -1
	scheme, err := environment.Scheme()
	if err != nil {
		return nil, err
	}
	t.client, err = client.New(t.config, client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, fmt.Errorf("the cluster of the context %s cannot be reached: %w", t.context, err)
	}
	return t, nil
}

// confirm shows the cluster, and asks for a confirmation unless it is local or the user named it.
func (t *target) confirm(o *options, in *os.File, out io.Writer) error {
	clients, err := discovery.NewDiscoveryClientForConfig(t.config)
	if err != nil {
		return err
	}
	version, err := clients.ServerVersion()
	if err != nil {
		return fmt.Errorf("the cluster of the context %s (%s) does not answer: %w", t.context, t.server, err)
	}
	say(out, "Context %s: %s, Kubernetes %s", t.context, t.server, version.GitVersion)
	return t.confirmed(o, in, out)
}

func (t *target) confirmed(o *options, in *os.File, out io.Writer) error {
	switch {
	case t.named || isLocal(t.context, t.server):
		return nil
	case term.IsTerminal(int(in.Fd())):
		return ask(in, out, t.context)
	}
	return fmt.Errorf("the context %s may not be a cluster of this machine. To confirm the context, name it: "+
		"make %s CONTEXT=%s", t.context, makeTarget(o.command), t.context)
}

func makeTarget(command string) string {
	if command == "run" {
		return "dev"
	}
	return command
}

func ask(in io.Reader, out io.Writer, context string) error {
	_, _ = fmt.Fprintf(out, "This may not be a cluster of this machine. Go on with %s? [y/N] ", context)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	answer = strings.TrimSpace(answer)
	if answer != context && !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}

func isLocal(context, server string) bool {
	for _, prefix := range []string{"kind-", "k3d-"} {
		if strings.HasPrefix(context, prefix) {
			return true
		}
	}
	if slices.Contains([]string{"minikube", "docker-desktop", "rancher-desktop"}, context) {
		return true
	}
	parsed, err := url.Parse(server)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// kubeconfigAs writes a kubeconfig that impersonates user. Only the file's owner may read it.
func (t *target) kubeconfigAs(user, path string) error {
	c := t.raw.DeepCopy()
	as := c.AuthInfos[c.Contexts[c.CurrentContext].AuthInfo]
	if as == nil {
		return fmt.Errorf("the context %s names no user of the kubeconfig; choose another context", t.context)
	}
	if as.Impersonate != "" {
		return fmt.Errorf("the user of the context %s already impersonates %s; choose a context whose user "+
			"impersonates nobody", t.context, as.Impersonate)
	}
	as.Impersonate = user
	return clientcmd.WriteToFile(*c, path)
}
