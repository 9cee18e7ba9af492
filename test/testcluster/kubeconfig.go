// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Nothing renews the tokens of ServiceAccounts, and a playground (`make run`) may run for days.
const tokenLifetime int64 = 7 * 24 * 60 * 60

// Config returns a copy of the admin's client configuration: system:masters, without a rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// Kubeconfig returns the path of the admin's kubeconfig. Only its owner can read the file.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "admin.kubeconfig") }

// ServiceAccountConfig returns a client configuration for a ServiceAccount, valid for a week.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(tokenLifetime)}}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token for ServiceAccount %s/%s: %w", namespace, name, err)
	}
	config := rest.AnonymousClientConfig(c.admin)
	config.BearerToken = token.Status.Token
	return config, nil
}

// ServiceAccountKubeconfig writes a ServiceAccountConfig to a kubeconfig file.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (path string, err error) {
	config, err := c.ServiceAccountConfig(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.dir, fmt.Sprintf("%s.%s.kubeconfig", namespace, name))
	return path, writeKubeconfig(path, namespace, config)
}

// UserKubeconfig writes a kubeconfig file for a user in groups, for programs of a real node.
func (c *Cluster) UserKubeconfig(user string, groups ...string) (path string, err error) {
	config, err := c.clientConfig(c.ca, user, groups...)
	if err != nil {
		return "", err
	}
	if c.options.Address != "" {
		config.Host = "https://" + net.JoinHostPort(c.options.Address, c.apiPort.String())
	}
	path = filepath.Join(c.dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
	return path, writeKubeconfig(path, metav1.NamespaceDefault, config)
}

func writeKubeconfig(path, namespace string, config *rest.Config) error {
	const name = "testcluster"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: namespace}},
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   config.Host,
			CertificateAuthorityData: config.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData,
			ClientKeyData:         config.KeyData,
			Token:                 config.BearerToken,
		}},
	}, path)
}
