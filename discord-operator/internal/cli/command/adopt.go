// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/export"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/world"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/kubectl"
)

func (s *session) newAdopt() *cobra.Command {
	var from source
	var name string
	cmd := &cobra.Command{
		Use: "adopt SERVER ID", Short: "Print the manifest that adopts a channel, a category or a role",
		DisableFlagsInUseLine: true,
		Long: `Prints the manifest of an object that adopts an existing channel, category or role by its id. Applied
unchanged, the manifest changes nothing on Discord. If the channel's category has no DiscordGroup, the output also has a
DiscordGroup for this category: without it, the operator would move the channel out of the category. The command writes
nothing to Kubernetes: apply its output. The token comes from the Secret of the DiscordServer, or from --token-file.`,
		Example: "  kubectl discord adopt company 1401681709430341810 -n platform | kubectl apply -f -",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return kubectl.Usage("%s is missing: %s", nameOfServer, cmd.UseLine())
			}
			if err := kubectl.Exactly(2, "the id of a channel, category or role")(cmd, args); err != nil {
				return err
			}
			if !cli.IsID(args[1]) {
				return kubectl.Usage("%q is no id of Discord: an id has 6 to 20 digits", args[1])
			}
			if problems := validation.IsDNS1123Subdomain(name); name != "" && problems != nil {
				return kubectl.Usage("--name is %q: %s", name, problems[0])
			}
			return nil
		},
		ValidArgsFunction: s.Complete(kinds.Server),
		RunE: s.Connected(func(ctx context.Context, args []string) error {
			return s.adopt(ctx, args[0], args[1], name, &from)
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` of the object; by default it is made from the name on Discord")
	from.bind(cmd)
	return cmd
}

func (s *session) adopt(ctx context.Context, server, id, name string, from *source) error {
	w, err := s.world(ctx, server)
	if err != nil {
		return err
	}
	if claimed := claimant(w, id); claimed != nil {
		return fmt.Errorf("the %s %s/%s already names the id %s, in its status or in spec.adopt",
			kinds.Of(claimed).Kind, claimed.GetNamespace(), claimed.GetName(), id)
	}
	options, _, err := from.options(ctx, s, w.Server)
	if err != nil {
		return err
	}
	a := export.Adoption{
		ID: id, ServerID: w.Server.Spec.ServerID, Server: server, Namespace: w.Server.Namespace, Name: name,
		Groups: map[string]v1alpha1.GroupReference{}, Roles: map[string]string{},
	}
	for _, g := range w.Groups {
		ref := v1alpha1.GroupReference{Name: g.Name}
		if g.Namespace != a.Namespace {
			ref.Namespace = g.Namespace
		}
		a.Groups[g.Status.GroupID] = ref
	}
	for _, r := range w.Roles {
		if r.Namespace == a.Namespace {
			a.Roles[r.Status.RoleID] = r.Name
		}
	}
	text, err := export.Adopt(ctx, options, a)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

func claimant(w *world.World, id string) status.Object {
	for _, o := range w.Objects() {
		if status.ID(o) == id || ptr.Deref(adoptionOf(o), v1alpha1.Adoption{}).ID == id {
			return o
		}
	}
	return nil
}

func adoptionOf(o status.Object) *v1alpha1.Adoption {
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		return o.Spec.Adopt
	case *v1alpha1.DiscordChannel:
		return o.Spec.Adopt
	case *v1alpha1.DiscordRole:
		return o.Spec.Adopt
	}
	return nil
}
