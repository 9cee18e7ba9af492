// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Database is a kind of database that a Dojo can use.
// +kubebuilder:validation:Enum=Postgres;Mongo
type Database string

const (
	// DatabasePostgres is a PostgreSQL database.
	DatabasePostgres Database = "Postgres"
	// DatabaseMongo is an existing database with the protocol of MongoDB.
	DatabaseMongo Database = "Mongo"
)

// PausedAnnotation with the value "true" pauses a Dojo. The operator reports
// the pending changes in the Dojo's status, but does not write the Dojo's
// children. There is one exception: if Alertmanager could post the Dojo's
// alerts to a URL that is not a webhook of Discord, the operator prevents
// that. If a deletion of the Dojo would delete its data, the deletion waits
// until the annotation is removed.
const PausedAnnotation = "core.jutsu.com/paused"

// AllowedNamespacesAnnotation on a Secret names the other namespaces whose
// Dojos may read the Secret through spec.credentialsRef: a comma-separated
// list of at most 64 KiB, or "*" for all. Without the annotation, only Dojos
// of the Secret's namespace may read it. Without this rule, a user who may
// create Dojos could read the database credentials of all namespaces.
const AllowedNamespacesAnnotation = "core.jutsu.com/allowed-namespaces"

// SecretReference names a Secret.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a Secret: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// namespace of the Secret. Defaults to the Dojo's namespace. A Secret of
	// another namespace must have the annotation
	// core.jutsu.com/allowed-namespaces: "*", or a comma-separated list that
	// includes the Dojo's namespace. If it does not, or the operator does not
	// watch the Secret's namespace, the Dojo is Degraded with the reason
	// CredentialsNotShared.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// DojoSpec is the desired state of a Dojo.
