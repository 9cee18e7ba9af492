// SPDX-License-Identifier: Apache-2.0

// Package recreate plans how to replace an object that is being deleted by a new object that adopts
// the same resource on Discord. It does no I/O. Only one goroutine at a time reconciles an object,
// so no delete call is in flight once the status says Paused. After the removal of the finalizer,
// Kubernetes removes the object, and nothing changes on Discord.
package recreate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/term"
)

// Plan has the object to replace and the new object.
type Plan struct {
	Old, New status.Object
	// ID is the id of the resource on Discord.
	ID string
	// Guarded reports that New changes the deletion policy or an overwrite to protect the resource.
	Guarded bool
	notes   []string
	now     time.Time
}

// NewPlan plans to replace o. server is o's DiscordServer if it is in another namespace, else nil.
func NewPlan(o status.Object, server *v1alpha1.DiscordServer, now time.Time) (*Plan, error) {
	p := &Plan{Old: o, ID: status.ID(o), now: now}
	what := kinds.Of(o).Kind + " " + o.GetName()
	ready := meta.FindStatusCondition(o.GetConditions(), conditions.TypeReady)
	owner := metav1.GetControllerOfNoCopy(o)
	switch {
	case o.GetDeletionTimestamp() == nil:
		return nil, fmt.Errorf("the %s is not being deleted", what)
	case !status.Finalized(o):
		return nil, fmt.Errorf("it is too late to undelete the %s, which waits only for the finalizer %s: discord-operator "+
			"has already deleted the object's resource on Discord, or left the resource there",
			what, strings.Join(o.GetFinalizers(), ", "))
	case ready != nil && ready.Reason == v1alpha1.ReasonNamespaceTerminating:
		return nil, fmt.Errorf("the namespace %s is being deleted, so nothing can be created there. To keep what the %s "+
			"has on Discord, set its spec.deletionPolicy to Retain. If its DiscordServer is in another namespace, the "+
			"DiscordServer must also set spec.allowRetention", o.GetNamespace(), what)
	case owner != nil:
		return nil, fmt.Errorf("the %s belongs to the %s %s, and undelete does not replace an object that another object "+
			"owns. To keep what the %[1]s has on Discord, set its spec.deletionPolicy to Retain. If its DiscordServer is in "+
			"another namespace, the DiscordServer must also set spec.allowRetention", what, owner.Kind, owner.Name)
	case p.ID == "":
		return nil, fmt.Errorf("the status of the %s names nothing on Discord that could be kept. Wait until the object "+
			"is deleted, and create it again", what)
	case Held(o) && !status.Paused(o):
		return nil, fmt.Errorf("the operator has not seen yet that the %s is no longer paused; try again", what)
	}
	if server != nil {
		if err := granted(o, server); err != nil {
			return nil, err
		}
	}
	p.New = o.DeepCopyObject().(status.Object)
	p.clean()
	return p, nil
}

// granted checks an object in another namespace than its server. It returns nil only if the object
// is no role, and the server lets such objects both retain and adopt resources.
func granted(o status.Object, server *v1alpha1.DiscordServer) error {
	name := server.Namespace + "/" + server.Name
	_, role := o.(*v1alpha1.DiscordRole)
	refused := grant.AdoptionRefused(server, o.GetNamespace())
	switch {
	case role:
		return fmt.Errorf("undelete cannot take back this deletion: the DiscordServer %s is in another namespace, and a "+
			"DiscordRole can adopt a role only from a DiscordServer in the DiscordRole's own namespace. "+
			"To pause the deletion: kubectl annotate discordrole %s -n %s %s=true",
			name, o.GetName(), o.GetNamespace(), v1alpha1.PausedAnnotation)
	case refused != nil || !server.Spec.AllowRetention:
		return fmt.Errorf("the DiscordServer %s must set spec.allowRetention and spec.allowAdoption before undelete can "+
			"take back the deletion of an object in another namespace. Ask the owner of the DiscordServer to set both "+
			"fields. Until then, pause the deletion: kubectl annotate %s %s -n %s %s=true",
			name, strings.ToLower(kinds.Of(o).Kind), o.GetName(), o.GetNamespace(), v1alpha1.PausedAnnotation)
	}
	return nil
}

