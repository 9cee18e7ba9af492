// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UserID is the id of a Discord user. To get the id, enable the developer mode
// of Discord, right-click the user, and choose "Copy User ID".
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a Discord user: 6 to 20 digits, in quotes"
type UserID string

// DiscordRoleSpec is the desired state of a role.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
// +kubebuilder:validation:XValidation:rule="!has(self.secondaryColor) || self.secondaryColor.size() == 0 || has(self.color)",message="secondaryColor needs color, the other end of the gradient"
// +kubebuilder:validation:XValidation:rule="!has(self.tertiaryColor) || self.tertiaryColor.size() == 0 || has(self.color) && has(self.secondaryColor) && self.color.lowerAscii() == '#a9c9ff' && self.secondaryColor.lowerAscii() == '#ffbbec' && self.tertiaryColor.lowerAscii() == '#ffc3a0'",message="tertiaryColor makes a holographic role, for which Discord accepts only color #A9C9FF, secondaryColor #FFBBEC and tertiaryColor #FFC3A0"
type DiscordRoleSpec struct {
	// serverRef names the DiscordServer of the role. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a role to another server"
	ServerRef ServerReference `json:"serverRef"`

	// name of the role on Discord, 1 to 100 characters. Several roles may have the
	// same name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	// +kubebuilder:validation:XValidation:rule="self != '@everyone' && self != '@here'",message="must not be @everyone or @here, which Discord reserves"
	Name string `json:"name"`

	// color of the names of the role's members, 7 characters such as "#E67E22".
	// "#000000" means no color. If the field is not set, it is not managed.
	// Source, also for the fields below:
	// https://docs.discord.com/developers/topics/permissions.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^#[0-9A-Fa-f]{6}$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\""
	Color *string `json:"color,omitempty"`

	// secondaryColor is the end of a gradient that begins with color, 7 characters
	// such as "#E67E22". Discord allows it only in servers with the feature
	// ENHANCED_ROLE_COLORS. "" removes the gradient. If it is not set, it is not
	// managed.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^(#[0-9A-Fa-f]{6})?$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\", or empty"
	SecondaryColor *string `json:"secondaryColor,omitempty"`

	// tertiaryColor makes the role holographic. It has 7 characters: Discord
	// accepts only "#FFC3A0", together with the color "#A9C9FF" and the
	// secondaryColor "#FFBBEC". "" removes it. If it is not set, it is not
	// managed.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^(#[0-9A-Fa-f]{6})?$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\", or empty"
	TertiaryColor *string `json:"tertiaryColor,omitempty"`

	// hoist shows the role's members in a separate part of the member list. If it
	// is not set, it is not managed; a new role is not hoisted.
	// +optional
	Hoist *bool `json:"hoist,omitempty"`

	// mentionable lets every member mention the role. If it is not set, it is not
	// managed; a new role is not mentionable.
	// +optional
	Mentionable *bool `json:"mentionable,omitempty"`

	// permissions lists all permissions of the role in the whole server, at most
	// 64. The operator removes all other permissions from the role, except
	// permissions that Discord has not documented. An empty list means no
	// permissions. The bot itself must have each permission in the list. If the
	// list is not set, the permissions are not managed, and a new role has the
	// permissions of @everyone. If the DiscordServer is in another namespace, its
	// spec.allowedRoles must list each permission. The operator then removes
	// unlisted permissions from the role, even if the list is not set, and a new
	// role without a list has no permissions.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitzero"`

	// position defines the order of the roles in a server, in ascending order: the
	// lowest number is the highest role. Only the order of the numbers counts.
	// Roles with equal numbers are in any order. All these roles stay below the
	// bot's highest role. The operator orders a role only relative to roles of its
	// namespace that are neither paused nor observed. But roles of other
	// namespaces than the server's stay below all other roles, except @everyone.
	// If position is not set, the role keeps its place; a new role is the lowest
	// role.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// members are the ids of users who should have the role, at most 100. Other
	// members of the role are not changed. If a user is removed from the list, the
	// user loses the role only if the operator has given the role to the user (see
	// status.members). Discord sends events about members only to bots with a
	// privileged intent, which the operator does not use. So the operator reads
	// each user by one call, and reads the user again after its
	// --live-resync-period (by default one hour).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	Members []UserID `json:"members,omitempty"`

	// adopt names an existing role on Discord. The operator then manages this role
	// instead of creating one. Once set, adopt cannot be changed or removed. An
	// object cannot adopt @everyone, or the role of a bot, of an integration or of
	// the server's boosters. If the DiscordServer is in another namespace, an
	// object cannot adopt any role.
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the role on Discord when this object
	// is deleted: Delete or Retain. Defaults to Retain for the role that
	// spec.adopt names, and to Delete for any other role. A retained role keeps
	// its members. If the DiscordServer is in another namespace, Retain needs its
	// spec.allowRetention. Discord removes a deleted role from its members and
	// from all permission overwrites.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the role match the spec.
	// With Observe, the operator does not change the role or its members, but still
	// enforces spec.allowedRoles of the DiscordServer; status.differences lists the
	// changes that Manage would make. When the object is deleted, the role stays.
	// There is an exception: if the DiscordServer is in another namespace and does
	// not set spec.allowRetention, only an adopted role may stay. The deletion of
	// any other DiscordRole waits until managementPolicy is Manage or
	// allowRetention is set. Defaults to Manage.
	// +optional
	// +default="Manage"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
}

