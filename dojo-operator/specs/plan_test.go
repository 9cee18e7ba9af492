// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/auditlog"
)

type planReport struct{ Dojos []plannedDojo }

type plannedDojo struct {
	Name         string
	Stages       []plannedStage
	Consequences []struct{ Effect, Object, Message string }
	Problems     []string
	Unknown      []string
	Ready        bool
}

type plannedStage struct {
	Changes []struct{ Action, Kind, Name string }
	Writes  []plannedWrite
}

type plannedWrite struct {
	Verb, Resource, Name string
	NameUnknown          bool
}

func (w plannedWrite) String() string { return w.Verb + " " + w.Resource + "/" + w.Name }

func withoutHash(name string) string { return name[:strings.LastIndex(name, "-")+1] + "*" }

// unplanned maps each write that plans do not contain to the reason. At present, plans contain all
// writes.
var unplanned = map[string]string{}

func (r planReport) effects() (all []string) {
	for _, dojo := range r.Dojos {
		for _, c := range dojo.Consequences {
			all = append(all, c.Effect)
		}
	}
	return all
}

func (r planReport) writes() (all []plannedWrite) {
	for _, dojo := range r.Dojos {
		for _, stage := range dojo.Stages {
			all = append(all, stage.Writes...)
		}
	}
	return all
}

func operatorArgs() string { return "--operator-args=" + strings.Join(operator.Flags, " ") }

func manifestOf(dojo *corev1api.Dojo) string {
	GinkgoHelper()
	annotations := maps.Clone(dojo.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	text, err := json.Marshal(map[string]any{
		"apiVersion": corev1api.GroupVersion.String(), "kind": "Dojo", "spec": dojo.Spec,
		"metadata": map[string]any{"name": dojo.Name, "namespace": dojo.Namespace, "annotations": annotations},
	})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func planFile(ctx context.Context, dojo *corev1api.Dojo, code int) (report planReport) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "dojo.json")
	Expect(os.WriteFile(file, []byte(manifestOf(dojo)), 0o600)).To(Succeed())
	got, output := kubectlDojo(ctx, dojo.Namespace, "plan", "-f", file, "-o", "json", operatorArgs())
	Expect(got).To(Equal(code), output)
	Expect(json.NewDecoder(strings.NewReader(output)).Decode(&report)).To(Succeed(), output)
	return report
}

func applied(ctx context.Context, dojo *corev1api.Dojo) {
	GinkgoHelper()
	metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1.LastAppliedConfigAnnotation, manifestOf(dojo))
	if dojo.UID == "" {
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		return
	}
	spec, annotations := dojo.Spec, dojo.Annotations
	edit(ctx, dojo, func(d *corev1api.Dojo) { d.Spec, d.Annotations = spec, annotations })
}

// planned plans and applies a change, and expects that the operator sends the planned writes.
func planned(ctx context.Context, dojo *corev1api.Dojo, change ...func(*corev1api.Dojo)) planReport {
	GinkgoHelper()
	before := len(operator.WritesAtRest(dojo.Namespace))
	next := dojo.DeepCopy()
	for _, f := range change {
		f(next)
	}
	report := planFile(ctx, next, 3)
	Expect(report.Dojos).To(HaveExactElements(HaveField("Ready", true)))
	// On a busy machine, the operator may write the status of an earlier change only now.
	Expect(slices.DeleteFunc(operator.WritesAtRest(dojo.Namespace)[before:], isStatus)).To(BeEmpty(),
		"a plan should not make the operator write")
	applied(ctx, next)
	*dojo = *next
	expectPlanned(ctx, report, dojo, before)
	return report
}

// expectPlanned expects that the operator sends the planned writes. It ignores repeated writes, and
// writes of the status.
func expectPlanned(ctx context.Context, report planReport, dojo *corev1api.Dojo, before int) {
	GinkgoHelper()
	hashed := report.hashed()
	want := report.distinct(hashed)
	distinct := func(all []string) []string { return distinctWrites(all, hashed) }
	written := func() []string { return distinct(operator.Writes(dojo.Namespace)[before:]) }
	Eventually(ctx, written).WithTimeout(untilReady).Should(Equal(want), "the sent writes should equal the planned writes")
	eventuallyReady(ctx, dojo)
	Expect(distinct(operator.WritesAtRest(dojo.Namespace)[before:])).To(Equal(want),
		"the sent writes should equal the planned writes")
}

func isStatus(write string) bool {
	return strings.HasPrefix(write, "patch dojos/") && strings.HasSuffix(write, "/status")
}

type pluginRequest struct {
	Verb, RequestURI string
	ObjectRef        struct{ Namespace, Resource string }
}

