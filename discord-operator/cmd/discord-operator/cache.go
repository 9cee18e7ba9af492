// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/libs/apply"
)

func cacheOptions(namespaces []string) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            bare,
		ByObject: map[client.Object]cache.ByObject{
			apply.Metadata("v1", "Secret"):    {Transform: strip},
			apply.Metadata("v1", "ConfigMap"): {Transform: versionOnly},
			apply.Metadata("v1", "Namespace"): {Transform: labelsOnly},
		},
	}
	for _, namespace := range namespaces {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[namespace] = cache.Config{}
	}
	return o
}

// watched returns the kinds that must be in the cache before the process is ready.
func watched(o *options) []client.Object {
	kinds := []client.Object{&v1alpha1.DiscordServer{}, &v1alpha1.DiscordGroup{}, &v1alpha1.DiscordChannel{},
		&v1alpha1.DiscordRole{}, apply.Metadata("v1", "Secret"), apply.Metadata("v1", "ConfigMap")}
	if o.selectors && len(o.manager.Namespaces) == 0 {
		kinds = append(kinds, apply.Metadata("v1", "Namespace"))
	}
	return kinds
}

func versionOnly(in any) (any, error) {
	if cm, ok := in.(*metav1.PartialObjectMetadata); ok { // in can also be a tombstone (DeletedFinalStateUnknown)
		cm.ObjectMeta = metav1.ObjectMeta{
			Namespace: cm.Namespace, Name: cm.Name, UID: cm.UID, ResourceVersion: cm.ResourceVersion,
		}
	}
	return in, nil
}

func labelsOnly(in any) (any, error) {
	if namespace, ok := in.(*metav1.PartialObjectMetadata); ok { // in can also be a tombstone (DeletedFinalStateUnknown)
		namespace.ObjectMeta = metav1.ObjectMeta{
			Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion, Labels: namespace.Labels,
		}
	}
	return in, nil
}

// bare strips unused metadata. Patches are not affected: they contain only finalizers and status.
func bare(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok {
		return in, nil // a tombstone
	}
	var annotations map[string]string
	for _, name := range []string{v1alpha1.ForceDeleteAnnotation, v1alpha1.PausedAnnotation} {
		if o.GetAnnotations()[name] == "true" {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[name] = "true"
		}
	}
	o.SetAnnotations(annotations)
	o.SetLabels(nil)
	o.SetOwnerReferences(nil)
	o.SetManagedFields(nil)
	return o, nil
}

func strip(in any) (any, error) {
	secret, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil // a tombstone
	}
	apply.Keep(webhook.FieldOwner, secret, func() {
		secret.ObjectMeta = metav1.ObjectMeta{
			Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion,
			DeletionTimestamp: secret.DeletionTimestamp, OwnerReferences: apply.Controller(secret),
		}
	})
	return secret, nil
}