// DiscordRoleStatus is the observed state of a role.
type DiscordRoleStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the role's state: Available (it exists on Discord),
	// Progressing (the operator is working towards the spec), Degraded (a user
	// must act; the message says how) and Ready (the object matches its spec; with
	// managementPolicy Observe, Discord may differ from the spec). Degraded and
	// Progressing are never True together. Verified exists only as False: while
	// the operator cannot check on Discord whether an object that was Ready still
	// matches its spec, or cannot delete the object's resource there. Paused
	// exists only while the object is paused, and InSync only with
	// managementPolicy Observe. At most 16 conditions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// roleId is the id of the role on Discord. Empty until the role exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	RoleID string `json:"roleId,omitempty"`

	// matched is true if the operator found the role without proof that it has
	// created the role: a request to create it was interrupted, exactly one role
	// on Discord matches the request, and the audit log does not show the creator
	// of this role. Because another user may have created it, the operator retains
	// the role when the object is deleted. To apply the deletion policy to the
	// role, set spec.adopt to its id.
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted is true if the object got its role by spec.adopt: the operator has
	// not created the role for this object.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// observed is true while managementPolicy is Observe. In this time, another
	// object may begin to manage the role. If managementPolicy of this object then
	// becomes Manage again, the other object continues to manage the role.
	// observed stays true until this object manages the role itself.
	// +optional
	Observed bool `json:"observed,omitempty"`

	// serverId is the id of the role's server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// permissions lists the role's permissions in the whole server, at most 64,
	// even if spec.permissions is not set. Permissions that Discord has not
	// documented have no name, so they are not listed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitempty"`

	// members lists the users to whom the operator gives or has given the role, at
	// most 200. If such a user is no longer in spec.members, the operator removes
	// the role from the user, and then the user from this list. A user who had the
	// role before is not listed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	Members []UserID `json:"members,omitempty"`

	// differences lists the changes that the operator does not make on Discord
	// because spec.managementPolicy is Observe: at most 64 lines of at most 256
	// characters, such as `name: "old" -> "new"`, `create` or
	// `members: give to user 80351110224678912`. If there are more changes, the
	// last line has the number of the other changes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// DiscordRole is a role of a Discord server: a name, a color and permissions
// that its members share.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=discordroles,singular=discordrole,shortName=drole,categories=discord
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the object matches its spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.roleId`,description="Id of the role on Discord"
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`,description="DiscordServer that the role is in"
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.name`,description="Name of the role on Discord"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the condition Ready"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.roleId) || self.spec.adopt.id == oldSelf.status.roleId",message="spec.adopt.id must be the id in status.roleId, because this object already has that role"
type DiscordRole struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec DiscordRoleSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until the
	// operator first writes it, observedGeneration is -1. So kstatus, a library
	// that Flux and Helm use, does not yet report the object as current.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DiscordRoleStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (r *DiscordRole) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions sets the conditions of the status.
func (r *DiscordRole) SetConditions(now []metav1.Condition) { r.Status.Conditions = now }

// GetManagementPolicy returns the managementPolicy of the spec.
func (r *DiscordRole) GetManagementPolicy() ManagementPolicy { return r.Spec.ManagementPolicy }

// GetDifferences returns the differences of the status.
func (r *DiscordRole) GetDifferences() []string { return r.Status.Differences }

// DiscordRoleList is a list of DiscordRoles.
// +kubebuilder:object:root=true
type DiscordRoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordRole `json:"items"`
}
