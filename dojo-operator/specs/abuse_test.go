// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/environment"
)

// `make bench ARGS="--only abuse"` measures larger attacks.
const (
	refusedDojos  = 200
	forgedObjects = 40
	// lives is the number of Dojos that the resident creates, edits and deletes after each attack.
	lives = 2
)

// resident is a tenant who works as usual while another tenant attacks the operator.
type resident struct {
	ns string
	// kept must not change during the attack.
	kept  *corev1api.Dojo
	lived int
}

func newResident(ctx context.Context) *resident {
	GinkgoHelper()
	r := &resident{ns: newNamespace(ctx)}
	r.kept = runningDojo(ctx, r.ns, func(dojo *corev1api.Dojo) {
		dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: true}
	})
	return r
}

func (r *resident) belongings(ctx context.Context) map[string]string {
	GinkgoHelper()
	has := map[string]string{}
	for i, o := range []client.Object{r.kept.DeepCopy(), deploymentOf(r.kept), serviceOf(r.kept), secretOf(r.kept),
		ofKind("ServiceMonitor", r.ns, r.kept.Name), ofKind("PrometheusRule", r.ns, r.kept.Name),
		ofKind("Secret", r.ns, "pg-app")} {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		has[fmt.Sprintf("%d, %T %s", i, o, o.GetName())] = o.GetResourceVersion()
	}
	return has
}

func (r *resident) lives(ctx context.Context) {
	GinkgoHelper()
	for range lives {
		r.lived++
		dojo := newDojo(r.ns, fmt.Sprintf("kyoto-%d", r.lived))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		edit(ctx, dojo, replicas(2))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.ReadyStatus).To(Equal("2/2"))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo, "the Dojo should be deleted")
	}
}

func (r *resident) undisturbed(ctx context.Context, attack func()) {
	GinkgoHelper()
	before := r.belongings(ctx)
	attack()
	r.lives(ctx)
	eventuallyReady(ctx, r.kept)
	Expect(r.belongings(ctx)).To(Equal(before), "the attack should not change the first tenant's objects")
}

