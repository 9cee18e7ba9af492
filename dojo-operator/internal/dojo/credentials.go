package dojo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

const (
	// sourceAnnotation on the Dojo's own Secret tells which version of the source Secret it was copied from, so that
	// a pass sees from metadata alone whether the copy is up to date.
	sourceAnnotation = "core.jutsu.com/credentials-source"
	// revisionAnnotation is a random word, new whenever the credentials are written, on the Dojo's own Secret and on the pod
	// template: it is what rolls the pods. A hash of the credentials would do too, and would let whoever can
	// read a Deployment guess weak passwords offline.
	revisionAnnotation = "core.jutsu.com/credentials-revision"
)

// appKeys are the keys of the Dojo's own Secret: the environment that the application reads.
var appKeys = []string{"DB_ENDPOINT", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASS"}

const credentialsSuffix = "-credentials"

// credentialsName is the name of the Dojo's own Secret.
func credentialsName(d *corev1api.Dojo) string { return d.Name + credentialsSuffix }

// sourceName is where the Secret is that the credentials are copied from: that of spec.credentialsRef, or with spec.postgres the one with
// the password that was generated for the database.
func sourceName(d *corev1api.Dojo) types.NamespacedName {
	if d.Spec.Postgres != nil {
		return types.NamespacedName{Namespace: d.Namespace, Name: databaseObject(d)}
	}
	ref := d.Spec.CredentialsRef
	if ref == nil {
		return types.NamespacedName{}
	}
	if ref.Namespace == "" {
		return types.NamespacedName{Namespace: d.Namespace, Name: ref.Name}
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// shared reports whether the Dojo's namespace may use the source Secret.
func shared(d *corev1api.Dojo, source metav1.Object) bool {
	if source.GetNamespace() == d.Namespace {
		return true
	}
	for allowed := range strings.SplitSeq(source.GetAnnotations()[corev1api.AllowedNamespacesAnnotation], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == d.Namespace {
			return true
		}
	}
	return false
}

// versionOf identifies one state of a source Secret.
func versionOf(source metav1.Object) string {
	return fmt.Sprintf("%s/%s/%s/%s", source.GetNamespace(), source.GetName(), source.GetUID(), source.GetResourceVersion())
}

// translate turns the source's data into what the application reads, or says which key is wrong. It never quotes a value.
func translate(d *corev1api.Dojo, source *corev1.Secret) (map[string][]byte, error) {
	user := "user"
	if len(source.Data[user]) == 0 && len(source.Data["username"]) > 0 {
		user = "username"
	}
	for _, key := range []string{"host", "port", "dbname", user, "password"} {
		if value, ok := source.Data[key]; !ok {
			return nil, incomplete(source, "lacks the key %q", key)
		} else if len(value) == 0 {
			return nil, incomplete(source, "has nothing under the key %q", key)
		}
	}
	if port, err := strconv.ParseUint(string(source.Data["port"]), 10, 16); err != nil || port == 0 {
		return nil, incomplete(source, "has no port number (1 to 65535) under the key %q", "port")
	}
	host := string(source.Data["host"])
	if strings.ContainsFunc(host, unicode.IsSpace) {
		return nil, incomplete(source, "has white space under the key %q", "host")
	}
	// CloudNativePG writes the short name of its Service, which other namespaces cannot resolve.
	if source.Namespace != d.Namespace && !strings.ContainsAny(host, ".:") {
		host += "." + source.Namespace + ".svc"
	}
	return map[string][]byte{
		"DB_ENDPOINT": []byte(host),
		"DB_PORT":     source.Data["port"],
		"DB_NAME":     source.Data["dbname"],
		"DB_USER":     source.Data[user],
		"DB_PASS":     source.Data["password"],
	}, nil
}

func incomplete(source *corev1.Secret, what, key string) error {
	return &conditions.Terminal{
		Reason: corev1api.ReasonCredentialsIncomplete,
		Message: fmt.Sprintf("Secret %s/%s "+what+". A Dojo needs host, port, dbname, user (or username) and password, as CloudNativePG writes them.",
			source.Namespace, source.Name, key),
	}
}

func secretFor(d *corev1api.Dojo, data map[string][]byte, source, revision string) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(credentialsName(d), d.Namespace).
		WithLabels(labels(d)).
		WithAnnotations(map[string]string{sourceAnnotation: source, revisionAnnotation: revision}).
		WithOwnerReferences(ownedBy(d)).
		WithType(corev1.SecretTypeOpaque).
		WithData(data)
}

// copied reports, from metadata alone, whether the Dojo's own Secret is an unaltered copy of this version of the source:
// our labels and annotations stand, and managedFields say that every key is still ours. Whoever changes a value takes its ownership.
func copied(d *corev1api.Dojo, own, source *metav1.PartialObjectMetadata) bool {
	if own == nil || own.GetAnnotations()[sourceAnnotation] != versionOf(source) {
		return false
	}
	for key, value := range labels(d) {
		if own.GetLabels()[key] != value {
			return false
		}
	}
	fields := appliedFields(own)
	if !fields.Has(fieldpath.MakePathOrDie("metadata", "annotations", revisionAnnotation)) {
		return false
	}
	for _, key := range appKeys {
		if !fields.Has(fieldpath.MakePathOrDie("data", key)) {
			return false
		}
	}
	return true
}

// appliedFields returns the fields of an object that we own.
func appliedFields(o metav1.Object) *fieldpath.Set {
	fields := fieldpath.NewSet()
	for _, entry := range o.GetManagedFields() {
		if entry.Manager != FieldOwner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return fieldpath.NewSet() // what cannot be read is not known to be ours, so it is applied again
		}
	}
	return fields
}

// planCredentials returns the revision of the credentials that the pods should read (empty where there are none yet), the
// Dojo's own Secret where it has to be written, and what keeps the credentials from being as the spec says. Whatever is
// wrong with the source, credentials that were copied before stay in use. Unless passOn, they stay for now.
func planCredentials(d *corev1api.Dojo, seen *observed, cfg Config, passOn bool) (revision string, write *child, verdict error) {
	if seen.own != nil {
		revision = seen.own.GetAnnotations()[revisionAnnotation]
	}
	switch {
	case !passOn:
		return revision, nil, nil
	case sourceName(d).Name == "": // admitted before the schema asked for it
		return revision, nil, &conditions.Terminal{
			Reason:  corev1api.ReasonCredentialsNotFound,
			Message: "spec.credentialsRef is not set. Name the Secret that holds the database credentials.",
		}
	case !cfg.watches(sourceName(d).Namespace):
		return revision, nil, notWatched(d)
	case seen.source == nil && sourceName(d).Namespace == d.Namespace:
		return revision, nil, missing(d, seen, cfg)
	case seen.source == nil || !shared(d, seen.source):
		return revision, nil, notShared(d)
	case seen.sourceSecret == nil:
		return revision, nil, nil
	case !shared(d, seen.sourceSecret): // taken back since the cache last saw it
		return revision, nil, notShared(d)
	}
	data, err := translate(d, seen.sourceSecret)
	if err != nil {
		return revision, nil, err
	}
	same := seen.ownSecret != nil && equality.Semantic.DeepEqual(restrict(seen.ownSecret.Data), data)
	if revision == "" || !same {
		revision = seen.nonce
	}
	want := secretFor(d, data, versionOf(seen.sourceSecret), revision)
	write = newChild(kindSecret, seen.own, want, want.ObjectMetaApplyConfiguration)
	if write.exists {
		moved := seen.own.GetAnnotations()[sourceAnnotation] != versionOf(seen.sourceSecret)
		write.rotation = !same && moved
	}
	return revision, write, nil
}

// restrict leaves out the keys that others have added to our Secret.
func restrict(data map[string][]byte) map[string][]byte {
	ours := maps.Clone(data)
	maps.DeleteFunc(ours, func(key string, _ []byte) bool { return !slices.Contains(appKeys, key) })
	return ours
}

func missing(d *corev1api.Dojo, seen *observed, cfg Config) error {
	name := sourceName(d)
	return missed(d, seen.now, cfg.ProgressDeadline, &conditions.Waiting{
		Reason:  corev1api.ReasonWaitingForCredentials,
		Message: fmt.Sprintf("Waiting for the Secret %s with the database credentials.", name),
	}, &conditions.Terminal{
		Reason:  corev1api.ReasonCredentialsNotFound,
		Message: fmt.Sprintf("The Secret %s does not exist. Create it, or name another in spec.credentialsRef.", name),
	})
}

func notWatched(d *corev1api.Dojo) error {
	return &conditions.Terminal{
		Reason: corev1api.ReasonCredentialsNotShared,
		Message: fmt.Sprintf("The Secret %s is in a namespace that this operator does not watch. Name a Secret of a namespace that it watches, such as %s.",
			sourceName(d), d.Namespace),
	}
}

// notShared says the same of a Secret that is not there as of one that is not shared, so that nobody can find out through a
// Dojo which Secrets another namespace has.
func notShared(d *corev1api.Dojo) error {
	name := sourceName(d)
	return &conditions.Terminal{
		Reason: corev1api.ReasonCredentialsNotShared,
		Message: fmt.Sprintf("The Secret %s does not exist or is not shared with this namespace. Its owner shares it with the annotation %s: %q.",
			name, corev1api.AllowedNamespacesAnnotation, d.Namespace),
	}
}
