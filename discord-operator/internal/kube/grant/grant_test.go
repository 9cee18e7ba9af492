// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/permissions"
)

var (
	same   = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromSame}
	all    = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	nobody = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector}
	yes    = selecting(metav1.LabelSelector{MatchLabels: map[string]string{"discord": "yes"}})
	every  = selecting(metav1.LabelSelector{})
	wrong  = selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}})
)

func selecting(s metav1.LabelSelector) *v1alpha1.AllowedNamespaces {
	return &v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &s}
}

var (
	platform = Namespace{Name: "platform", Labels: labels.Set{}}
	teamA    = Namespace{Name: "team-a", Labels: labels.Set{"discord": "yes"}}
	teamB    = Namespace{Name: "team-b", Labels: labels.Set{"discord": "no"}}
	unread   = Namespace{Name: "team-a"}
)

func TestAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed *v1alpha1.AllowedNamespaces
		by      Namespace
		want    bool
	}{
		"own namespace, nothing set":                          {nil, platform, true},
		"own namespace, not selected":                         {yes, platform, true},
		"own namespace, no selector":                          {nobody, platform, true},
		"another namespace, nothing set":                      {nil, teamA, false},
		"another namespace, Same":                             {same, teamA, false},
		"another namespace, All":                              {all, teamA, true},
		"another namespace, All, labels unread":               {all, unread, true},
		"another namespace, selected":                         {yes, teamA, true},
		"another namespace, not selected":                     {yes, teamB, false},
		"another namespace, a selector, labels unread":        {yes, unread, false},
		"another namespace, an empty selector":                {every, teamB, true},
		"another namespace, an empty selector, labels unread": {every, unread, false},
		"another namespace, no selector":                      {nobody, teamA, false},
		"another namespace, an invalid selector":              {wrong, teamA, false},
		"another namespace, an unknown value of From":         {&v1alpha1.AllowedNamespaces{From: "None"}, teamA, false},
	} {
		if got := Allows("platform", c.allowed, c.by); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	in := func(namespace string, allowed *v1alpha1.AllowedNamespaces) *v1alpha1.DiscordGroup {
		return &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: v1alpha1.DiscordGroupSpec{AllowedNamespaces: allowed}}
	}
	for name, c := range map[string]struct {
		server  *v1alpha1.AllowedNamespaces
		group   *v1alpha1.DiscordGroup
		via, by Namespace
		want    bool
	}{
		"an unshared server":                                                    {same, nil, teamA, teamA, false},
		"a shared server":                                                       {all, nil, teamA, teamA, true},
		"a shared group in the server's namespace":                              {same, in("platform", all), platform, teamA, true},
		"an unshared group in the server's namespace":                           {all, in("platform", same), platform, teamA, false},
		"a group in the user's own namespace":                                   {yes, in("team-a", same), teamA, teamA, true},
		"a group in the user's own namespace, which is not allowed":             {same, in("team-a", same), teamA, teamA, false},
		"another tenant's group, the server and the group allow all namespaces": {all, in("team-a", all), teamA, teamB, true},
		"a group cannot pass on its grant":                                      {yes, in("team-a", all), teamA, teamB, false},
		"a group whose namespace is no longer allowed":                          {same, in("team-a", all), teamA, platform, false},
		"the server's own namespace, through a tenant's group":                  {yes, in("team-a", all), teamA, platform, true},
	} {
		server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform"},
			Spec: v1alpha1.DiscordServerSpec{AllowedNamespaces: c.server}}
		if got := Uses(server, c.group, c.via, c.by); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestUsesRoles(t *testing.T) {
	t.Parallel()
	roles := func(of *v1alpha1.AllowedNamespaces) *v1alpha1.AllowedRoles {
		return &v1alpha1.AllowedRoles{Namespaces: *of}
	}
	for name, c := range map[string]struct {
		allowed *v1alpha1.AllowedNamespaces
		roles   *v1alpha1.AllowedRoles
		by      Namespace
		want    bool
	}{
		"own namespace, nothing set":                      {nil, nil, platform, true},
		"another namespace, nothing set":                  {nil, nil, teamA, false},
		"another namespace, allowed only channels":        {all, nil, teamA, false},
		"another namespace, allowed channels, roles Same": {all, roles(same), teamA, false},
		"another namespace, allowed only roles":           {nil, roles(all), teamA, true},
		"another namespace, selected":                     {same, roles(yes), teamA, true},
		"another namespace, not selected":                 {all, roles(yes), teamB, false},
		"another namespace, labels unread":                {all, roles(yes), unread, false},
	} {
		server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform"},
			Spec: v1alpha1.DiscordServerSpec{AllowedNamespaces: c.allowed, AllowedRoles: c.roles}}
		if got := UsesRoles(server, c.by); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCeilingIsAList(t *testing.T) {
	t.Parallel()
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "company"}}
	everything := ^permissions.Bits(0)
	if own := CeilingOf(server, "platform"); own.Bounded() || own.Within(everything) != everything ||
		own.Exceeded([]v1alpha1.Permission{"Administrator"}) != nil {
		t.Error("the server's own namespace has a ceiling")
	}
	if none := CeilingOf(server, "team-a"); !none.Bounded() || none.Within(everything) != 0 {
		t.Error("another namespace has no ceiling")
	}
	for _, listed := range permissions.Documented() {
		server.Spec.AllowedRoles = &v1alpha1.AllowedRoles{Permissions: []v1alpha1.Permission{v1alpha1.Permission(listed), "Bit47"}}
		ceiling := CeilingOf(server, "team-a")
		if bit, _ := permissions.Parse(listed); ceiling.Within(everything) != bit {
			t.Errorf("%s allows %v", listed, ceiling.Within(everything))
		}
		for _, asked := range permissions.Documented() {
			refused := ceiling.Exceeded([]v1alpha1.Permission{v1alpha1.Permission(asked)})
			if (refused == nil) != (asked == listed) {
				t.Errorf("%s allows %s: %v", listed, asked, refused)
			}
			if refused != nil && (refused.Reason != v1alpha1.ReasonNotAllowed || !strings.Contains(refused.Message, asked)) {
				t.Error(refused.Message)
			}
		}
	}
}

func TestGuildsOfAToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotation *string
		id         string
		want       bool
	}{
		"no annotation":                        {nil, "123456", true},
		"no annotation, and no id":             {nil, "", true},
		"an empty annotation":                  {new(""), "123456", false},
		"the only id in the annotation":        {new("123456"), "123456", true},
		"an id that is not in the annotation":  {new("123456"), "1234567", false},
		"one of several ids in the annotation": {new("1, 123456,2"), "123456", true},
		"an annotation, and no id":             {new("123456"), "", false},
	} {
		annotations := map[string]string{}
		if c.annotation != nil {
			annotations[v1alpha1.AllowedServersAnnotation] = *c.annotation
		}
		if got := GuildsOf(annotations).Allow(c.id); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

type objects struct {
	client.Reader
	allowed map[string]*v1alpha1.AllowedNamespaces
}

func (o objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	allowed, exists := o.allowed[key.Namespace]
	switch into := into.(type) {
	case *v1alpha1.DiscordServer:
		into.Namespace, into.Name, into.Spec.AllowedNamespaces = key.Namespace, key.Name, allowed
		if allowed != nil {
			into.Spec.AllowedRoles = &v1alpha1.AllowedRoles{Namespaces: *allowed}
		}
	case *v1alpha1.DiscordGroup:
		into.Namespace, into.Name, into.Spec.AllowedNamespaces = key.Namespace, key.Name, allowed
	case *metav1.PartialObjectMetadata:
		into.Labels, exists = map[string]string{"discord": "yes"}, true
	}
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

func TestReferencesRevealNothing(t *testing.T) {
	t.Parallel()
	read := func(r *Reader, kind, namespace string) error {
		name := types.NamespacedName{Namespace: namespace, Name: "company"}
		if kind == "DiscordGroup" {
			_, err := r.Group(t.Context(), name, "team-a")
			return err
		}
		if kind == "roles" {
			_, err := r.ServerOfRoles(t.Context(), name, "team-a")
			return err
		}
		_, err := r.Server(t.Context(), name, nil, "team-a")
		return err
	}
	for _, kind := range []string{"DiscordServer", "DiscordGroup", "roles"} {
		var messages []string
		for name, r := range map[string]*Reader{
			"missing":                           NewReader(objects{}, nil, false),
			"not shared":                        NewReader(objects{allowed: map[string]*v1alpha1.AllowedNamespaces{"platform": same}}, nil, false),
			"selected, labels unread":           NewReader(objects{allowed: map[string]*v1alpha1.AllowedNamespaces{"platform": yes}}, nil, false),
			"shared, in an unwatched namespace": NewReader(objects{allowed: map[string]*v1alpha1.AllowedNamespaces{"platform": all}}, []string{"team-a"}, true),
		} {
			refused := Refused(read(r, kind, "platform"))
			if refused == nil {
				t.Fatalf("%s: a %s may be used", name, kind)
			}
			messages = append(messages, refused.Message)
		}
		for _, m := range messages {
			if m != messages[0] || !strings.Contains(m, " platform/company does not exist, or its spec.allowed") {
				t.Errorf("two messages differ: %q, %q", m, messages[0])
			}
		}
		if err := read(NewReader(objects{}, nil, false), kind, "team-a"); err == nil || Refused(err) != nil {
			t.Errorf("a missing object of the own namespace: %v", err)
		}
		for name, r := range map[string]*Reader{
			"shared":   NewReader(objects{allowed: map[string]*v1alpha1.AllowedNamespaces{"platform": all}}, nil, false),
			"selected": NewReader(objects{allowed: map[string]*v1alpha1.AllowedNamespaces{"platform": yes}}, nil, true),
			"watched":  NewReader(objects{allowed: map[string]*v1alpha1.AllowedNamespaces{"platform": all}}, []string{"platform", "team-a"}, false),
		} {
			if err := read(r, kind, "platform"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestRefusedNamesTheNamespacesThatNeedTheGrant(t *testing.T) {
	t.Parallel()
	to := func(via string) reference {
		return reference{"DiscordServer", types.NamespacedName{Namespace: "platform", Name: "company"}, fieldNamespaces, via}
	}
	for name, c := range map[string]struct{ via, by, want string }{
		"no group":                                         {"", "team-a", "the namespace team-a"},
		"a group of the own namespace":                     {"team-a", "team-a", "the namespace team-a"},
		"a group of the server's namespace":                {"platform", "team-a", "the namespace team-a"},
		"a group of another tenant":                        {"team-b", "team-a", "both namespaces, team-b and team-a"},
		"the server's namespace, through a tenant's group": {"team-b", "platform", "the namespace team-b"},
	} {
		want := "DiscordServer platform/company does not exist, or its spec.allowedNamespaces does not allow " + c.want + ". "
		if got := refused(to(c.via), c.by).Message; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestSelectorUnusable(t *testing.T) {
	t.Parallel()
	cached, single := NewReader(nil, nil, true), NewReader(nil, []string{"platform"}, true)
	for name, c := range map[string]struct {
		r       *Reader
		allowed *v1alpha1.AllowedNamespaces
		want    string // part of the message; empty for no issue
	}{
		"no allowed namespaces":                   {single, nil, ""},
		"From is All":                             {single, all, ""},
		"labels in the cache":                     {cached, yes, ""},
		"an invalid selector":                     {cached, wrong, "not valid"},
		"the operator watches a single namespace": {single, yes, "--watch-namespaces"},
		"labels not in the cache":                 {NewReader(nil, nil, false), yes, "component namespace-selectors"},
	} {
		issue := c.r.SelectorUnusable(c.allowed)
		if (issue == nil) != (c.want == "") || issue != nil && !strings.Contains(issue.Message, c.want) {
			t.Errorf("%s: %v", name, issue)
		}
	}
}

func TestAdoption(t *testing.T) {
	t.Parallel()
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "company"}}
	if issue := AdoptionRefused(server, "platform"); issue != nil {
		t.Error(issue)
	}
	if issue := AdoptionRefused(server, "team-a"); Refused(issue) == nil {
		t.Errorf("%v", issue)
	}
	server.Spec.AllowAdoption = true
	if issue := AdoptionRefused(server, "team-a"); issue != nil {
		t.Error(issue)
	}
	if issue := RoleAdoptionRefused(client.ObjectKeyFromObject(server), "team-a"); Refused(issue) == nil {
		t.Error("a DiscordRole of another namespace may adopt a role")
	}
	if issue := RoleAdoptionRefused(client.ObjectKeyFromObject(server), "platform"); issue != nil {
		t.Error(issue)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by              string
		allowed         bool
		policy          v1alpha1.DeletionPolicy
		creates, leaves bool
	}{
		"own namespace, Retain":                 {"platform", false, "Retain", true, true},
		"another namespace, Retain":             {"team-a", false, "Retain", false, false},
		"another namespace, Delete":             {"team-a", false, "Delete", true, false},
		"another namespace, the default policy": {"team-a", false, "", true, false},
		"another namespace, allowed to retain":  {"team-a", true, "Retain", true, true},
	} {
		server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "company"},
			Spec: v1alpha1.DiscordServerSpec{AllowRetention: c.allowed}}
		refused := RetainRefused(server, c.by, c.policy)
		if (refused == nil) != c.creates || refused != nil && Refused(refused) == nil {
			t.Errorf("%s: created: %v", name, refused)
		}
		refused = RetentionRefused(server, c.by, "channel")
		if (refused == nil) != c.leaves || refused != nil && !strings.Contains(refused.Message, "with its messages") {
			t.Errorf("%s: left: %v", name, refused)
		}
	}
	gone, err := NewReader(objects{}, nil, false).RetentionRefused(
		t.Context(), types.NamespacedName{Namespace: "platform", Name: "company"}, "team-a", "role")
	if gone != nil || err != nil {
		t.Errorf("a server that no longer exists: %v, %v", gone, err)
	}
}

func TestRefusedIgnoresOtherErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("x"), conditions.Degraded(v1alpha1.ReasonConflict, "x")} {
		if got := Refused(err); got != nil {
			t.Errorf("%v is %v", err, got)
		}
	}
}
