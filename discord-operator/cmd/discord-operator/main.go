// SPDX-License-Identifier: Apache-2.0

// Command discord-operator reconciles objects of discord.jutsu.com with Discord.
package main

import (
	"context"

	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities, for an image with only this program
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/manager"
	"jutsu.com/operators/libs/manager/buildversion"
)

// version is set by -ldflags "-X main.version=..."; if it is empty, see package buildversion.
var version string

// Leader election and the metrics endpoint need these permissions; all others are in internal/.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=discord-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=discord-system,resources=leases,resourceNames=discord-operator.discord.jutsu.com,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=discord-system,resources=events,verbs=create
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

func main() { manager.Main("discord-operator", buildversion.Of(version), parse, run) }

func run(ctx context.Context, o *options) error {
	mgr, err := manager.New(&o.manager, manager.Options{
		Name: "discord-operator", Version: buildversion.Of(version), Lease: "discord-operator.discord.jutsu.com",
		Kinds: []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme},
		Cache: cacheOptions(o.manager.Namespaces), Watched: watched(o),
	})
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
