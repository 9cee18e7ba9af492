// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/plan"
	"jutsu.com/operators/libs/kubectl"
)

func (s *session) applyManifests(
	ctx context.Context, f *planFlags, planner *plan.Planner, report *plan.Report,
) (targets []client.ObjectKey, err error) {
	manifests, err := readManifests(f.file, s.In)
	if err != nil {
		return nil, err
	}
	others := 0
	for _, o := range manifests {
		if o.GetNamespace() == "" {
			o.SetNamespace(s.Namespace)
		}
		switch o.GroupVersionKind() {
		case kinds.Dojo.GroupVersionKind:
			live, applied, err := s.tryApply(ctx, f, o)
			if err != nil {
				return nil, fmt.Errorf("the dry run of an apply of the Dojo %s/%s: %w", o.GetNamespace(), o.GetName(), err)
			}
			planner.Apply(live, applied)
			targets = append(targets, client.ObjectKeyFromObject(applied))
		case kinds.Secret.GroupVersionKind, kinds.ConfigMap.GroupVersionKind:
			planner.Apply(nil, stored(o))
		default:
			others++
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("-f %s has no Dojo, but a plan needs at least one Dojo", f.file)
	}
	if others > 0 {
		report.Notes = append(report.Notes,
			fmt.Sprintf("The plan ignores %d objects of %s: it reads only Dojos, Secrets and ConfigMaps.", others, f.file))
	}
	return targets, nil
}

// stored mimics the API server: it sets a UID and a version, and moves stringData to data.
func stored(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetUID(types.UID("planned-" + o.GetName()))
	o.SetResourceVersion("1")
	texts, _, _ := unstructured.NestedStringMap(o.Object, "stringData")
	if o.GetKind() == kinds.Secret.Kind && len(texts) > 0 {
		data := map[string]any{}
		if present, _, _ := unstructured.NestedMap(o.Object, "data"); present != nil {
			data = present
		}
		for name, text := range texts {
			data[name] = base64.StdEncoding.EncodeToString([]byte(text))
		}
		o.Object["data"] = data
		delete(o.Object, "stringData")
	}
	return o
}

func (s *session) tryApply(
	ctx context.Context, f *planFlags, o *unstructured.Unstructured,
) (live, applied *unstructured.Unstructured, err error) {
	server := client.WithFieldValidation(s.Client, metav1.FieldValidationStrict)
	live = kinds.Dojo.Object()
	err = server.Get(ctx, client.ObjectKeyFromObject(o), live)
	if apierrors.IsNotFound(err) && !kubectl.NotServed(err) {
		live, err = nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	applied = o.DeepCopy()
	switch {
	case f.serverSide:
		err = server.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.DryRunAll,
			client.FieldOwner(f.fieldManager), client.ForceOwnership)
	case live == nil:
		err = server.Create(ctx, applied, client.DryRunAll)
	default:
		applied = live.DeepCopy()
		var patch []byte
		if patch, err = threeWay(live, o); err == nil {
			err = server.Patch(ctx, applied, client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
		}
	}
	return live, applied, err
}

// threeWay returns the merge patch that a client-side kubectl apply would send.
func threeWay(live, o *unstructured.Unstructured) ([]byte, error) {
	present, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	next, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	last := []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	return jsonmergepatch.CreateThreeWayJSONMergePatch(last, next, present)
}

func readManifests(path string, in io.Reader) (all []*unstructured.Unstructured, err error) {
	read := resource.NewLocalBuilder().Unstructured().Flatten()
	if path == "-" {
		read.Stream(in, "standard input")
	} else {
		read.Path(false, path)
	}
	infos, err := read.Do().Infos()
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.Name == "" {
			return nil, errors.New("an object has no kind or no metadata.name")
		}
		all = append(all, info.Object.(*unstructured.Unstructured))
	}
	return all, nil
}
