// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

type appliedField struct {
	// The child's name is the Dojo's name plus suffix.
	kind, suffix string
	// pointer is a JSON pointer to a field of the child.
	pointer string
	// other is a valid value that the operator would not set.
	other any
}

// appliedFields lists fields that the operator corrects after a change by another client.
var appliedFields = []appliedField{
	{"Secret", "-credentials", "/metadata/labels/app.kubernetes.io~1name", "other"},
	{"Secret", "-alertmanager", "/metadata/labels/app.kubernetes.io~1name", "other"},
	{"Deployment", "", "/spec/template/spec/containers/0/image", "mirror.example.org/dojo:1"},
	{"Service", "", "/spec/ports/0/targetPort", int64(8080)},
	{"PodDisruptionBudget", "", "/spec/maxUnavailable", "50%"},
	{"Ingress", "", "/spec/ingressClassName", "other"},
	{"HorizontalPodAutoscaler", "", "/spec/maxReplicas", int64(9)},
	{"Cluster", "-db", "/spec/imageName", "mirror.example.org/postgresql:17"},
	{"Pooler", "-db-pooler-rw", "/spec/instances", int64(3)},
	{"ScheduledBackup", "-db", "/spec/immediate", false},
	{"DatabaseRole", "-db", "/spec/comment", "other"},
	{"Database", "-db", "/spec/databaseReclaimPolicy", "delete"},
	{"ServiceMonitor", "", "/spec/endpoints/0/path", "/other"},
	{"PrometheusRule", "", "/spec/groups/0/rules/0/for", "7m"},
	{"AlertmanagerConfig", "", "/spec/receivers/0/discordConfigs/0/sendResolved", false},
	{"DiscordChannel", "-alerts", "/spec/topic", "other"},
}

func (f appliedField) of(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return ofKind(f.kind, dojo.Namespace, dojo.Name+f.suffix)
}

func withEverything(dojo *corev1api.Dojo) {
	withCluster(nightly, pooled, func(pg *corev1api.PostgresCluster) { pg.Version = "17" })(dojo)
	inGroup(dojo)
	replicas(2)(dojo)
	dojo.Spec.Exposure = &corev1api.Exposure{Hosts: []corev1api.Hostname{"dojo.example.org"},
		Ingress: &corev1api.IngressExposure{ClassName: "nginx"}}
	dojo.Spec.Autoscaling = &corev1api.Autoscaling{MinReplicas: new(int32(2)), MaxReplicas: 4}
}

func dojoWithEverything(ctx context.Context, namespace, name string) *corev1api.Dojo {
	GinkgoHelper()
	dojo := newDojo(namespace, name, withEverything)
	Expect(k8s.Create(ctx, dojo)).To(Succeed())
	postable(ctx, alertsChannelOf(dojo), name+"-alerts-webhook")
	eventuallyReady(ctx, dojo)
	return dojo
}

func valueAt(o *unstructured.Unstructured, pointer string) any {
	var at any = o.Object
	for _, key := range keysOf(pointer) {
		switch parent := at.(type) {
		case map[string]any:
			at = parent[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(parent) {
				return nil
			}
			at = parent[i]
		default:
			return nil
		}
	}
	return at
}

func setAt(o *unstructured.Unstructured, pointer string, value any) {
	GinkgoHelper()
	last := strings.LastIndex(pointer, "/")
	parent, ok := valueAt(o, pointer[:last]).(map[string]any)
	Expect(ok).To(BeTrue(), "%s %s has no %s", o.GetKind(), o.GetName(), pointer[:last])
	parent[keysOf(pointer[last:])[0]] = value
}

func keysOf(pointer string) []string {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	var keys []string
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		keys = append(keys, unescape.Replace(key))
	}
	return keys
}

func fieldAt(o *unstructured.Unstructured, pointer string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
		return valueAt(o, pointer), err
	}
}

func shrunk(value any) any {
	GinkgoHelper()
	switch value := value.(type) {
	case []any:
		Expect(value).NotTo(BeEmpty())
		return slices.Clone(value[1:])
	case map[string]any:
		Expect(value).NotTo(BeEmpty())
		rest := maps.Clone(value)
		delete(rest, slices.Min(slices.Collect(maps.Keys(rest))))
		return rest
	}
	Fail(fmt.Sprintf("%T is no list and no map", value))
	return nil
}

func grown(value, extra any) any {
	GinkgoHelper()
	switch value := value.(type) {
	case []any:
		return append(slices.Clone(value), extra)
	case map[string]any:
		more := maps.Clone(value)
		more["example.org/other"] = extra
		return more
	}
	Fail(fmt.Sprintf("%T is no list and no map", value))
	return nil
}