func cleanAnnotations(o metav1.Object) {
	annotations := o.GetAnnotations()
	for _, key := range []string{
		v1alpha1.PausedAnnotation, v1alpha1.ForceDeleteAnnotation, "kubectl.kubernetes.io/last-applied-configuration",
	} {
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}

func (p *Plan) clean() {
	old, o := p.Old, p.New
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetCreationTimestamp(metav1.Time{})
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetManagedFields(nil)
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool {
		return slices.Contains([]string{
			v1alpha1.CleanupFinalizer, metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents,
		}, f)
	}))
	if len(o.GetFinalizers()) == 0 {
		o.SetFinalizers(nil)
	}
	cleanAnnotations(o)
	if status.Paused(old) {
		p.notes = append(p.notes, "The new object is not paused.")
	}
	o.GetObjectKind().SetGroupVersionKind(kinds.Of(o).GroupVersionKind)
	adopt := &v1alpha1.Adoption{ID: p.ID}
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		o.Status = v1alpha1.DiscordServerStatus{}
		p.notes = append(p.notes, "The server's categories, channels and roles stay on Discord. Their objects "+
			"wait until the new DiscordServer manages the server.")
	case *v1alpha1.DiscordGroup:
		p.keepRoles(o.Spec.PermissionOverwrites, o.Status.Roles)
		p.retain(&o.Spec.DeletionPolicy, o.Spec.Adopt, o.Status.Matched)
		o.Spec.Adopt, o.Status = adopt, v1alpha1.DiscordGroupStatus{}
		p.notes = append(p.notes, "The group's channels stay in their category. Their DiscordChannels wait until "+
			"the new DiscordGroup manages the category.")
	case *v1alpha1.DiscordChannel:
		p.keepRoles(o.Spec.PermissionOverwrites, o.Status.Roles)
		p.retain(&o.Spec.DeletionPolicy, o.Spec.Adopt, o.Status.Matched)
		o.Spec.Adopt, o.Status = adopt, v1alpha1.DiscordChannelStatus{}
		if o.Spec.Webhook != nil {
			p.notes = append(p.notes, fmt.Sprintf("Kubernetes deletes the Secret %s with the old object; the operator writes "+
				"it again, with the URL of the same webhook.", o.WebhookSecretName()))
		}
	case *v1alpha1.DiscordRole:
		p.retain(&o.Spec.DeletionPolicy, o.Spec.Adopt, o.Status.Matched)
		o.Spec.Adopt, o.Status = adopt, v1alpha1.DiscordRoleStatus{}
		if len(o.Spec.Members) > 0 {
			p.notes = append(p.notes, "The members keep the role. If you later remove a user from spec.members, the user "+
				"keeps the role too: only the status of the old object records who got the role from the operator.")
		}
	}
	sync := "If the object comes from a Git repository, pause the sync until this command has ended"
	if kinds.Of(o) != kinds.Server {
		sync += ", and copy the new object's spec.adopt into the repository"
	}
	p.notes = append(p.notes, sync+".")
}

// keepRoles replaces role names by the ids in the old object's status. In the new object, which has
// no status, a name could mean another role, whose members could then view a private channel.
func (p *Plan) keepRoles(spec []v1alpha1.PermissionOverwrite, recorded []v1alpha1.ResolvedRole) {
	listed := func(id string) bool {
		return slices.ContainsFunc(spec, func(o v1alpha1.PermissionOverwrite) bool { return o.Role == id })
	}
	for i, o := range spec {
		is := func(r v1alpha1.ResolvedRole) bool { return r.Name == o.Role }
		if at := slices.IndexFunc(recorded, is); at >= 0 && !listed(recorded[at].ID) {
			spec[i].Role, p.Guarded = recorded[at].ID, true
			p.notes = append(p.notes, fmt.Sprintf("In spec.permissionOverwrites, the id %[2]s replaces the name %[1]q, so that "+
				"the overwrite stays for the same role. If the object comes from a Git repository, write the id there too.",
				o.Role, spec[i].Role))
		}
	}
}

