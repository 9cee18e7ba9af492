// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UserID is the id of a Discord user. In developer mode, right-click the user
// in Discord, "Copy User ID".
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
	// +kubebuilder:validation:XValidation:rule="self != '@everyone' && self != '@here'",message="must not be a name that Discord reserves"
	Name string `json:"name"`

	// color of the names of the role's members, 7 characters such as "#E67E22".
	// "#000000" is none. If it is not set, it is not managed. Source, also for the
	// fields below:
	// https://docs.discord.com/developers/topics/permissions.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^#[0-9A-Fa-f]{6}$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\""
	Color *string `json:"color,omitempty"`

	// secondaryColor makes a gradient from color to this one, 7 characters such as
	// "#E67E22". Discord allows it in servers with the feature
	// ENHANCED_ROLE_COLORS. "" removes it. If it is not set, it is not managed.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^(#[0-9A-Fa-f]{6})?$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\", or empty"
	SecondaryColor *string `json:"secondaryColor,omitempty"`

	// tertiaryColor makes the role holographic. Discord accepts only the color
	// #A9C9FF, the secondaryColor #FFBBEC and the tertiaryColor #FFC3A0, of 7
	// characters each. "" removes it. If it is not set, it is not managed.
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self.matches('^(#[0-9A-Fa-f]{6})?$')",message="must be a colour of six hexadecimal digits, such as \"#E67E22\", or empty"
	TertiaryColor *string `json:"tertiaryColor,omitempty"`

	// hoist shows the role's members separately. If it is not set, it is not
	// managed; a new role is not hoisted.
	// +optional
	Hoist *bool `json:"hoist,omitempty"`

	// mentionable lets every member mention the role. If it is not set, it is not
	// managed; a new role is not mentionable.
	// +optional
	Mentionable *bool `json:"mentionable,omitempty"`

	// permissions lists all permissions of the role in the whole server, at most
	// 64. Others are removed, and an empty list removes all. The bot must have
	// each of them itself. If it is not set, they are not managed; a new role has
	// those of @everyone. In a server of another namespace, spec.allowedRoles of
	// the server must list each permission. Other permissions are then removed
	// even if permissions is not set, and a new role has none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitzero"`

	// position defines the order of the roles in a server, in ascending order: the
	// lowest number is the highest role. Only the order of the numbers counts;
	// equal numbers are in any order. All stay below the bot's highest role. Roles
	// of different namespaces are not ordered relative to each other; roles of
	// other namespaces than the server's stay below all others. If it is not set,
	// the role keeps its place; a new role is the lowest.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// members are the ids of users who should have the role, at most 100. Other
	// members of the role are not changed. A user who is removed from the list
	// loses the role only if the operator gave it, see status.members. Discord
	// sends events of members only to bots with a privileged intent. So the
	// operator checks each user by one call, and again after its
	// --live-resync-period (one hour).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	Members []UserID `json:"members,omitempty"`

	// adopt names an existing role to manage instead of creating one. It cannot be
	// changed. Roles of a bot, an integration or the server's boosters, and
	// @everyone, cannot be adopted. Roles of a server of another namespace cannot
	// be adopted either.
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the role on Discord when this object
	// is deleted: Delete or Retain. If it is not set, a role that the operator
	// created is deleted, and an adopted one is retained with its members. Discord
	// removes a deleted role from its members and from all permission overwrites.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the role match the spec.
	// Observe writes nothing on Discord, not even when the object is deleted, and
	// status.differences lists what Manage would change. It gives the role to no
	// user either. Defaults to Manage.
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
	// must act; the message says how) and Ready (the object matches its spec).
	// Degraded and Progressing are never True together. Verified=False exists only
	// while Discord cannot be asked about an object that was Ready. At most 16.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// roleId is the id of the role on Discord. Empty until it exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	RoleID string `json:"roleId,omitempty"`

	// matched reports that the role is the only match of an interrupted create,
	// but the audit log does not show its creator. It may be another user's, so it
	// is retained when the object is deleted. Name it in spec.adopt to apply the
	// deletion policy.
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted reports that spec.adopt bound an existing role, which the operator
	// did not create for this object.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// observed reports that the operator only observes the role, so another object
	// may manage it. That other object keeps the role if managementPolicy of this
	// object becomes Manage again.
	// +optional
	Observed bool `json:"observed,omitempty"`

	// serverId is the id of the role's server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// permissions lists the role's permissions in the whole server, at most 64.
	// Without spec.permissions, Discord gave the role a copy of those of
	// @everyone, which users may have changed. Permissions without a name are not
	// listed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitempty"`

	// members lists the users to whom the operator gives the role or from whom it
	// will take it, at most 200. Users who had the role before are not listed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	Members []UserID `json:"members,omitempty"`

	// differences lists the changes that spec.managementPolicy Observe holds back
	// on Discord: at most 64 lines of at most 256 characters, such as
	// `topic: "old" -> "new"`, `create` or `move`. The last line counts the rest.
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

	// status is the observed state. Only the operator writes it. Before its first
	// write, observedGeneration is -1, so that kstatus, and with it Flux and Helm,
	// does not report the object as current.
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
