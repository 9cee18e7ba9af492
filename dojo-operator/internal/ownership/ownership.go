// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// References is a cache index of Dojos, by the names of objects that a Dojo owns or refers to.
const References = "references"

// FieldOwner is the field manager of all writes by the operator.
const FieldOwner = "dojo-operator"

// NameLabel and InstanceLabel never change: they are in the Deployment's immutable selector.
const (
	NameLabel      = "app.kubernetes.io/name"
	InstanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"

	// Application is the value of NameLabel on children and on the application's pods.
	Application = "dojo"
	// Schema marks Jobs that run SQL, such as initSQL. The Service does not select their pods.
	Schema = "dojo-schema"
	// Release marks the Jobs of release steps, and their pods.
	Release = "dojo-release"
)

// RevisionAnnotation has a random word that changes with the credentials, to replace the pods. A
// hash would let readers of Deployments guess weak passwords.
const RevisionAnnotation = "core.jutsu.com/credentials-revision"

// Selector selects the application's pods.
func Selector(dojo *corev1api.Dojo) map[string]string {
	return map[string]string{NameLabel: Application, InstanceLabel: dojo.Name}
}

// ManagedLabels returns the label of every object that the operator writes.
func ManagedLabels() map[string]string { return map[string]string{managedByLabel: FieldOwner} }

// Labels returns the labels of a child. name is the value of NameLabel.
func Labels(dojo *corev1api.Dojo, name string) map[string]string {
	return map[string]string{NameLabel: name, InstanceLabel: dojo.Name, managedByLabel: FieldOwner}
}

// Managed reports whether an object has the label of [ManagedLabels].
func Managed(o metav1.Object) bool { return o.GetLabels()[managedByLabel] == FieldOwner }

// LabelledFor reports whether an object's labels mark it as data of a Dojo with this name.
func LabelledFor(dojo string, o metav1.Object) bool {
	l := o.GetLabels()
	return Managed(o) && l[NameLabel] == Application && l[InstanceLabel] == dojo
}

// Reference returns the owner reference that makes the Dojo the controller of a child.
func Reference(dojo *corev1api.Dojo) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(corev1api.GroupVersion.String()).
		WithKind("Dojo").
		WithName(dojo.Name).
		WithUID(dojo.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// Data returns an object without owner reference, so that the garbage collector does not delete it.
func Data(
	dojo *corev1api.Dojo, kind schema.GroupVersionKind, name string, spec map[string]any,
) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(dojo.Namespace)
	o.SetName(name)
	o.SetLabels(Labels(dojo, Application))
	return o
}

// Child returns an object with the Dojo's labels and an owner reference to the Dojo.
func Child(
	dojo *corev1api.Dojo, kind schema.GroupVersionKind, name string, spec map[string]any,
) *unstructured.Unstructured {
	o := Data(dojo, kind, name, spec)
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(dojo, corev1api.GroupVersion.WithKind("Dojo"))})
	return o
}

// Annotate adds an annotation to a desired object.
func Annotate(desired *unstructured.Unstructured, key, value string) {
	all := desired.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	desired.SetAnnotations(all)
}

// ByDojo reports whether the object's controller is a Dojo. It ignores the labels.
func ByDojo(o metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && owner.Kind == "Dojo" && owner.APIVersion == corev1api.GroupVersion.String()
}

// Strip removes all fields of an object except its identity, times, controller and our labels.
func Strip(o client.Object) {
	kind, namespace, name := o.GetObjectKind().GroupVersionKind(), o.GetNamespace(), o.GetName()
	uid, version := o.GetUID(), o.GetResourceVersion()
	created, deleted, owners := o.GetCreationTimestamp(), o.GetDeletionTimestamp(), apply.Controller(o)
	labels := ourLabels(o)
	reflect.ValueOf(o).Elem().SetZero()
	o.GetObjectKind().SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(uid)
	o.SetResourceVersion(version)
	o.SetCreationTimestamp(created)
	o.SetDeletionTimestamp(deleted)
	o.SetOwnerReferences(owners)
	o.SetLabels(labels)
}

func ourLabels(o metav1.Object) map[string]string {
	if !Managed(o) {
		return nil
	}
	all, ours := o.GetLabels(), ManagedLabels()
	for _, key := range []string{NameLabel, InstanceLabel} {
		if value, ok := all[key]; ok {
			ours[key] = value
		}
	}
	return ours
}

// Conflicts reports whether the object is too large or not controlled by the Dojo; false for nil.
func Conflicts[L apply.Live](dojo *corev1api.Dojo, live L) bool {
	var absent L
	return live != absent && (!metav1.IsControlledBy(live, dojo) || apply.TooLarge(live))
}

// Holds reports whether an object has data of this Dojo, or of a deleted Dojo with the same name.
func Holds[L apply.Live](dojo *corev1api.Dojo, live L) bool {
	var absent L
	return live != absent && !apply.TooLarge(live) &&
		(metav1.IsControlledBy(live, dojo) || metav1.GetControllerOfNoCopy(live) == nil && LabelledFor(dojo.Name, live))
}

