// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

func TestReadyOnceTheCacheShowsAll(t *testing.T) {
	t.Parallel()
	shown := &informertest.FakeInformers{}
	lagging := &informertest.FakeInformers{InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{
		corev1.SchemeGroupVersion.WithKind("Secret"): controllertest.NewFakeInformer(),
	}}
	away := &informertest.FakeInformers{Error: http.ErrServerClosed}
	for name, c := range map[string]struct {
		cache *informertest.FakeInformers
		want  string // empty: ready
	}{
		"all kinds are synced":       {shown, ""},
		"one kind is not synced yet": {lagging, "the cache of *v1.Secret is not synced"},
		"a kind cannot be watched":   {away, http.ErrServerClosed.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			check := synced(c.cache, []client.Object{&corev1.Service{}, &corev1.Secret{}})
			err := check((&http.Request{}).WithContext(t.Context()))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
