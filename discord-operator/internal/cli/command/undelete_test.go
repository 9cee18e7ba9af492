// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/recreate"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

func deleted(s *school) {
	at := new(metav1.NewTime(now.Add(-10 * time.Minute)))
	s.server.Spec.AllowAdoption, s.server.Spec.AllowRetention = true, true
	s.group.DeletionTimestamp, s.tokyo.DeletionTimestamp, s.role.DeletionTimestamp = at, at, at
	s.group.Status.Conditions = conditionsOf("Progressing", v1alpha1.ReasonWaitingForDependents,
		"The group is being deleted and waits for its channels: tokyo-alerts.")
	s.group.Labels = map[string]string{"team": "platform"}
	s.group.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true", "note": "kept"}
	s.tokyo.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonDeletionFailed, "Deletion on Discord failed.")
	s.role.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonRoleTooHigh, "The role is too high.")
}

func operate(s *kubectltest.Server) {
	s.AfterWrite = func(write string) {
		for _, kind := range kinds.Ours() {
			plural, name, _ := strings.Cut(write[strings.Index(write, " ")+1:], "/")
			if kind.Plural != plural {
				continue
			}
			o := kinds.New(kind)
			if !s.Get(kind, "platform", name, o) && !s.Get(kind, "team-a", name, o) {
				continue
			}
			switch paused := o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true"; {
			case o.GetDeletionTimestamp() != nil && !slices.Contains(o.GetFinalizers(), v1alpha1.CleanupFinalizer):
				s.Remove(kind, o.GetNamespace(), name)
				continue
			case o.GetDeletionTimestamp() != nil && paused:
				o.SetConditions(conditionsOf("Degraded", v1alpha1.ReasonPaused, "The object is being deleted and is paused."))
			case o.GetDeletionTimestamp() == nil:
				o.SetConditions(slices.Clone(ready))
				for i := range o.GetConditions() {
					o.GetConditions()[i].ObservedGeneration = o.GetGeneration()
				}
			}
			s.Put(o)
		}
	}
}

func TestUndelete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, args string
		kind        kubectl.Kind
		namespace   string
	}{
		"undelete group":   {"y\nalerts\n", "undelete group alerts", kinds.Group, "platform"},
		"undelete channel": {"", "undelete dch tokyo-alerts -n team-a -y --confirm tokyo-alerts", kinds.Channel, "team-a"},
		"undelete role":    {"yaml\ny\non-call\n", "undelete discordroles on-call", kinds.Role, "platform"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := company(deleted).in(t)
			operate(s)
			got := run(t, s, c.input, strings.Fields(c.args)...)
			expectGolden(t, name, "$ kubectl discord "+c.args+"\n"+got.String())
			object := strings.Fields(c.args)[2]
			path := c.kind.Plural + "/" + object
			if diff := cmp.Diff([]string{"PATCH " + path, "PATCH " + path, "POST " + path}, s.Writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			o := kinds.New(c.kind)
			if !s.Get(c.kind, c.namespace, object, o) {
				t.Fatal("there is no object")
			}
			if o.GetDeletionTimestamp() != nil || o.GetAnnotations()[v1alpha1.PausedAnnotation] != "" ||
				o.GetAnnotations()[v1alpha1.ForceDeleteAnnotation] != "" || adoptionOf(o) == nil || got.code != 0 {
				t.Errorf("the new object is %+v; %s", o, got)
			}
		})
	}
}

