// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/check"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/kubectl"
)

func (s *session) newCheck() *cobra.Command {
	var format kubectl.Output
	cmd := &cobra.Command{
		Use: "check", Short: "Check what Dojos need in the cluster, and your rights", Args: kubectl.Exactly(0, ""),
		DisableFlagsInUseLine: true,
		Long: `Checks the kinds, the operators with their versions, whether Prometheus and Alertmanager select the objects
of the Dojos in the namespace, and your rights. Each line begins with a mark: "ok", "fix" (you must do something, and
the next line helps), "--" (something is missing, but you need not act) or "?" (you may not read an object). The exit
code is 3 if a line begins with "fix".`,
		RunE: s.Connected(func(ctx context.Context, _ []string) error {
			lines, err := s.check(ctx)
			if err != nil {
				return err
			}
			if err := format.Write(s.Plugin, lines, func() string { return check.Text(lines, s.Style) }); err != nil {
				return err
			}
			if check.Failed(lines) {
				return kubectl.ErrIll
			}
			return nil
		}),
	}
	format.Bind(cmd)
	return cmd
}

func (s *session) check(ctx context.Context) ([]check.Line, error) {
	f := check.Facts{Namespace: s.Namespace, Deployments: map[string][]appsv1.Deployment{}}
	var dojos corev1api.DojoList
	_, err := s.listed(ctx, &dojos, client.InNamespace(s.Namespace))
	if err == nil {
		f.Absent, err = s.absentKinds()
	}
	if err == nil {
		f.Dojos, err = dojos.Items, s.findServers(ctx, &f)
	}
	if err == nil {
		f.Rights, err = s.findRights(ctx)
	}
	if err != nil {
		return nil, err
	}
	return check.Lines(f), nil
}

// listed lists objects. seen is false if the user may not list them. If the cluster lacks the kind,
// the list is empty, and seen is true.
func (s *session) listed(ctx context.Context, list client.ObjectList, o ...client.ListOption) (seen bool, err error) {
	switch err := s.List(ctx, list, o...); {
	case err == nil, kubectl.NotServed(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil
	default:
		return false, err
	}
}

// absentKinds maps a resource to true if the API server does not serve it. It uses API discovery,
// which every authenticated user may read by default.
func (s *session) absentKinds() (map[string]bool, error) {
	server, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return nil, err
	}
	served, absent := map[string][]metav1.APIResource{}, map[string]bool{}
	for _, kind := range kinds.All() {
		version := kind.GroupVersion().String()
		if _, known := served[version]; !known {
			list, err := server.ServerResourcesForGroupVersion(version)
			if client.IgnoreNotFound(err) != nil {
				return nil, err
			}
			if served[version] = nil; list != nil {
				served[version] = list.APIResources
			}
		}
		absent[kind.Resource()] = !slices.ContainsFunc(served[version],
			func(r metav1.APIResource) bool { return r.Name == kind.Plural })
	}
	return absent, nil
}

// findServers adds cluster-wide facts. If the user may not read a fact, its field stays nil.
// f.Blind is true if the user may not list Deployments.
func (s *session) findServers(ctx context.Context, f *check.Facts) error {
	operators, err := labels.NewRequirement(ownership.NameLabel, selection.In, check.Operators)
	if err != nil {
		return err
	}
	var deployments appsv1.DeploymentList
	seen, err := s.listed(ctx, &deployments, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*operators)})
	if err != nil {
		return err
	}
	f.Blind = !seen
	for _, d := range deployments.Items {
		name := d.Labels[ownership.NameLabel]
		f.Deployments[name] = append(f.Deployments[name], d)
	}
	var classes storagev1.StorageClassList
	if seen, err = s.listed(ctx, &classes); err != nil {
		return err
	} else if seen {
		f.Classes = append([]storagev1.StorageClass{}, classes.Items...)
	}
	var namespace corev1.Namespace
	if err := s.Get(ctx, client.ObjectKey{Name: s.Namespace}, &namespace); err == nil {
		f.Labels = namespace.Labels
	}
	for kind, into := range map[kinds.Kind]*[]unstructured.Unstructured{
		kinds.Prometheus: &f.Prometheuses, kinds.Alertmanager: &f.Alertmanagers,
	} {
		list := kind.List()
		if seen, err := s.listed(ctx, list); err != nil {
			return err
		} else if seen {
			*into = append([]unstructured.Unstructured{}, list.Items...)
		}
	}
	monitors := kinds.ServiceMonitor.List()
	seen, err = s.listed(ctx, monitors, client.MatchingLabels{ownership.NameLabel: check.DojoOperator})
	if err == nil && seen {
		f.Scraped = new(len(monitors.Items) > 0)
	}
	return err
}

