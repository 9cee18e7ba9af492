package v1

// Ingress is a way to the Dojo from outside of the cluster.
type Ingress struct {
	// host is the name under which clients reach the Dojo, such as dojo.example.org.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be a host name: lower case letters, digits, '-' and '.', such as dojo.example.org"
	Host string `json:"host"`

	// className is the IngressClass. By default the cluster's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`

	// tlsSecretName is a Secret of the Dojo's namespace with tls.crt and tls.key for the host. Without it, clients are served over HTTP.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSSecretName string `json:"tlsSecretName,omitempty"`
}

// Monitoring is how a Dojo is watched by Prometheus.
type Monitoring struct {
	// enabled makes a ServiceMonitor and a PrometheusRule for the Dojo, where prometheus-operator is installed; where it is not, they
	// are made as soon as it is.
	//
	// +required
	Enabled bool `json:"enabled"`

	// labels are put on the ServiceMonitor, the PrometheusRule and the AlertmanagerConfig, for a Prometheus and an Alertmanager that select by
	// labels (release: kube-prometheus-stack). The operator's own labels cannot be replaced.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('core.jutsu.com/'))",message="labels of app.kubernetes.io and core.jutsu.com are the operator's own"
	Labels map[string]string `json:"labels,omitempty"`
}