// NameConflict returns an issue if a child's name belongs to an object that the Dojo cannot use.
func NameConflict[L apply.Live](dojo *corev1api.Dojo, kind string, live L) *conditions.Issue {
	if !Conflicts(dojo, live) {
		return nil
	}
	return conflict(dojo, kind, live)
}

// DataConflict returns an issue if an object has the name of the Dojo's data, but does not belong
// to the Dojo or is too large. The message does not advise to delete the object: a user may have
// restored it.
func DataConflict[L apply.Live](dojo *corev1api.Dojo, kind string, live L) *conditions.Issue {
	var absent L
	if live == absent || Holds(dojo, live) {
		return nil
	}
	if issue := unusable(dojo, kind, live); issue != nil {
		return issue
	}
	return conditions.Degraded(corev1api.ReasonNameConflict,
		"The %s %s/%s exists and does not belong to this Dojo. If another owner needs the %[1]s, give the "+
			"Dojo another name. %[4]s",
		kind, dojo.Namespace, live.GetName(), HandOver(dojo, kind, live))
}

// Resource returns the name of a kind for kubectl, with the API group if the kind is ambiguous.
func Resource(kind string) string {
	name := strings.ToLower(kind)
	switch kind {
	case "Cluster", "Database", "DatabaseRole", "Backup", "ScheduledBackup", "Pooler":
		return name + "s.postgresql.cnpg.io"
	case "ServiceMonitor", "PrometheusRule", "AlertmanagerConfig":
		return name + "s.monitoring.coreos.com"
	case "HTTPRoute":
		return name + "s.gateway.networking.k8s.io"
	case "Ingress":
		return name + "es.networking.k8s.io"
	case "DiscordChannel":
		return name + "s.discord.jutsu.com"
	}
	return name
}

// HandOver returns advice to make an existing object belong to the Dojo.
func HandOver(dojo *corev1api.Dojo, kind string, live metav1.Object) string {
	words := []string{"kubectl label", Resource(kind), live.GetName(), "-n", dojo.Namespace, "--overwrite"}
	for _, key := range []string{NameLabel, InstanceLabel, managedByLabel} {
		words = append(words, key+"="+Labels(dojo, Application)[key])
	}
	command := strings.Join(words, " ")
	owner := ""
	if c := metav1.GetControllerOfNoCopy(live); c != nil {
		owner = fmt.Sprintf(" wait until the %s %s no longer controls the %s (metadata.ownerReferences), then",
			c.Kind, c.Name, kind)
	}
	return fmt.Sprintf("If the %[1]s should belong to this Dojo, as after a restore,%[2]s add the Dojo's labels: "+
		"`%[3]s`. With the reclaimPolicy Delete, the %[1]s is then deleted with the Dojo.", kind, owner, command)
}

func conflict(dojo *corev1api.Dojo, kind string, live metav1.Object) *conditions.Issue {
	if issue := unusable(dojo, kind, live); issue != nil {
		return issue
	}
	return conditions.Degraded(corev1api.ReasonNameConflict,
		"The %s %s/%s exists and is not controlled by this Dojo. Give the Dojo another name; or, if nothing needs "+
			"the %[1]s, delete it: `kubectl delete %[4]s %[3]s -n %[2]s`.", kind, dojo.Namespace, live.GetName(), Resource(kind))
}

func unusable(dojo *corev1api.Dojo, kind string, live metav1.Object) *conditions.Issue {
	if apply.TooLarge(live) && live.GetDeletionTimestamp() == nil {
		return conditions.Degraded(corev1api.ReasonNameConflict,
			"The %s %s/%s is larger than %d KiB in memory, the limit for an object that the operator manages, so it is not "+
				"changed. Make it smaller with `kubectl edit %s %s -n %s`, "+
				"and shorten the fields of the Dojo's spec that are copied into it.",
			kind, dojo.Namespace, live.GetName(), apply.MaxKept>>10, Resource(kind), live.GetName(), dojo.Namespace)
	}
	if ByDojo(live) && metav1.GetControllerOfNoCopy(live).Name == dojo.Name || live.GetDeletionTimestamp() != nil {
		return conditions.Progressing(corev1api.ReasonWaitingForDeletion,
			"The former %s %s/%s is still being deleted.", kind, dojo.Namespace, live.GetName())
	}
	return nil
}

// PlanOption plans the write of an optional child, or its deletion if asked is false. If asked is
// true and desired is nil, the child stays as it is. An object that the Dojo cannot use is not
// changed, and causes an issue if asked is true. PlanOption returns the planned write, or nil.
func PlanOption[L apply.Live](
	dojo *corev1api.Dojo, p *apply.Plan, kind string, live L, asked bool, desired *unstructured.Unstructured,
	known apply.Unchanged,
) (child *apply.Object) {
	var absent L
	switch foreign := Conflicts(dojo, live); {
	case asked && foreign:
		p.Report(conflict(dojo, kind, live))
	case asked && desired != nil:
		child = apply.Sync(FieldOwner, live, desired, known)
		p.Add(child)
	case !asked && live != absent && !foreign:
		p.Delete = append(p.Delete, apply.Delete(kind, live))
	}
	return child
}
