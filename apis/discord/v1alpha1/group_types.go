// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DiscordGroupSpec is the desired state of a group of channels.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
type DiscordGroupSpec struct {
	// serverRef names the DiscordServer of the group. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a category to another server"
	ServerRef ServerReference `json:"serverRef"`

	// name of the category on Discord, 1 to 100 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	Name string `json:"name"`

	// position defines the order of the groups in a server, in ascending order
	// from the top. Only the order of the numbers counts. Groups with equal
	// numbers are in any order. The operator orders a group only relative to
	// groups of its namespace that are neither paused nor observed. If position is
	// not set, the group keeps its place.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// permissionOverwrites lists all overwrites of the category, at most 100. The
	// operator removes all other overwrites from the category. If the list is
	// empty, the operator removes all overwrites. If the list is not set, the
	// overwrites are not managed. If the overwrites would deny the bot access, the
	// operator adds an overwrite for the bot.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.roleRef) ? a.roleRef.name : '') == (has(b.roleRef) ? b.roleRef.name : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may be listed only once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// allowedNamespaces defines which namespaces may have channels in this group.
	// If it is not set, only the group's own namespace may have channels. If the
	// DiscordServer is in another namespace, its spec.allowedNamespaces must allow
	// these namespaces, too. If a namespace is no longer allowed, its channels
	// stay as they are on Discord, and their DiscordChannels are Degraded with the
	// reason NotAllowed.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`

	// adopt names an existing category on Discord. The operator then manages this
	// category instead of creating one. Once set, adopt cannot be changed or
	// removed. If the DiscordServer is in another namespace, its
	// spec.allowAdoption must be true.
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the category on Discord when this
	// object is deleted: Delete or Retain. Defaults to Retain for the category
	// that spec.adopt names, and to Delete for any other category. If the
	// DiscordServer is in another namespace, Retain needs its spec.allowRetention,
	// except for an adopted category. Discord keeps the channels of a deleted
	// category.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// deletionProtection protects the object: while it is true, the API server
	// refuses every deletion of the object. But if the namespace or the
	// CustomResourceDefinition is deleted, the object is deleted too.
	// deletionProtection needs the operator's ValidatingAdmissionPolicies, which
	// OLM does not install. deletionPolicy defines what happens on Discord.
	// Defaults to false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the category match the
	// spec. With Observe, the operator does not change the category;
	// status.differences lists the changes that Manage would make. When the object
	// is deleted, the category stays. There is an exception: if the DiscordServer
	// is in another namespace and does not set spec.allowRetention, only an adopted
	// category may stay. The deletion of any other DiscordGroup waits until
	// managementPolicy is Manage or allowRetention is set. Defaults to Manage.
	// +optional
	// +default="Manage"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
}

// DiscordGroupStatus is the observed state of a group.
type DiscordGroupStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the group's state: Available (it exists on Discord, and
	// the bot may view it), Progressing (the operator is working towards the
	// spec), Degraded (a user must act; the message says how) and Ready (the
	// object matches its spec; with managementPolicy Observe, Discord may differ
	// from the spec). Degraded and Progressing are never True together. Verified
	// exists only as False: while the operator cannot check on Discord whether an
	// object that was Ready still matches its spec, or cannot delete the object's
	// resource there. Paused exists only while the object is paused, and InSync
	// only with managementPolicy Observe. At most 16 conditions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// groupId is the id of the category on Discord. Empty until the category
	// exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	GroupID string `json:"groupId,omitempty"`

	// matched is true if the operator found the category without proof that it has
	// created the category: a request to create it was interrupted, exactly one
	// category on Discord matches the request, and the audit log does not show the
	// creator of this category. Because another user may have created it, the
	// operator retains the category when the object is deleted. To apply the
	// deletion policy to the category, set spec.adopt to its id.
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted is true if the object got its category by spec.adopt. It is false if
	// the operator created the category for another DiscordGroup, and neither that
	// DiscordGroup nor this one is in the namespace of the DiscordServer.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// observed is true while managementPolicy is Observe. In this time, another
	// object may begin to manage the category. If managementPolicy of this object
	// then becomes Manage again, the other object continues to manage the
	// category. observed stays true until this object manages the category itself.
	// +optional
	Observed bool `json:"observed,omitempty"`

	// serverId is the id of the category's server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// roles lists the roles on Discord that the names in spec.permissionOverwrites
	// mean, at most 100. A name means the same role until the name is removed from
	// the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Roles []ResolvedRole `json:"roles,omitempty"`

	// differences lists the changes that the operator does not make on Discord
	// because spec.managementPolicy is Observe: at most 64 lines of at most 256
	// characters, such as `name: "old" -> "new"`, `create` or
	// `move below "Events"`. If there are more changes, the last line has the
	// number of the other changes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// DiscordGroup is a category of a Discord server: a named, ordered group of
// channels with permissions.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=discordgroups,singular=discordgroup,shortName=dgrp,categories=discord
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the object matches its spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.groupId`,description="Id of the category on Discord"
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`,description="DiscordServer that the group is in"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.name`,description="Name of the category on Discord"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the condition Ready"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.groupId) || self.spec.adopt.id == oldSelf.status.groupId",message="spec.adopt.id must be the id in status.groupId, because this object already has that category"
type DiscordGroup struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec DiscordGroupSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until the
	// operator first writes it, observedGeneration is -1. So kstatus, a library
	// that Flux and Helm use, does not yet report the object as current.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DiscordGroupStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (g *DiscordGroup) GetConditions() []metav1.Condition { return g.Status.Conditions }

// SetConditions sets the conditions of the status.
func (g *DiscordGroup) SetConditions(now []metav1.Condition) { g.Status.Conditions = now }

// GetManagementPolicy returns the managementPolicy of the spec.
func (g *DiscordGroup) GetManagementPolicy() ManagementPolicy { return g.Spec.ManagementPolicy }

// GetDifferences returns the differences of the status.
func (g *DiscordGroup) GetDifferences() []string { return g.Status.Differences }

// GetRoles returns the resolved roles of the status.
func (g *DiscordGroup) GetRoles() []ResolvedRole { return g.Status.Roles }

// SetRoles sets the resolved roles of the status.
func (g *DiscordGroup) SetRoles(now []ResolvedRole) { g.Status.Roles = now }

// DiscordGroupList is a list of DiscordGroups.
// +kubebuilder:object:root=true
type DiscordGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordGroup `json:"items"`
}
