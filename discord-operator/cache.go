// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/apply"
)

// cacheOptions restricts the cache to our kinds and the metadata of Secrets, stripped where they
// are not ours, so that memory hardly grows with the Secrets of a cluster. Of Namespaces it has the
// labels, where they are read at all.
func cacheOptions(namespaces []string) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			apply.Metadata("v1", "Secret"):    {Transform: strip},
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

// watched are the kinds whose cache has to sync before the first reconcile.
func watched(o *options) []client.Object {
	kinds := []client.Object{&v1alpha1.DiscordServer{}, &v1alpha1.DiscordGroup{}, &v1alpha1.DiscordChannel{},
		apply.Metadata("v1", "Secret")}
	if o.selectors && len(o.manager.Namespaces) == 0 {
		kinds = append(kinds, apply.Metadata("v1", "Namespace"))
	}
	return kinds
}

// labelsOnly reduces a Namespace to its name, version and labels.
func labelsOnly(in any) (any, error) {
	if namespace, ok := in.(*metav1.PartialObjectMetadata); ok { // else a tombstone
		namespace.ObjectMeta = metav1.ObjectMeta{
			Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion, Labels: namespace.Labels,
		}
	}
	return in, nil
}

// strip reduces a Secret that is not ours to its name, version, state and owners.
func strip(in any) (any, error) {
	secret, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil // a tombstone
	}
	if owner := metav1.GetControllerOfNoCopy(secret); owner != nil && owner.APIVersion == v1alpha1.GroupVersion.String() {
		return in, nil
	}
	secret.ObjectMeta = metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion,
		DeletionTimestamp: secret.DeletionTimestamp, OwnerReferences: secret.OwnerReferences,
	}
	return secret, nil
}
