// SPDX-License-Identifier: Apache-2.0

package environment

import (
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

// Operator is one of the operators of this project: deploy/NAME is how it is deployed, bin/NAME
// what `make build` makes of it.
type Operator struct {
	// Name is the name of its binary, Deployment, ServiceAccount and ClusterRole, and its user
	// agent.
	Name string
	// Namespace is where it is deployed.
	Namespace string
	// Lease is the name of the Lease that its leader holds.
	Lease string
}

var (
	// Dojo is the dojo-operator.
	Dojo = Operator{Name: "dojo-operator", Namespace: "dojo-system", Lease: "dojo-operator.core.jutsu.com"}
	// Discord is the discord-operator.
	Discord = Operator{Name: "discord-operator", Namespace: "discord-system", Lease: "discord-operator.discord.jutsu.com"}
	// All are the operators of this project.
	All = []Operator{Dojo, Discord}
)

// Folder is where it is deployed from, relative to the project's root.
func (o Operator) Folder() string { return "deploy/" + o.Name }

// Base is the folder of its kustomization, relative to the project's root.
func (o Operator) Base() string { return o.Folder() + "/base" }

// CRDs is the absolute path of the folder with its CustomResourceDefinitions.
func (o Operator) CRDs() (string, error) { return project.Path(o.Folder(), "crds") }

// CheckoutVariable names the environment variable that makes this operator another version than the
// rest: the folder of a checkout, with what was built of it in bin/. Binary, permissions and
// manifests are then taken from there; the kinds stay those of this project.
func (o Operator) CheckoutVariable() string {
	return "JUTSU_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_")) + "_CHECKOUT"
}

// checkout is the root of the checkout that the operator comes from.
func (o Operator) checkout() (string, error) {
	if other := os.Getenv(o.CheckoutVariable()); other != "" {
		return filepath.Abs(other)
	}
	return project.Root()
}

// Known leaves out the objects of kinds that an operator does not have yet in the checkout that it comes from.
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

// kindsIn are the kinds, with their groups, that the CustomResourceDefinitions in a folder define.
func kindsIn(folder string) (kinds []string, err error) {
	definitions, err := manifests.Render(folder)
	for _, d := range definitions {
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		kinds = append(kinds, schema.GroupKind{Group: group, Kind: kind}.String())
	}
	return kinds, err
}

// Binary is the absolute path of what `make build` has built.
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

// Render renders an overlay of the operator (base, overlays/production) in the checkout at root,
// with components, as a user's own overlay would.
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
	up, err := filepath.Rel(folder, from) // kustomize takes no absolute path
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

// Install applies what was rendered, except the kinds, which the cluster has, and what runs pods:
// the operator runs as a process instead.
func (o Operator) Install(ctx context.Context, admin client.Client, objects []*unstructured.Unstructured) error {
	return manifests.Apply(ctx, admin,
		manifests.Without(objects, "CustomResourceDefinition", "Deployment", "PodDisruptionBudget"))
}

// Leader is the identity that holds the operator's lease; empty where none does.
func (o Operator) Leader(ctx context.Context, c client.Client) (string, error) {
	lease := &coordinationv1.Lease{}
	err := client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Lease}, lease))
	if lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, err
}

// Command is how a process of an operator is started.
type Command struct {
	// Binary is its executable; by default what `make build` has built.
	Binary string
	// Objects have the Deployment whose arguments and environment it gets first; nil for none.
	Objects []*unstructured.Unstructured
	// Log is the file that it logs to.
	Log string
	// Args come last; of a flag given twice the last counts.
	Args []string
	// Reaper ends the process with the program that started it; by default the process ends by itself
	// when its cluster goes.
	Reaper *process.Reaper
}

// Start starts a process of the operator, which has to be installed on the cluster, and returns
// without waiting for it.
func (o Operator) Start(ctx context.Context, cluster *testcluster.Cluster, c Command) (*Process, error) {
	kubeconfig, err := cluster.ServiceAccountKubeconfig(ctx, o.Namespace, o.Name)
	if err != nil {
		return nil, err
	}
	return o.StartWith(ctx, kubeconfig, c)
}

// StartWith is Start with a kubeconfig file, which says where the operator is installed and as whom
// it acts.
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
