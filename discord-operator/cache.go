package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// cacheOptions says what the cache holds: our kinds, and of Secrets their metadata only, stripped where they are not ours, so that memory
// hardly grows with the Secrets of a cluster.
func cacheOptions(namespaces []string) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		ByObject:                    map[client.Object]cache.ByObject{secretMetadata(): {Transform: strip}},
	}
	for _, namespace := range namespaces {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[namespace] = cache.Config{}
	}
	return o
}

func secretMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
}

// watched are the kinds that the cache has to show before anything can be reconciled.
func watched() []client.Object {
	return []client.Object{&v1alpha1.DiscordServer{}, &v1alpha1.DiscordGroup{}, &v1alpha1.DiscordChannel{}, secretMetadata()}
}

// strip leaves of a Secret that is not ours no more than that it exists, in which state, and whose it is.
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
