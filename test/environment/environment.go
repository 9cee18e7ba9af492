// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/cnpgtest"
	"jutsu.com/operators/test/testcluster/project"
)

// Options configure an Environment.
type Options struct {
	// Operators lists the operators whose kinds Start adds to the cluster. StartOperator starts an
	// operator.
	Operators []Operator
	// Overlay (default "base") and Components select the manifests of an operator. If Deployed is
	// true, processes get the arguments and the environment of the operator's Deployment.
	Overlay    string
	Components []string
	Deployed   bool
	// Binary is the executable of the operator, by default the result of `make build`.
	Binary string
	// Cluster configures the cluster. Its CRDs are in addition to the kinds that Start adds.
	Cluster testcluster.Options
	// CloudNativePG returns the options of a simulated CloudNativePG; nil for no CloudNativePG.
	CloudNativePG func(admin client.Client) cnpgtest.Options
	// Admission starts the admission webhooks of the real CloudNativePG.
	Admission bool
	// Prometheus adds the kinds of prometheus-operator to the cluster.
	Prometheus bool
	// GatewayAPI adds the kind HTTPRoute to the cluster, without a controller.
	GatewayAPI bool
	// Discord starts a simulated Discord; nil for no Discord.
	Discord func(ctx context.Context) (DiscordAPI, error)
	// Folder is the folder of the operators' logs.
	Folder string
}

// HealthyPostgres is a value for Options.CloudNativePG: CloudNativePG without faults.
func HealthyPostgres(client.Client) cnpgtest.Options { return cnpgtest.Options{} }

// Environment is a running environment.
type Environment struct {
	Cluster *testcluster.Cluster
	// Admin is the administrator's client. It refuses objects with unknown fields.
	Admin client.Client
	// Postgres is nil without Options.CloudNativePG.
	Postgres *cnpgtest.StandIn
	// Admission is nil without Options.Admission.
	Admission *cnpgtest.Webhooks
	// Discord is nil without Options.Discord.
	Discord DiscordAPI
	// OtherKinds lists files and folders with CustomResourceDefinitions of other projects.
	OtherKinds []string

	options Options

	mu        sync.Mutex                              // guards the fields below
	deployed  map[string][]*unstructured.Unstructured // installed objects of each operator
	processes []*Process
}

