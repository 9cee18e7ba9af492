// SPDX-License-Identifier: Apache-2.0

package v1

// Types of the fields of a pod. The fields are in DojoSpec, dojo_types.go.

// Probes configure how the kubelet probes the application.
type Probes struct {
	// startup restarts the container when it fails. The other probes begin once
	// startup has succeeded. Defaults: the path of liveness, every second, 60
	// failures.
	// +optional
	Startup *Probe `json:"startup,omitempty"`

	// liveness restarts the container when it fails. Defaults: path
	// /probe/liveness, every 10 seconds, 3 failures.
	// +optional
	Liveness *Probe `json:"liveness,omitempty"`

	// readiness removes the pod from the Service when it fails. Defaults: path
	// /probe/readiness, every 5 seconds, 2 failures.
	// +optional
	Readiness *Probe `json:"readiness,omitempty"`
}

// Probe is an HTTP GET on the application's port 8080. Fields that are not set
// keep their default.
type Probe struct {
	// path of the request, such as /healthz, of at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must begin with /"
	Path string `json:"path,omitempty"`

	// initialDelaySeconds is the time between the container's start and the first
	// probe, in seconds. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`

	// periodSeconds is the time between two probes, in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// timeoutSeconds is the time for a response, in seconds. Defaults to 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// failureThreshold is the number of consecutive failures after which the
	// kubelet considers the probe failed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// Volume is a volume of the pods. Exactly one of configMap, secret, emptyDir
// and persistentVolumeClaim must be set.
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim)].filter(is, is).size() == 1",message="exactly one of configMap, secret, emptyDir and persistentVolumeClaim is required"
type Volume struct {
	// name of the volume, for volumeMounts. The name tmp is reserved for the
	// operator's volume for the working directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self != 'tmp'",message="must be lower case letters, digits and '-', starting and ending with a letter or digit, and not tmp, which is the operator's own"
	Name string `json:"name"`

	// configMap is a ConfigMap whose keys become files.
	// +optional
	ConfigMap *VolumeSource `json:"configMap,omitempty"`

	// secret is a Secret whose keys become files.
	// +optional
	Secret *VolumeSource `json:"secret,omitempty"`

	// emptyDir is a directory that is empty when a pod starts and is deleted with
	// the pod.
	// +optional
	EmptyDir *EmptyDir `json:"emptyDir,omitempty"`

	// persistentVolumeClaim is an existing claim. All pods use it at the same
	// time, also during a rollout, so its access mode must allow that.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaim `json:"persistentVolumeClaim,omitempty"`
}

// VolumeSource names a ConfigMap or a Secret in the Dojo's namespace.
type VolumeSource struct {
	// name of the ConfigMap or Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// optional lets pods start without the ConfigMap or Secret. Defaults to false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// EmptyDir is a directory on the node's disk.
type EmptyDir struct {
	// sizeLimit is the size above which the pod is evicted, such as 64Mi, at most
	// 64 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$') && quantity(self).isGreaterThan(quantity('0'))",message="must be a quantity greater than 0, such as 64Mi"
	SizeLimit string `json:"sizeLimit"`
}

// PersistentVolumeClaim names a claim in the Dojo's namespace.
type PersistentVolumeClaim struct {
	// claimName is the name of the PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName"`

	// readOnly mounts the claim read-only. Defaults to false.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}

// VolumeMount mounts a volume in the application's container.
type VolumeMount struct {
	// name of one of the volumes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// mountPath is the absolute path in the container, at most 1024 characters. It
	// must not be /tmp, which is the working directory.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.contains(':') && !(self in ['/tmp', '/tmp/'])",message="must begin with /, have no ':', and not be /tmp, which is the working directory"
	MountPath string `json:"mountPath"`

	// subPath is the file or folder within the volume, at most 1024 characters.
	// Defaults to the whole volume.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part == '..')",message="must be relative and have no .."
	SubPath string `json:"subPath,omitempty"`

	// readOnly mounts the volume read-only. Defaults to false.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}

// EnvFromSource makes an environment variable of each key of a ConfigMap or
// Secret. Exactly one of configMapRef and secretRef must be set.
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="exactly one of configMapRef and secretRef is required"
type EnvFromSource struct {
	// prefix of the variables' names, at most 128 characters. Defaults to none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Prefix string `json:"prefix,omitempty"`

	// configMapRef names a ConfigMap.
	// +optional
	ConfigMapRef *VolumeSource `json:"configMapRef,omitempty"`

	// secretRef names a Secret.
	// +optional
	SecretRef *VolumeSource `json:"secretRef,omitempty"`
}

// Autoscaling is a HorizontalPodAutoscaler of the Dojo.
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not be greater than maxReplicas"
type Autoscaling struct {
	// minReplicas is the lowest number of pods that the autoscaler sets. Defaults
	// to 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the highest number of pods that the autoscaler sets.
	// +required
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas"`

	// targetCPUUtilization is the target for the average CPU usage, in percent of
	// the pods' requests. Defaults to 80.
	// +optional
	// +default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TargetCPUUtilization *int32 `json:"targetCPUUtilization,omitempty"`
}
