// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func kubectlDojo(ctx context.Context, namespace string, args ...string) (code int, output string) {
	GinkgoHelper()
	return kubectlDojoAs(ctx, cluster.Kubeconfig(), namespace, args...)
}

func kubectlDojoAs(ctx context.Context, kubeconfig, namespace string, args ...string) (code int, output string) {
	GinkgoHelper()
	if args[0] != "plan" {
		plans.end(ctx)
	}
	args = append([]string{"--namespace=" + namespace}, args...)
	command := exec.CommandContext(ctx, operator.Plugin("kubectl-dojo"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig) // with a flag, a note would follow each printed command
	text, err := command.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	GinkgoWriter.Printf("$ kubectl dojo %s\n%s", strings.Join(args[1:], " "), text)
	secrets.ExpectNotIn(string(text))
	if ended != nil {
		code = ended.ExitCode()
	}
	return code, string(text)
}

var _ = Describe("kubectl dojo", func() {
	var ns string
	var dojo *corev1api.Dojo
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	created := func(ctx context.Context, change ...func(*corev1api.Dojo)) {
		GinkgoHelper()
		dojo = newDojo(ns, "tokyo", append([]func(*corev1api.Dojo){withCluster(nightly)}, change...)...)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.LastBackup", Not(BeNil())))
		databasePassword(ctx, dojo)
	}
	dojoctl := func(ctx context.Context, args ...string) string {
		GinkgoHelper()
		code, output := kubectlDojo(ctx, ns, args...)
		Expect(code).To(BeZero(), output)
		return output
	}

	It("shows a running Dojo with list, status, tree and backups, "+
		"and causes no write by the operator", func(ctx context.Context) {
		created(ctx, replicas(2), func(dojo *corev1api.Dojo) { dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: true} })
		writes := operator.WritesAtRest(ns)
		Expect(dojoctl(ctx, "list")).To(MatchRegexp(`tokyo +Ready +Reconciled +2/2 +Postgres 18`))
		_, all := kubectlDojo(ctx, ns, "list", "-A")
		Expect(all).To(MatchRegexp(ns + ` +tokyo +Ready`))
		Expect(dojoctl(ctx, "list", "--broken")).To(ContainSubstring("for which you must act"))

		status := dojoctl(ctx, "status", "tokyo")
		Expect(status).To(HavePrefix("READY  Reconciled"))
		Expect(status).To(And(MatchRegexp(`Application +2/2 pods`), MatchRegexp(`Schema +completed`),
			MatchRegexp(`Database +tokyo-db +1/1 instances +Postgres 18\S*, 1Gi, primary tokyo-db-1`),
			MatchRegexp(`Login +dojo_\w+ +made`), MatchRegexp(`Backups .* restorable .* to now`),
			MatchRegexp(`Children +\d+, all in sync`)))
		var report map[string]any
		Expect(json.Unmarshal([]byte(dojoctl(ctx, "status", "tokyo", "-o", "json")), &report)).To(Succeed())
		Expect(report).To(And(HaveKeyWithValue("health", "Ready"), HaveKeyWithValue("broken", false)))

		tree := dojoctl(ctx, "tree", "tokyo")
		for _, line := range []string{
			`├─ Deployment tokyo +2/2`, `│  ├─ Pod tokyo-\S+ +Ready`, `├─ Service tokyo +\S+:80`, `├─ PodDisruptionBudget tokyo +in sync`,
			`├─ Secret tokyo-credentials +in sync`, `├─ Cluster tokyo-db +1/1 instances, primary tokyo-db-1`,
			`├─ ScheduledBackup tokyo-db +next`, `├─ Database tokyo-db +Applied`, `├─ DatabaseRole tokyo-db +Applied`,
			`├─ Secret tokyo-db +in sync`, `├─ ServiceMonitor tokyo +in sync`, `├─ PrometheusRule tokyo +in sync`,
			`└─ Job tokyo-schema-\w+ +completed`,
		} {
			Expect(tree).To(MatchRegexp(line))
		}
		Expect(tree).NotTo(ContainSubstring("MISSING"))
		Expect(dojoctl(ctx, "backups", "tokyo")).To(MatchRegexp(`tokyo-db-\d+ .* plugin +tokyo-db +ok`))
		Expect(operator.WritesAtRest(ns)).To(Equal(writes))
	})

	It("names the missing permissions of a user who may only read Dojos", func(ctx context.Context) {
		created(ctx)
		reader, err := cluster.UserKubeconfig("reader-of-" + ns)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "dojos-view"},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "reader-of-" + ns}},
		})).To(Succeed())
		Eventually(ctx, func(ctx context.Context) int {
			code, _ := kubectlDojoAs(ctx, reader, ns, "list")
			return code
		}).WithPolling(time.Second).Should(BeZero(), "the RoleBinding takes effect after a moment")
		code, status := kubectlDojoAs(ctx, reader, ns, "status", "tokyo")
		Expect(code).To(BeZero())
		Expect(status).To(And(HavePrefix("READY"), ContainSubstring("Not shown, because you may not read these resources: "),
			MatchRegexp(`Children +\d+, which you may not read`)))
		code, tree := kubectlDojoAs(ctx, reader, ns, "tree", "tokyo")
		Expect(code).To(BeZero())
		Expect(tree).To(MatchRegexp(`Secret tokyo-db +\? \(you may not get secrets\)`))
		code, output := kubectlDojoAs(ctx, reader, ns, "rotate", "tokyo", "--yes")
		Expect(code).To(Equal(1))
		Expect(output).To(Equal("kubectl dojo: you (reader-of-" + ns + ") may not patch dojos.core.jutsu.com in the namespace " +
			ns + ". Ask an administrator for a RoleBinding to the ClusterRole dojos-edit.\n"))
		code, output = kubectlDojoAs(ctx, reader, ns, "list", "-A")
		Expect(code).To(Equal(1))
		Expect(output).To(ContainSubstring("may not list dojos.core.jutsu.com in all namespaces; leave -A out, and name a namespace with -n."))
		code, output = kubectlDojoAs(ctx, reader, ns, "check")
		Expect(output).To(And(MatchRegexp(`ok +rights +list, status, tree`), MatchRegexp(`psql: you lack .*create pods/exec`),
			MatchRegexp(`ok +CloudNativePG +6 kinds`), ContainSubstring("barman-cloud")), "discovery needs no rights")
		Expect(code).To(BeElementOf(0, 3))
		code, output = kubectlDojo(ctx, ns, "status", "kyoto")
		Expect(code).To(Equal(1))
		Expect(output).To(ContainSubstring(`there is no Dojo "kyoto" in the namespace ` + ns + "; existing names: tokyo"))
	})

	It("rotates the password of a Dojo, suspends and resumes the Dojo, "+
		"and waits for the end of each change", func(ctx context.Context) {
		created(ctx)
		login := dojo.Status.Database.Login
		Expect(dojoctl(ctx, "rotate", "tokyo", "--yes", "--wait", "--timeout=1m")).To(HaveSuffix("Done.\n"))
		Expect(refetch(dojo)(ctx)).To(And(HaveField("Status.Database.Login", Not(Equal(login))),
			HaveField("Status.Database.FormerLogin", ""), HaveCondition("Ready", "True", "")))
		Expect(dojoctl(ctx, "suspend", "tokyo", "--yes", "--wait", "--timeout=1m")).To(HaveSuffix("Done.\n"))
		Expect(refetch(dojo)(ctx)).To(HaveCondition("Ready", "True", corev1api.ReasonSuspended))
		Expect(dojoctl(ctx, "status", "tokyo")).To(And(HavePrefix("SUSPENDED"), ContainSubstring("kubectl dojo resume tokyo -n "+ns)))
		Expect(dojoctl(ctx, "resume", "tokyo", "--yes", "--wait", "--timeout=1m")).To(HaveSuffix("Done.\n"))
		Expect(refetch(dojo)(ctx)).To(HaveCondition("Available", "True", ""))
	})

	It("backs up a Dojo, and restores it after the loss of its Cluster, to an earlier time, and as a new Dojo",
		func(ctx context.Context) {
			created(ctx)
			Expect(dojoctl(ctx, "backup", "tokyo", "--yes", "--wait", "--timeout=1m")).To(ContainSubstring(": completed\n"))
			the := ofKind("Cluster", ns, "tokyo-db")
			from := func(server, now string) OmegaMatcher {
				return And(haveField("spec.bootstrap.recovery.source", "origin"),
					haveField("spec.externalClusters", HaveExactElements(HaveKeyWithValue("plugin", HaveKeyWithValue("parameters",
						HaveKeyWithValue("serverName", server))))),
					haveField("spec.plugins", HaveExactElements(HaveKeyWithValue("parameters", HaveKeyWithValue("serverName", now)))))
			}
			By("deleting the Cluster")
			Expect(k8s.Delete(ctx, the)).To(Succeed())
			eventuallyDegraded(ctx, dojo, corev1api.ReasonDatabaseLost)
			code, status := kubectlDojo(ctx, ns, "status", "tokyo")
			Expect(code).To(Equal(3))
			Expect(status).To(And(HavePrefix("DEGRADED  DatabaseLost"), ContainSubstring("Safe:     kubectl dojo restore tokyo -n "+ns)))
			code, _ = kubectlDojo(ctx, ns, "list", "--broken")
			Expect(code).To(Equal(3))

			By("restoring the Cluster")
			plan := dojoctl(ctx, "restore", "tokyo", "--plan")
			Expect(plan).To(And(ContainSubstring("serverName tokyo-db)"), ContainSubstring("kind: Cluster\n")))
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(the), the)).NotTo(Succeed(), "a plan changes nothing")
			Expect(dojoctl(ctx, "restore", "tokyo", "--yes", "--timeout=1m")).To(HaveSuffix("Restored.\n"))
			Expect(refetch(the)(ctx)).To(from("tokyo-db", "tokyo-db-2"))
			eventuallyReady(ctx, dojo)
			Expect(*dojo.Spec.Replicas).To(Equal(int32(1)))
			Expect(dojo.Status.Database.Origin).To(ContainSubstring("tokyo-db in barman-cloud"))

			By("restoring the Cluster to an earlier time")
			Expect(dojoctl(ctx, "backup", "tokyo", "--yes", "--wait", "--timeout=1m")).To(ContainSubstring(": completed\n"))
			before := the.GetUID()
			Expect(dojoctl(ctx, "restore", "tokyo", "--to=1s", "--yes", "--confirm=tokyo", "--timeout=1m")).To(HaveSuffix("Restored.\n"))
			Expect(refetch(the)(ctx)).To(And(from("tokyo-db-2", "tokyo-db-3"),
				WithTransform((*unstructured.Unstructured).GetUID, Not(Equal(before)))))
			eventuallyReady(ctx, dojo)
			rest := operator.WritesAtRest(ns)
			Consistently(func() []string { return operator.Writes(ns)[len(rest):] }).Should(BeEmpty())

			By("restoring the Dojo as a new Dojo")
			Expect(dojoctl(ctx, "restore", "tokyo", "--as=past", "--yes", "--timeout=1m")).To(HaveSuffix("Restored.\n"))
			past := newDojo(ns, "past")
			Expect(refetch(past)(ctx)).To(And(HaveCondition("Ready", "True", ""),
				HaveField("Status.Database.Name", dojo.Status.Database.Name)))
			Expect(refetch(dojo)(ctx)).To(HaveCondition("Ready", "True", ""))
		})

	It("writes a report that contains no password and no Secret", func(ctx context.Context) {
		password := newPassword()
		created(ctx, func(dojo *corev1api.Dojo) {
			dojo.Spec.Env = append(dojo.Spec.Env, corev1.EnvVar{Name: "PASSWORD", Value: password})
			dojo.Annotations = map[string]string{"example.org/token": newPassword()}
		})
		file := filepath.Join(GinkgoT().TempDir(), "report.zip")
		Expect(dojoctl(ctx, "report", "tokyo", "--file", file)).To(HavePrefix("Wrote " + file))
		archive, err := zip.OpenReader(file)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = archive.Close() }()
		var names []string
		for _, f := range archive.File {
			r, err := f.Open()
			Expect(err).NotTo(HaveOccurred())
			text, err := io.ReadAll(r)
			Expect(err).NotTo(HaveOccurred())
			secrets.ExpectNotIn(f.Name + string(text))
			names = append(names, f.Name)
		}
		Expect(names).To(ContainElements("about.txt", "status.txt", "tree.txt", "events.txt", "check.txt", "backups.txt",
			"objects/"+ns+"/Dojo/tokyo.yaml", "objects/"+ns+"/Cluster/tokyo-db.yaml", "objects/"+ns+"/Deployment/tokyo.yaml"))
		Expect(names).NotTo(ContainElement(ContainSubstring("/Secret/")))
	})
})
