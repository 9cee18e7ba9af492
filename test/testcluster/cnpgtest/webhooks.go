// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/process"
)

// The manager watches only this empty namespace, so that only its webhooks have an effect.
const nowhere = "cnpg-system"

// Webhooks are CloudNativePG's own admission webhooks.
type Webhooks struct {
	folder string
	reaper *process.Reaper
}

// StartWebhooks runs CloudNativePG's manager for its admission webhooks only, and registers them.
// CloudNativePG's kinds must be installed. DatabaseRole has no webhook.
func StartWebhooks(ctx context.Context, config *rest.Config, progress io.Writer) (*Webhooks, error) {
	paths, err := binaries.Locate(ctx, progress, binaries.CloudNativePG)
	if err != nil {
		return nil, err
	}
	w := &Webhooks{}
	if err := w.start(ctx, config, paths[binaries.CloudNativePG]); err != nil {
		return nil, errors.Join(fmt.Errorf("cnpgtest: webhooks: %w", err), w.Stop())
	}
	return w, nil
}

func (w *Webhooks) start(ctx context.Context, config *rest.Config, binary string) (err error) {
	if w.folder, err = os.MkdirTemp("", "cnpg-webhooks-"); err != nil {
		return err
	}
	if w.reaper, err = process.NewReaper(w.folder); err != nil {
		return err
	}
	authority, err := w.prepare(config)
	if err != nil {
		return err
	}
	address, err := testcluster.FreeAddress(ctx)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	manager := exec.Command(binary, "controller", "--webhook-port="+port, "--metrics-bind-address=0")
	manager.Dir = w.folder
	manager.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(w.folder, "kubeconfig"), "WEBHOOK_CERT_DIR="+w.folder,
		"WATCH_NAMESPACE="+nowhere, "OPERATOR_NAMESPACE="+nowhere, "OPERATOR_IMAGE_NAME=none")
	p, err := process.Start("CloudNativePG", filepath.Join(w.folder, "log"), manager, w.reaper)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = p.Await(ctx, func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
	if err != nil {
		return err
	}
	return register(ctx, config, address, authority)
}

func (w *Webhooks) prepare(config *rest.Config) (authority []byte, err error) {
	authority, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	kubeconfig := clientcmdapi.Config{
		CurrentContext: "test",
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test", Namespace: nowhere}},
		Clusters: map[string]*clientcmdapi.Cluster{
			"test": {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			"test": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken},
		},
	}
	return authority, errors.Join(
		os.WriteFile(filepath.Join(w.folder, "apiserver.crt"), authority, 0o600),
		os.WriteFile(filepath.Join(w.folder, "apiserver.key"), key, 0o600),
		clientcmd.WriteToFile(kubeconfig, filepath.Join(w.folder, "kubeconfig")))
}

func register(ctx context.Context, config *rest.Config, address string, authority []byte) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	manifest, err := testcluster.CloudNativePGManifest(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	point := func(to *admissionv1.WebhookClientConfig) {
		url := "https://" + address + *to.Service.Path
		*to = admissionv1.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var o client.Object
		switch {
		case bytes.Contains(document, []byte("\nkind: MutatingWebhookConfiguration\n")):
			mutating := &admissionv1.MutatingWebhookConfiguration{}
			if err := yaml.Unmarshal(document, mutating); err != nil {
				return err
			}
			for i := range mutating.Webhooks {
				point(&mutating.Webhooks[i].ClientConfig)
			}
			o = mutating
		case bytes.Contains(document, []byte("\nkind: ValidatingWebhookConfiguration\n")):
			validating := &admissionv1.ValidatingWebhookConfiguration{}
			if err := yaml.Unmarshal(document, validating); err != nil {
				return err
			}
			for i := range validating.Webhooks {
				point(&validating.Webhooks[i].ClientConfig)
			}
			o = validating
		default:
			continue
		}
		if err := c.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the manager. The API server then refuses creates and updates of the kinds with a
// webhook, except updates of the status.
func (w *Webhooks) Stop() error {
	if w.reaper == nil {
		return os.RemoveAll(w.folder)
	}
	return w.reaper.Clean()
}
