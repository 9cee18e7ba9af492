// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/manifests"
)

const (
	pluginNamespace = "cnpg-system" // CloudNativePG looks for plugins here
	pluginService   = "barman-cloud"
)

// InstallBackups installs CloudNativePG's plugin for object stores, without cert-manager. It
// returns the image of an object store (versitygw).
func (s *Stack) InstallBackups(ctx context.Context) (store string, err error) {
	built, err := s.pushBackups(ctx)
	if err != nil {
		return "", err
	}
	path, err := testcluster.BarmanPluginManifest(ctx)
	if err != nil {
		return "", err
	}
	objects, err := manifests.Read(path)
	if err != nil {
		return "", err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().Group == "cert-manager.io"
	})
	setImage(objects, built.plugin)
	for _, o := range objects {
		if o.GetKind() == "Secret" { // the Secret names the sidecar image for pods of a Cluster
			o.Object["stringData"] = map[string]any{"SIDECAR_IMAGE": built.sidecar}
			delete(o.Object, "data")
		}
	}
	if err := s.createCertificates(ctx); err != nil {
		return "", err
	}
	if err := manifests.Apply(ctx, s.admin, objects); err != nil {
		return "", err
	}
	return built.store, s.ready(ctx)
}

type backupImages struct{ plugin, sidecar, store string }

func (s *Stack) pushBackups(ctx context.Context) (b backupImages, err error) {
	paths, err := binaries.Locate(ctx, s.progress, binaries.BarmanPlugin, binaries.ObjectStore)
	if err != nil {
		return b, err
	}
	barman, err := images.BarmanArchive(ctx, s.progress)
	if err != nil {
		return b, err
	}
	manager := map[string]string{"/manager": paths[binaries.BarmanPlugin]}
	for into, image := range map[*string]images.Image{
		&b.plugin: {Name: "jutsu-e2e/plugin-barman-cloud:e2e", Files: manager, Entrypoint: []string{"/manager"}},
		&b.sidecar: {Name: "jutsu-e2e/plugin-barman-cloud-sidecar:e2e", Files: manager, Archive: barman, User: "26",
			Entrypoint: []string{"/manager"}},
		&b.store: {Name: "jutsu-e2e/versitygw:e2e", Files: map[string]string{"/versitygw": paths[binaries.ObjectStore]},
			Entrypoint: []string{"/versitygw"}},
	} {
		if *into, err = image.Push(s.Registry); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (s *Stack) createCertificates(ctx context.Context) error {
	certificate, key, err := selfSigned(pluginService)
	if err != nil {
		return err
	}
	for _, name := range []string{"barman-cloud-server-tls", "barman-cloud-client-tls"} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: pluginNamespace, Name: name}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
		}
		if err := client.IgnoreAlreadyExists(s.admin.Create(ctx, secret)); err != nil {
			return err
		}
	}
	return nil
}

func selfSigned(name string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, err
}
