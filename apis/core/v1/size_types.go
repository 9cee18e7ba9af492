// SPDX-License-Identifier: Apache-2.0

package v1

// SizeName names a preset of the platform for a Cluster. Small, Medium and
// Large exist unless the platform defines other sizes.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$')",message="must be the name of a size, such as Small"
type SizeName string

// SizeStatus has the values that a Cluster with a size uses: the values of the
// preset, unless the spec sets other values. If the platform does not define
// the size, they are the values of the existing Cluster. If the Cluster is lost,
// they are its last known values.
type SizeStatus struct {
	// name of the size.
	// +required
	Name SizeName `json:"name"`

	// instances is the number of Postgres servers.
	// +optional
	Instances int32 `json:"instances,omitempty"`

	// cpu is the CPU request of each instance, such as "1", at most 64 characters.
	// Empty if an instance has no CPU request.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CPU string `json:"cpu,omitempty"`

	// memory is the memory request of each instance, such as "2Gi", at most 64
	// characters. Empty if an instance has no memory request.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Memory string `json:"memory,omitempty"`

	// storage is the capacity of each instance's volume, such as "20Gi", at most
	// 64 characters. It can be larger than in the preset and in the spec, because
	// a volume never shrinks.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Storage string `json:"storage,omitempty"`
}
