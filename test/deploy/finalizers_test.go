// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
)

var samples = map[string]string{
	"core.jutsu.com/v1 Dojo":                    "{accountId: a, title: b, credentialsRef: {name: x}}",
	"discord.jutsu.com/v1alpha1 DiscordServer":  "{serverId: '123456789012345678', tokenSecretRef: {name: x}}",
	"discord.jutsu.com/v1alpha1 DiscordGroup":   "{serverRef: {name: x}, name: a}",
	"discord.jutsu.com/v1alpha1 DiscordChannel": "{groupRef: {name: x}, name: a}",
	"discord.jutsu.com/v1alpha1 DiscordRole":    "{serverRef: {name: x}, name: a}",
}

func sample(t *testing.T, kind, name string, finalizers ...string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte("spec: "+samples[kind]), &o.Object)).To(Succeed())
	version, kind, _ := strings.Cut(kind, " ")
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace("team-a")
	o.SetName(name)
	o.SetFinalizers(finalizers)
	return o
}

func finalizers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("example.org/%d", i)
	}
	return all
}

// The operators cache finalizers, so the API server refuses too many. Users can still edit and
// clean up an object that already has too many.
func TestFinalizersAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin, _, _ := startAPIServer(t)
	for _, o := range environment.All {
		apply(t, admin, "deploy/"+o.Name+"/crds")
	}
	awaitKinds(t, admin, both[0], both[1])
	makeNamespace(t, admin, "team-a", nil)
	for kind := range samples {
		g.Expect(admin.Create(t.Context(), sample(t, kind, "stored", finalizers(20)...))).To(Succeed(), kind)
	}
	for _, o := range environment.All {
		apply(t, admin, o.Base())
	}
	refused := MatchError(ContainSubstring("metadata.finalizers may have at most 16 items"))
	for kind := range samples {
		g.Eventually(func() error {
			return admin.Create(t.Context(), sample(t, kind, "new", finalizers(17)...), client.DryRunAll)
		}).WithTimeout(waitLimit).Should(refused, kind)
		g.Expect(admin.Create(t.Context(), sample(t, kind, "new", finalizers(16)...))).To(Succeed(), kind)
		update := func(name string, n int) error {
			o := sample(t, kind, name)
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
			o.SetLabels(map[string]string{"a": strconv.Itoa(n)})
			o.SetFinalizers(finalizers(n))
			return admin.Update(t.Context(), o)
		}
		g.Expect(update("new", 17)).To(refused, kind)
		g.Expect(update("stored", 21)).To(refused, kind)
		g.Expect(update("stored", 20)).To(Succeed(), kind)
		g.Expect(admin.Delete(t.Context(), sample(t, kind, "stored"))).To(Succeed(), kind)
		g.Expect(update("stored", 18)).To(Succeed(), kind)
		g.Expect(update("stored", 19)).To(HaveOccurred(), kind)
		g.Expect(update("stored", 0)).To(Succeed(), kind)
	}
}

// Orphan deletion would keep the AlertmanagerConfig and a Secret with an unchecked URL, so the API
// server refuses it.
func TestDojosAreNotOrphaned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin, _, config := startAPIServer(t)
	apply(t, admin, "deploy/dojo-operator/crds")
	awaitKinds(t, admin, both[0])
	makeNamespace(t, admin, "team-a", nil)
	const kind, orphan = "core.jutsu.com/v1 Dojo", "orphan"
	g.Expect(admin.Create(t.Context(), sample(t, kind, "stored", orphan))).To(Succeed())
	g.Expect(admin.Create(t.Context(), sample(t, kind, "tokyo", "example.org/hold"))).To(Succeed())
	apply(t, admin, environment.Dojo.Base())

	refused := MatchError(And(
		ContainSubstring("Delete the Dojo without --cascade=orphan"), ContainSubstring("set spec.postgres.reclaimPolicy to Retain")))
	remove := func(options ...client.DeleteOption) error {
		return admin.Delete(t.Context(), sample(t, kind, "tokyo"), options...)
	}
	g.Eventually(func() error { return remove(client.PropagationPolicy("Orphan"), client.DryRunAll) }).
		WithTimeout(waitLimit).Should(refused, "as by kubectl delete --cascade=orphan")
	//nolint:staticcheck // old clients still send this field
	orphaning := &client.DeleteOptions{Raw: &metav1.DeleteOptions{OrphanDependents: new(true)}}
	g.Expect(remove(orphaning)).To(refused, "as by old clients")
	g.Expect(admin.DeleteAllOf(t.Context(), sample(t, kind, ""), client.InNamespace("team-a"),
		client.PropagationPolicy("Orphan"))).To(refused, "as by kubectl delete --all")
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(raw.Delete().AbsPath("/apis/core.jutsu.com/v1/namespaces/team-a/dojos/tokyo").
		Param("propagationPolicy", "Orphan").Do(t.Context()).Error()).To(refused, "an option in the URL")

	g.Expect(admin.Create(t.Context(), sample(t, kind, "kyoto", orphan))).To(refused)
	edit := func(name string, finalizers ...string) error {
		o := sample(t, kind, name)
		g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		o.SetLabels(map[string]string{"a": "b"})
		o.SetFinalizers(finalizers)
		return admin.Update(t.Context(), o)
	}
	g.Expect(edit("tokyo", "example.org/hold", orphan)).To(refused)
	g.Expect(edit("stored", orphan)).To(Succeed(), "the object already has the finalizer")
	g.Expect(edit("stored")).To(Succeed())

	for _, policy := range []client.PropagationPolicy{"Foreground", "Background"} {
		g.Expect(remove(policy, client.DryRunAll)).To(Succeed(), string(policy))
	}
	g.Expect(remove()).To(Succeed())
	g.Expect(remove(client.PropagationPolicy("Orphan"))).To(refused, "during its deletion")
	g.Expect(edit("tokyo")).To(Succeed(), "the operator removes its finalizer")
}
