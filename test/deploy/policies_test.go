// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
)

// refusal is a manifest, and the expected message of the policies ("" if they accept it).
type refusal struct{ object, message string }

// expectRefusals repeats each request, because the API server needs time to compile new policies
// and to see new namespaces.
func expectRefusals(t *testing.T, c client.Client, tries map[string]refusal) {
	t.Helper()
	g := NewWithT(t)
	create := func(object string) error {
		o := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(object), &o.Object)).To(Succeed())
		return c.Create(t.Context(), o, client.DryRunAll)
	}
	for name, try := range tries {
		if try.message != "" {
			g.Eventually(func() error { return create(try.object) }).WithTimeout(waitLimit).
				Should(MatchError(ContainSubstring(try.message)), name)
		}
	}
	for name, try := range tries {
		if try.message == "" {
			g.Eventually(func() error { return create(try.object) }).WithTimeout(waitLimit).Should(Succeed(), name)
		}
	}
}

func aDojo(namespace string, spec ...string) string {
	return "apiVersion: core.jutsu.com/v1\nkind: Dojo\nmetadata: {namespace: " + namespace + ", name: tokyo}\n" +
		"spec: {accountId: a, title: b, " + strings.Join(spec, ", ") + "}"
}

func TestPolicySamples(t *testing.T) {
	t.Parallel()
	admin, _, _ := startAPIServer(t)
	apply(t, admin, environment.Dojo.Base())
	apply(t, admin, "deploy/samples/policies")
	makeNamespace(t, admin, "team-a", nil)
	makeNamespace(t, admin, "team-b", map[string]string{"dojos.example.com/clusters": "allowed"})
	makeNamespace(t, admin, "team-c", map[string]string{
		"dojos.example.com/clusters": "allowed", "databases": "sized",
	})
	const credentials = "credentialsRef: {name: x}"
	cluster := func(namespace, more string) string {
		return aDojo(namespace, "postgres: {cluster: {"+more+"}}")
	}
	expectRefusals(t, admin, map[string]refusal{
		"an image of another registry": {
			aDojo("team-a", credentials, "image: docker.io/x"),
			"images must begin with one of: registry.example.com/",
		},
		"an image of a registry with the prefix of ours": {
			aDojo("team-a", credentials, "image: registry.example.com.evil/x"),
			"images must begin with",
		},
		"an image of our registry": {aDojo("team-a", credentials, "image: registry.example.com/x"), ""},
		"a Postgres image of another registry": {
			cluster("team-b", "imageName: 'docker.io/postgres:17', storage: {size: 1Gi}"),
			"images must begin with",
		},
		"another team's domain": {
			aDojo("team-a", credentials, "exposure: {hosts: [x.team-b.apps.example.com], ingress: {}}"),
			"must end with .team-a.apps.example.com",
		},
		"a foreign domain beside the team's own": {
			aDojo("team-a", credentials, "exposure: {ingress: {}, hosts: [x.team-a.apps.example.com, x.example.com]}"),
			"must end with .team-a.apps.example.com",
		},
		"an Ingress class outside the list": {
			aDojo("team-a", credentials, "exposure: {ingress: {className: internal}, hosts: [x.team-a.apps.example.com]}"),
			"className of an Ingress must be left out or be one of",
		},
		"an Ingress annotation outside the list": {
			aDojo("team-a", credentials, "exposure: {hosts: [x.team-a.apps.example.com], ingress: {annotations: "+
				"{nginx.ingress.kubernetes.io/server-snippet: x}}}"),
			"annotations of an Ingress may be: cert-manager.io/cluster-issuer",
		},
		"a Gateway outside the list": {
			aDojo("team-a", credentials,
				"exposure: {hosts: [x.team-a.apps.example.com], gateway: {parentRefs: [{name: public}]}}"),
			"exposure.gateway.parentRefs may name only: infra/public",
		},
		"the Gateway of the platform": {
			aDojo("team-a", credentials, "exposure: {hosts: [x.team-a.apps.example.com], "+
				"gateway: {parentRefs: [{name: public, namespace: infra, sectionName: https}]}}"),
			"",
		},
		"an Ingress of the platform": {
			aDojo("team-a", credentials, "exposure: {hosts: [x.team-a.apps.example.com], ingress: {className: public, "+
				"annotations: {cert-manager.io/cluster-issuer: letsencrypt}}}"),
			"",
		},
		"the team's own domain": {
			aDojo("team-a", credentials, "exposure: {hosts: [x.team-a.apps.example.com], ingress: {}}"),
			"",
		},
		"too much storage": {cluster("team-b", "storage: {size: 101Gi}"), "at most 100Gi"},
		"too much storage for the write-ahead log": {
			cluster("team-b", "storage: {size: 1Gi}, walStorage: {size: 101Gi}"),
			"at most 100Gi",
		},
		"a storage class outside the list for the write-ahead log": {
			cluster("team-b", "storage: {size: 1Gi}, walStorage: {size: 1Gi, storageClassName: slow}"),
			"storageClassName of spec.postgres.cluster must be left out",
		},
		"an ObjectStore of the team": {
			cluster("team-b", "storage: {size: 1Gi}, backup: {method: Plugin, schedule: '0 2 * * *', "+
				"plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: mine}}}"),
			"and only these ObjectStores: backups",
		},
		"the backup path of another Dojo": {
			cluster("team-b", "storage: {size: 1Gi}, backup: {method: Plugin, schedule: '0 2 * * *', "+
				"plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: backups, serverName: kyoto-db}}}"),
			"serverName of backup.plugin must be tokyo-db",
		},
		"a recovery from another team's backups": {
			cluster("team-b", "storage: {size: 1Gi}, bootstrap: {recovery: {objectStore: {serverName: ../team-a/kyoto-db, "+
				"plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: backups}}}}}"),
			"must be a name, not a path",
		},
		"backups in the platform's ObjectStore": {
			cluster("team-b", "storage: {size: 1Gi}, backup: {method: Plugin, schedule: '0 2 * * *', "+
				"plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: backups, serverName: tokyo-db-2}}}"),
			"",
		},
		"too many poolers": {
			cluster("team-b", "storage: {size: 1Gi}, pooler: {instances: 4}"),
			"pooler.instances may be at most 3",
		},
		"too many pods by an autoscaler": {
			aDojo("team-a", credentials, "autoscaling: {maxReplicas: 11}"),
			"autoscaling.maxReplicas may be at most 10",
		},
		"a storage class outside the list": {
			cluster("team-b", "storage: {size: 1Gi, storageClassName: slow}"),
			"must be left out",
		},
		"too many instances": {
			cluster("team-b", "instances: 4, storage: {size: 1Gi}"),
			"instances may be at most 3",
		},
		"a cluster within all limits": {
			cluster("team-b", "instances: 3, storage: {size: 100Gi, storageClassName: fast}"),
			"",
		},
		"a size of the platform":                          {cluster("team-c", "size: Small"), ""},
		"a size outside the list":                         {cluster("team-c", "size: Large"), "size of spec.postgres.cluster must be one of: Small Medium"},
		"no size in a namespace with the label for sizes": {cluster("team-c", "storage: {size: 1Gi}"), "size of spec.postgres.cluster must be one of"},
		"storage beside a size":                           {cluster("team-c", "size: Small, storage: {size: 9Gi}"), "come from its size"},
		"instances beside a size":                         {cluster("team-c", "size: Small, instances: 3"), "come from its size"},
		"parameters of Postgres beside a size": {
			cluster("team-c", "size: Small, parameters: {max_connections: '9'}"), "come from its size",
		},
		"a volume for the write-ahead log beside a size":    {cluster("team-c", "size: Small, walStorage: {size: 9Gi}"), "come from its size"},
		"a size in a namespace without the label for sizes": {cluster("team-b", "size: Large"), ""},
		"too many replicas": {
			aDojo("team-a", credentials, "replicas: 11"),
			"at most 10",
		},
		"the maximum of replicas": {aDojo("team-a", credentials, "replicas: 10"), ""},
		"a cluster in a namespace without clusters": {
			cluster("team-a", "storage: {size: 1Gi}"),
			"not available in this namespace: clusters",
		},
		"alerts in a namespace without alerts": {
			aDojo("team-b", credentials, "alerts: {discord: {channelRef: {name: x}}}"),
			"not available in this namespace: alerts",
		},
	})
}

