// SPDX-License-Identifier: Apache-2.0

package v1

// Ingress exposes a Dojo outside of the cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.className) || has(self.className)",message="className cannot be taken away: the cluster's default class is given to new objects only, and the Ingress would have none. Name the class, or remove spec.ingress and add it again"
type Ingress struct {
	// host is the host name at which clients reach the Dojo, such as
	// dojo.example.org.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be a host name: lower case letters, digits, '-' and '.', such as dojo.example.org"
	Host string `json:"host"`

	// className is the name of the IngressClass. Defaults to the default class of
	// the cluster. It can be changed, and not be taken away.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`

	// tlsSecretName is the name of a Secret in the Dojo's namespace with tls.crt
	// and tls.key for the host. Without it, the Dojo is served over HTTP.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSSecretName string `json:"tlsSecretName,omitempty"`
}

// Monitoring configures how Prometheus monitors a Dojo.
type Monitoring struct {
	// enabled creates a ServiceMonitor and a PrometheusRule for the Dojo if
	// prometheus-operator is installed, or as soon as it is.
	//
	// +required
	Enabled bool `json:"enabled"`

	// labels are added to the ServiceMonitor, the PrometheusRule and the
	// AlertmanagerConfig, for a Prometheus and an Alertmanager that select by
	// labels, such as release: kube-prometheus-stack. The operator's own labels
	// cannot be replaced.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('core.jutsu.com/'))",message="labels of app.kubernetes.io and core.jutsu.com are the operator's own"
	Labels map[string]string `json:"labels,omitempty"`
}
