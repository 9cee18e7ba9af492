// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/recreate"
	"jutsu.com/operators/discord-operator/internal/cli/view"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/kubectl"
)

const stepTimeout = 2 * time.Minute

type undeleting struct {
	kubectl.Asking
	timeout time.Duration
}

func (s *session) newUndelete() *cobra.Command {
	var u undeleting
	cmd := &cobra.Command{
		Use: "undelete TYPE NAME", Short: "Take back a deletion that is not complete yet",
		DisableFlagsInUseLine: true,
		Long: `Takes back the deletion of a server, group, channel or role while the deletion is not complete. Kubernetes
cannot undo a deletion, so the command replaces the object. It pauses the deletion (annotation
discord.jutsu.com/paused), and waits until the operator confirms that it deletes nothing on Discord. Then the command
removes the finalizer, and creates an equal object, which adopts the same resource on Discord. It shows this plan first,
and asks you to confirm it and to type the object's name.`,
		Example: "  kubectl discord undelete channel alerts -n team-a",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return kubectl.Usage("the type is missing: %s", cmd.UseLine())
			}
			if _, ok := kinds.Find(args[0]); !ok {
				return kubectl.Usage("%q is no type: say server, group, channel or role", args[0])
			}
			return kubectl.Exactly(2, "the name of the object")(cmd, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"server", "group", "channel", "role"}, cobra.ShellCompDirectiveNoFileComp
			}
			kind, _ := kinds.Find(args[0])
			return s.Complete(kind)(cmd, args[1:], typed)
		},
		RunE: s.Connected(func(ctx context.Context, args []string) error {
			kind, _ := kinds.Find(args[0])
			return s.undelete(ctx, kind, args[1], &u)
		}),
	}
	u.Bind(cmd)
	u.BindName(cmd, "the object")
	cmd.Flags().DurationVar(&u.timeout, "timeout", stepTimeout, "how long each step may wait")
	return cmd
}

func (s *session) undelete(ctx context.Context, kind kubectl.Kind, name string, u *undeleting) error {
	o := kinds.New(kind)
	switch err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, o); {
	case apierrors.IsNotFound(err) && !kubectl.NotServed(err) && kind == kinds.Server:
		return s.Unknown(ctx, kind, name, "its deletion is complete, or it never existed")
	case apierrors.IsNotFound(err) && !kubectl.NotServed(err):
		return fmt.Errorf("%w. If Discord still has the channel, category or role, print a manifest that adopts it: "+
			"kubectl discord adopt SERVER ID -n NAMESPACE",
			s.Unknown(ctx, kind, name, "its deletion is complete, or it never existed"))
	case err != nil:
		return err
	}
	server, err := s.serverFor(ctx, o)
	if err != nil {
		return err
	}
	plan, err := recreate.NewPlan(o, server, s.Now())
	if err != nil {
		return err
	}
	if err := s.Need(ctx, append(kubectl.To("patch", kind), kubectl.To("create", kind)...)...); err != nil {
		return err
	}
	text, err := plan.YAML()
	if err != nil {
		return err
	}
	s.Print("%s", plan.Text(s.Style))
	if err := u.Confirm(ctx, s.Plugin, text); err != nil {
		return err
	}
	if err := u.ConfirmName(ctx, s.Plugin, "the object", name, "The object will be replaced."); err != nil {
		return err
	}
	return s.replace(ctx, plan, text, u.timeout)
}

// serverFor returns an object's DiscordServer; nil if unknown or in the object's namespace.
func (s *session) serverFor(ctx context.Context, o status.Object) (*v1alpha1.DiscordServer, error) {
	name, ok := recreate.ServerOf(o)
	if !ok || name.Namespace == o.GetNamespace() {
		return nil, nil
	}
	server := &v1alpha1.DiscordServer{}
	return server, s.Get(ctx, name, server)
}

