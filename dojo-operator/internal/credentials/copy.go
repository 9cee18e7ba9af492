// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// sourceAnnotation on the Dojo's own Secret records the version of the source, and [Hosts].
const sourceAnnotation = "core.jutsu.com/credentials-source"

var revisionPath = fieldpath.MakePathOrDie("metadata", "annotations", ownership.RevisionAnnotation)

func versionOf(source metav1.Object) string {
	uid, version := source.GetUID(), source.GetResourceVersion()
	return fmt.Sprintf("%s/%s/%s/%s", source.GetNamespace(), source.GetName(), uid, version)
}

func recordOf(dojo *corev1api.Dojo, source metav1.Object, hosts Hosts) string {
	record := versionOf(source)
	if mongo(dojo) {
		return record + mongoRecord
	}
	if hosts != (Hosts{}) {
		record += recordSeparator + hosts.ReadOnly
	}
	if hosts.Pooler != "" {
		record += recordSeparator + hosts.Pooler
	}
	return record
}

const (
	// recordSeparator never occurs in a name or a version.
	recordSeparator = "|"
	// mongoRecord ends the record of credentials for MongoDB. No host ends with mongoRecord.
	mongoRecord = recordSeparator + "database=Mongo"
)

func copiedVersion(own *metav1.PartialObjectMetadata) string {
	version, _, _ := strings.Cut(own.GetAnnotations()[sourceAnnotation], recordSeparator)
	return version
}

// PoolerOf returns the host of the Pooler in the Dojo's own Secret, or "".
func PoolerOf(own *metav1.PartialObjectMetadata) string {
	if own == nil {
		return ""
	}
	if parts := strings.Split(own.GetAnnotations()[sourceAnnotation], recordSeparator); len(parts) > 2 {
		return parts[2]
	}
	return ""
}

func keysWith(dojo *corev1api.Dojo, readOnlyHost string) []string {
	switch {
	case mongo(dojo):
		return mongoKeys
	case readOnlyHost == "":
		return Keys
	}
	return append(slices.Clone(Keys), ReadOnlyKey)
}

// keysOf returns the keys of the live Secret own, which may still have the form for a former
// spec.database. If own is nil, keysOf returns the desired keys. It never returns ReadOnlyKey.
func keysOf(dojo *corev1api.Dojo, own *metav1.PartialObjectMetadata) []string {
	switch {
	case own == nil:
		return keysWith(dojo, "")
	case strings.HasSuffix(own.GetAnnotations()[sourceAnnotation], mongoRecord):
		return mongoKeys
	}
	return Keys
}

// SourceOf returns the name of the Secret that was copied into the Dojo's own Secret, or "".
func SourceOf(own *metav1.PartialObjectMetadata) string {
	if own == nil {
		return ""
	}
	_, rest, _ := strings.Cut(own.GetAnnotations()[sourceAnnotation], "/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// copied reports whether the Secret own is an up-to-date copy of source. Metadata is enough,
// because managedFields show whether another field manager has changed own.
func copied(dojo *corev1api.Dojo, own, source *metav1.PartialObjectMetadata, hosts Hosts) bool {
	labels, keys := ownership.Labels(dojo, ownership.Application), keysWith(dojo, hosts.ReadOnly)
	return own != nil && own.GetAnnotations()[sourceAnnotation] == recordOf(dojo, source, hosts) &&
		apply.SecretInSync(ownership.FieldOwner, own, labels, keys) &&
		apply.OwnedFields(ownership.FieldOwner, own).Has(revisionPath)
}

func secretFor(
	dojo *corev1api.Dojo, data map[string][]byte, record, revision string,
) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(Name(dojo), dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithAnnotations(map[string]string{sourceAnnotation: record, ownership.RevisionAnnotation: revision}).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithType(corev1.SecretTypeOpaque).
		WithData(data)
}

// translate never quotes a value of the Secret in an issue.
func translate(dojo *corev1api.Dojo, source *corev1.Secret) (map[string][]byte, *conditions.Issue) {
	if mongo(dojo) {
		return translateMongo(dojo, source)
	}
	return translateFields(dojo, source)
}

func translateFields(dojo *corev1api.Dojo, source *corev1.Secret) (map[string][]byte, *conditions.Issue) {
	user := "user"
	if len(source.Data[user]) == 0 && len(source.Data["username"]) > 0 {
		user = "username"
	}
	for _, key := range []string{"host", "port", "dbname", user, "password"} {
		if value, ok := source.Data[key]; !ok {
			return nil, incomplete(dojo, source, "has no key %q", key)
		} else if len(value) == 0 {
			return nil, incomplete(dojo, source, "has an empty value under the key %q", key)
		}
	}
	if port, err := strconv.ParseUint(string(source.Data["port"]), 10, 16); err != nil || port == 0 {
		return nil, incomplete(dojo, source, "has no port number (1 to 65535) under the key %q", "port")
	}
	host := string(source.Data["host"])
	if strings.ContainsFunc(host, unicode.IsSpace) {
		return nil, incomplete(dojo, source, "has white space under the key %q", "host")
	}
	// CloudNativePG writes the Service's short name, which other namespaces cannot resolve.
	if source.Namespace != dojo.Namespace && !strings.ContainsAny(host, ".:") {
		host += "." + source.Namespace + ".svc"
	}
	return map[string][]byte{
		hostKey:   []byte(host),
		"DB_PORT": source.Data["port"],
		"DB_NAME": source.Data["dbname"],
		"DB_USER": source.Data[user],
		"DB_PASS": source.Data["password"],
	}, nil
}

func incomplete(dojo *corev1api.Dojo, source *corev1.Secret, what, key string) *conditions.Issue {
	needs := "A Dojo needs the keys host, port, dbname, user (or username) and password, as CloudNativePG writes them."
	if mongo(dojo) {
		needs = "A Dojo with the database Mongo needs a key with a connection string (uri, connectionString.standard, " +
			"connectionString.standardSrv or a key that ends with _connectionString), or all of host, port, dbname, " +
			"username and password."
	}
	return conditions.Degraded(corev1api.ReasonCredentialsIncomplete,
		"The Secret %s/%s %s. %s Correct the Secret, or name another Secret in spec.credentialsRef.",
		source.Namespace, source.Name, fmt.Sprintf(what, key), needs)
}

func ownedKeys(data map[string][]byte) map[string][]byte {
	data = maps.Clone(data)
	maps.DeleteFunc(data, func(key string, _ []byte) bool {
		return key != ReadOnlyKey && !slices.Contains(mongoKeys, key)
	})
	return data
}
