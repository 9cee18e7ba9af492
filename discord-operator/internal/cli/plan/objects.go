// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/status"
)

type key struct {
	kind string
	types.NamespacedName
}

type objects struct {
	all        map[key]status.Object
	namespaces map[string]map[string]string // labels
	configMaps map[types.NamespacedName]*corev1.ConfigMap
}

func newObjects() *objects {
	return &objects{
		all: map[key]status.Object{}, namespaces: map[string]map[string]string{},
		configMaps: map[types.NamespacedName]*corev1.ConfigMap{},
	}
}

func empty(kind string) status.Object {
	switch kind {
	case "DiscordServer":
		return &v1alpha1.DiscordServer{}
	case "DiscordRole":
		return &v1alpha1.DiscordRole{}
	case "DiscordGroup":
		return &v1alpha1.DiscordGroup{}
	case "DiscordChannel":
		return &v1alpha1.DiscordChannel{}
	}
	return nil
}

func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }

func keyOf(o client.Object) key { return key{kindOf(o), client.ObjectKeyFromObject(o)} }

func of[T status.Object](o *objects) (some []T) {
	byName := func(a, b key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}
	for _, k := range slices.SortedFunc(maps.Keys(o.all), byName) {
		if typed, ok := o.all[k].(T); ok {
			some = append(some, typed)
		}
	}
	return some
}

func (o *objects) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(into)}, name.String())
	if metadata, ok := into.(*metav1.PartialObjectMetadata); ok {
		labels, ok := o.namespaces[name.Name]
		if !ok {
			return missing
		}
		metadata.Labels = labels
		return nil
	}
	if cm, ok := into.(*corev1.ConfigMap); ok {
		found := o.configMaps[name]
		if found == nil {
			return missing
		}
		found.DeepCopyInto(cm)
		return nil
	}
	found := o.all[key{kindOf(into), name}]
	if found == nil {
		return missing
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

func (o *objects) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	if asked.FieldSelector != nil || asked.LabelSelector != nil {
		return errors.New("the objects of manifests have no index")
	}
	var some []runtime.Object
	for k, found := range o.all {
		if k.kind+"List" == kindOf(list) && (asked.Namespace == "" || asked.Namespace == k.Namespace) {
			some = append(some, found.DeepCopyObject())
		}
	}
	return meta.SetList(list, some)
}