// +kubebuilder:validation:XValidation:rule="has(self.credentialsRef) || has(self.postgres)",message="credentialsRef or postgres is required: name the Secret that holds the database credentials (keys host, port, dbname, user or username, password), or request a database"
// +kubebuilder:validation:XValidation:rule="!(has(self.credentialsRef) && has(self.postgres))",message="credentialsRef and postgres exclude each other: a Dojo has one database"
// +kubebuilder:validation:XValidation:rule="!has(self.postgres) || !has(self.database) || self.database == 'Postgres'",message="with postgres, database must be Postgres: for Mongo, use credentialsRef instead of postgres"
// +kubebuilder:validation:XValidation:rule="!has(self.release) || !has(self.release.migrations) || !has(self.database) || self.database == 'Postgres'",message="with release.migrations, database must be Postgres: for Mongo, use release.command"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || self.database != 'Mongo' || !has(self.env) || !self.env.exists(e, e.name == 'DB_URI')",message="with the database Mongo, the operator sets DB_URI: remove DB_URI from env"
// +kubebuilder:validation:XValidation:rule="has(self.postgres) == has(oldSelf.postgres)",message="credentialsRef and postgres cannot be exchanged for one another: the data would stay behind. Make a new Dojo and move the data, as docs/do/migrate-database.md says"
// +kubebuilder:validation:XValidation:rule="!has(self.alerts) || !has(self.monitoring) || self.monitoring.enabled",message="alerts enables monitoring, so monitoring.enabled cannot be false: set it to true, or remove monitoring"
// +kubebuilder:validation:XValidation:rule="!(oldSelf.?exposure.?ingress.?className.hasValue() && self.?exposure.?ingress.hasValue()) || self.?exposure.?ingress.?className.hasValue()",message="className of the Ingress cannot be removed: the cluster's default class applies only when an Ingress is created, so this Ingress would have no class. Name the class, or remove exposure and add it again"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeMounts) || self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",message="the name of each entry of volumeMounts must be the name of an entry of volumes"
type DojoSpec struct {
	// accountId identifies the owner of the Dojo: 1 to 128 characters, not only
	// white space. The application receives it as DOJO_ACCOUNT_ID.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="must not be blank"
	AccountID string `json:"accountId"`

	// title is the display name of the Dojo: 1 to 128 characters, not only white
	// space. The application receives it as DOJO_TITLE.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.trim() != ''",message="must not be blank"
	Title string `json:"title"`

	// replicas is the desired number of pods. 0 stops the application, but not its
	// database. Defaults to 1. `kubectl scale` and a HorizontalPodAutoscaler that
	// targets the Dojo set it through the scale subresource.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// database is the kind of database: Postgres or Mongo. Mongo requires
	// credentialsRef. Defaults to Postgres.
	// +optional
	// +default="Postgres"
	Database Database `json:"database,omitempty"`

	// credentialsRef names the Secret with the credentials of an existing
	// database. The Secret has the keys of CloudNativePG's Secret `<cluster>-app`:
	// host, port, dbname, user (or username) and password. The value of each key
	// must not be empty. With the database Mongo, the pods also have DB_URI, and
	// the Secret can have a connection string instead of these keys. The key of
	// the connection string is uri, connectionString.standard,
	// connectionString.standardSrv or, in a Secret of Percona's operator, a name
	// that ends with _connectionString. The operator copies the credentials into a
	// Secret of the Dojo. The pods roll when the credentials change.
	// +optional
	CredentialsRef *SecretReference `json:"credentialsRef,omitempty"`

	// postgres requests a database for this Dojo, instead of credentialsRef. It
	// requires CloudNativePG 1.30 or newer. Without CloudNativePG, the Dojo is
	// Degraded with the reason CloudNativePGNotInstalled. Once CloudNativePG is
	// installed, the Dojo continues automatically.
	// +optional
	Postgres *Postgres `json:"postgres,omitempty"`

	// suspend stops the application, even if replicas is greater than 0. Once
	// nothing uses the Dojo's own Cluster (postgres.cluster), the Cluster is
	// hibernated. Its scheduled backups and the Dojo's alerts pause. All data
	// stays. When suspend is false again, first the Cluster starts, and then the
	// pods. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// deletionProtection protects the Dojo: while it is true, the API server
	// refuses every deletion of the Dojo, also by administrators. But if the
	// namespace or the CustomResourceDefinition is deleted, the Dojo is deleted
	// too. deletionProtection needs the operator's ValidatingAdmissionPolicies,
	// which OLM does not install. Defaults to false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// image of the Dojo application, at most 512 characters. Defaults to the
	// operator's --dojo-image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// release is a step that runs before the pods get a new image, such as
	// migrations of the database. Until the step succeeds, the pods keep their
	// image and all other fields of their template, except rotated credentials. If
	// the step fails, the Dojo is Degraded with the reason ReleaseFailed.
	// +optional
	Release *Release `json:"release,omitempty"`

	// rollout configures how a change replaces the pods. By default a new pod is
	// available before a former one stops.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// imagePullSecrets lists the Secrets in the Dojo's namespace for pulling
	// images, at most 16, with names of at most 253 characters. The pods of the
	// application, of release and of initSQL use them, but not the instances of
	// postgres.cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, size(s.name) <= 253)",message="the name of a Secret has at most 253 characters"
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// resources of the application's container. Defaults to requests of 50m CPU,
	// 64Mi memory and 16Mi ephemeral storage, and limits of 256Mi memory and 128Mi
	// ephemeral storage. If you set resources, none of these defaults applies.
	// Each of limits, requests and claims has at most 16 entries, with names of at
	// most 317 and quantities of at most 64 characters.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || size(self.limits) <= 16 && self.limits.all(key, size(key) <= 317 && (type(self.limits[key]) == int || size(self.limits[key]) <= 64))",message="limits has at most 16 entries, with names of at most 317 and quantities of at most 64 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || size(self.requests) <= 16 && self.requests.all(key, size(key) <= 317 && (type(self.requests[key]) == int || size(self.requests[key]) <= 64))",message="requests has at most 16 entries, with names of at most 317 and quantities of at most 64 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims) || size(self.claims) <= 16 && self.claims.all(c, size(c.name) <= 317 && size(c.?request.orValue('')) <= 317)",message="claims has at most 16 entries, with names of at most 317 characters"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// env lists additional environment variables of the application, at most 64.
	// The operator's own names (DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER, DB_PASS,
	// DB_READONLY_ENDPOINT, DOJO_ACCOUNT_ID, DOJO_TITLE; with the database Mongo
	// also DB_URI) are not allowed. A name has at most 253 characters, a value
	// 8192, all values together 32768, and each string of a valueFrom 512. Put
	// longer values into a ConfigMap or Secret, and name its key in valueFrom.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(e, !(e.name in ['DB_ENDPOINT', 'DB_PORT', 'DB_NAME', 'DB_USER', 'DB_PASS', 'DB_READONLY_ENDPOINT', 'DOJO_ACCOUNT_ID', 'DOJO_TITLE']))",message="DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER, DB_PASS, DB_READONLY_ENDPOINT, DOJO_ACCOUNT_ID and DOJO_TITLE are set by the operator: remove them from env"
	// +kubebuilder:validation:XValidation:rule="self.all(e, size(e.name) <= 253 && size(e.?value.orValue('')) <= 8192)",message="a variable has a name of at most 253 and a value of at most 8192 characters: put more into a ConfigMap or Secret, and name its key in valueFrom"
	// +kubebuilder:validation:XValidation:rule="self.map(e, size(e.?value.orValue(''))).sum() <= 32768",message="the values have at most 32768 characters together: put more into a ConfigMap or Secret, and name its key in valueFrom"
	// +kubebuilder:validation:XValidation:rule="self.all(e, size(e.?valueFrom.?configMapKeyRef.?name.orValue('')) <= 512 && size(e.?valueFrom.?configMapKeyRef.?key.orValue('')) <= 512 && size(e.?valueFrom.?secretKeyRef.?name.orValue('')) <= 512 && size(e.?valueFrom.?secretKeyRef.?key.orValue('')) <= 512 && size(e.?valueFrom.?fieldRef.?apiVersion.orValue('')) <= 512 && size(e.?valueFrom.?fieldRef.?fieldPath.orValue('')) <= 512 && size(e.?valueFrom.?resourceFieldRef.?containerName.orValue('')) <= 512 && size(e.?valueFrom.?resourceFieldRef.?resource.orValue('')) <= 512 && size(e.?valueFrom.?fileKeyRef.?volumeName.orValue('')) <= 512 && size(e.?valueFrom.?fileKeyRef.?path.orValue('')) <= 512 && size(e.?valueFrom.?fileKeyRef.?key.orValue('')) <= 512)",message="a name, key or path in valueFrom has at most 512 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !has(e.valueFrom) || !has(e.valueFrom.resourceFieldRef) || !has(e.valueFrom.resourceFieldRef.divisor) || type(e.valueFrom.resourceFieldRef.divisor) == int || size(e.valueFrom.resourceFieldRef.divisor) <= 512)",message="a divisor in valueFrom has at most 512 characters"
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom lists ConfigMaps and Secrets in the Dojo's namespace, at most 16.
	// Their keys become environment variables of the application. Variables of env
	// and of the operator take precedence. If the content of a ConfigMap or Secret
	// changes, the pods do not roll.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	EnvFrom []EnvFromSource `json:"envFrom,omitempty"`

	// volumes of the pods, at most 16. The operator adds a volume for the working
	// directory /tmp. The application's root file system is read-only.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Volumes []Volume `json:"volumes,omitempty"`

	// volumeMounts lists the paths at which the application finds the volumes, at
	// most 32.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=32
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`

	// probes override the defaults of the application's probes, field by field.
	// +optional
	Probes *Probes `json:"probes,omitempty"`

	// serviceAccountName is the ServiceAccount of the pods. The namespace's
	// annotation core.jutsu.com/allowed-service-accounts (comma-separated) must
	// list this name. The operator's ValidatingAdmissionPolicies, which OLM does
	// not install, enforce this. The pods get the token of this ServiceAccount,
	// unless the ServiceAccount forbids that. Defaults to the namespace's default
	// ServiceAccount; the pods then get no token.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a ServiceAccount: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Defaults to the
	// cluster's default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// podAnnotations are added to the pods, at most 32, with names of at most 317
	// and values of at most 4096 characters. Names that begin with core.jutsu.com/
	// are reserved for the operator. Annotations of AppArmor are not allowed,
	// because Kubernetes would turn off the container's AppArmor profile for the
	// value "unconfined". A change rolls the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317 && size(self[key]) <= 4096)",message="the name of an annotation has at most 317 characters, and its value at most 4096"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('core.jutsu.com/'))",message="annotations of core.jutsu.com are the operator's own: remove them"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('container.apparmor.security.beta.kubernetes.io/'))",message="annotations of AppArmor are not allowed, because they can turn off the container's profile: remove them"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// autoscaling creates a HorizontalPodAutoscaler, which sets the number of
	// pods. It needs metrics of the pods, for example from metrics-server. Until
	// the autoscaler has set a number, the number of pods is replicas, but at
	// least minReplicas and at most maxReplicas. With replicas 0 the application
	// stops.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// nodeSelector lists the labels that a node must have to run pods of the Dojo,
	// at most 32, with names of at most 317 and values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317 && size(self[key]) <= 63)",message="the name of a label has at most 317 characters, and its value at most 63"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations allow the pods to run on nodes with matching taints: at most 32,
	// each string of at most 317 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t.?key.orValue('')) <= 317 && size(t.?operator.orValue('')) <= 317 && size(t.?value.orValue('')) <= 317 && size(t.?effect.orValue('')) <= 317)",message="a key, operator, value or effect has at most 317 characters"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity has the scheduling constraints of the pods towards nodes and other
	// pods. It has the form of a pod's affinity, with at most 8 terms of each
	// kind.
	// +optional
	Affinity *Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints define how the pods are spread, at most 8. They
	// replace the default constraint, which prefers different nodes.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// exposure exposes the Dojo outside of the cluster, through an Ingress or
	// through Gateways.
	// +optional
	Exposure *Exposure `json:"exposure,omitempty"`

	// monitoring configures metrics and alerting rules of the Dojo for Prometheus,
	// through prometheus-operator.
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`

	// alerts configures where the Dojo's alerts are sent. It enables monitoring.
	// It requires discord-operator, and prometheus-operator with a Prometheus that
	// selects the Dojo's ServiceMonitor and PrometheusRule, and an Alertmanager
	// that selects its AlertmanagerConfig. The condition AlertsReady names a
	// missing operator or channel. It does not show whether Prometheus and
	// Alertmanager select these objects.
	// +optional
	Alerts *Alerts `json:"alerts,omitempty"`
}

