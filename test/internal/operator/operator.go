// Package operator installs the operators of this project on a test cluster and runs them: what deploy/ renders, and the real
// binary as a process of its own that acts as its own ServiceAccount, with its own permissions and nothing more.
package operator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/manifests"
	"jutsu.com/operators/test/internal/process"
	"jutsu.com/operators/test/internal/project"
)

// Operator is one of the operators of this project. The rest follows from these two: deploy/NAME/base is how it is
// deployed, bin/NAME is what `make build` makes of it, and NAME is its ServiceAccount too.
type Operator struct {
	// Name is the name of its folder, its binary, its ServiceAccount and its Deployment.
	Name string
	// Namespace is where it is deployed.
	Namespace string
}

// Dojo is the dojo-operator.
var Dojo = Operator{Name: "dojo-operator", Namespace: "dojo-system"}

// Discord is the discord-operator.
var Discord = Operator{Name: "discord-operator", Namespace: "discord-system"}

// All are the operators of this project.
var All = []Operator{Dojo, Discord}

// Folder is where it is deployed from, relative to the project's root.
func (o Operator) Folder() string { return "deploy/" + o.Name }

// Base is the folder of its kustomization, relative to the project's root.
func (o Operator) Base() string { return o.Folder() + "/base" }

// CheckoutVariable names the environment variable that makes this operator another version than the rest: the folder of a checkout, with what was built of
// it in bin/. Binary, permissions and manifests are then taken from there; the kinds stay those of this project.
func (o Operator) CheckoutVariable() string {
	return "JUTSU_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_")) + "_CHECKOUT"
}

// path is the path of a file of the checkout that the operator comes from.
func (o Operator) path(elements ...string) (string, error) {
	if other := os.Getenv(o.CheckoutVariable()); other != "" {
		return filepath.Abs(filepath.Join(append([]string{other}, elements...)...))
	}
	return project.Path(elements...)
}

// CRDs is the absolute path of the folder with its CustomResourceDefinitions, for testcluster.Options.
func (o Operator) CRDs() (string, error) { return project.Path("deploy", o.Name, "crds") }

// Binary is the absolute path of what `make build` has built.
func (o Operator) Binary() (string, error) {
	path, err := o.path("bin", o.Name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("bin/%s is not there yet: run `make build` first (`make run` and `make test` do)", o.Name)
	}
	return path, nil
}

// Install applies what Base renders, except that nothing is deployed: the operator runs as a process instead.
func (o Operator) Install(ctx context.Context, config *rest.Config) error {
	admin, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	base, err := o.path("deploy", o.Name, "base")
	if err != nil {
		return err
	}
	objects, err := manifests.Render(base)
	if err != nil {
		return err
	}
	without := []string{"Deployment", "PodDisruptionBudget"}
	if os.Getenv(o.CheckoutVariable()) != "" {
		without = append(without, "CustomResourceDefinition")
	}
	return manifests.Apply(ctx, admin, manifests.Without(objects, without...))
}

// Start starts one process of the operator, which has to be installed on the cluster, and returns without waiting for it.
// Its log goes to the given file. The arguments come behind the built-in ones: of a flag given twice the last counts.
func (o Operator) Start(ctx context.Context, cluster *testcluster.Cluster, log string, args ...string) (*Process, error) {
	return o.start(ctx, cluster, log, &manifests.Command{}, args)
}

// StartDeployed is Start with the arguments and the environment that its Deployment among the objects has, which come first.
func (o Operator) StartDeployed(
	ctx context.Context, cluster *testcluster.Cluster, objects []*unstructured.Unstructured, log string, args ...string,
) (*Process, error) {
	deployed, err := manifests.CommandOf(objects, o.Name)
	if err != nil {
		return nil, err
	}
	return o.start(ctx, cluster, log, deployed, args)
}

func (o Operator) start(
	ctx context.Context, cluster *testcluster.Cluster, log string, deployed *manifests.Command, args []string,
) (*Process, error) {
	binary, err := o.Binary()
	if err != nil {
		return nil, err
	}
	kubeconfig, err := cluster.ServiceAccountKubeconfig(ctx, o.Namespace, o.Name)
	if err != nil {
		return nil, err
	}
	p := &Process{name: o.Name}
	for _, address := range []*string{&p.metrics, &p.probes} {
		if *address, err = testcluster.FreeAddress(ctx); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(binary, slices.Concat(deployed.Args, []string{
		"--leader-election-namespace=" + o.Namespace,
		"--metrics-bind-address=" + p.metrics,
		"--health-probe-bind-address=" + p.probes,
	}, args)...)
	cmd.Env = slices.Concat(os.Environ(), deployed.Env, []string{"KUBECONFIG=" + kubeconfig})
	if p.Process, err = process.Start(o.Name, log, cmd); err != nil {
		return nil, err
	}
	return p, nil
}
