// SPDX-License-Identifier: Apache-2.0

package v1

// These types have the JSON of Kubernetes' Affinity and
// TopologySpreadConstraint, but every list has a bound, because the operator
// keeps every Dojo in memory. An empty term has three bytes as JSON, but takes
// a hundred bytes of memory.

// Affinity has the scheduling constraints of pods towards nodes and other
// pods.
type Affinity struct {
	// nodeAffinity defines on which nodes the pods run.
	// +optional
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity attracts the Dojo's pods to nodes near the pods that it selects,
	// such as in the same zone.
	// +optional
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity keeps the Dojo's pods away from nodes near the pods that it
	// selects.
	// +optional
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity defines on which nodes pods run.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution selects the nodes for new
	// pods. Running pods stay when a node changes.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution lists preferences for nodes,
	// at most 8. The scheduler prefers nodes with the largest sum of weights.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects the nodes that match one of its terms.
type NodeSelector struct {
	// nodeSelectorTerms lists terms, at most 8. A node must match one of them.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// NodeSelectorTerm selects the nodes that meet all its requirements. An empty
// term selects no node.
type NodeSelectorTerm struct {
	// matchExpressions lists requirements for the labels of a node, at most 8. A
	// node must meet all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`

	// matchFields lists requirements for the fields of a node, at most 8.
	// Kubernetes supports metadata.name only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty"`
}

// NodeSelectorRequirement is a requirement for a label or field of a node.
type NodeSelectorRequirement struct {
	// key is the name of the label or field, at most 317 characters.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is the relation of the key to the values: In, NotIn, Exists,
	// DoesNotExist, Gt or Lt.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator string `json:"operator"`

	// values of the label or field, at most 32, of at most 253 characters each: at
	// least one for In and NotIn, none for Exists and DoesNotExist, and one whole
	// number for Gt and Lt.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// PreferredSchedulingTerm prefers nodes.
type PreferredSchedulingTerm struct {
	// weight of the preference, 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// preference selects the preferred nodes.
	// +required
	Preference NodeSelectorTerm `json:"preference"`
}

// PodAffinity attracts pods to nodes near other pods (as podAffinity), or keeps
// them away from these nodes (as podAntiAffinity).
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution lists terms, at most 8. The
	// node of a new pod must be near a pod of every term (podAffinity), or near no
	// pod of any term (podAntiAffinity). Running pods stay when other pods change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution lists preferred terms, at
	// most 8. For each node, the scheduler adds the weights of the terms whose
	// pods are near the node. It prefers the nodes with the largest sum
	// (podAffinity), or with the smallest sum (podAntiAffinity).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodAffinityTerm is a preferred term.
type WeightedPodAffinityTerm struct {
	// weight of the preference, 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podAffinityTerm selects the pods and defines which nodes are near.
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects pods and defines which nodes are near.
type PodAffinityTerm struct {
	// labelSelector selects the pods by their labels. Without it, no pod is
	// selected.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// namespaces of the pods, at most 16. namespaceSelector adds other namespaces.
	// If neither field is set, only pods of the Dojo's own namespace are selected.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// topologyKey is a node label, at most 317 characters, such as
	// topology.kubernetes.io/zone. Nodes with the same value are near each other.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// namespaceSelector selects namespaces of the pods by their labels. An empty
	// selector selects all namespaces.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`

	// matchLabelKeys lists labels, at most 8, each of at most 317 characters. A
	// selected pod must have the same values of these labels as the new pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`

	// mismatchLabelKeys lists labels, at most 8, each of at most 317 characters. A
	// selected pod must have other values of these labels than the new pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty"`
}

// LabelSelector selects objects by their labels. An empty selector selects all
// objects.
type LabelSelector struct {
	// matchLabels lists labels that an object must have, at most 16, with names of
	// at most 317 and values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317)",message="the name of a label has at most 317 characters"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions lists requirements for the labels of an object, at most 8.
	// An object must meet all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// LabelSelectorRequirement is a requirement for a label.
type LabelSelectorRequirement struct {
	// key is the name of the label, at most 317 characters.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is the relation of the label to the values: In, NotIn, Exists or
	// DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`

	// values of the label, at most 32: at least one for In and NotIn, none for
	// Exists and DoesNotExist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Values []LabelValue `json:"values,omitempty"`
}

// TopologySpreadConstraint spreads pods over topology domains, such as zones.
type TopologySpreadConstraint struct {
	// maxSkew is the largest allowed difference in the number of pods between two
	// domains, at least 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is a node label, at most 317 characters, such as
	// topology.kubernetes.io/zone. Each value is a domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// whenUnsatisfiable is DoNotSchedule (a pod that would break the constraint
	// waits) or ScheduleAnyway (the constraint is only a preference).
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable string `json:"whenUnsatisfiable"`

	// labelSelector selects the pods to count. Without it, no pod is counted.
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// minDomains is the lowest number of domains, at least 1. Allowed only with
	// DoNotSchedule. If there are fewer domains, the scheduler calculates as if
	// one domain had no pods. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinDomains *int32 `json:"minDomains,omitempty"`

	// nodeAffinityPolicy defines whether nodes that affinity and nodeSelector
	// exclude are ignored (Honor) or counted (Ignore). Defaults to Honor.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeAffinityPolicy *string `json:"nodeAffinityPolicy,omitempty"`

	// nodeTaintsPolicy defines whether nodes with taints that the pods do not
	// tolerate are ignored (Honor) or counted (Ignore). Defaults to Ignore.
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeTaintsPolicy *string `json:"nodeTaintsPolicy,omitempty"`

	// matchLabelKeys lists labels, at most 8, each of at most 317 characters. Only
	// pods with the same values of these labels as the new pod are counted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}
