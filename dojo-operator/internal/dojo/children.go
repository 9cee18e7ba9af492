package dojo

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// FieldOwner is the field manager of everything that this operator applies.
const FieldOwner = "dojo-operator"

// The labels of every child. The first two select the pods and never change, since a Deployment's selector cannot.
const (
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"

	nameValue      = "dojo"
	managedByValue = FieldOwner
)

// The kinds of children, as metrics and messages call them.
const (
	kindSecret     = "Secret"
	kindDeployment = "Deployment"
	kindService    = "Service"
	kindBudget     = "PodDisruptionBudget"
	kindIngress    = "Ingress"
	kindJob        = "Job"
	kindConfigMap  = "ConfigMap"
)

// child is an object that the plan wants to be applied.
type child struct {
	kind, name string
	// config holds exactly the fields that we own.
	config runtime.ApplyConfiguration
	// meta is config's metadata; the API server's answer lands in it.
	meta childMeta
	// exists is whether the object is there already and ours. Only then may our values replace those of others.
	exists bool
	// uid, version and generation are those of the object that exists; not every kind has generations.
	uid        types.UID
	version    string
	generation int64
	// unlabelled is whether labels of ours are missing there, which no generation tells of.
	unlabelled bool
	// merge is a JSON patch that makes ours by apply what is ours by update, nil where nothing is.
	merge []byte
	// rotation is whether the write passes on credentials that have changed at their source.
	rotation bool
	// altered is whether somebody has changed what we wrote there, or taken it away.
	altered bool
	// chain is the one that it is part of.
	chain chain
	// part is the type of the condition about the part of a Dojo that the object belongs to; empty for what every Dojo has.
	part string
	// failed is what kept it from being written.
	failed error
}

// chain is a row of children each of which must not be written when one before it could not be.
type chain int

const (
	unchained chain = iota
	// databaseChain are the steps towards a database.
	databaseChain
	// credentialsChain are the Dojo's own Secret and the Deployment whose pods read it.
	credentialsChain
)

// childMeta is the metadata of a child's configuration, typed or not.
type childMeta interface {
	// pin makes the write fail unless the object that it meets is this one.
	pin(uid types.UID)
	// version and generationNow are those of the API server's answer.
	version() string
	generationNow() int64
}

type typedMeta struct {
	*metav1ac.ObjectMetaApplyConfiguration
}

func (m typedMeta) pin(uid types.UID)    { m.UID = &uid }
func (m typedMeta) version() string      { return ptr.Deref(m.ResourceVersion, "") }
func (m typedMeta) generationNow() int64 { return ptr.Deref(m.Generation, 0) }

// leftover is an object of ours that is no longer wanted.
type leftover struct {
	kind   string
	object client.Object
}

// moved reports whether the API server's answer to our write differs from what was there. Where there are generations they
// decide: the version also moves with a status that the cache has not shown yet.
func (c *child) moved() bool {
	if c.generation != 0 && !c.unlabelled {
		return c.meta.generationNow() != c.generation
	}
	return c.meta.version() != c.version
}

// wanted is what is to be applied, in another form.
func (c *child) wanted() (*unstructured.Unstructured, error) {
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.config)
	if err != nil {
		return nil, fmt.Errorf("convert %s %s: %w", c.kind, c.name, err)
	}
	return &unstructured.Unstructured{Object: want}, nil
}

// newChild is a child to be applied over the live object, or to be created where there is none.
func newChild[L liveObject](kind string, live L, config runtime.ApplyConfiguration, meta *metav1ac.ObjectMetaApplyConfiguration) *child {
	c := &child{kind: kind, name: *meta.Name, config: config, meta: typedMeta{meta}}
	var absent L
	if live == absent {
		return c
	}
	c.found(live, meta.Labels)
	if want, err := c.wanted(); err == nil {
		c.altered = altered(live, want)
	}
	if o, ok := any(live).(runtime.Object); ok && updated(live) {
		c.merge, _ = csaupgrade.UpgradeManagedFieldsPatch(o, sets.New(FieldOwner), FieldOwner) // what cannot be read cannot be merged
	}
	return c
}

// found notes what there is of a child that should have these labels.
func (c *child) found(live metav1.Object, labels map[string]string) {
	c.exists, c.uid, c.version, c.generation = true, live.GetUID(), live.GetResourceVersion(), live.GetGeneration()
	have := live.GetLabels()
	for key, value := range labels {
		c.unlabelled = c.unlabelled || have[key] != value
	}
}

// updated reports whether fields of an object are ours by an update, as clear makes one, and not by an apply alone. Such a field stays when
// we no longer want it.
func updated(live metav1.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == ""
	})
}

func selector(d *corev1api.Dojo) map[string]string {
	return map[string]string{nameLabel: nameValue, instanceLabel: d.Name}
}

func labels(d *corev1api.Dojo) map[string]string {
	l := selector(d)
	l[managedByLabel] = managedByValue
	return l
}

func ownedBy(d *corev1api.Dojo) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(corev1api.GroupVersion.String()).
		WithKind("Dojo").
		WithName(d.Name).
		WithUID(d.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// liveObject is a pointer to an object as the cache shows it, nil where there is none.
type liveObject interface {
	comparable
	metav1.Object
}

// taken reports whether an object with a child's name exists and is not ours.
func taken[L liveObject](d *corev1api.Dojo, live L) bool {
	var absent L
	return live != absent && !metav1.IsControlledBy(live, d)
}

// kept reports whether an object with the name of a child that holds data exists and is ours. Such children have no owner but labels:
// the garbage collector must not take them with the Dojo, and a Dojo that is made again under the same name finds its data.
func kept[L liveObject](d *corev1api.Dojo, live L) bool {
	var absent L
	return live != absent && (metav1.IsControlledBy(live, d) || metav1.GetControllerOfNoCopy(live) == nil && labelledFor(d.Name, live))
}

func labelledFor(dojo string, o metav1.Object) bool {
	l := o.GetLabels()
	return l[managedByLabel] == managedByValue && l[nameLabel] == nameValue && l[instanceLabel] == dojo
}

// settled reports whether the live object holds exactly the fields that we own, with our values. It reads managedFields, so
// it is blind to defaults and to what others add, and sees what others change of ours.
func settled[L liveObject, W any](live L, want *W, extract func(L, string) (*W, error)) bool {
	var absent L
	if live == absent || updated(live) {
		return false
	}
	have, err := extract(live, FieldOwner)
	return err == nil && equality.Semantic.DeepEqual(have, want)
}
