// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
)

// withSize returns the Dojo with values for the fields that the spec leaves to a size. The values
// come from the live Cluster that the restore replaces, or from the status of a lost Cluster. The
// status has no parameters. The operator adds the size's parameters once the size is defined.
func withSize(d *corev1api.Dojo, live *cnpgv1.Cluster) (*corev1api.Dojo, error) {
	switch {
	case d.Spec.Postgres.Cluster.Size == "":
		return d, nil
	case live != nil:
		return cluster.KeepLive(d, live), nil
	}
	filled := d.DeepCopy()
	own := filled.Spec.Postgres.Cluster
	if known := d.Status.Database; known != nil && known.Size != nil {
		preset := presetOf(known.Size)
		preset.Fill(own)
		cluster.KeepCapacity(own, known.Size.Storage)
	}
	if own.Storage.Size.IsZero() {
		return nil, fmt.Errorf("the capacity of the volume is not known, because status.database.size of %s is not set: "+
			"set spec.postgres.cluster.storage.size, or set spec.postgres.cluster.size to a size that the platform defines",
			d.Name)
	}
	return filled, nil
}

func presetOf(s *corev1api.SizeStatus) sizes.Preset {
	quantity := func(text string) resource.Quantity {
		q, _ := resource.ParseQuantity(text) // an empty text means no request
		return q
	}
	return sizes.Preset{
		Instances: max(s.Instances, 1), CPU: quantity(s.CPU), Memory: quantity(s.Memory), Storage: quantity(s.Storage),
	}
}
