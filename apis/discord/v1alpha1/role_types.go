// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UserID is the id of a Discord user: right-click the user in Discord with
// developer mode on, "Copy User ID".
//
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a Discord user: 6 to 20 digits, in quotes"
type UserID string

// DiscordRoleSpec is the desired state of a role.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
// +kubebuilder:validation:XValidation:rule="!has(self.secondaryColor) || self.secondaryColor.size() == 0 || has(self.color)",message="secondaryColor needs color, the other end of the gradient"
// +kubebuilder:validation:XValidation:rule="!has(self.tertiaryColor) || self.tertiaryColor.size() == 0 || has(self.color) && has(self.secondaryColor) && self.color.lowerAscii() == '#a9c9ff' && self.secondaryColor.lowerAscii() == '#ffbbec' && self.tertiaryColor.lowerAscii() == '#ffc3a0'",message="tertiaryColor makes a holographic role, for which Discord accepts only color #A9C9FF, secondaryColor #FFBBEC and tertiaryColor #FFC3A0"
type DiscordRoleSpec struct {
	// serverRef names the DiscordServer that the role is in. It cannot be changed.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a role to another server"
	ServerRef ServerReference `json:"serverRef"`

	// name of the role on Discord, 1 to 100 characters. Several roles may have the
	// same name.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	// +kubebuilder:validation:XValidation:rule="self != '@everyone' && self != '@here'",message="must not be a name that Discord reserves"
	Name string `json:"name"`

	// color of the names of the role's members, 7 characters such as "#E67E22";
	// "#000000" is none. If it is not set, it is not managed. Source:
	// https://docs.discord.com/developers/topics/permissions#role-object-role-colors-object,
	// for the fields below too.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^#[0-9A-Fa-f]{6}$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\""
	Color *string `json:"color,omitempty"`

	// secondaryColor makes the color a gradient to this one, 7 characters such as
	// "#E67E22", which Discord allows in servers with the feature
	// ENHANCED_ROLE_COLORS; "" removes it. If it is not set, it is not managed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^(#[0-9A-Fa-f]{6})?$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\", or empty"
	SecondaryColor *string `json:"secondaryColor,omitempty"`

	// tertiaryColor makes the role holographic, for which Discord accepts only the
	// color #A9C9FF, the secondaryColor #FFBBEC and the tertiaryColor #FFC3A0, of 7
	// characters each; "" removes it. If it is not set, it is not managed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^(#[0-9A-Fa-f]{6})?$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\", or empty"
	TertiaryColor *string `json:"tertiaryColor,omitempty"`

	// hoist shows the members of the role apart from others. If it is not set, it is
	// not managed; a new role is not hoisted.
	//
	// +optional
	Hoist *bool `json:"hoist,omitempty"`

	// mentionable lets every member mention the role. If it is not set, it is not
	// managed; a new role is not mentionable.
	//
	// +optional
	Mentionable *bool `json:"mentionable,omitempty"`

	// permissions lists all permissions of the role in the whole server, at most 64;
	// others are removed, and an empty list removes all. The bot must have each of
	// them itself. If it is not set, they are not managed; a new role has those of
	// @everyone. In a server of another namespace, each has to be listed in its
	// spec.allowedRoles; others are removed also where permissions is not set, and a
	// new role has none then.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitzero"`

	// position orders the roles of a server that have one, in ascending order: the
	// lowest number is the highest role. Only the order of the numbers counts; roles
	// with equal numbers are in any order, and all stay below the highest role of the
	// bot. Roles of different namespaces are not ordered among each other; those of
	// another namespace than the server's stay below all others. If it is not set,
	// the role keeps its place, which for a new one is the lowest.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// members are the ids of users who are to have the role, at most 100. Others who
	// have it are left alone. From a user who is removed from the list the role is
	// taken only if the operator gave it, see status.members. Discord sends bots no
	// events of members without a privilege, so who has the role is checked by one
	// call for each, and again after the operator's --live-resync-period, an hour.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	Members []UserID `json:"members,omitempty"`

	// adopt names an existing role to manage instead of creating one. It cannot be
	// changed once it is set. Roles that belong to a bot, to an integration or to
	// those who boost the server, and @everyone, cannot be adopted, nor can any role
	// of a server of another namespace.
	//
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the role on Discord when this object is
	// deleted. If it is not set, a role that the operator created is deleted, and one
	// that it adopted is retained, with its members. Discord takes a deleted role
	// from its members and out of all permission overwrites.
	//
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// managementPolicy defines what the operator does on Discord for this object:
	// Manage makes the role match the spec. Observe writes nothing there, also
	// not when the object is deleted, and status.differences lists what Manage
	// would change. No user is given the role either. Defaults to Manage.
	//
	// +optional
	// +default="Manage"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
}

// DiscordRoleStatus is the observed state of a role.
type DiscordRoleStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the latest observations of the role's state: Available (it
	// exists on Discord), Progressing (the operator is working towards the spec),
	// Degraded (a user must act; the message says how) and Ready (the object
	// matches its spec). Degraded and Progressing are never True together.
	// Verified is there only while Discord cannot be asked about an object that
	// was Ready: False since then. At most 16.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// roleId is the id of the role on Discord. Empty until it exists.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	RoleID string `json:"roleId,omitempty"`

	// matched says that the role was bound because it alone matches an interrupted
	// create, and that the audit log does not show who created it. It may be another
	// user's, so it is retained when the object is deleted. Name it in spec.adopt to
	// have the deletion policy apply.
	//
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted says that the role was there before and that spec.adopt bound it: the
	// operator did not create it for this object.
	//
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// serverId is the id of the server that the role is in.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// permissions are those that the role has in the whole server, at most 64: of a
	// role without spec.permissions what Discord gave it, a copy of those of @everyone,
	// and what users have changed since. Permissions without a name are not listed.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitempty"`

	// members are the users to whom the operator gives the role, and those from whom
	// it is to take it: at most 200. One who had it before is not among them.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	Members []UserID `json:"members,omitempty"`

	// differences are what the operator would change on Discord, where
	// spec.managementPolicy is Observe: at most 64 lines of at most 256 characters,
	// such as `topic: "old" -> "new"`, `create` or `move`. Where there are more, the
	// last one has their number.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// DiscordRole is a role of a Discord server: a name, a color and permissions that
// members have in common.
//
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
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.roleId) || self.spec.adopt.id == oldSelf.status.roleId",message="spec.adopt cannot be another role than the one that this object has already, see status.roleId"
type DiscordRole struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	//
	// +required
	Spec DiscordRoleSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until it does,
	// observedGeneration is -1, so that kstatus, and with it Flux and Helm, does
	// not report the object as current.
	//
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
//
// +kubebuilder:object:root=true
type DiscordRoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordRole `json:"items"`
}
