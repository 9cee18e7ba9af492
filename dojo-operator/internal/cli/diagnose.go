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
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/check"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
)

func (c *cli) newCheck() *cobra.Command {
	var format kubectl.Output
	cmd := &cobra.Command{
		Use: "check", Short: "Check what the cluster and you need for Dojos", Args: kubectl.Exactly(0, ""),
		DisableFlagsInUseLine: true,
		Long: `Checks the kinds, the operators with their versions, whether Prometheus and Alertmanager select the objects
of the Dojos in the namespace, and your rights. Each line is ok or says what to do. The exit code is 3 if there is
something to do.`,
		RunE: c.command(func(ctx context.Context, s *session, _ []string) error {
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
	f := check.Facts{Namespace: s.Namespace, Kinds: map[string]check.Seen{}, Deployments: map[string][]appsv1.Deployment{}}
	var dojos corev1api.DojoList
	if err := ignoreDenied(s.List(ctx, &dojos, client.InNamespace(s.Namespace))); err != nil {
		return nil, err
	}
	f.Dojos = dojos.Items
	if err := s.findKinds(&f); err != nil {
		return nil, err
	}
	if err := s.findServers(ctx, &f); err != nil {
		return nil, err
	}
	var err error
	f.Rights, err = s.findRights(ctx)
	return check.Lines(f), err
}

// findKinds asks the API server which kinds it serves, which every user may.
func (s *session) findKinds(f *check.Facts) error {
	server, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		return err
	}
	served := map[string][]metav1.APIResource{}
	for _, kind := range kinds.All() {
		version := kind.GroupVersion().String()
		if _, known := served[version]; !known {
			list, err := server.ServerResourcesForGroupVersion(version)
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			served[version] = nil
			if list != nil {
				served[version] = list.APIResources
			}
		}
		f.Kinds[kind.Resource()] = check.Absent
		if slices.ContainsFunc(served[version], func(r metav1.APIResource) bool { return r.Name == kind.Plural }) {
			f.Kinds[kind.Resource()] = check.Served
		}
	}
	return nil
}

// findServers reads operators, storage classes and monitoring of all namespaces. Objects that the
// user may not read stay unknown.
func (s *session) findServers(ctx context.Context, f *check.Facts) error {
	var deployments appsv1.DeploymentList
	operators, err := labels.Parse("app.kubernetes.io/name in (" + check.DojoOperator + "," + check.DiscordOperator + "," +
		check.CloudNativePG + ")")
	if err != nil {
		return err
	}
	err = s.List(ctx, &deployments, client.MatchingLabelsSelector{Selector: operators})
	if ignoreDenied(err) != nil {
		return err
	}
	f.Blind = err != nil
	for _, d := range deployments.Items {
		name := d.Labels["app.kubernetes.io/name"]
		f.Deployments[name] = append(f.Deployments[name], d)
	}
	var classes storagev1.StorageClassList
	if err := s.List(ctx, &classes); ignoreDenied(err) != nil {
		return err
	} else if err == nil {
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
		if err := s.List(ctx, list); ignoreDenied(err) != nil {
			return err
		} else if err == nil || kubectl.NotServed(err) {
			*into = append([]unstructured.Unstructured{}, list.Items...)
		}
	}
	monitors := kinds.ServiceMonitor.List()
	err = s.List(ctx, monitors, client.MatchingLabels{"app.kubernetes.io/name": check.DojoOperator})
	if err == nil || kubectl.NotServed(err) {
		f.Scraped = new(len(monitors.Items) > 0)
	}
	return nil
}

// ignoreDenied returns nil for a refusal and for a kind that does not exist, and otherwise the
// error.
func ignoreDenied(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// needs lists the rights of each command.
var needs = []struct {
	commands string
	needed   bool
	rights   []kubectl.Right
	sub      string
}{
	{"list, status, tree", true, []kubectl.Right{kubectl.To("get", kinds.Dojo), kubectl.To("list", kinds.Dojo)}, ""},
	{"tree with all children", false, []kubectl.Right{
		kubectl.To("get", kinds.Deployment), kubectl.To("get", kinds.Service), kubectl.To("get", kinds.Secret),
		kubectl.To("list", kinds.Pod), kubectl.To("list", kinds.Job), kubectl.To("list", kinds.Event),
		kubectl.To("get", kinds.Cluster), kubectl.To("get", kinds.Database), kubectl.To("get", kinds.Role),
	}, ""},
	{"rotate, suspend, resume, upgrade, accept-loss", false, []kubectl.Right{kubectl.To("patch", kinds.Dojo)}, ""},
	{"backups", false, []kubectl.Right{kubectl.To("list", kinds.Backup), kubectl.To("list", kinds.ObjectStore)}, ""},
	{"backup", false, []kubectl.Right{kubectl.To("create", kinds.Backup)}, ""},
	{"restore --as", false, []kubectl.Right{kubectl.To("create", kinds.Dojo), kubectl.To("patch", kinds.Dojo)}, ""},
	{"restore", false, []kubectl.Right{
		kubectl.To("patch", kinds.Dojo), kubectl.To("create", kinds.Cluster), kubectl.To("patch", kinds.Cluster),
		kubectl.To("delete", kinds.Cluster),
	}, ""},
	{"logs", false, []kubectl.Right{kubectl.To("get", kinds.Pod)}, "log"},
	{"open", false, []kubectl.Right{kubectl.To("create", kinds.Pod)}, "portforward"},
	{"psql", false, []kubectl.Right{kubectl.To("create", kinds.Pod)}, "exec"},
}

// findRights asks which rights the user lacks.
func (s *session) findRights(ctx context.Context) ([]check.Right, error) {
	all := make([]check.Right, len(needs))
	errs := make([]error, len(needs))
	var asking sync.WaitGroup
	for i, n := range needs {
		asking.Go(func() {
			all[i] = check.Right{Commands: n.commands, Needed: n.needed}
			for _, r := range n.rights {
				ok, err := kubectl.May(ctx, s, s.Namespace, r, n.sub)
				if err == nil && !ok {
					all[i].Lacks = append(all[i].Lacks, rightName(r, n.sub))
				}
				errs[i] = cmp.Or(errs[i], err)
			}
		})
	}
	asking.Wait()
	return all, cmp.Or(errs...)
}

func rightName(r kubectl.Right, subresource string) string {
	if subresource != "" {
		return r.String() + "/" + subresource
	}
	return r.String()
}
