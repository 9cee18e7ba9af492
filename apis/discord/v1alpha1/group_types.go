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

	// position defines the order of the groups in a server, in ascending order.
	// Only the order of the numbers counts; equal numbers are in any order. Groups
	// of different namespaces are not ordered relative to each other. If it is not
	// set, the group keeps its place.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// permissionOverwrites lists all overwrites of the category, at most 100.
	// Others on Discord are removed. An empty list removes all. If it is not set,
	// they are not managed. If they would deny the bot access, an overwrite for
	// the bot is added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.roleRef) ? a.roleRef.name : '') == (has(b.roleRef) ? b.roleRef.name : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may be listed only once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// allowedNamespaces defines which namespaces may have channels in this group.
	// If it is not set, only the group's own namespace may. Withdrawing a
	// namespace deletes nothing: its channels stay as they are on Discord, and
	// their objects are Degraded with the reason NotAllowed.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`

	// adopt names an existing category to manage instead of creating one. It
	// cannot be changed. In a server of another namespace, it needs the server's
	// spec.allowAdoption.
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the category on Discord when this
	// object is deleted: Delete or Retain. If it is not set, a category that the
	// operator created is deleted, and an adopted one is retained. Discord keeps
	// the channels of a deleted category.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// deletionProtection refuses every deletion of the object until it is false
	// again. It does not refuse the deletion of the namespace, which deletes the
	// object too. deletionPolicy defines what happens on Discord. Defaults to
	// false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the category match the
	// spec. Observe writes nothing on Discord, not even when the object is
	// deleted, and status.differences lists what Manage would change. Defaults to
	// Manage.
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

	// conditions describe the group's state: Available (it exists on Discord),
	// Progressing (the operator is working towards the spec), Degraded (a user
	// must act; the message says how) and Ready (the object matches its spec).
	// Degraded and Progressing are never True together. Verified=False exists only
	// while Discord cannot be asked about an object that was Ready. At most 16.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// groupId is the id of the category on Discord. Empty until it exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	GroupID string `json:"groupId,omitempty"`

	// matched reports that the category is the only match of an interrupted
	// create, but the audit log does not show its creator. It may be another
	// user's, so it is retained when the object is deleted. Name it in spec.adopt
	// to apply the deletion policy.
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted reports that spec.adopt bound an existing category, which the
	// operator did not create for this object.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// observed reports that the operator only observes the category, so another
	// object may manage it. That other object keeps the category if
	// managementPolicy of this object becomes Manage again.
	// +optional
	Observed bool `json:"observed,omitempty"`

	// serverId is the id of the category's server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// roles lists the roles to which names in spec.permissionOverwrites were
	// resolved, at most 100. A name keeps its role until it is removed from the
	// spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Roles []ResolvedRole `json:"roles,omitempty"`

	// differences lists the changes that spec.managementPolicy Observe holds back
	// on Discord: at most 64 lines of at most 256 characters, such as
	// `topic: "old" -> "new"`, `create` or `move`. The last line counts the rest.
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

	// status is the observed state. Only the operator writes it. Before its first
	// write, observedGeneration is -1, so that kstatus, and with it Flux and Helm,
	// does not report the object as current.
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