// The policies check each change of a Dojo's spec. During a deletion, each policy checks only
// changes of the fields that it limits. The policies accept edits outside the spec, so that the
// operator can remove its finalizer.
func TestPolicySamplesRuleChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin, _, _ := startAPIServer(t)
	apply(t, admin, environment.Dojo.Base())
	awaitKinds(t, admin, both[0])
	makeNamespace(t, admin, "team-a", nil)
	makeNamespace(t, admin, "team-b", map[string]string{"databases": "sized"})
	dojo, unsized := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(aDojo("team-b", "postgres: {cluster: {storage: {size: 1Gi}}}")), &unsized.Object)).
		To(Succeed())
	unsized.SetFinalizers([]string{"example.org/test"})
	const many = "image: docker.io/x, replicas: 11, postgres: {cluster: {storage: {size: 101Gi}}}"
	g.Expect(yaml.Unmarshal([]byte(aDojo("team-a", many, "exposure: {hosts: [x.example.com], ingress: {}}")), &dojo.Object)).To(Succeed())
	dojo.SetFinalizers([]string{"example.org/test"})
	g.Expect(admin.Create(t.Context(), dojo)).To(Succeed())
	g.Expect(admin.Create(t.Context(), unsized)).To(Succeed())
	apply(t, admin, "deploy/samples/policies")

	scaled := func(replicas string) error {
		scale := &unstructured.Unstructured{}
		scale.SetAPIVersion("autoscaling/v1")
		scale.SetKind("Scale")
		return admin.SubResource("scale").Patch(t.Context(), dojo.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": `+replicas+`}}`)),
			client.WithSubResourceBody(scale), client.DryRunAll)
	}
	patched := func(patch string) error {
		return admin.Patch(t.Context(), dojo.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	g.Eventually(func() error { return scaled("12") }).WithTimeout(waitLimit).
		Should(MatchError(ContainSubstring("spec.replicas may be at most 10")))
	g.Expect(scaled("3")).To(Succeed())
	g.Expect(patched(`{"metadata": {"labels": {"a": "b"}}}`)).To(Succeed())
	g.Expect(patched(`{"spec": {"title": "c"}}`)).To(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'dojos-")))
	g.Expect(admin.Delete(t.Context(), dojo.DeepCopy())).To(Succeed())
	g.Expect(admin.Delete(t.Context(), unsized.DeepCopy())).To(Succeed())
	tried := func(o *unstructured.Unstructured, spec string) func() error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": `+spec+`}`))
		return func() error { return admin.Patch(t.Context(), o.DeepCopy(), patch, client.DryRunAll) }
	}
	for spec, policy := range whileDeleted {
		g.Eventually(tried(dojo, spec)).WithTimeout(waitLimit).
			Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'dojos-"+policy+"'")), spec)
	}
	for _, field := range []string{
		`"parameters": {"max_connections": "9"}`, `"instances": 2`, `"storage": {"size": "2Gi"}`,
	} {
		g.Eventually(tried(unsized, `{"postgres": {"cluster": {`+field+`}}}`)).WithTimeout(waitLimit).
			Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy 'dojos-sizes'")), field)
	}
	for _, o := range []*unstructured.Unstructured{dojo, unsized} {
		for _, spec := range []string{
			`{"title": "c"}`, `{"postgres": {"reclaimPolicy": "Delete"}}`,
			`{"postgres": {"cluster": {"backup": {"schedule": "0 2 * * *", "method": "VolumeSnapshot", "finalBackup": false}}}}`,
		} {
			g.Expect(tried(o, spec)()).To(Succeed(), spec)
		}
	}
	g.Expect(patched(`{"metadata": {"finalizers": null}}`)).To(Succeed())
}

var whileDeleted = map[string]string{
	`{"image": "docker.io/y"}`: "images",
	`{"postgres": {"cluster": {"imageName": "docker.io/postgres:17"}}}`: "images",
	`{"postgres": {"cluster": {"storage": {"size": "102Gi"}}}}`:         "storage",
	`{"postgres": {"cluster": {"walStorage": {"size": "101Gi"}}}}`:      "storage",
	`{"postgres": {"cluster": {"instances": 4}}}`:                       "storage",
	`{"postgres": {"cluster": {"pooler": {"instances": 4}}}}`:           "storage",
	`{"exposure": {"hosts": ["y.example.com"]}}`:                        "exposure",
	`{"exposure": {"ingress": {"className": "internal"}}}`:              "exposure",
	`{"replicas": 12}`:                                       "replicas",
	`{"autoscaling": {"maxReplicas": 12}}`:                   "replicas",
	`{"alerts": {"discord": {"channelRef": {"name": "x"}}}}`: "features",
	`{"postgres": {"cluster": {"backup": {"schedule": "0 2 * * *", "method": "Plugin", "plugin": {"name": "x"}}}}}`: "backups",
}

// The policy refuses a new spec.serviceAccountName other than default, even if the annotation of
// the namespace allows it. The policy accepts other edits of a Dojo that already has a
// serviceAccountName.
func TestServiceAccountsOff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin, _, _ := startAPIServer(t)
	apply(t, admin, environment.Dojo.Base())
	g.Expect(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "team-a", Annotations: map[string]string{"core.jutsu.com/allowed-service-accounts": "web, batch,default"},
	}})).To(Succeed())
	const credentials = "credentialsRef: {name: x}"
	dojo := &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(aDojo("team-a", credentials, "serviceAccountName: web")), &dojo.Object)).To(Succeed())
	g.Eventually(func() error { return admin.Create(t.Context(), dojo) }).WithTimeout(waitLimit).
		Should(Succeed(), "the annotation allows it")

	spaced := strings.Replace(aDojo("team-a", credentials, "serviceAccountName: batch"), "tokyo", "kyoto", 1)
	expectRefusals(t, admin, map[string]refusal{"a ServiceAccount after a space in the annotation": {spaced, ""}})

	apply(t, admin, "deploy/samples/policies")
	other := func(account string) string {
		return strings.Replace(aDojo("team-a", credentials, "serviceAccountName: "+account), "tokyo", "kyoto", 1)
	}
	const off = "spec.serviceAccountName is switched off in this cluster"
	expectRefusals(t, admin, map[string]refusal{
		"a ServiceAccount that the namespace allows": {other("web"), off},
		"the ServiceAccount default":                 {other("default"), ""},
		"no ServiceAccount":                          {strings.Replace(aDojo("team-a", credentials), "tokyo", "kyoto", 1), ""},
	})
	update := func(field, value string) error {
		changed := dojo.DeepCopy()
		g.Expect(unstructured.SetNestedField(changed.Object, value, "spec", field)).To(Succeed())
		return admin.Update(t.Context(), changed, client.DryRunAll)
	}
	g.Expect(update("title", "c")).To(Succeed(), "the Dojo already has the ServiceAccount")
	g.Expect(update("serviceAccountName", "batch")).To(MatchError(ContainSubstring(off)))
	g.Expect(update("serviceAccountName", "default")).To(Succeed())
}