func TestUndeleteRefuses(t *testing.T) {
	t.Parallel()
	const args = "undelete channel tokyo-alerts -n team-a -y --confirm tokyo-alerts"
	for name, c := range map[string]struct {
		change        func(*school)
		args, problem string
	}{
		"the object is not being deleted": {func(s *school) { s.tokyo.DeletionTimestamp = nil }, args, "the DiscordChannel tokyo-alerts is not being deleted"},
		"only another finalizer remains": {func(s *school) { s.tokyo.Finalizers = []string{"example.com/other"} }, args,
			"waits only for the finalizer example.com/other: discord-operator has already deleted"},
		"the namespace is being deleted": {func(s *school) {
			s.tokyo.Status.Conditions = conditionsOf("Progressing", v1alpha1.ReasonNamespaceTerminating, "It goes.")
		}, args, "the namespace team-a is being deleted"},
		"a Dojo owns the object": {func(s *school) {
			s.tokyo.OwnerReferences = []metav1.OwnerReference{{Kind: "Dojo", Name: "tokyo", Controller: new(true)}}
		}, args, "belongs to the Dojo tokyo"},
		"nothing is on Discord":               {func(s *school) { s.tokyo.Status.ChannelID = "" }, args, "names nothing on Discord that could be kept"},
		"the server does not allow retention": {func(s *school) { s.server.Spec.AllowRetention = false }, args, "must set spec.allowRetention and spec.allowAdoption"},
		"the server does not allow adoption":  {func(s *school) { s.server.Spec.AllowAdoption = false }, args, "kubectl annotate discordchannel tokyo-alerts -n team-a"},
		"a tenant's role":                     {func(s *school) { s.role.Namespace, s.role.Spec.ServerRef.Namespace = "team-a", "platform" }, "undelete role on-call -n team-a -y", "in the DiscordRole's own namespace"},
		"no answer":                           {nil, "undelete group alerts", "no answer: nothing was changed"},
		"-y without --confirm":                {nil, "undelete group alerts -y", "no answer: nothing was changed; answer in advance with --confirm alerts"},
		"--confirm with another name":         {nil, "undelete group alerts -y --confirm alert", `the name is "alerts", not "alert": nothing was changed`},
		"the status still says Paused":        {func(s *school) { s.group.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonPaused, "x") }, "undelete group alerts -y", "has not seen yet that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := []func(*school){deleted}
			if c.change != nil {
				changes = append(changes, c.change)
			}
			s := company(changes...).in(t)
			operate(s)
			got := run(t, s, "", strings.Fields(c.args)...)
			if got.code != 1 || !strings.Contains(got.err, c.problem) || len(s.Writes()) > 0 {
				t.Errorf("%s, want %q; it has written %v", got, c.problem, s.Writes())
			}
		})
	}
}

func TestUndeleteDuringOtherChanges(t *testing.T) {
	t.Parallel()
	const path = "discordgroups/alerts"
	for name, c := range map[string]struct {
		after   func(*kubectltest.Server, string)
		problem string
		writes  []string
		code    int
	}{
		"no operator": {func(*kubectltest.Server, string) {}, "discord-operator has not confirmed that it deletes nothing. Check",
			[]string{"PATCH " + path}, 1},
		"the operator was faster": {func(s *kubectltest.Server, _ string) { s.Remove(kinds.Group, "platform", "alerts") },
			"the deletion has completed meanwhile", []string{"PATCH " + path}, 1},
		"the namespace is being deleted": {func(s *kubectltest.Server, _ string) {
			at := metav1.NewTime(now)
			s.Put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "platform", DeletionTimestamp: &at}})
		}, "the object's namespace is being deleted", []string{"PATCH " + path}, 1},
		"another client creates it": {func(s *kubectltest.Server, _ string) {
			if len(s.Writes()) == 2 { // the second write removes the finalizer
				g := company().group
				g.UID, g.Status = "another", v1alpha1.DiscordGroupStatus{}
				s.Put(g)
			}
		}, "Another client has already created the new object", []string{"PATCH " + path, "PATCH " + path, "PATCH " + path}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := company(deleted).in(t)
			operate(s)
			if operator := s.AfterWrite; name != "no operator" && name != "the operator was faster" {
				s.AfterWrite = func(write string) { operator(write); c.after(s, write) }
			} else {
				s.AfterWrite = func(write string) { c.after(s, write) }
			}
			args := []string{"undelete", "group", "alerts", "-y", "--confirm", "alerts"}
			if name == "no operator" {
				args = append(args, "--timeout", "300ms")
			}
			got := run(t, s, "", args...)
			if got.code != c.code || !strings.Contains(got.err, c.problem) {
				t.Errorf("%s, want %q", got, c.problem)
			}
			if diff := cmp.Diff(c.writes, s.Writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			g := &v1alpha1.DiscordGroup{}
			if name == "another client creates it" && (!s.Get(kinds.Group, "platform", "alerts", g) || g.Spec.Adopt == nil || g.Spec.Adopt.ID != alertsID) {
				t.Errorf("the new object does not adopt: %+v", g.Spec)
			}
		})
	}
}