// retain sets the policy Retain for a resource that was bound without proof: the resource may
// belong to another user, and the policy Delete could delete it.
func (p *Plan) retain(policy *v1alpha1.DeletionPolicy, adopted *v1alpha1.Adoption, matched bool) {
	switch {
	case matched && (adopted == nil || adopted.ID != p.ID):
		p.Guarded = p.Guarded || *policy != v1alpha1.DeletionPolicyRetain
		*policy = v1alpha1.DeletionPolicyRetain
		p.notes = append(p.notes, fmt.Sprintf("The resource %s on Discord may belong to another user (status.matched), so "+
			"the new object has spec.deletionPolicy Retain: if you delete the new object later, Discord keeps the resource. If "+
			"the resource is yours, and should be deleted with the object, set spec.deletionPolicy to Delete after this "+
			"command has ended.", p.ID))
	case *policy == "":
		p.notes = append(p.notes,
			"If you delete the new object later, Discord keeps the resource: the operator deletes an adopted "+
				"resource only if spec.deletionPolicy is Delete.")
	}
}

// Held reports whether the status says Paused. A deletion then deletes nothing on Discord.
func Held(o status.Object) bool {
	ready := meta.FindStatusCondition(o.GetConditions(), conditions.TypeReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonPaused
}

// Adopt returns spec.adopt of the new object; nil for a server.
func (p *Plan) Adopt() map[string]any {
	if _, server := p.New.(*v1alpha1.DiscordServer); server {
		return nil
	}
	return map[string]any{"id": p.ID}
}

// Adopted reports whether an object's spec.adopt, or a server's spec.serverId, names the resource.
func (p *Plan) Adopted(o status.Object) bool {
	var adopt *v1alpha1.Adoption
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		return o.Spec.ServerID == p.ID
	case *v1alpha1.DiscordGroup:
		adopt = o.Spec.Adopt
	case *v1alpha1.DiscordChannel:
		adopt = o.Spec.Adopt
	case *v1alpha1.DiscordRole:
		adopt = o.Spec.Adopt
	}
	return adopt != nil && adopt.ID == p.ID
}

// YAML returns the manifest of the new object.
func (p *Plan) YAML() (string, error) {
	text, err := yaml.Marshal(p.New)
	if err != nil {
		return "", err
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return "", err
	}
	delete(fields, "status")
	text, err = yaml.Marshal(fields)
	return string(text), err
}

// Text describes the plan for a user.
func (p *Plan) Text(style term.Style) string {
	kind := kinds.Of(p.Old)
	var out strings.Builder
	age := term.Age(p.Old.GetDeletionTimestamp().Time, p.now)
	fmt.Fprintf(&out, "Takes back the deletion of the %s %s in the namespace %s, requested %s ago:\n",
		kind.Kind, style.Bold(p.Old.GetName()), p.Old.GetNamespace(), age)
	if ready := meta.FindStatusCondition(p.Old.GetConditions(), conditions.TypeReady); ready != nil {
		out.WriteString(term.Wrap(term.Printable(ready.Reason+": "+ready.Message), "  ", 110))
	}
	kept := "it adopts " + p.ID
	if p.Adopt() == nil {
		kept = "it manages the server " + p.ID
	}
	for _, line := range []string{
		"1. pause the deletion with the annotation " + v1alpha1.PausedAnnotation,
		"2. wait until the operator has confirmed that it deletes nothing",
		"3. remove the finalizer: Kubernetes then removes the object, and Discord keeps the resource",
		"4. create the object again: " + kept,
		"5. wait until the object is Ready",
	} {
		out.WriteString("  " + line + "\n")
	}
	for _, note := range p.notes {
		out.WriteString(term.Wrap(note, "  ! ", 110))
	}
	return out.String()
}

// ServerOf returns the name of an object's DiscordServer. It returns false for a DiscordServer, and
// for a DiscordChannel whose server is unknown.
func ServerOf(o status.Object) (types.NamespacedName, bool) {
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		return o.Spec.ServerRef.In(o.Namespace), true
	case *v1alpha1.DiscordRole:
		return o.Spec.ServerRef.In(o.Namespace), true
	case *v1alpha1.DiscordChannel:
		for _, ref := range []*v1alpha1.ServerReference{o.Spec.ServerRef, o.Status.ServerRef} {
			if ref != nil {
				return ref.In(o.Namespace), true
			}
		}
	}
	return types.NamespacedName{}, false
}