func requestsOfPlugin() (all []pluginRequest) {
	GinkgoHelper()
	log, err := auditlog.Open(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	Expect(log.Each(func(line []byte) error {
		if !bytes.Contains(line, []byte(`"userAgent":"kubectl-dojo/`)) {
			return nil
		}
		var e pluginRequest
		err := json.Unmarshal(line, &e)
		all = append(all, e)
		return err
	})).To(Succeed())
	return all
}

var _ = Describe("kubectl dojo plan", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("lists exactly the operator's writes for credentialsRef, image, replicas and exposure, "+
		"and no write if nothing changes",
		func(ctx context.Context) {
			Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
			dojo := newDojo(ns, "tokyo", replicas(2))
			report := planned(ctx, dojo)
			Expect(report.Dojos[0].Stages[0].Changes).To(ContainElement(HaveField("Kind", "Deployment")))
			Expect(planned(ctx, dojo, func(d *corev1api.Dojo) { d.Spec.Image = "dojo:2" }).effects()).
				To(HaveExactElements("RollsPods"))
			Expect(planned(ctx, dojo, replicas(3)).effects()).To(HaveExactElements("Scales"))
			planned(ctx, dojo, func(d *corev1api.Dojo) {
				d.Spec.Exposure = &corev1api.Exposure{
					Hosts: []corev1api.Hostname{"tokyo.example.org"}, Ingress: &corev1api.IngressExposure{},
				}
			})
			planned(ctx, dojo, func(d *corev1api.Dojo) { d.Spec.Monitoring = &corev1api.Monitoring{Enabled: true} })
			Expect(planned(ctx, dojo, func(d *corev1api.Dojo) { d.Spec.Exposure = nil }).effects()).
				To(HaveExactElements("Downtime"))
			planned(ctx, dojo, replicas(1))
			Expect(planFile(ctx, dojo, 0).writes()).To(BeEmpty())
			code, output := kubectlDojo(ctx, ns, "plan", "tokyo", operatorArgs())
			Expect(output).To(HavePrefix("No changes"))
			Expect(code).To(BeZero())
		})

	It("lists exactly the operator's writes for a Cluster, settings, backups, a pooler, reclaimPolicy and suspend",
		func(ctx context.Context) {
			dojo := newDojo(ns, "tokyo", withCluster())
			report := planned(ctx, dojo)
			Expect(len(report.Dojos[0].Stages)).To(BeNumerically(">", 3),
				"the plan should have stages that wait for CloudNativePG")
			databasePassword(ctx, dojo)
			Expect(planned(ctx, dojo, func(d *corev1api.Dojo) {
				d.Spec.Postgres.Cluster.Resources = &corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
				}
			}).effects()).To(HaveExactElements("RestartsPostgres"))
			planned(ctx, dojo, func(d *corev1api.Dojo) { nightly(d.Spec.Postgres.Cluster) })
			planned(ctx, dojo, func(d *corev1api.Dojo) { pooled(d.Spec.Postgres.Cluster) })
			Expect(planned(ctx, dojo, withPolicy(corev1api.ReclaimDelete)).effects()).To(ContainElement("DataAtRisk"))
			Expect(planned(ctx, dojo, withPolicy(corev1api.ReclaimRetain)).effects()).NotTo(ContainElement("DataAtRisk"))
			Expect(planned(ctx, dojo, func(d *corev1api.Dojo) { d.Spec.Suspend = true }).effects()).To(ContainElement("Downtime"))
			planned(ctx, dojo, func(d *corev1api.Dojo) { d.Spec.Suspend = false })
			Expect(planFile(ctx, dojo, 0).writes()).To(BeEmpty())
		})

	It("lists exactly the operator's writes for initSQL, two password rotations, and a major upgrade of Postgres",
		func(ctx context.Context) {
			Expect(k8s.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"}, Data: map[string]string{"a": "SELECT 1", "b": "SELECT 2"},
			})).To(Succeed())
			sql := func(key string) func(*corev1api.Dojo) {
				return func(d *corev1api.Dojo) {
					ref := &corev1api.KeyReference{Name: "sql", Key: key}
					d.Spec.Postgres.InitSQL = []corev1api.SQLSource{{ConfigMapKeyRef: ref}}
				}
			}
			dojo := newDojo(ns, "tokyo", withCluster(nightly), sql("a"))
			dojo.Spec.Postgres.Cluster.ImageName = "registry.example.org/postgresql:16"
			planned(ctx, dojo)
			databasePassword(ctx, dojo)
			planned(ctx, dojo, sql("b"))
			for _, id := range []string{"1", "2"} {
				Expect(planned(ctx, dojo, func(d *corev1api.Dojo) {
					metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.RotatePasswordAnnotation, id)
				}).effects()).To(HaveExactElements("RollsPods"))
				databasePassword(ctx, dojo)
			}
			Expect(planned(ctx, dojo, func(d *corev1api.Dojo) {
				d.Spec.Postgres.Cluster.ImageName = "registry.example.org/postgresql:17"
			}).effects()).To(ContainElement("Downtime"))
		})

	It("lists the writes for a database in an existing Cluster, "+
		"and refuses a change from credentialsRef to postgres", func(ctx context.Context) {
		existingCluster(ctx, ns, "pg")
		dojo := newDojo(ns, "tokyo", inCluster)
		planned(ctx, dojo)
		databasePassword(ctx, dojo)
		Expect(k8s.Create(ctx, source(ns, "others"))).To(Succeed())
		other := newDojo(ns, "kyoto", func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Name = "others" })
		planned(ctx, other)
		inCluster(other)
		file := filepath.Join(GinkgoT().TempDir(), "dojo.json")
		Expect(os.WriteFile(file, []byte(manifestOf(other)), 0o600)).To(Succeed())
		code, output := kubectlDojo(ctx, ns, "plan", "-f", file, operatorArgs())
		Expect(output).To(ContainSubstring("credentialsRef and postgres cannot be exchanged for one another"))
		Expect(code).To(Equal(1))
	})

	It("shows which writes the API server would refuse, and writes nothing", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
				"count/deployments.apps": resource.MustParse("0"),
			}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, refetch(quota)).Should(HaveField("Status.Hard", Not(BeEmpty())))
		dojo := newDojo(ns, "tokyo")
		report := planFile(ctx, dojo, 1)
		Expect(report.Dojos[0].Problems).To(ContainElement(And(HavePrefix("ChildRefused: "), ContainSubstring("exceeded quota"))))
		invalid := newDojo(ns, "tokyo", replicas(-1))
		file := filepath.Join(GinkgoT().TempDir(), "dojo.json")
		Expect(os.WriteFile(file, []byte(manifestOf(invalid)), 0o600)).To(Succeed())
		code, output := kubectlDojo(ctx, ns, "plan", "-f", file, operatorArgs())
		Expect(output).To(ContainSubstring("spec.replicas in body should be greater than or equal to 0"))
		Expect(code).To(Equal(1))
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(dojo), dojo))).To(BeTrue())
		Expect(operator.WritesAtRest(ns)).To(BeEmpty())
		requests := requestsOfPlugin()
		Expect(requests).NotTo(BeEmpty())
		for _, e := range requests {
			if e.ObjectRef.Namespace != ns || slices.Contains([]string{"get", "list"}, e.Verb) {
				continue
			}
			Expect(e.RequestURI).To(Or(ContainSubstring("dryRun=All"), ContainSubstring("selfsubjectaccessreviews")))
			Expect(e.ObjectRef.Resource).NotTo(Equal("secrets"))
		}
	})

	It("names permissions that its user lacks, "+
		"and plans without Secrets if its user may not read them", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo")
		applied(ctx, dojo)
		eventuallyReady(ctx, dojo)
		user := "planner-of-" + ns
		kubeconfig, err := cluster.UserKubeconfig(user)
		Expect(err).NotTo(HaveOccurred())
		bind := func(role string) {
			Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
			})).To(Succeed())
		}
		plan := func() (int, string) { return kubectlDojoAs(ctx, kubeconfig, ns, "plan", "tokyo", operatorArgs()) }
		bind("dojos-view")
		Eventually(ctx, func() string {
			_, output := plan()
			return output
		}).Should(MatchRegexp(`you \(%s\) may not (get|list) \S+ in the namespace %s`, user, ns))
		By("granting the role view, which excludes Secrets")
		bind("view")
		Eventually(ctx, func() string {
			_, output := plan()
			return output
		}).Should(And(MatchRegexp("You may not read .*secrets"), ContainSubstring("No changes")))
		code, output := plan()
		Expect(code).To(BeZero(), output)
	})

	It("names the plugin version to run if the operator has another version", func(ctx context.Context) {
		code, output := kubectlDojo(ctx, ns, "plan", "-A", "--operator-version=v99.0.0")
		Expect(code).To(Equal(2))
		Expect(output).To(ContainSubstring("To plan those of dojo-operator v99.0.0, run kubectl-dojo v99.0.0"))
		code, output = kubectlDojo(ctx, ns, "plan", "tokyo", "--operator-version=dev", operatorArgs())
		Expect(code).To(Equal(1))
		Expect(output).To(ContainSubstring(`there is no Dojo "tokyo"`))
	})

	It("shows the changes that a new value of the operator's flag --dojo-image "+
		"would make in an existing Dojo", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo")
		applied(ctx, dojo)
		eventuallyReady(ctx, dojo)
		code, output := kubectlDojo(ctx, ns, "plan", "tokyo", operatorArgs()+" --dojo-image=dojo:next")
		Expect(code).To(Equal(3), output)
		Expect(output).To(And(MatchRegexp(`~ Deployment tokyo\n.*image: "\S+" -> "dojo:next"`), ContainSubstring("RollsPods"),
			ContainSubstring("To create: 0, to change: 1, to delete: 0.")))
	})
})
