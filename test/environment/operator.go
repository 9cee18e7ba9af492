// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/process"
	"jutsu.com/operators/test/testcluster/project"
)

// Operator is an operator of this project, deployed from deploy/NAME and built as bin/NAME.
type Operator struct {
	// Name also names the Deployment, ServiceAccount and ClusterRole, and begins the user agent.
	Name      string
	Namespace string
	Lease     string
}

// The operators of this project.
var (
	Dojo    = Operator{Name: "dojo-operator", Namespace: "dojo-system", Lease: "dojo-operator.core.jutsu.com"}
	Discord = Operator{Name: "discord-operator", Namespace: "discord-system", Lease: "discord-operator.discord.jutsu.com"}
	All     = []Operator{Dojo, Discord}
)

// Folder returns the path of the manifests, relative to the project's root.
func (o Operator) Folder() string { return "deploy/" + o.Name }

// Base returns the path of the kustomization "base", relative to the project's root.
func (o Operator) Base() string { return o.Folder() + "/base" }

// CRDs returns the absolute path of the folder with the operator's CustomResourceDefinitions.
func (o Operator) CRDs() (string, error) { return project.Path(o.Folder(), "crds") }

// CheckoutVariable returns the name of the environment variable that can name another checkout. If
// it is set, the binary and the manifests come from that checkout, but the
// CustomResourceDefinitions do not.
func (o Operator) CheckoutVariable() string {
	return "JUTSU_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_")) + "_CHECKOUT"
}

func (o Operator) checkout() (string, error) {
	if other := os.Getenv(o.CheckoutVariable()); other != "" {
		return filepath.Abs(other)
	}
	return project.Root()
}

// Known removes objects of kinds that the checkout of CheckoutVariable does not define yet.
func Known(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	for _, o := range All {
		from, err := o.checkout()
		if err != nil {
			return nil, err
		}
		here, err := o.CRDs()
		if err != nil {
			return nil, err
		}
		now, err := kindsIn(here)
		if err != nil {
			return nil, err
		}
		then, err := kindsIn(filepath.Join(from, o.Folder(), "crds"))
		if err != nil {
			return nil, err
		}
		objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
			kind := object.GroupVersionKind().GroupKind().String()
			return slices.Contains(now, kind) && !slices.Contains(then, kind)
		})
	}
	return objects, nil
}

func kindsIn(folder string) (kinds []string, err error) {
	definitions, err := manifests.Render(folder)
	for _, d := range definitions {
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		kinds = append(kinds, schema.GroupKind{Group: group, Kind: kind}.String())
	}
	return kinds, err
}

// Binary returns the absolute path of the operator's binary, the result of `make build`.
func (o Operator) Binary() (string, error) {
	root, err := o.checkout()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", o.Name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("bin/%s does not exist: run `make build` first (`make run` and `make integration` do)", o.Name)
	}
	return path, nil
}

// Render renders an overlay (base, overlays/production) and components of the checkout at root.
func (o Operator) Render(root, overlay string, components ...string) (objects []*unstructured.Unstructured,
	err error) {
	from := filepath.Join(root, o.Folder())
	if len(components) == 0 {
		return manifests.Render(filepath.Join(from, overlay))
	}
	folder, err := os.MkdirTemp("", "overlay-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	up, err := filepath.Rel(folder, from) // kustomize accepts no absolute path
	if err != nil {
		return nil, err
	}
	kustomization := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{filepath.Join(up, overlay)},
	}
	for _, component := range components {
		kustomization.Components = append(kustomization.Components, filepath.Join(up, "components", component))
	}
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o600); err != nil {
		return nil, err
	}
	return manifests.Render(folder)
}

// Install applies the objects except Deployments, PodDisruptionBudgets and CRDs.
func (o Operator) Install(ctx context.Context, admin client.Client, objects []*unstructured.Unstructured) error {
	return manifests.Apply(ctx, admin,
		manifests.Without(objects, "CustomResourceDefinition", "Deployment", "PodDisruptionBudget"))
}

// Leader returns the holder identity of the operator's Lease, or "".
func (o Operator) Leader(ctx context.Context, c client.Client) (string, error) {
	lease := &coordinationv1.Lease{}
	err := client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Lease}, lease))
	if lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, err
}

// Command configures a process of an operator.
type Command struct {
	Binary string
	// Objects may include the operator's Deployment, the source of arguments and environment.
	Objects []*unstructured.Unstructured
	Log     string
	// Args follow the arguments of the Deployment. If a flag is repeated, its last value applies.
	Args []string
	// Reaper kills the process when the calling program ends. Start defaults to the cluster's reaper.
	Reaper *process.Reaper
}

// Start starts a process of an installed operator without waiting for it.
func (o Operator) Start(ctx context.Context, cluster *testcluster.Cluster, c Command) (*Process, error) {
	kubeconfig, err := cluster.ServiceAccountKubeconfig(ctx, o.Namespace, o.Name)
	if err != nil {
		return nil, err
	}
	// Without its API server, an operator that has no Lease yet would wait forever.
	c.Reaper = cmp.Or(c.Reaper, cluster.Reaper())
	return o.StartWith(ctx, kubeconfig, c)
}

// StartWith is Start with a given kubeconfig file, which sets the namespace and the user.
func (o Operator) StartWith(ctx context.Context, kubeconfig string, c Command) (p *Process, err error) {
	deployed := &manifests.Command{}
	if c.Objects != nil {
		if deployed, err = manifests.CommandOf(c.Objects, o.Name); err != nil {
			return nil, err
		}
	}
	if c.Binary == "" {
		if c.Binary, err = o.Binary(); err != nil {
			return nil, err
		}
	}
	p = &Process{}
	for _, address := range []*string{&p.metrics, &p.probes} {
		if *address, err = testcluster.FreeAddress(ctx); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(c.Binary, slices.Concat(deployed.Args, []string{
		"--leader-election-namespace=" + o.Namespace,
		"--metrics-bind-address=" + p.metrics,
		"--health-probe-bind-address=" + p.probes,
	}, c.Args)...)
	cmd.Env = slices.Concat(os.Environ(), deployed.Env, []string{"KUBECONFIG=" + kubeconfig, "GORACE=halt_on_error=1"})
	p.Process, err = process.Start(o.Name, c.Log, cmd, c.Reaper)
	return p, err
}
