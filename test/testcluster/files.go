// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
)

func (c *Cluster) writeFiles() error {
	ca, err := newAuthority()
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	c.ca = ca
	serving, err := ca.serving(c.options.Address)
	if err != nil {
		return err
	}
	signing, err := newSigningKey()
	if err != nil {
		return fmt.Errorf("key for ServiceAccount tokens: %w", err)
	}
	toKubelets, err := ca.client(kubeletClient, "system:masters")
	if err != nil {
		return err
	}
	if err := os.Mkdir(c.file("logs"), 0o700); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		CertificateAuthority: ca.pem(), "serving.crt": serving.cert, "serving.key": serving.key,
		"service-account.key": signing,
		"kubelet-client.crt":  toKubelets.cert, "kubelet-client.key": toKubelets.key,
		"audit-policy.yaml": auditPolicy, "scheduler.yaml": schedulerConfig, "kwok.yaml": kwokConfig,
	} {
		if err := os.WriteFile(c.file(name), content, 0o600); err != nil {
			return err
		}
	}
	if c.admin, err = c.clientConfig(ca, "testcluster-admin", "system:masters"); err != nil {
		return err
	}
	if err := writeKubeconfig(c.Kubeconfig(), "default", c.admin); err != nil {
		return err
	}
	for name, identity := range identities {
		config, err := c.clientConfig(ca, identity.user, identity.groups...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(c.file(name+".kubeconfig"), "default", config); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) clientConfig(ca *authority, user string, groups ...string) (*rest.Config, error) {
	pair, err := ca.client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            c.apiPort.url(),
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem(), CertData: pair.cert, KeyData: pair.key},
		QPS:             -1,
	}, nil
}
