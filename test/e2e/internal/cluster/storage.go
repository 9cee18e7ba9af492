// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"jutsu.com/operators/test/e2e/internal/node"
)

const (
	storageClass    = "local-path"
	provisionerName = "e2e.jutsu.com/local-path"
)

type folders struct{ root string }

// provideStorage ignores the end of ctx. It provisions volumes until stop is called.
func provideStorage(ctx context.Context, c kubernetes.Interface, root string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: storageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:          provisionerName,
		VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowVolumeExpansion: new(true),
	}
	if _, err := c.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		cancel()
		return nil, fmt.Errorf("create the storage class: %w", err)
	}
	provisioner := controller.NewProvisionController(ctx, c, provisionerName, folders{root},
		controller.LeaderElection(false))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		go wait.UntilWithContext(ctx, func(ctx context.Context) { growVolumes(ctx, c) }, time.Second)
		provisioner.Run(ctx)
	}()
	return func() { cancel(); <-ended }, nil
}

func (f folders) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume,
	controller.ProvisioningState, error) {
	folder := filepath.Join(f.root, o.PVName)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := os.Chmod(folder, 0o777); err != nil { // pods write to the folder as any user
		return nil, controller.ProvisioningFinished, err
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      o.PVC.Spec.Resources.Requests,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: path.Join(node.VolumesOnNode, o.PVName)},
			},
		},
	}, controller.ProvisioningFinished, nil
}

func (f folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	return os.RemoveAll(filepath.Join(f.root, volume.Name))
}

// growVolumes sets the requested size of claims and their volumes, as a CSI resizer does. The
// folders themselves have no size limit.
func growVolumes(ctx context.Context, c kubernetes.Interface) {
	claims, err := c.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		wanted, has := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
		if claim.Status.Phase != corev1.ClaimBound || wanted.Cmp(*has) <= 0 {
			continue
		}
		size := fmt.Appendf(nil, `{"capacity":{"storage":%q}}`, wanted)
		_, err := c.CoreV1().PersistentVolumes().Patch(ctx, claim.Spec.VolumeName, types.MergePatchType,
			fmt.Appendf(nil, `{"spec":%s}`, size), metav1.PatchOptions{})
		if err == nil {
			_, _ = c.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType,
				fmt.Appendf(nil, `{"status":%s}`, size), metav1.PatchOptions{}, "status")
		}
	}
}
