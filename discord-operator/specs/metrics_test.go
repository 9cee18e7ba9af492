// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

var scraper string

func scrape(ctx context.Context) string {
	GinkgoHelper()
	if scraper == "" {
		reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prometheus"}}
		create(ctx, reader, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
				Name: "discord-operator-metrics-reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: reader.Name}},
		})
		config, err := cluster.ServiceAccountConfig(ctx, "default", reader.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitMetricsReader(ctx, reader.Namespace, reader.Name)).To(Succeed())
		scraper = config.BearerToken
	}
	code, text := operator.Scrape(ctx, scraper)
	Expect(code).To(Equal(http.StatusOK))
	secrets.ExpectNotIn(text)
	return text
}

func driftCount(ctx context.Context, kind, field string) int {
	GinkgoHelper()
	series := fmt.Sprintf(`(?m)^discord_drift_corrections_total\{field=%q,kind=%q,namespace="[^"]+"\} (\d+)$`, field, kind)
	sum := 0
	for _, found := range regexp.MustCompile(series).FindAllStringSubmatch(scrape(ctx), -1) {
		n, err := strconv.Atoi(found[1])
		Expect(err).NotTo(HaveOccurred())
		sum += n
	}
	return sum
}

func webhookURL(ctx context.Context, c *v1alpha1.DiscordChannel) string {
	GinkgoHelper()
	var secret corev1.Secret
	err := k8s.Get(ctx, nameOf(c.Namespace, c.WebhookSecretName()), &secret)
	if apierrors.IsNotFound(err) {
		return ""
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(metav1.IsControlledBy(&secret, c)).To(BeTrue(), "the channel should control the Secret")
	return string(secret.Data[v1alpha1.WebhookSecretKey])
}

func reconciles(ctx context.Context) int {
	GinkgoHelper()
	sum := 0
	series := regexp.MustCompile(`(?m)^controller_runtime_reconcile_total\{.*\} (\d+)$`)
	for _, found := range series.FindAllStringSubmatch(scrape(ctx), -1) {
		n, err := strconv.Atoi(found[1])
		Expect(err).NotTo(HaveOccurred())
		sum += n
	}
	return sum
}
