// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The data of a Dojo", Label("database"), Ordered, Serial, func() {
	const ijichi = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: ijichi}
spec:
  accountId: Kiyotaka Ijichi
  title: Assistants
  deletionProtection: true
  postgres: {cluster: {storage: {size: 1Gi}}, reclaimPolicy: Delete}
`
	var w *world
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "guards")
		w.apply(ctx, ijichi)
		w.awaitReady(ctx, "ijichi")
		Expect(w.addWeapon(ctx, "ijichi", "1", "Inverted Spear")).To(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("stays when a user tries to delete a Dojo that has deletionProtection", func(ctx SpecContext) {
		_, err := w.kubectl(ctx, "delete", "dojo", "ijichi", "--wait=false")
		Expect(err).To(MatchError(ContainSubstring("deletionProtection")), "the error should name the field")
		Consistently(ctx, w.dojo).WithArguments("ijichi").Should(HaveField("DeletionTimestamp", BeNil()))
		Expect(w.weapons(ctx, "ijichi")).To(HaveLen(1))
	}, SpecTimeout(5*time.Minute))

	rotate := func(ctx context.Context) {
		GinkgoHelper()
		d, err := w.dojo(ctx, "ijichi")
		Expect(err).NotTo(HaveOccurred())
		login := d.Status.Database.Login
		w.runDocumented(ctx, "rotate.md", "Rotate the password of a database", "ijichi")
		Eventually(ctx, w.dojo).WithArguments("ijichi").WithTimeout(eventually).Should(HaveField("Status.Database",
			HaveValue(And(HaveField("Login", Not(Equal(login))), HaveField("FormerLogin", BeEmpty())))))
		w.awaitReady(ctx, "ijichi")
	}

	It("is lost with its Cluster, which is created again only after a user accepts the loss", func(ctx SpecContext) {
		rotate(ctx) // a rotation creates a second login, which the Dojo now uses
		Expect(w.kubectl(ctx, "delete", "cluster", "ijichi-db")).To(ContainSubstring("deleted"))
		Eventually(ctx, w.condition).WithArguments("ijichi", "DatabaseReady").WithTimeout(eventually).
			Should(HavePrefix("False " + corev1api.ReasonDatabaseLost))
		Expect(w.condition(ctx, "ijichi", "Available")).To(HavePrefix("False " + corev1api.ReasonDatabaseUnreachable))
		Consistently(ctx, func(ctx context.Context) error {
			_, err := w.postgres(ctx, "Cluster", "ijichi-db")
			return err
		}).WithTimeout(20 * time.Second).ShouldNot(Succeed())
		message, err := w.condition(ctx, "ijichi", "DatabaseReady")
		Expect(err).NotTo(HaveOccurred())
		command := regexp.MustCompile("`kubectl ([^`]*)`").FindStringSubmatch(message)
		Expect(command).To(HaveLen(2), message)
		began := time.Now()
		Expect(w.kubectl(ctx, strings.Fields(command[1])...)).Error().NotTo(HaveOccurred())
		w.awaitReady(ctx, "ijichi")
		measured("an accepted loss: Ready with an empty database after %s", time.Since(began))
		Eventually(ctx, w.weapons).WithArguments("ijichi").Should(BeEmpty())
	}, SpecTimeout(15*time.Minute))

	It("can be read and written by both database logins after the Cluster is created again", func(ctx SpecContext) {
		Expect(w.addWeapon(ctx, "ijichi", "2", "Split Soul Katana")).To(Succeed())
		for _, id := range []string{"3", "4"} {
			began := time.Now()
			rotate(ctx)
			Expect(w.addWeapon(ctx, "ijichi", id, "Playful Cloud")).To(Succeed())
			measured("a rotation in a Cluster that was made again: %s", time.Since(began))
		}
		Expect(w.weapons(ctx, "ijichi")).To(HaveLen(3))
		d, err := w.dojo(ctx, "ijichi")
		Expect(err).NotTo(HaveOccurred())
		Expect(w.psql(ctx, "ijichi", "ijichi-db-rw", "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")).
			To(Equal(d.Status.Database.Name), "the owner should own all tables")
	}, SpecTimeout(10*time.Minute))

	It("is deleted with its namespace, even if the Dojo has deletionProtection", func(ctx SpecContext) {
		other := newWorld(ctx, "protected")
		other.apply(ctx, strings.Replace(ijichi, "reclaimPolicy: Delete", "reclaimPolicy: Retain", 1))
		other.awaitReady(ctx, "ijichi")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}}
		Expect(k8s.Delete(ctx, namespace)).To(Succeed())
		Eventually(ctx, gone).WithArguments(namespace).WithTimeout(eventually).Should(Succeed())
	}, SpecTimeout(10*time.Minute))

	AfterAll(func(ctx SpecContext) {
		w.patch(ctx, "ijichi", `{"spec":{"deletionProtection":false}}`)
		w.deleteDojo(ctx, "ijichi")
	}, NodeTimeout(5*time.Minute))
})

// kubectl returns an error with the output, but without the arguments after the first, because an
// argument may contain a password.
func (w *world) kubectl(ctx context.Context, args ...string) (string, error) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, kubectlFolder(ctx)+"/kubectl", args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig())
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[0], err, output)
	}
	return strings.TrimSpace(string(output)), nil
}