// Another client writes the object just before the command removes the finalizer.
func TestUndeleteConflict(t *testing.T) {
	t.Parallel()
	const patch, post = "PATCH discordgroups/alerts", "POST discordgroups/alerts"
	for name, c := range map[string]struct {
		change  func(*v1alpha1.DiscordGroup)
		problem string
		writes  []string
		code    int
	}{
		"the operator writes the status": {func(g *v1alpha1.DiscordGroup) { g.Status.Conditions[0].Message = "another" },
			"", []string{patch, patch, post}, 0},
		"a user edits the spec": {func(g *v1alpha1.DiscordGroup) { g.Generation++; g.Spec.Name = "another" },
			"so the object is not replaced. Run the command again", []string{patch}, 1},
		"a user resumes the deletion": {func(g *v1alpha1.DiscordGroup) { delete(g.Annotations, v1alpha1.PausedAnnotation) },
			"so the object is not replaced. Run the command again", []string{patch}, 1},
		"the operator resumes the deletion": {func(g *v1alpha1.DiscordGroup) {
			g.Status.Conditions = conditionsOf("Progressing", v1alpha1.ReasonWaitingForDependents, "It goes on.")
		}, "so the object is not replaced. Run the command again", []string{patch}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := company(deleted).in(t)
			operate(s)
			s.Refuse = func(write string, dryRun bool) string {
				if g := (&v1alpha1.DiscordGroup{}); write == post && dryRun && s.Get(kinds.Group, "platform", "alerts", g) {
					c.change(g)
					s.Put(g)
				}
				return ""
			}
			got := run(t, s, "", "undelete", "group", "alerts", "-y", "--confirm", "alerts")
			if got.code != c.code || !strings.Contains(got.err, c.problem) {
				t.Errorf("%s, want %q", got, c.problem)
			}
			if diff := cmp.Diff(c.writes, s.Writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// The user has confirmed a manifest that lacks the edit.
func TestUndeleteOfAnObjectEditedBeforeThePause(t *testing.T) {
	t.Parallel()
	s := company(deleted).in(t)
	operate(s)
	operator := s.AfterWrite
	s.AfterWrite = func(write string) {
		if g := (&v1alpha1.DiscordGroup{}); s.Get(kinds.Group, "platform", "alerts", g) {
			g.Generation, g.Spec.Name = g.Generation+1, "another"
			s.Put(g)
		}
		operator(write)
	}
	got := run(t, s, "", "undelete", "group", "alerts", "-y", "--confirm", "alerts")
	if got.code != 1 || !strings.Contains(got.err, "so the object is not replaced. Run the command again") || len(s.Writes()) != 1 {
		t.Errorf("%s after %v", got, s.Writes())
	}
}

// createFirst lets another client create the object between the command's removal of the finalizer,
// its second write, and its create.
func createFirst(s *kubectltest.Server, o status.Object) {
	operate(s)
	operator := s.AfterWrite
	s.AfterWrite = func(write string) {
		operator(write)
		if len(s.Writes()) == 2 {
			s.Put(o)
		}
	}
}

// If the resource may belong to another user, the command does not add spec.adopt to the object of
// another client.
func TestUndeleteUnguarded(t *testing.T) {
	t.Parallel()
	matched := func(s *school) { s.group.Status.Matched = true }
	s, g := company(deleted, matched).in(t), company().group
	g.UID, g.Status = "another", v1alpha1.DiscordGroupStatus{}
	createFirst(s, g)
	got := run(t, s, "", "undelete", "group", "alerts", "-y", "--confirm", "alerts")
	if got.code != 1 || !strings.Contains(got.err, "another client has created the object first") || len(s.Writes()) != 2 {
		t.Errorf("%s after %v", got, s.Writes())
	}
}

// Another client creates the DiscordServer with another Discord server, before the command does.
func TestUndeleteServerOfAnotherClient(t *testing.T) {
	t.Parallel()
	s := company(deleted, func(s *school) {
		s.server.DeletionTimestamp = new(metav1.NewTime(now.Add(-10 * time.Minute)))
	}).in(t)
	other := company().server
	other.UID, other.Spec.ServerID, other.Status = "another", "1401681709430341999", v1alpha1.DiscordServerStatus{}
	createFirst(s, other)
	got := run(t, s, "", "undelete", "server", "company", "-y", "--confirm", "company")
	if got.code != 1 || !strings.Contains(got.err, "with another spec.serverId than "+guildID) || len(s.Writes()) != 2 {
		t.Errorf("%s after %v", got, s.Writes())
	}
}

func TestUndeleteLostAnswer(t *testing.T) {
	t.Parallel()
	const patch, post = "PATCH discordgroups/alerts", "POST discordgroups/alerts"
	for name, c := range map[string]struct {
		removed   bool // whether the API server has removed the finalizer
		cancelled bool // whether the user presses Ctrl-C meanwhile
		unread    bool // whether the object cannot be read afterwards
		problem   string
		manifest  bool
		writes    []string
		code      int
	}{
		"the object is gone": {removed: true, writes: []string{patch, patch, post}},
		"the object is gone, the user interrupts the command": {removed: true, cancelled: true, writes: []string{patch, patch, post}, code: 1, problem: "interrupted"},
		"the object stays": {writes: []string{patch, patch}, code: 1, manifest: true,
			problem: "the deletion stays paused; fix the cause and run the command again"},
		"the object cannot be read": {removed: true, unread: true, writes: []string{patch, patch}, code: 1, manifest: true,
			problem: "it is unknown whether the object still exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := company(deleted).in(t)
			operate(s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			removal := func() bool { return len(s.Writes()) == 2 }
			operator := s.AfterWrite
			s.AfterWrite = func(write string) {
				if removal() && !c.removed {
					g := company(deleted).group
					g.Annotations[v1alpha1.PausedAnnotation] = "true"
					s.Put(g)
					return
				}
				if removal() && c.unread {
					s.Deny("get discordgroups.discord.jutsu.com")
				}
				operator(write)
			}
			s.Lose = func(string) bool {
				if removal() && c.cancelled {
					cancel()
				}
				return removal()
			}
			timeout := map[bool]string{true: "300ms", false: "1m"}[c.unread]
			got := runWith(ctx, s.Kubeconfig(t, "platform"), "", "undelete", "group", "alerts", "-y", "--confirm", "alerts", "--timeout", timeout)
			if got.code != c.code || !strings.Contains(got.err, c.problem) || strings.Contains(got.err, "kind: DiscordGroup") != c.manifest {
				t.Errorf("%s, want %q", got, c.problem)
			}
			if diff := cmp.Diff(c.writes, s.Writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUndeleteRefusedCreate(t *testing.T) {
	t.Parallel()
	const patch, post = "PATCH discordgroups/alerts", "POST discordgroups/alerts"
	const quota = `discordgroups "alerts" is forbidden: exceeded quota: objects, requested: count/discordgroups=1`
	for name, c := range map[string]struct {
		refuse   func(posts int, dryRun bool) string // posts counts the earlier creates, without dry runs
		lose     bool                                // whether the answer to the create is lost
		args     string
		problems []string
		writes   []string
		code     int
	}{
		"a quota still counts the old object": {
			refuse: func(posts int, dryRun bool) string { return map[bool]string{true: quota}[dryRun || posts == 0] },
			writes: []string{patch, patch, post}},
		"a quota refuses the create until the timeout": {refuse: func(int, bool) string { return quota }, args: " --timeout 300ms", code: 1,
			problems: []string{"timed out", "exceeded quota", "Apply this manifest as soon as possible", "kind: DiscordGroup"},
			writes:   []string{patch, patch}},
		"a policy refuses the create": {refuse: func(int, bool) string { return "a policy denies it" }, code: 1,
			problems: []string{"the dry run that creates the object again failed: ", "a policy denies it. The deletion stays paused"}, writes: []string{patch}},
		"the answer to the create is lost": {refuse: func(int, bool) string { return "" }, lose: true, writes: []string{patch, patch, post}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := company(deleted).in(t)
			operate(s)
			var posts atomic.Int32
			s.Refuse = func(write string, dryRun bool) (message string) {
				if write == post {
					message = c.refuse(int(posts.Load()), dryRun)
				}
				if write == post && !dryRun {
					posts.Add(1)
				}
				return message
			}
			s.Lose = func(write string) bool { return c.lose && write == post }
			got := run(t, s, "", strings.Fields("undelete group alerts -y --confirm alerts"+c.args)...)
			for _, problem := range c.problems {
				if !strings.Contains(got.err, problem) {
					t.Errorf("%s, want %q", got, problem)
				}
			}
			if got.code != c.code || strings.Contains(got.err, "Another client") {
				t.Errorf("%s, want the code %d", got, c.code)
			}
			if diff := cmp.Diff(c.writes, s.Writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// A user has deleted the category on Discord while the deletion of the group was waiting.
func TestUndeleteOfAMissingResource(t *testing.T) {
	t.Parallel()
	s := company(deleted).in(t)
	operate(s)
	operator := s.AfterWrite
	s.AfterWrite = func(write string) {
		operator(write)
		if g := (&v1alpha1.DiscordGroup{}); len(s.Writes()) == 3 && s.Get(kinds.Group, "platform", "alerts", g) {
			g.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonAdoptNotFound, "The server has no such category.")
			s.Put(g)
		}
	}
	got := run(t, s, "", "undelete", "group", "alerts", "-y", "--confirm", "alerts")
	if got.code != 3 || !strings.Contains(got.out, "AdoptNotFound") || !strings.Contains(got.err, "apply its manifest without spec.adopt") {
		t.Error(got)
	}
}

func TestUndeleteAfterTheDeletion(t *testing.T) {
	t.Parallel()
	for old, want := range map[status.Object]string{
		&v1alpha1.DiscordServer{}:  "create the DiscordServer again with spec.serverId 7",
		&v1alpha1.DiscordChannel{}: "kubectl discord adopt SERVER 7 -n NAMESPACE",
	} {
		if err := new(session).late(errGone, &recreate.Plan{Old: old, ID: "7"}); !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", old, err)
		}
	}
}