// LocalCredentials names the Secret that a Dojo's pods read.
type LocalCredentials struct {
	// name of the Secret, with the keys DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER and
	// DB_PASS. With spec.postgres, it also has DB_READONLY_ENDPOINT if the Cluster
	// has standbys. With the database Mongo, it also has DB_URI, and values of the
	// other keys can be empty.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the Secret, always the Dojo's.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// DojoStatus is the observed state of a Dojo.
type DojoStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the Dojo's state: Available (at least one pod is ready
	// and, with spec.postgres, Postgres is reachable), Progressing (changes are in
	// progress, or pending while the Dojo is paused), Degraded (a user must act;
	// the message says how) and Ready (the object matches its spec). Degraded and
	// Progressing are never True together. With spec.postgres, there is also
	// DatabaseReady, which shows the current step of the database. With
	// spec.postgres.cluster.backup, there is also BackupSucceeded, once a backup
	// has ended or the write-ahead log cannot be archived. With spec.alerts, there
	// is also AlertsReady. While the Dojo is paused, there is also Paused. At most
	// 16 conditions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// replicas is the number of pods of the current and of earlier revisions,
	// without pods that are being deleted. The scale subresource reports it.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of pods that pass their readiness probe.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of pods of the current revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// availableReplicas is the number of pods that have been ready for at least
	// spec.rollout.minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// readyStatus is the number of ready and of desired replicas, such as "2/3",
	// at most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ReadyStatus string `json:"readyStatus,omitempty"`

	// desiredReplicas is the desired number of pods. It is the number that an
	// autoscaler of the Deployment has set, such as the autoscaler of
	// spec.autoscaling. If no autoscaler has set a number, the desired number
	// follows from spec.replicas and spec.autoscaling. If spec.replicas is 0 or
	// the Dojo is suspended, the desired number is 0.
	// +optional
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`

	// selector is the label selector of the pods as a string, at most 1024
	// characters. A HorizontalPodAutoscaler that targets the Dojo reads it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`

	// credentials names the Secret that the pods read. Empty until the credentials
	// are first copied.
	// +optional
	Credentials *LocalCredentials `json:"credentials,omitempty"`

	// endpoint is the application's HTTP address in the cluster, such as
	// "tokyo-jujutsu-high.default.svc:80". Empty until the Service exists.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Endpoint string `json:"endpoint,omitempty"`

	// hosts are the application's host names outside of the cluster, at most 16.
	// Empty until the Ingress exists, or a Gateway has accepted the HTTPRoute.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Hosts []Hostname `json:"hosts,omitempty"`

	// rollout describes the images of a Dojo with spec.rollout.rollback Automatic.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// database describes the database of a Dojo with spec.postgres.
	// +optional
	Database *DatabaseStatus `json:"database,omitempty"`

	// release describes the release step of a Dojo with spec.release.
	// +optional
	Release *ReleaseStatus `json:"release,omitempty"`

	// alerts names the channel for the alerts of a Dojo with spec.alerts.
	// +optional
	Alerts *AlertsStatus `json:"alerts,omitempty"`

	// waitingFor lists the waits of the Dojo, such as for a Secret that does not
	// exist yet, at most 16. If a wait takes longer than its deadline, the Dojo
	// becomes Degraded. The deadline is the operator's --progress-deadline, for
	// most waits for the database --database-deadline, and for a running restore,
	// import or backup 6 hours.
	// +optional
	// +listType=map
	// +listMapKey=object
	// +kubebuilder:validation:MaxItems=16
	WaitingFor []Wait `json:"waitingFor,omitempty"`
}