var _ = Describe("A tenant's objects stay unchanged, and the tenant's new Dojos become Ready, although another tenant",
	Ordered, SpecPriority(1),
	func() {
		var b *resident
		var ns string // the namespace of the attackers
		BeforeAll(func(ctx context.Context) { b = newResident(ctx) })
		BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

		It("creates Dojos in a namespace whose ResourceQuota refuses their child objects", func(ctx context.Context) {
			Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
			none := resource.MustParse("0")
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
				Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
					"count/secrets": resource.MustParse("1"), "count/deployments.apps": none, "count/services": none}}}
			Expect(k8s.Create(ctx, quota)).To(Succeed())
			Eventually(ctx, refetch(quota)).Should(HaveField("Status.Used", HaveLen(3)))
			b.undisturbed(ctx, func() {
				for i := range refusedDojos {
					Expect(k8s.Create(ctx, newDojo(ns, fmt.Sprintf("refused-%d", i)))).To(Succeed())
				}
			})
			Eventually(ctx, dojosIn(ns)).Should(And(HaveLen(refusedDojos),
				HaveEach(HaveCondition("Degraded", "True", corev1api.ReasonChildRefused))))
			Expect(len(refusedCreates(ns))).To(BeNumerically("<=", 3*3*refusedDojos),
				"the operator should try at most three times to create each of a Dojo's three children")
		})

		It("creates large objects with forged labels, with and without a forged owner", func(ctx context.Context) {
			Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
			owner := newDojo(ns, "owner", replicas(0))
			Expect(k8s.Create(ctx, owner)).To(Succeed())
			live := deploymentOf(b.kept)
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
			forged := forge(&corev1.Secret{}, ns, b.kept.Name+"-credentials", live.Labels, nil)
			b.undisturbed(ctx, func() {
				Expect(k8s.Create(ctx, forged)).To(Succeed())
				for i := range forgedObjects {
					o := []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &appsv1.Deployment{}, &batchv1.Job{}}[i%4]
					claim := metav1.NewControllerRef(owner, corev1api.GroupVersion.WithKind("Dojo"))
					Expect(k8s.Create(ctx, forge(o, ns, fmt.Sprintf("forged-%d", i), live.Labels, claim))).To(Succeed())
				}
			})
			version := forged.GetResourceVersion()
			namesake := newDojo(ns, b.kept.Name)
			Expect(k8s.Create(ctx, namesake)).To(Succeed())
			eventuallyDegraded(ctx, namesake, corev1api.ReasonNameConflict)
			Expect(refetch(forged)(ctx)).
				To(HaveField("GetResourceVersion()", version), "the operator should not adopt the Secret because of its labels")
		})

		It("refers to the first tenant's Secret "+
			"before, while and after that tenant shares the Secret", func(ctx context.Context) {
			refers := newDojo(ns, b.kept.Name, func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Namespace = b.ns })
			b.undisturbed(ctx, func() {
				Expect(k8s.Create(ctx, refers)).To(Succeed())
				eventuallyDegraded(ctx, refers, corev1api.ReasonCredentialsNotShared)
			})
			origin := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, Name: "pg-app"}}
			share := func(with map[string]string) {
				GinkgoHelper()
				edit(ctx, origin, func(s *corev1.Secret) { s.Annotations = with })
				recorded := ContainElement(HaveSuffix("/" + origin.ResourceVersion)) // the resourceVersion of the source Secret
				Eventually(ctx, refetch(secretOf(b.kept))).Should(HaveField("Annotations", recorded))
			}
			share(map[string]string{corev1api.AllowedNamespacesAnnotation: ns})
			b.undisturbed(ctx, func() { eventuallyReady(ctx, refers) })
			share(nil)
			b.undisturbed(ctx, func() {
				eventuallyDegraded(ctx, refers, corev1api.ReasonCredentialsNotShared)
				Expect(k8s.Delete(ctx, refers)).To(Succeed())
				eventuallyGone(ctx, refers)
			})
		})

		It("writes a hostile URL into its own Secret "+
			"from which Alertmanager reads the webhook URL", func(ctx context.Context) {
			Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
			alerted := newDojo(ns, b.kept.Name, inGroup)
			Expect(k8s.Create(ctx, alerted)).To(Succeed())
			postable(ctx, alertsChannelOf(alerted), "hook")
			eventuallyReady(ctx, alerted)
			posts := alertmanagerSecretOf(alerted)
			channels := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hook"}}
			hostile := func(s *corev1.Secret) {
				s.Data = map[string][]byte{"url": []byte("https://169.254.169.254/api/webhooks/7/a")}
			}
			b.undisturbed(ctx, func() {
				for range forgedObjects {
					edit(ctx, posts, hostile)
				}
			})
			Eventually(ctx, refetch(posts)).Should(haveURL(hookURL("hook")))
			edit(ctx, channels, hostile)
			eventuallyDegraded(ctx, alerted, corev1api.ReasonWebhookInvalid)
			edit(ctx, posts, hostile)
			eventuallyGone(ctx, ofKind("AlertmanagerConfig", ns, alerted.Name), "Alertmanager must not read the edited Secret")
			Expect(k8s.Delete(ctx, channels)).To(Succeed())
			webhookWritten(ctx, alertsChannelFetched(ctx, alerted), "hook") // as discord-operator does
			Eventually(ctx, refetch(posts)).Should(haveURL(hookURL("hook")))
			eventuallyReady(ctx, alerted)
		})

		It("creates a Job with the name of the Job that runs its own Dojo's SQL", func(ctx context.Context) {
			existingCluster(ctx, ns, "pg")
			sql := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"},
				Data: map[string]string{"tables.sql": "SELECT 1"}}
			Expect(k8s.Create(ctx, sql)).To(Succeed())
			dojo := newDojo(ns, "tokyo", inCluster, func(dojo *corev1api.Dojo) {
				dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{
					{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "tables.sql"}}}
			})
			Expect(k8s.Create(ctx, dojo)).To(Succeed())
			eventuallyReady(ctx, dojo)
			own := schemaJobs(ctx, dojo)[0]
			Expect(k8s.Delete(ctx, &own, client.PropagationPolicy("Background"))).To(Succeed(), "as a TTL does")
			eventuallyGone(ctx, &own)
			foreign := forge(&batchv1.Job{}, ns, own.Name, nil, nil)
			Expect(k8s.Create(ctx, foreign)).To(Succeed())
			before := len(operator.WritesAtRest(ns))
			b.undisturbed(ctx, func() {
				edit(ctx, ofKind("Database", ns, "tokyo-db"), func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
				eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
			})
			attempts := slices.DeleteFunc(operator.WritesAtRest(ns)[before:], func(write string) bool {
				return !strings.Contains(write, "jobs/")
			})
			Expect(len(attempts)).To(BeNumerically("<=", 10), "%v", attempts)
			Expect(k8s.Delete(ctx, foreign, client.PropagationPolicy("Background"))).To(Succeed())
			eventuallyGone(ctx, foreign)
			edit(ctx, dojo, replicas(2)) // an edit makes the operator retry at once
			eventuallyReady(ctx, dojo)
		})

		It("creates Dojos with the names of the operators' Services", func(ctx context.Context) {
			Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
			service := ofKind("Service", environment.Dojo.Namespace, environment.Dojo.Name+"-metrics")
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
			version := service.GetResourceVersion()
			b.undisturbed(ctx, func() {
				for _, o := range environment.All {
					namesake := newDojo(ns, o.Name+"-metrics")
					Expect(k8s.Create(ctx, namesake)).To(Succeed())
					eventuallyReady(ctx, namesake)
				}
			})
			Expect(refetch(service)(ctx)).To(HaveField("GetResourceVersion()", version))
		})
	})