func (s *session) replace(ctx context.Context, p *recreate.Plan, text string, timeout time.Duration) error {
	o := p.Old.DeepCopyObject().(status.Object)
	s.Print("1. pause the deletion\n")
	pause := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.PausedAnnotation: "true"}}}
	if err := s.merge(ctx, o, pause); err != nil {
		return s.late(err, p)
	}
	s.Print("2. wait until the operator has confirmed that it deletes nothing\n")
	err := s.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(o), o)
		switch {
		case err != nil:
			return false, err
		case o.GetUID() != p.Old.GetUID():
			return false, errGone
		case o.GetGeneration() != p.Old.GetGeneration(): // since the user has read the manifest
			return false, errChanged
		}
		return recreate.Held(o), nil
	})
	if err != nil {
		return s.late(err, p)
	}
	switch terminating, err := s.terminating(ctx); {
	case err != nil:
		return s.late(err, p)
	case terminating:
		return errNamespace
	}
	if err := s.creatable(ctx, p); err != nil {
		return fmt.Errorf("the dry run that creates the object again failed: %w. The deletion stays paused. Fix the "+
			"cause, and run the command again", err)
	}
	s.Print("3. remove the finalizer: Kubernetes then removes the object, and Discord keeps the resource\n")
	// An interruption between release and recreate would lose the object with its spec.
	steps := context.WithoutCancel(ctx)
	if lost, err := s.release(steps, p, o, timeout); err != nil {
		if lost {
			s.Note("See whether the object still exists: kubectl get %s %s -n %s. If it exists, run undelete again. If not, "+
				"apply this manifest as soon as possible:\n%s",
				kinds.Of(o).Resource(), o.GetName(), o.GetNamespace(), text)
		}
		return err
	}
	created, err := s.recreate(steps, p, timeout)
	if err != nil {
		s.Note("Nothing is lost on Discord. Apply this manifest as soon as possible:\n%s", text)
		return err
	}
	return s.await(ctx, created, timeout)
}

// release removes the finalizer. lost reports that the patch may have succeeded despite the error.
func (s *session) release(
	ctx context.Context, p *recreate.Plan, o status.Object, timeout time.Duration,
) (lost bool, err error) {
	patching, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		err := s.removeFinalizer(patching, o)
		if apierrors.IsConflict(err) && !s.stillHeld(patching, o) {
			return errChanged
		}
		return err
	})
	held := fmt.Errorf("%w; the deletion stays paused; fix the cause and run the command again", err)
	switch {
	case err == nil:
		return false, nil
	case apierrors.IsConflict(err), errors.Is(err, errChanged):
		return false, errChanged
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return false, held
	}
	live, released := kinds.New(kinds.Of(o)), false
	unread := s.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(o), live)
		released = apierrors.IsNotFound(err) || err == nil && (live.GetUID() != p.Old.GetUID() || !status.Finalized(live))
		return released || err == nil, nil
	})
	switch {
	case released:
		return false, nil
	case unread != nil:
		return true, fmt.Errorf("%w; it is unknown whether the object still exists", err)
	}
	return true, held
}

func (s *session) removeFinalizer(ctx context.Context, o status.Object) error {
	finalizers := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == v1alpha1.CleanupFinalizer })
	return s.merge(ctx, o, map[string]any{"metadata": map[string]any{
		"finalizers": finalizers, "resourceVersion": o.GetResourceVersion(),
	}})
}

// stillHeld reads o again. It reports whether the spec is unchanged and the deletion still paused.
func (s *session) stillHeld(ctx context.Context, o status.Object) bool {
	uid, generation := o.GetUID(), o.GetGeneration()
	err := s.Get(ctx, client.ObjectKeyFromObject(o), o)
	return err == nil && o.GetUID() == uid && o.GetGeneration() == generation &&
		o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" && recreate.Held(o)
}

var (
	errGone    = errors.New("the operator was faster")
	errChanged = errors.New("another client has changed the object meanwhile, so the object is not replaced. " +
		"Run the command again")
	errNamespace = errors.New("the object's namespace is being deleted, so the object cannot be created again. The " +
		"deletion stays paused. To keep the resource on Discord, set spec.deletionPolicy to Retain. If the " +
		"DiscordServer is in another namespace, it must also set spec.allowRetention. Then remove the " +
		"annotation " + v1alpha1.PausedAnnotation + ", so that the deletion continues")
)

func (s *session) late(err error, p *recreate.Plan) error {
	gone := apierrors.IsNotFound(err) || errors.Is(err, errGone)
	_, isServer := p.Old.(*v1alpha1.DiscordServer)
	switch {
	case gone && isServer:
		return fmt.Errorf("the deletion has completed meanwhile. If the server still exists on Discord, create the "+
			"DiscordServer again with spec.serverId %s", p.ID)
	case gone:
		return fmt.Errorf("the deletion has completed meanwhile. If the deletion policy kept %[1]s on Discord, print a "+
			"manifest that adopts it: kubectl discord adopt SERVER %[1]s -n NAMESPACE", p.ID)
	case errors.Is(err, kubectl.ErrTimeout):
		return fmt.Errorf("%w: discord-operator has not confirmed that it deletes nothing. Check that the operator "+
			"runs, and run the command again. The annotation %s still pauses the deletion", err, v1alpha1.PausedAnnotation)
	case errors.Is(err, errChanged):
		return fmt.Errorf("%w. The annotation %s still pauses the deletion", err, v1alpha1.PausedAnnotation)
	}
	return err
}

