// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strconv"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

// Describe sets the fields of a Dojo's status that depend on the Cluster.
func Describe(cluster *cnpgv1.Cluster, status *corev1api.DatabaseStatus) {
	status.Version = images.VersionOf(cluster.Status.Image)
	if data := cluster.Status.PGDataImageInfo; status.Version == "" && data != nil && data.MajorVersion > 0 {
		status.Version = strconv.Itoa(data.MajorVersion)
	}
	status.Instances = fmt.Sprintf("%d/%d", cluster.Status.ReadyInstances, cluster.Spec.Instances)
	if primary := cluster.Status.CurrentPrimary; len(primary) <= validation.DNS1123SubdomainMaxLength {
		status.Primary = primary
	}
}

// DescribeLost keeps a lost Cluster's version and number of instances, which a restore needs.
func DescribeLost(known, status *corev1api.DatabaseStatus) {
	status.Version = known.Version
	if _, desired, ok := strings.Cut(known.Instances, "/"); ok {
		status.Instances = "0/" + desired
	}
}

// Unreachable says why requests cannot reach Postgres. cluster is nil if it does not exist.
func Unreachable(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) string {
	const message = "Requests cannot reach Postgres: "
	name := fmt.Sprintf("Cluster %s/%s", dojo.Namespace, cnpg.ClusterName(dojo))
	switch {
	case cluster == nil:
		return message + "the " + name + " does not exist."
	case cnpg.Hibernates(cluster):
		return message + "the " + name + " is hibernated."
	case cluster.Status.CurrentPrimary == "":
		return message + "the " + name + " has no primary."
	}
	return fmt.Sprintf("%sthe primary %s of the %s is not ready.", message, cluster.Status.CurrentPrimary, name)
}
