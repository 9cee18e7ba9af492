// SPDX-License-Identifier: Apache-2.0

package v1

// Hostname is a DNS host name of at most 253 characters.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be a host name: lower case letters, digits, '-' and '.', such as dojo.example.org"
type Hostname string

// Exposure exposes a Dojo outside of the cluster, by either ingress or
// gateway.
// +kubebuilder:validation:XValidation:rule="has(self.ingress) != has(self.gateway)",message="exactly one of ingress and gateway is required; ingress: {} is an Ingress of the cluster's default class"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !has(self.tls)",message="tls is allowed with ingress only: with gateway, the listener of the Gateway has the certificate"
type Exposure struct {
	// hosts are the Dojo's host names, such as dojo.example.org, at most 16.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Hosts []Hostname `json:"hosts"`

	// ingress exposes the Dojo through an Ingress for its Service. When gateway
	// replaces ingress, the Ingress stays until a Gateway has accepted the
	// HTTPRoute.
	// +optional
	Ingress *IngressExposure `json:"ingress,omitempty"`

	// gateway exposes the Dojo through an HTTPRoute for its Service. It requires
	// the Gateway API. Without the Gateway API, the Dojo is Degraded with the
	// reason GatewayAPINotInstalled. Once the Gateway API is installed, the Dojo
	// continues automatically. When ingress replaces gateway, an HTTPRoute that a
	// Gateway has accepted stays until the Ingress has an address.
	// +optional
	Gateway *GatewayExposure `json:"gateway,omitempty"`

	// tls serves all hosts over HTTPS. It is allowed only with ingress, because a
	// Gateway itself has the certificates of its listeners. Without tls, the
	// Ingress names no certificate.
	// +optional
	TLS *ExposureTLS `json:"tls,omitempty"`
}

// IngressExposure configures the Ingress of a Dojo.
type IngressExposure struct {
	// className is the name of the IngressClass. Defaults to the default class of
	// the cluster. It can be changed but not removed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`

	// annotations of the Ingress, for its controller and for cert-manager, such as
	// cert-manager.io/cluster-issuer: letsencrypt. At most 32, with names of at
	// most 317 and values of at most 4096 characters. Names that begin with
	// jutsu.com/ or core.jutsu.com/ are reserved for the operator. Instead of
	// kubernetes.io/ingress.class, use className.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317 && size(self[key]) <= 4096)",message="the name of an annotation has at most 317 characters, and its value at most 4096"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('jutsu.com/') && !key.startsWith('core.jutsu.com/'))",message="annotations that begin with jutsu.com/ or core.jutsu.com/ are the operator's own: remove them"
	// +kubebuilder:validation:XValidation:rule="!('kubernetes.io/ingress.class' in self)",message="name the class in className, not in the annotation kubernetes.io/ingress.class"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// GatewayExposure names the Gateways of a Dojo.
type GatewayExposure struct {
	// parentRefs are the Gateways for the HTTPRoute, at most 8. A Gateway of
	// another namespace must allow routes of the Dojo's namespace, in allowedRoutes
	// of its listener.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name == b.name && (has(a.__namespace__) ? has(b.__namespace__) && a.__namespace__ == b.__namespace__ : !has(b.__namespace__)) && (!has(a.sectionName) || has(b.sectionName) && a.sectionName == b.sectionName)))",message="if a Gateway is listed more than once, each entry needs a different sectionName"
	ParentRefs []GatewayReference `json:"parentRefs"`
}

// GatewayReference names a Gateway, or one of its listeners.
type GatewayReference struct {
	// name of the Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the Gateway. Defaults to the Dojo's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`

	// sectionName is the name of a listener of the Gateway, such as https.
	// Defaults to all listeners with a matching host name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a listener: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	SectionName string `json:"sectionName,omitempty"`
}

// ExposureTLS names the certificate of an Ingress.
type ExposureTLS struct {
	// secretName is the name of a Secret in the Dojo's namespace. Its keys tls.crt
	// and tls.key have the certificate for all hosts. If an annotation of the
	// Ingress names an issuer, cert-manager creates this Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
}

// Monitoring configures how Prometheus monitors a Dojo.
type Monitoring struct {
	// enabled creates a ServiceMonitor and a PrometheusRule for the Dojo as soon
	// as prometheus-operator is installed. A suspended Dojo has no PrometheusRule.
	// +required
	Enabled bool `json:"enabled"`

	// labels are added to the ServiceMonitor, the PrometheusRule and the
	// AlertmanagerConfig, for a Prometheus and an Alertmanager that select by
	// labels, such as release: kube-prometheus-stack. At most 16, with names of at
	// most 317 and values of at most 63 characters. The operator's own labels
	// cannot be replaced.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('core.jutsu.com/'))",message="labels of app.kubernetes.io and core.jutsu.com are the operator's own: remove them"
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317 && size(self[key]) <= 63)",message="the name of a label has at most 317 characters, and its value at most 63"
	Labels map[string]string `json:"labels,omitempty"`
}