// ValidatingAdmissionPolicies limit the operators' writes more than RBAC can.
func TestAdmission(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster, admin := start(t, testcluster.Options{})
	for _, o := range environment.All {
		apply(t, admin, o.Base())
	}
	makeNamespace(t, admin, "team-a", nil)
	makeNamespace(t, admin, "team-b", nil)
	var annotated corev1.Namespace
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Name: "team-b"}, &annotated)).To(Succeed())
	annotated.Annotations = map[string]string{"core.jutsu.com/allowed-service-accounts": "web, batch"}
	g.Expect(admin.Update(t.Context(), &annotated)).To(Succeed())
	for _, o := range environment.All {
		config := rest.CopyConfig(cluster.Config())
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + o.Namespace + ":" + o.Name}
		operator, err := client.New(config, client.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		secret := func(namespace, label, more string) string {
			return "apiVersion: v1\nkind: Secret\nmetadata: {namespace: " + namespace +
				", name: x, labels: {app.kubernetes.io/managed-by: " + label + "}, annotations: {" +
				"kubernetes.io/service-account.name: default}}\n" + more
		}
		tries := map[string]refusal{
			"a Secret with the operator's label":   {secret("team-a", o.Name, ""), ""},
			"a Secret with another client's label": {secret("team-a", "helm", ""), "only its own Secrets"},
			"a Secret with the token of a ServiceAccount": {
				secret("team-a", o.Name, "type: kubernetes.io/service-account-token"),
				"only Secrets of the type",
			},
			"a Secret in kube-system": {
				secret("kube-system", o.Name, ""),
				"the namespaces of Kubernetes itself",
			},
		}
		if o == environment.Dojo {
			deployment := func(namespace, account string) string {
				return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: " + namespace + ", name: x}\n" +
					"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {serviceAccountName: '" +
					account + "', containers: [{name: x, image: x}]}}}"
			}
			escaping := func(pod string) refusal {
				object := strings.Replace(deployment("team-a", ""), "serviceAccountName: ''", pod, 1)
				return refusal{object, "cannot write pods with"}
			}
			tries["pods that see the node's processes"] = escaping("hostPID: true")
			tries["pods that use the node's network"] = escaping("hostNetwork: true")
			tries["pods that mount the node's files"] = escaping("volumes: [{name: x, hostPath: {path: /}}]")
			tries["privileged pods"] = escaping("initContainers: [{name: init, image: x, securityContext: {privileged: true}}]")
			tries["pods with capabilities"] = escaping(
				"initContainers: [{name: init, image: x, securityContext: {capabilities: {add: [NET_ADMIN]}}}]")
			tries["pods without special rights"] = refusal{deployment("team-a", ""), ""}
			tries["pods as a ServiceAccount that the namespace does not allow"] = refusal{deployment("team-a", "web"), `run as the ServiceAccount "default"`}
			tries["pods as a ServiceAccount that the namespace allows"] = refusal{deployment("team-b", "web"), ""}
			tries["pods as a ServiceAccount after a space in the annotation"] = refusal{deployment("team-b", "batch"), ""}
			tries["pods in kube-system"] = refusal{deployment("kube-system", ""), "the namespaces of Kubernetes itself"}
		}
		t.Run(o.Name, func(t *testing.T) {
			expectRefusals(t, operator, tries)
			expectForeignSecretsKept(t, admin, operator, o.Name)
		})
		g.Expect(admin.Create(t.Context(), &appsv1.Deployment{ // by another client
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "x"},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
					Spec: corev1.PodSpec{ServiceAccountName: "web", Containers: []corev1.Container{
						{Name: "x", Image: "x"},
					}},
				},
			},
		}, client.DryRunAll)).To(Succeed(), "the policy should not apply to other clients")
	}
}

// An operator cannot take over another client's Secret by adding the operator's label to it.
func expectForeignSecretsKept(t *testing.T, admin, operator client.Client, name string) {
	t.Helper()
	g := NewWithT(t)
	label := client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"app.kubernetes.io/managed-by": "`+name+`"}}}`))
	secret := func(suffix string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name + suffix}}
	}
	g.Expect(admin.Create(t.Context(), secret("-foreign"))).To(Succeed())
	g.Expect(operator.Patch(t.Context(), secret("-foreign"), label)).To(MatchError(ContainSubstring("with the label")))
	g.Expect(operator.Delete(t.Context(), secret("-foreign"))).To(MatchError(ContainSubstring("forbidden")))
	g.Expect(admin.Create(t.Context(), secret("-own"), client.FieldOwner(name))).To(Succeed())
	g.Expect(operator.Patch(t.Context(), secret("-own"), label)).To(Succeed(), "the operator wrote this Secret")
}

func makeNamespace(t *testing.T, admin client.Client, name string, labels map[string]string) {
	t.Helper()
	NewWithT(t).Expect(admin.Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	})).To(Succeed())
}