// Wait is one wait of a Dojo.
type Wait struct {
	// object names the object or step that the Dojo waits for, such as "Secret
	// default/dojo-app" or "hibernation of the Cluster default/tokyo-db", at most
	// 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Object string `json:"object"`

	// since is the start of the wait.
	// +required
	Since metav1.Time `json:"since"`
}

// Dojo is a small web application with a database: Postgres or MongoDB. The
// operator creates a Deployment, a Service, a Secret with the credentials and,
// for more than one replica, a PodDisruptionBudget. It corrects drift in them,
// and reports the state in the Dojo's conditions.
//
// The Dojo's name is also the name of its Service: at most 63 lower case
// letters, digits and '-', starting with a letter and not ending with '-'.
// With spec.postgres.cluster it has at most 47 characters.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=dojos,singular=dojo,shortName=dj,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the object matches its spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.readyStatus`,description="Ready and desired replicas"
// +kubebuilder:printcolumn:name="Account",type=string,JSONPath=`.spec.accountId`,description="Owner of the Dojo"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`,priority=1,description="Replicas of the current revision"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,priority=1,description="Replicas that are available to clients"
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.spec.database`,priority=1,description="Kind of database"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.database.version`,priority=1,description="Version of Postgres"
// +kubebuilder:printcolumn:name="Last-backup",type=date,JSONPath=`.status.database.lastBackup.time`,priority=1,description="Age of the last backup that has completed"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`,priority=1,description="Address for clients in the cluster"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.status.hosts[0]`,priority=1,description="First host name for clients outside of the cluster"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the condition Ready"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,message="metadata.name becomes the name of a Service: at most 63 lower case letters, digits and '-', starting with a letter and not ending with '-'"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.postgres) || !has(self.spec.postgres.cluster) || size(self.metadata.name) <= 47",message="with postgres.cluster, metadata.name has at most 47 characters, because the Cluster has the name <dojo>-db"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.postgres) || !has(self.spec.postgres.cluster) || !has(self.spec.postgres.cluster.version) || !has(oldSelf.spec.postgres) || !has(oldSelf.spec.postgres.cluster) || !has(oldSelf.spec.postgres.cluster.version) || self.spec.postgres.cluster.version >= oldSelf.spec.postgres.cluster.version || !has(self.status) || !has(self.status.database) || !has(self.status.database.clusterUID) || has(self.status.database.upgrade) && self.spec.postgres.cluster.version == self.status.database.upgrade.from || has(self.status.database.version) && (self.status.database.version.startsWith(self.spec.postgres.cluster.version) || !has(self.status.database.upgrade) && self.spec.postgres.cluster.version >= self.status.database.version)",message="spec.postgres.cluster.version cannot go down: Postgres does not open the data of a newer version. The lowest allowed version is the Cluster's version, in status.database.version, or during an upgrade the version in status.database.upgrade.from"
type Dojo struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec DojoSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until the
	// operator first writes it, observedGeneration is -1. So kstatus, a library
	// that Flux and Helm use, does not yet report the object as current.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DojoStatus `json:"status,omitempty"`
}

// DojoList is a list of Dojos.
// +kubebuilder:object:root=true
type DojoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Dojo `json:"items"`
}

// CredentialsSource returns the name of the Secret of spec.credentialsRef. The
// name is empty if this field is not set.
func (d *Dojo) CredentialsSource() types.NamespacedName {
	ref := d.Spec.CredentialsRef
	if ref == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, d.Namespace), Name: ref.Name}
}

// WaitingSince returns the time at which the Dojo began to wait for object,
// from its status. If the status does not list this wait, it returns now.
func (d *Dojo) WaitingSince(object string, now time.Time) time.Time {
	for _, wait := range d.Status.WaitingFor {
		if wait.Object == object {
			return wait.Since.Time
		}
	}
	return now
}
