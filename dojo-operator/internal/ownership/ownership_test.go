// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func dojo(name, uid string) *corev1api.Dojo {
	return &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name, UID: types.UID(uid)}}
}

var (
	tokyo  = dojo("tokyo", "uid of tokyo")
	former = dojo("tokyo", "uid of the former")
	kyoto  = dojo("kyoto", "uid of kyoto")
)

func controlledBy(dojo *corev1api.Dojo) *corev1.Service {
	owner := *metav1.NewControllerRef(dojo, corev1api.GroupVersion.WithKind("Dojo"))
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", OwnerReferences: []metav1.OwnerReference{owner}}}
}

func labelledFor(dojo *corev1api.Dojo, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", Labels: Labels(dojo, name)}}
}

func TestBelongs(t *testing.T) {
	t.Parallel()
	notAsController := controlledBy(tokyo)
	notAsController.OwnerReferences[0].Controller = nil
	byAnother := labelledFor(tokyo, Application)
	byAnother.OwnerReferences = []metav1.OwnerReference{{Kind: "Helm", Name: "x", Controller: new(true)}}
	unmanaged := labelledFor(tokyo, Application)
	unmanaged.Labels[managedByLabel] = "helm"
	cases := map[string]struct {
		live             *corev1.Service
		conflicts, holds bool // the results of Conflicts and Holds
	}{
		"absent":                     {nil, false, false},
		"ours":                       {controlledBy(tokyo), false, true},
		"without owner":              {&corev1.Service{}, true, false},
		"of another Dojo":            {controlledBy(kyoto), true, false},
		"of a former Dojo":           {controlledBy(former), true, false},
		"owned, not controlled":      {notAsController, true, false},
		"with our labels":            {labelledFor(tokyo, Application), true, true},
		"with another Dojo's labels": {labelledFor(kyoto, Application), true, false},
		"with the schema's labels":   {labelledFor(tokyo, Schema), true, false},
		"with our labels and a foreign controller": {byAnother, true, false},
		"with another managed-by label":            {unmanaged, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Conflicts(tokyo, c.live); got != c.conflicts {
				t.Errorf("conflicts is %v", got)
			}
			if got := Holds(tokyo, c.live); got != c.holds {
				t.Errorf("holds is %v", got)
			}
		})
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	deleting := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", DeletionTimestamp: &metav1.Time{}}}
	const conflicting, waiting = "Degraded/NameConflict", "Progressing/WaitingForDeletion"
	cases := map[string]struct {
		live *corev1.Service
		want string
	}{
		"foreign":                    {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}, conflicting},
		"of another Dojo":            {controlledBy(kyoto), conflicting},
		"of the former Dojo":         {controlledBy(former), waiting},
		"foreign, and being deleted": {deleting, waiting},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			issue := conflict(tokyo, "Service", c.live)
			if got := issue.Type + "/" + issue.Reason; got != c.want {
				t.Errorf("got %s", got)
			}
			if !strings.Contains(issue.Message, "Service school/tokyo") {
				t.Errorf("does not name the object: %s", issue.Message)
			}
		})
	}
}

// A user may have restored the data, so the message never advises to delete the object.
func TestDataIsHandedOver(t *testing.T) {
	t.Parallel()
	const command = "`kubectl label service tokyo -n school --overwrite app.kubernetes.io/name=dojo " +
		"app.kubernetes.io/instance=tokyo app.kubernetes.io/managed-by=dojo-operator`"
	for name, c := range map[string]struct {
		live *corev1.Service
		want string
	}{
		"foreign": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}},
			"The Service school/tokyo exists and does not belong to this Dojo. If another owner needs the Service, give the Dojo another name. " +
				"If the Service should belong to this Dojo, as after a restore, add the Dojo's labels: " + command +
				". With the reclaimPolicy Delete, the Service is then deleted with the Dojo."},
		"of another Dojo": {controlledBy(kyoto),
			"The Service school/tokyo exists and does not belong to this Dojo. If another owner needs the Service, give the Dojo another name. " +
				"If the Service should belong to this Dojo, as after a restore, wait until the Dojo kyoto no longer controls the Service (metadata.ownerReferences), then add the Dojo's labels: " +
				command + ". With the reclaimPolicy Delete, the Service is then deleted with the Dojo."},
		"of the former Dojo": {controlledBy(former), "The former Service school/tokyo is still being deleted."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := DataConflict(tokyo, "Service", c.live).Message; got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
	handed := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", Labels: Labels(tokyo, Application)}}
	if issue := DataConflict(tokyo, "Service", handed); issue != nil {
		t.Errorf("after the labels are added: %s", issue.Message)
	}
}
