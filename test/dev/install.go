// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

// The deletion of a CustomResourceDefinition also deletes all objects of its kind.
const crd = "CustomResourceDefinition"

// installed returns an operator's base without Deployment, PodDisruptionBudget and Services.
func installed(o environment.Operator) ([]*unstructured.Unstructured, error) {
	root, err := project.Root()
	if err != nil {
		return nil, err
	}
	objects, err := o.Render(root, "base")
	return manifests.Without(objects, "Deployment", "PodDisruptionBudget", "Service"), err
}

func install(ctx context.Context, _ *options, t *target, out io.Writer) error {
	for _, o := range environment.All {
		objects, err := installed(o)
		if err != nil {
			return err
		}
		if err := manifests.Apply(ctx, t.client, objects); err != nil {
			return err
		}
		if err := t.served(ctx, objects, out); err != nil {
			return err
		}
		say(out, "%s: %s; its namespace is %s", o.Name, counted(objects), o.Namespace)
	}
	say(out, "Installed, without pods. Next: make dev, or make dev ARGS=--simulate-discord if you have no bot.\n"+
		"To install CloudNativePG and prometheus-operator if they are missing: make dependencies. "+
		"To remove the kinds and permissions again: make uninstall")
	return nil
}

// served waits until the API server lists objects of the new kinds.
func (t *target) served(ctx context.Context, objects []*unstructured.Unstructured, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	for _, definition := range objects {
		if definition.GetKind() != crd {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listKind(definition))
		var last error
		err := wait.PollUntilContextCancel(ctx, refresh, true, func(ctx context.Context) (bool, error) {
			err := t.client.List(ctx, list, client.Limit(1))
			if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !overloaded(err) {
				return true, err
			}
			if last == nil {
				say(out, "  waiting: %s is not served yet", definition.GetName())
			}
			last = err
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("the kind of %s is not served: %w", definition.GetName(), errors.Join(err, last))
		}
	}
	return nil
}

// overloaded reports whether the API server may answer a repeated request.
func overloaded(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err)
}

func counted(objects []*unstructured.Unstructured) string {
	counts := map[string]int{}
	var kinds []string
	for _, o := range objects {
		if counts[o.GetKind()]++; counts[o.GetKind()] == 1 {
			kinds = append(kinds, o.GetKind())
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

// uninstall returns an error if an operator still runs, or if the deletion of the kinds would
// delete objects of users.
func uninstall(ctx context.Context, o *options, t *target, out io.Writer) error {
	var users []*unstructured.Unstructured
	for _, operator := range environment.All {
		if err := t.undeployed(ctx, operator); err != nil {
			return err
		}
		objects, err := t.objectsOf(ctx, operator)
		if err != nil {
			return err
		}
		users = append(users, objects...)
	}
	if len(users) > 0 && !o.keepKinds {
		return refusal(users)
	}
	for _, operator := range environment.All {
		if err := t.remove(ctx, operator, o.keepKinds, out); err != nil {
			return err
		}
	}
	switch {
	case o.keepKinds:
		say(out, "Removed. The kinds stay, with %d objects that no operator reconciles now.", len(users))
	default:
		say(out, "Removed. Retained databases still exist, in Clusters of CloudNativePG. Retained channels, categories "+
			"and roles still exist on Discord.")
	}
	return nil
}

func refusal(objects []*unstructured.Unstructured) error {
	const most = 10
	var lines []string
	for _, o := range objects[:min(most, len(objects))] {
		lines = append(lines, fmt.Sprintf("  %s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()))
	}
	if rest := len(objects) - most; rest > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", rest))
	}
	return fmt.Errorf(`refused: with the kinds, these objects would be deleted, and no operator would clean up after them:
%s
Delete them first, while the operators run (make dev):
  kubectl delete dojos,discordchannels,discordroles,discordgroups,discordservers --all --all-namespaces
Or keep the objects and their kinds, and remove the rest: make uninstall ARGS=--keep-kinds`, strings.Join(lines, "\n"))
}

func (t *target) objectsOf(ctx context.Context, o environment.Operator) (all []*unstructured.Unstructured, err error) {
	objects, err := installed(o)
	if err != nil {
		return nil, err
	}
	for _, definition := range objects {
		if definition.GetKind() != crd {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listKind(definition))
		err := t.client.List(ctx, list)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list what would be deleted: %w", err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

func listKind(definition *unstructured.Unstructured) schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	version, _, _ := unstructured.NestedString(versions[0].(map[string]any), "name")
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"}
}

// remove deletes an operator's objects. It keeps the namespace if a user may have created objects
// in the namespace.
func (t *target) remove(ctx context.Context, o environment.Operator, keepKinds bool, out io.Writer) error {
	objects, err := installed(o)
	if err != nil {
		return err
	}
	kept := []string{"Namespace"}
	if keepKinds {
		kept = append(kept, crd)
	}
	deleted := 0
	for _, object := range slices.Backward(manifests.Without(objects, kept...)) {
		switch err := t.client.Delete(ctx, object); {
		case err == nil:
			deleted++
		case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
			return fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	say(out, "%s: %d objects of make install deleted", o.Name, deleted)
	content, err := t.content(ctx, o.Namespace)
	if err != nil {
		return err
	}
	if len(content) > 0 {
		say(out, "the namespace %s stays, since it has %s", o.Namespace, strings.Join(content, ", "))
		return nil
	}
	return client.IgnoreNotFound(t.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metaOf(o.Namespace)}))
}

func (t *target) content(ctx context.Context, namespace string) (names []string, err error) {
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		corev1api.GroupVersion.WithKind("Dojo"), v1alpha1.GroupVersion.WithKind("DiscordServer"),
		v1alpha1.GroupVersion.WithKind("DiscordGroup"), v1alpha1.GroupVersion.WithKind("DiscordChannel"),
		v1alpha1.GroupVersion.WithKind("DiscordRole"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		switch err := t.client.List(ctx, list, client.InNamespace(namespace)); {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err): // the kind has been deleted
			continue
		case err != nil:
			return nil, fmt.Errorf("list what is in the namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			if name := list.Items[i].GetName(); name != "kube-root-ca.crt" { // every namespace has it
				names = append(names, kind.Kind+" "+name)
			}
		}
	}
	return names, nil
}
