// SPDX-License-Identifier: Apache-2.0

package v1

// The types of this file are those of Kubernetes' Affinity and TopologySpreadConstraint in JSON. Kubernetes
// bounds none of their lists; here each has a bound, since the operator holds every Dojo in memory, where an
// empty term of three bytes takes a hundred.

// Affinity holds scheduling constraints of pods towards nodes and other pods.
type Affinity struct {
	// nodeAffinity says on which nodes the pods run.
	//
	// +optional
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity says near which pods the pods run, such as in their zone.
	//
	// +optional
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity says near which pods the pods do not run.
	//
	// +optional
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity says on which nodes pods run.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution selects the nodes on which
	// pods are scheduled. Pods that run stay when a node changes.
	//
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution selects at most 8 times the
	// nodes that the scheduler prefers: those with the largest sum of weights.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects the nodes that one of its terms selects.
type NodeSelector struct {
	// nodeSelectorTerms are at most 8 terms, of which a node must match one.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// NodeSelectorTerm selects nodes. An empty one selects none.
type NodeSelectorTerm struct {
	// matchExpressions are at most 8 requirements for the labels of a node, all of
	// which it must meet.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`

	// matchFields are at most 8 requirements for the fields of a node, of which
	// Kubernetes knows metadata.name.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty"`
}

// NodeSelectorRequirement is a requirement for a label or field of a node.
type NodeSelectorRequirement struct {
	// key is the name of the label or field, at most 317 characters.
	//
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator relates the key to the values: In, NotIn, Exists, DoesNotExist, Gt
	// or Lt.
	//
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator string `json:"operator"`

	// values of the label or field, at most 32: at least one for In and NotIn, none
	// for Exists and DoesNotExist, and one whole number for Gt and Lt. A value has
	// at most 253 characters.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// PreferredSchedulingTerm prefers nodes.
type PreferredSchedulingTerm struct {
	// weight of the preference, from 1 to 100.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// preference selects the nodes.
	//
	// +required
	Preference NodeSelectorTerm `json:"preference"`
}

// PodAffinity relates pods to other pods.
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are at most 8 terms, all of
	// which hold for a node on which a pod is scheduled. Pods that run stay when
	// other pods change.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are at most 8 terms that the
	// scheduler prefers to hold: it takes nodes with the largest sum of weights.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// WeightedPodAffinityTerm is a preferred term.
type WeightedPodAffinityTerm struct {
	// weight of the preference, from 1 to 100.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podAffinityTerm selects the pods, and says how near is near.
	//
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects pods, and says how near is near.
type PodAffinityTerm struct {
	// labelSelector selects the pods by their labels. Without it no pod is
	// selected.
	//
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// namespaces of the pods, at most 16, beside those of namespaceSelector.
	// Without both it is the Dojo's own.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// topologyKey is the label of nodes whose value is the same for nodes that are
	// near to each other, such as topology.kubernetes.io/zone: at most 317
	// characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// namespaceSelector selects namespaces of the pods by their labels. An empty
	// one selects all.
	//
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`

	// matchLabelKeys are at most 8 labels, each of at most 317 characters, that the
	// selected pods have with the same value as the new one.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`

	// mismatchLabelKeys are at most 8 labels, each of at most 317 characters, that
	// the selected pods have with another value than the new one.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty"`
}

// LabelSelector selects objects by their labels. An empty one selects all.
type LabelSelector struct {
	// matchLabels are at most 16 labels that an object has, with names of at most
	// 317 and values of at most 63 characters.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317)",message="a label has a name of at most 317 characters"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are at most 8 requirements for the labels of an object, all
	// of which it meets.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// LabelSelectorRequirement is a requirement for a label.
type LabelSelectorRequirement struct {
	// key is the name of the label, at most 317 characters.
	//
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator relates the label to the values: In, NotIn, Exists or DoesNotExist.
	//
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`

	// values of the label, at most 32: at least one for In and NotIn, and none for
	// Exists and DoesNotExist.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Values []LabelValue `json:"values,omitempty"`
}

// TopologySpreadConstraint says how pods are spread among parts of a cluster.
type TopologySpreadConstraint struct {
	// maxSkew is by how many pods parts may differ, at least 1.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	MaxSkew int32 `json:"maxSkew"`

	// topologyKey is the label of nodes whose values are the parts, such as
	// topology.kubernetes.io/zone: at most 317 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// whenUnsatisfiable is DoNotSchedule, so that a pod waits which would break the
	// constraint, or ScheduleAnyway.
	//
	// +required
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable string `json:"whenUnsatisfiable"`

	// labelSelector selects the pods that count.
	//
	// +optional
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// minDomains is how many parts there are at least, for DoNotSchedule: with
	// fewer, no pod counts as the smallest number in a part. At least 1, the
	// default.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinDomains *int32 `json:"minDomains,omitempty"`

	// nodeAffinityPolicy says whether nodes count that affinity and nodeSelector
	// leave out: Honor, the default, or Ignore.
	//
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeAffinityPolicy *string `json:"nodeAffinityPolicy,omitempty"`

	// nodeTaintsPolicy says whether nodes count whose taints the pods do not
	// tolerate: Honor, or Ignore, the default, so that they count.
	//
	// +optional
	// +kubebuilder:validation:Enum=Honor;Ignore
	NodeTaintsPolicy *string `json:"nodeTaintsPolicy,omitempty"`

	// matchLabelKeys are at most 8 labels, each of at most 317 characters, that the
	// pods that count have with the same value as the new one.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}