func (s *session) terminating(ctx context.Context) (bool, error) {
	var namespace corev1.Namespace
	err := s.Get(ctx, client.ObjectKey{Name: s.Namespace}, &namespace)
	if apierrors.IsForbidden(err) {
		return false, nil // NewPlan has already refused if Ready has the reason NamespaceTerminating
	}
	return namespace.DeletionTimestamp != nil, err
}

// creatable dry-runs the create. The old object still has the name, so AlreadyExists is no failure.
func (s *session) creatable(ctx context.Context, p *recreate.Plan) error {
	err := s.Create(ctx, p.New.DeepCopyObject().(status.Object), client.DryRunAll)
	if apierrors.IsAlreadyExists(err) || exceedsQuota(err) || dryRunUnsupported(err) {
		return nil
	}
	return err
}

// exceedsQuota reports a refusal by a quota, which may still count the old object. Source of the
// texts: k8s.io/apiserver, pkg/admission/plugin/resourcequota.
func exceedsQuota(err error) bool {
	return apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), "exceeded quota: ") || strings.Contains(err.Error(), "status unknown for quota: "))
}

// dryRunUnsupported reports whether a webhook does not support dry runs. Source of the text:
// k8s.io/apiserver, pkg/admission/plugin/webhook/errors.
func dryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// recreate creates the object once the old object is gone. If another client was faster, recreate
// adds spec.adopt to that client's object, or returns an error if p.Guarded is set.
func (s *session) recreate(ctx context.Context, p *recreate.Plan, timeout time.Duration) (status.Object, error) {
	created := p.New.DeepCopyObject().(status.Object)
	s.Print("4. create the object again\n")
	var last error
	err := s.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		done, err := s.createOnce(ctx, p, created)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if exceedsQuota(err) {
			return false, nil
		}
		return done, err
	})
	if errors.Is(err, kubectl.ErrTimeout) && last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return created, err
}

var errUnguarded = errors.New("another client has created the object first, so the command did not create it. Add " +
	"spec.adopt, and the changes in the notes above, to the manifest of that client")

func (s *session) createOnce(ctx context.Context, p *recreate.Plan, created status.Object) (done bool, err error) {
	if err := s.Create(ctx, created); !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	live := kinds.New(kinds.Of(created))
	if err := s.Get(ctx, client.ObjectKeyFromObject(created), live); err != nil || live.GetUID() == p.Old.GetUID() {
		return false, client.IgnoreNotFound(err)
	}
	adopt := p.Adopt()
	switch {
	case p.Adopted(live): // the answer to an earlier create was lost, or the object is equal
		return true, nil
	case adopt == nil:
		return false, fmt.Errorf("another client has created the object first, with another spec.serverId than %s: "+
			"to manage the server %[1]s again, create an object with another name", p.ID)
	case p.Guarded:
		return false, errUnguarded
	}
	s.Note("Another client has already created the new object. That object adopts the same resource on Discord.\n")
	return true, s.merge(ctx, created, map[string]any{"spec": map[string]any{"adopt": adopt}})
}

// await waits until the object is Ready, or Degraded for a reason that is not temporary.
func (s *session) await(ctx context.Context, o status.Object, timeout time.Duration) error {
	s.Print("5. wait until the object is Ready\n")
	state := view.State{}
	err := s.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		if err := s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err
		}
		state = view.StateOf(o, s.Now())
		return state.Health == view.Ready || state.Health == view.Degraded && !passing(state.Reason), nil
	})
	if err != nil && !errors.Is(err, kubectl.ErrTimeout) {
		return err
	}
	s.Print("  %s  %s: %s\n", state.Paint(s.Style, string(state.Health)), state.Reason, state.Message)
	if state.Reason == v1alpha1.ReasonAdoptNotFound {
		s.Note("If the resource no longer exists on Discord: delete the new object, and apply its manifest without " +
			"spec.adopt. The operator then creates a new resource.\n")
	}
	if state.Health != view.Ready {
		return kubectl.ErrIll
	}
	s.Print("Done.\n")
	return nil
}

// passing reports whether a reason is temporary: the operator may still see the old object, or the
// Secret of the old webhook may still exist.
func passing(reason string) bool {
	return reason == v1alpha1.ReasonConflict || reason == v1alpha1.ReasonNameConflict
}

func (s *session) merge(ctx context.Context, o status.Object, fields map[string]any) error {
	return s.Merge(ctx, kinds.Of(o), o.GetNamespace(), o.GetName(), fields)
}
