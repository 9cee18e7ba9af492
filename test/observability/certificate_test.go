// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"jutsu.com/operators/test/environment"
)

func (s *stage) certificateIsVerified(t *testing.T) {
	for _, o := range environment.All {
		t.Run(o.Name, func(t *testing.T) {
			g := NewWithT(t)
			argument, serverName := certificateArguments(t, o)
			g.Expect(argument).To(HavePrefix("--metrics-cert-dir="))
			folder, authority := issue(t, serverName)
			p, err := s.StartOperator(t.Context(), o, "standby.log", "--zap-log-level=error", "--metrics-cert-dir="+folder)
			must(t, err)
			must(t, p.AwaitReady(t.Context()))

			verified := &tls.Config{RootCAs: authority, ServerName: serverName, MinVersion: tls.VersionTLS12}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: verified}}
			var code int
			var text string
			token := s.token(t, o)
			g.Eventually(func() (err error) { // retries, because metrics are served a moment after readiness
				code, text, err = p.ScrapeWith(t.Context(), client, token)
				return err
			}).WithTimeout(waitLimit).Should(Succeed())
			must(t, p.Stop(environment.Grace))
			g.Expect(code).To(Equal(http.StatusOK))
			g.Expect(text).To(ContainSubstring("leader_election_master_status"))
			g.Expect(text).NotTo(ContainSubstring("_condition{"),
				"a standby should report no objects")
		})
	}
}

// certificateArguments returns the argument --metrics-cert-dir, and Prometheus' server name for TLS.
func certificateArguments(t *testing.T, o environment.Operator) (argument, serverName string) {
	t.Helper()
	for _, object := range renderWith(t, o, "prometheus", "metrics-certificate") {
		switch object.GetKind() {
		case "Deployment":
			var d appsv1.Deployment
			decode(t, object.Object, &d)
			pod := d.Spec.Template.Spec
			arguments := pod.Containers[0].Args
			argument = arguments[len(arguments)-1]
			volume := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })].Name
			NewWithT(t).Expect(pod.Containers[0].VolumeMounts).To(ContainElement(And(
				HaveField("Name", volume), HaveField("MountPath", strings.TrimPrefix(argument, "--metrics-cert-dir=")))))
		case serviceMonitor.Kind:
			var as monitorSpec
			decode(t, object.Object, &as)
			serverName = as.Spec.Endpoints[0].TLSConfig.ServerName
		}
	}
	return argument, serverName
}

func issue(t *testing.T, name string) (folder string, authority *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	folder = t.TempDir()
	signed := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	must(t, os.WriteFile(filepath.Join(folder, "tls.crt"), signed, 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "tls.key"),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	authority = x509.NewCertPool()
	authority.AppendCertsFromPEM(signed)
	return folder, authority
}
