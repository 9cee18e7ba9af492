// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the custom resources of the group discord.jutsu.com: a
// Discord server, its groups (categories), channels and roles.
//
// If a spec does not set a field, the field is not managed: the operator does
// not change this setting on Discord, so users can change it there. If a spec
// sets a field, the field is managed: when the setting on Discord differs from
// the spec, the operator corrects it. It corrects nothing while the object is
// paused or only observed. The comments of the fields name exceptions.
//
// The package depends on apimachinery only, so that a program which reads or writes these kinds
// does not need a controller framework.
// +kubebuilder:object:generate=true
// +groupName=discord.jutsu.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "discord.jutsu.com", Version: "v1alpha1"}

var (
	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package with a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&DiscordServer{}, &DiscordServerList{}, &DiscordGroup{}, &DiscordGroupList{}, &DiscordChannel{}, &DiscordChannelList{},
		&DiscordRole{}, &DiscordRoleList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