// Start starts everything except the operators. After an error, nothing runs.
func Start(ctx context.Context, o Options) (*Environment, error) {
	e := &Environment{options: o, deployed: map[string][]*unstructured.Unstructured{}}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

func (e *Environment) start(ctx context.Context) (err error) {
	for _, o := range e.options.Operators {
		if _, err := o.Binary(); err != nil && e.options.Binary == "" {
			return err
		}
	}
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() error { return e.startCluster(starting) })
	if e.options.Discord != nil {
		group.Go(func() error {
			d, err := e.options.Discord(starting)
			if err == nil {
				e.Discord = d
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	strict := client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict}
	if e.Admin, err = client.New(e.Cluster.Config(), strict); err != nil {
		return err
	}
	if playing := e.options.CloudNativePG; playing != nil {
		e.Postgres, err = cnpgtest.Start(context.WithoutCancel(ctx), e.Cluster.Config(), playing(e.Admin))
		if err != nil {
			return err
		}
	}
	if e.options.Admission {
		e.Admission, err = cnpgtest.StartWebhooks(ctx, e.Cluster.Config(), e.options.Cluster.Progress)
	}
	return err
}

func (e *Environment) startCluster(ctx context.Context) (err error) {
	if e.options.CloudNativePG != nil {
		if err := e.addKinds(testcluster.CloudNativePGCRDs(ctx)); err != nil {
			return err
		}
	}
	if e.options.Prometheus {
		if err := e.addKinds(testcluster.PrometheusOperatorCRDs(ctx)); err != nil {
			return err
		}
	}
	if e.options.GatewayAPI {
		if err := e.addKinds(testcluster.HTTPRouteCRD(ctx)); err != nil {
			return err
		}
	}
	cluster := e.options.Cluster
	cluster.CRDs = slices.Concat(e.OtherKinds, cluster.CRDs)
	for _, o := range e.options.Operators {
		folder, err := o.CRDs()
		if err != nil {
			return err
		}
		cluster.CRDs = append(cluster.CRDs, folder)
	}
	e.Cluster, err = testcluster.Start(ctx, cluster)
	return err
}

func (e *Environment) addKinds(folder string, err error) error {
	e.OtherKinds = append(e.OtherKinds, folder)
	return err
}

// Scheme returns a scheme with the kinds of Kubernetes and of this project.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), corev1api.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme))
}

// Install installs an operator, unless the operator is already installed.
func (e *Environment) Install(ctx context.Context, o Operator) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deployed[o.Name] != nil {
		return nil
	}
	root, err := o.checkout()
	if err != nil {
		return err
	}
	overlay := e.options.Overlay
	if overlay == "" {
		overlay = "base"
	}
	objects, err := o.Render(root, overlay, e.options.Components...)
	if err != nil {
		return err
	}
	if err := o.Install(ctx, e.Admin, objects); err != nil {
		return err
	}
	e.deployed[o.Name] = objects
	return nil
}

// Deployed returns the objects of an installed operator, its Deployment included.
func (e *Environment) Deployed(o Operator) []*unstructured.Unstructured {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.deployed[o.Name]
}

// StartOperator installs and starts an operator, but does not wait until it is ready.
func (e *Environment) StartOperator(ctx context.Context, o Operator, log string, args ...string) (*Process, error) {
	if err := e.Install(ctx, o); err != nil {
		return nil, err
	}
	c := Command{Binary: e.options.Binary, Log: filepath.Join(e.options.Folder, log), Args: args}
	if e.options.Deployed {
		c.Objects = e.Deployed(o)
	}
	if e.Discord != nil {
		c.Args = append([]string{"--discord-api-url=" + e.Discord.APIURL()}, args...)
	}
	p, err := o.Start(ctx, e.Cluster, c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.processes = append(e.processes, p)
	return p, nil
}

// Metrics reads the metrics of a process with a token of the ServiceAccount default/default.
func (e *Environment) Metrics(ctx context.Context, o Operator, p *Process) (string, error) {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name + "-metrics-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: o.Name + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: "default"}},
	}
	switch err := e.Admin.Create(ctx, binding); {
	case err == nil:
		if err := e.Cluster.AwaitMetricsReader(ctx, metav1.NamespaceDefault, "default"); err != nil {
			return "", err
		}
	case !apierrors.IsAlreadyExists(err):
		return "", err
	}
	config, err := e.Cluster.ServiceAccountConfig(ctx, metav1.NamespaceDefault, "default")
	if err != nil {
		return "", err
	}
	code, text, err := p.Scrape(ctx, config.BearerToken)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: %s", p.MetricsURL(), http.StatusText(code))
	}
	return text, err
}

// Stop ends the operators before the cluster, so that they can release their Leases.
func (e *Environment) Stop() error {
	e.mu.Lock()
	processes := e.processes
	e.mu.Unlock()
	var ending errgroup.Group
	for _, p := range processes {
		ending.Go(func() error { return p.Stop(Grace) })
	}
	errs := []error{ending.Wait()}
	if e.Admission != nil {
		errs = append(errs, e.Admission.Stop())
	}
	if e.Postgres != nil {
		e.Postgres.Stop()
	}
	if e.Discord != nil {
		ctx, cancel := context.WithTimeout(context.Background(), Grace)
		defer cancel()
		errs = append(errs, e.Discord.Shutdown(ctx))
	}
	if e.Cluster != nil {
		errs = append(errs, e.Cluster.Stop())
	}
	return errors.Join(errs...)
}

// RunFolder returns a path in out/NAME with the time in seconds and the process id, but creates no
// folder.
func RunFolder(name string) (string, error) {
	return project.Path("out", name, fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), os.Getpid()))
}