// needs lists rights in the namespace of the command line. It leaves out test-alert, which needs
// rights in other namespaces, and plan, whose rights depend on the spec.
var needs = []struct {
	commands string
	needed   bool
	rights   []kubectl.Right
}{
	{"list, status, tree", true, slices.Concat(kubectl.To("get", kinds.Dojo), kubectl.To("list", kinds.Dojo))},
	{"status and tree with all children", false, slices.Concat(
		kubectl.To("get", kinds.Deployment, kinds.Service, kinds.Secret, kinds.Budget, kinds.Autoscaler, kinds.Ingress,
			kinds.HTTPRoute, kinds.Cluster, kinds.Database, kinds.Role, kinds.Pooler, kinds.Schedule, kinds.ServiceMonitor,
			kinds.Rule, kinds.Route, kinds.Channel),
		kubectl.To("list", kinds.Pod, kinds.Job, kinds.Event, kinds.Backup, kinds.ObjectStore, kinds.Database))},
	{"rotate, suspend, resume", false, kubectl.To("patch", kinds.Dojo)},
	{"upgrade, accept-loss", false, slices.Concat(kubectl.To("patch", kinds.Dojo), ofBackups)},
	{"backups", false, slices.Concat(ofBackups, kubectl.To("get", kinds.Cluster))},
	{"backup", false, slices.Concat(kubectl.To("create", kinds.Backup), kubectl.To("get", kinds.Backup, kinds.Cluster))},
	{"restore --as", false, slices.Concat(kubectl.To("create", kinds.Dojo), kubectl.To("patch", kinds.Dojo), ofBackups,
		kubectl.To("get", kinds.Cluster, kinds.Database))},
	{"restore", false, slices.Concat(kubectl.To("patch", kinds.Dojo, kinds.Cluster), ofBackups,
		kubectl.To("create", kinds.Cluster, kinds.Backup), kubectl.To("delete", kinds.Cluster),
		kubectl.To("get", kinds.Cluster, kinds.Database, kinds.Backup),
		kubectl.To("list", kinds.Dojo, kinds.Database, kinds.Pod))},
	{"logs", false, append(kubectl.To("list", kinds.Pod),
		kubectl.Right{Verb: "get", Kind: kinds.Pod, Subresource: "log"})},
	{"open", false, append(slices.Concat(kubectl.To("get", kinds.Service), kubectl.To("list", kinds.Pod)),
		kubectl.Right{Verb: "create", Kind: kinds.Pod, Subresource: "portforward"})},
	{"psql", false, append(slices.Concat(kubectl.To("get", kinds.Secret, kinds.Cluster), kubectl.To("list", kinds.Pod)),
		kubectl.Right{Verb: "create", Kind: kinds.Pod, Subresource: "exec"})},
}

// ofBackups are the rights to find all archives of backups.
var ofBackups = kubectl.To("list", kinds.Backup, kinds.ObjectStore)

func (s *session) findRights(ctx context.Context) ([]check.Right, error) {
	all := make([]check.Right, len(needs))
	errs := make([]error, len(needs))
	var asking sync.WaitGroup
	for i, n := range needs {
		asking.Go(func() {
			all[i] = check.Right{Commands: n.commands, Needed: n.needed}
			all[i].Lacks, errs[i] = s.Lacks(ctx, n.rights...)
		})
	}
	asking.Wait()
	return all, cmp.Or(errs...)
}
