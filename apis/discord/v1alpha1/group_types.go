package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DiscordGroupSpec is what a user wants of a group of channels.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: make a new object"
type DiscordGroupSpec struct {
	// serverRef names the DiscordServer that the group is in. It cannot be changed.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a category to another server"
	ServerRef ServerReference `json:"serverRef"`

	// name of the category on Discord, 1 to 100 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	Name string `json:"name"`

	// position orders the groups of a server that have one: smaller ones stand above larger ones. Only the order counts, not the
	// number; equal numbers stand in any order. Left out, the group stays where it is.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// permissionOverwrites are all overwrites of the category, at most 100: what Discord has beyond them is removed. An empty list
	// removes all of them; left out, they are not managed. When they would keep the bot out of the category, one more is set that lets it in.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may stand here once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// adopt takes over a category that exists already instead of creating one. It cannot be changed once it is set.
	//
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy says what becomes of the category on Discord when this object is deleted. Left out, one that the
	// operator created is deleted and one that it adopted is retained. Discord keeps the channels of a deleted category, outside of any.
	//
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DiscordGroupStatus is what was last seen of a group.
type DiscordGroupStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell how the group is: Available (it exists on Discord), Progressing (the operator is working towards the
	// spec), Degraded (a person must act; the message says how) and Ready (the spec is true). Degraded and
	// Progressing are never True together.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// groupId is the id of the category on Discord. Empty until it exists.
	//
	// +optional
	GroupID string `json:"groupId,omitempty"`

	// serverId is the id of the server that the category is in.
	//
	// +optional
	ServerID string `json:"serverId,omitempty"`
}

// DiscordGroup is a category of a Discord server: a group of channels with a name, an order and permissions.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=discordgroups,singular=discordgroup,shortName=dgrp,categories=discord
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.groupId`,description="Id of the category on Discord"
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`,description="DiscordServer that the group is in"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.name`,description="What the category is called on Discord"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the spec is true"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is or is not Ready"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What is going on, or what to do"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.groupId) || self.spec.adopt.id == oldSelf.status.groupId",message="spec.adopt cannot be another category than the one that this object has already, see status.groupId"
type DiscordGroup struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you want.
	//
	// +required
	Spec DiscordGroupSpec `json:"spec"`

	// status is what the operator last saw; it is the operator's alone.
	//
	// Until then observedGeneration is -1, so that what waits for the object (kstatus, and with it Flux and Helm) does not take it for settled.
	//
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DiscordGroupStatus `json:"status,omitempty"`
}

// DiscordGroupList is a list of DiscordGroups.
//
// +kubebuilder:object:root=true
type DiscordGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordGroup `json:"items"`
}