func dojosIn(namespace string) func(context.Context) ([]*corev1api.Dojo, error) {
	return func(ctx context.Context) (all []*corev1api.Dojo, err error) {
		var dojos corev1api.DojoList
		err = k8s.List(ctx, &dojos, client.InNamespace(namespace))
		for i := range dojos.Items {
			all = append(all, &dojos.Items[i])
		}
		return all, err
	}
}

func refusedCreates(namespace string) []string {
	GinkgoHelper()
	return slices.DeleteFunc(operator.Writes(namespace), func(write string) bool {
		return !strings.HasPrefix(write, "create ")
	})
}

func forge(o client.Object, namespace, name string, labels map[string]string,
	owner *metav1.OwnerReference) client.Object {
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	o.SetAnnotations(map[string]string{"example.org/forged": strings.Repeat("f", 200<<10)})
	if owner != nil {
		o.SetOwnerReferences([]metav1.OwnerReference{*owner})
	}
	filling := strings.Repeat("f", 800<<10)
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
		Name: "forged", Image: "example.org/forged", Env: []corev1.EnvVar{{Name: "FILLING", Value: filling}}}}}
	switch o := o.(type) {
	case *corev1.Secret:
		o.StringData = map[string]string{"filling": filling}
	case *corev1.ConfigMap:
		o.Data = map[string]string{"filling": filling}
	case *batchv1.Job:
		o.Spec.Suspend, o.Spec.Template.Spec = new(true), pod
	case *appsv1.Deployment:
		pod.RestartPolicy = corev1.RestartPolicyAlways
		o.Spec = appsv1.DeploymentSpec{Paused: true, Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"forged": "yes"}}}
		o.Spec.Template.Labels, o.Spec.Template.Spec = map[string]string{"forged": "yes"}, pod
	}
	return o
}
