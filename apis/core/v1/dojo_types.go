package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Database is a kind of database that a Dojo can ask for.
//
// +kubebuilder:validation:Enum=Postgres;Mongo
type Database string

const (
	// DatabasePostgres is a PostgreSQL database.
	DatabasePostgres Database = "Postgres"
	// DatabaseMongo is a MongoDB database. It is accepted, since the API's first users may have written it, but no
	// operator can provide it yet: such a Dojo is Degraded with the reason DatabaseNotSupported.
	DatabaseMongo Database = "Mongo"
)

// AllowedNamespacesAnnotation on a Secret names the other namespaces whose Dojos may read it through
// spec.credentialsRef: a comma-separated list, or "*" for all. Without it a Secret is shared with no other namespace, or
// whoever may create a Dojo could read every Secret of the cluster.
const AllowedNamespacesAnnotation = "core.jutsu.com/allowed-namespaces"

// SecretReference names a Secret.
type SecretReference struct {
	// name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a Secret: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// namespace of the Secret. Defaults to the namespace of the Dojo. A Secret of another namespace is used only when it
	// carries the annotation core.jutsu.com/allowed-namespaces with the Dojo's namespace in its comma-separated value (or "*");
	// otherwise the Dojo is Degraded with the reason CredentialsNotShared.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// DojoSpec is what a user wants of a Dojo.
//
// +kubebuilder:validation:XValidation:rule="has(self.credentialsRef) || has(self.postgres)",message="credentialsRef or postgres is required: name the Secret that holds the database credentials (keys host, port, dbname, user or username, password), or ask for a database"
// +kubebuilder:validation:XValidation:rule="!(has(self.credentialsRef) && has(self.postgres))",message="credentialsRef and postgres exclude each other: a Dojo has one database"
// +kubebuilder:validation:XValidation:rule="!has(self.postgres) || !has(self.database) || self.database == 'Postgres'",message="with postgres, database can only be Postgres"
// +kubebuilder:validation:XValidation:rule="has(self.postgres) == has(oldSelf.postgres)",message="credentialsRef and postgres cannot be exchanged for one another: the data would stay behind. Make a new Dojo and move the data, as docs/operations.md says under Migration"
// +kubebuilder:validation:XValidation:rule="!has(self.alerts) || !has(self.monitoring) || self.monitoring.enabled",message="alerts needs what monitoring makes: leave monitoring.enabled true, or monitoring out"
type DojoSpec struct {
	// accountId tells who owns the Dojo, in the owner's own words. The application sees it as DOJO_ACCOUNT_ID.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="must not be blank"
	AccountID string `json:"accountId"`

	// title is the name of the Dojo for people. The application sees it as DOJO_TITLE.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="must not be blank"
	Title string `json:"title"`

	// replicas is the number of pods that should run, 0 or more; 0 stops the application and keeps everything else. It is
	// also the scale subresource, so `kubectl scale` and a HorizontalPodAutoscaler of the Dojo set it.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// database is the kind of database behind the Dojo. Mongo is accepted but not supported yet: the Dojo is then Degraded
	// with the reason DatabaseNotSupported.
	//
	// +optional
	// +default="Postgres"
	Database Database `json:"database,omitempty"`

	// credentialsRef names the Secret with the credentials of an existing database, in the form that CloudNativePG writes
	// for the owner of a database (`<cluster>-app`): keys host, port, dbname, user (or username) and password, none of them
	// empty. The operator copies them into a Secret of the Dojo and follows later changes: the pods roll when the
	// credentials change.
	//
	// +optional
	CredentialsRef *SecretReference `json:"credentialsRef,omitempty"`

	// postgres asks for a database of the Dojo's own, instead of credentialsRef. It needs CloudNativePG 1.30 or newer; without it the Dojo
	// is Degraded with the reason CloudNativePGNotInstalled and goes on by itself as soon as it is there.
	//
	// +optional
	Postgres *Postgres `json:"postgres,omitempty"`

	// image of the Dojo application. By default the operator's --dojo-image.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// imagePullSecrets are Secrets of the Dojo's namespace with which the image is pulled.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// resources of the application's container, instead of the operator's: 50m CPU and 64Mi memory requested, memory limited to
	// 256Mi. They replace those as a whole.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// env is further environment of the application. The names that the operator sets itself (DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER,
	// DB_PASS, DOJO_ACCOUNT_ID, DOJO_TITLE) are refused.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(e, !(e.name in ['DB_ENDPOINT', 'DB_PORT', 'DB_NAME', 'DB_USER', 'DB_PASS', 'DOJO_ACCOUNT_ID', 'DOJO_TITLE']))",message="DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER, DB_PASS, DOJO_ACCOUNT_ID and DOJO_TITLE are set by the operator"
	Env []corev1.EnvVar `json:"env,omitempty"`

	// nodeSelector are the labels that a node must have to run pods of the Dojo.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations let the pods run on nodes with these taints.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity attracts the pods to nodes and to other pods, or keeps them away.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the pods, instead of the operator's own constraint, which prefers different nodes.
	//
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// ingress makes the Dojo reachable from outside of the cluster, through an Ingress onto its Service.
	//
	// +optional
	Ingress *Ingress `json:"ingress,omitempty"`

	// monitoring has the Dojo watched by Prometheus, through prometheus-operator.
	//
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`

	// alerts has the alarms of the Dojo shown to people. It needs prometheus-operator, with a Prometheus that takes up the Dojo's rules and an
	// Alertmanager that takes up its AlertmanagerConfig, and discord-operator; what is missing, AlertsReady names. It makes what
	// monitoring makes as well.
	//
	// +optional
	Alerts *Alerts `json:"alerts,omitempty"`
}

// LocalCredentials names the Secret that the pods of a Dojo read.
type LocalCredentials struct {
	// name of the Secret, with the keys DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER and DB_PASS.
	//
	// +required
	Name string `json:"name"`

	// namespace of the Secret, always that of the Dojo.
	//
	// +required
	Namespace string `json:"namespace"`
}

// DojoStatus is what was last seen of a Dojo.
type DojoStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell how the Dojo is: Available (at least one replica is ready), Progressing (the operator is working
	// towards the spec), Degraded (a person must act; the message says how) and Ready (the spec is true). Degraded and
	// Progressing are never True together. With spec.postgres there is DatabaseReady as well, which tells the steps on the way, with
	// backups BackupSucceeded, and with spec.alerts AlertsReady.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// replicas is the number of pods that exist, of this and of earlier revisions; the scale subresource shows it.
	//
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of pods that answer their readiness probe.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of pods that run the current revision.
	//
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// availableReplicas is the number of pods that serve the Service's clients.
	//
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// readyStatus is ready and wanted replicas for people, such as "2/3".
	//
	// +optional
	ReadyStatus string `json:"readyStatus,omitempty"`

	// selector is the label selector of the pods in its text form; a HorizontalPodAutoscaler of the Dojo reads it.
	//
	// +optional
	Selector string `json:"selector,omitempty"`

	// credentials names the Secret that the pods read. Empty until the credentials were first copied.
	//
	// +optional
	Credentials *LocalCredentials `json:"credentials,omitempty"`

	// endpoint is where clients in the cluster reach the application over HTTP, such as
	// "tokyo-jujutsu-high.default.svc:80". Empty until the Service exists.
	//
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// database is the database of a Dojo with spec.postgres.
	//
	// +optional
	Database *DatabaseStatus `json:"database,omitempty"`

	// alerts is where the alarms of a Dojo with spec.alerts show.
	//
	// +optional
	Alerts *AlertsStatus `json:"alerts,omitempty"`
}

// Dojo is a small web application with a Postgres database: the operator gives it a Deployment, a Service, its
// credentials and a PodDisruptionBudget, keeps them as the spec says and tells how it is in its conditions.
//
// The name becomes that of a Service: at most 63 lower case letters, digits and '-', starting with a letter.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=dojos,singular=dojo,shortName=dj,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.readyStatus`,description="Ready and wanted replicas"
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`,description="Replicas of the current revision"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Replicas that serve"
// +kubebuilder:printcolumn:name="Account",type=string,JSONPath=`.spec.accountId`,description="Who owns the Dojo"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.spec.database`,priority=1,description="Kind of database"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why the Dojo is or is not Ready"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,message="metadata.name becomes the name of a Service: at most 63 lower case letters, digits and '-', starting with a letter and not ending with '-'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.postgres) || !has(self.spec.postgres.cluster) || size(self.metadata.name) <= 47",message="metadata.name becomes the name of a Cluster, <dojo>-db: with postgres.cluster it has at most 47 characters"
type Dojo struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you want.
	//
	// +required
	Spec DojoSpec `json:"spec"`

	// status is what the operator last saw; it is the operator's alone.
	//
	// Until then observedGeneration is -1, so that what waits for the object (kstatus, and with it Flux and Helm) does not take it for settled.
	//
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DojoStatus `json:"status,omitempty"`
}

// DojoList is a list of Dojos.
//
// +kubebuilder:object:root=true
type DojoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Dojo `json:"items"`
}
