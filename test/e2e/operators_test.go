// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/tls"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
)

var _ = Describe("A deployed operator", func() {
	for _, o := range environment.All {
		It("("+o.Name+") runs under pod security restricted, and serves its metrics only to clients that may read them",
			func(ctx SpecContext) {
				namespace := &corev1.Namespace{}
				Expect(k8s.Get(ctx, client.ObjectKey{Name: o.Namespace}, namespace)).To(Succeed())
				Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))

				Expect(metricsStatus(ctx, o, "")).To(Equal(http.StatusUnauthorized))
				Expect(metricsStatus(ctx, o, tokenOf(ctx, o.Namespace, "default"))).To(Equal(http.StatusForbidden))
				Expect(metricsStatus(ctx, o, tokenOf(ctx, o.Namespace, o.Name+"-metrics-reader"))).To(Equal(http.StatusOK))
			}, SpecTimeout(soon))
	}
})

func metricsStatus(ctx context.Context, o environment.Operator, token string) (int, error) {
	address, stop, err := forward(ctx, o.Namespace, 8443)
	if err != nil {
		return 0, err
	}
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	unverified := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the operator's certificate is self-signed
	}}
	response, err := unverified.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	request, err := typed.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return request.Status.Token
}
