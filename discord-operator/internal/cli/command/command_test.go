// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

var update = flag.Bool("update", false, "write the golden files and the page anew")

var page = kubectltest.Page{File: filepath.Join("..", "..", "..", "..", "docs", "kubectl-discord.md"), Name: "alerts"}

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(page.Run(m, update))
}

func TestPage(t *testing.T) {
	t.Parallel()
	page.Check(t, *update, 5)
}

var now = time.Date(2026, 11, 24, 2, 55, 0, 0, time.UTC)

var stillClock = kubectltest.Clock{At: now}

type result struct {
	code     int
	out, err string
}

func (r result) String() string { return fmt.Sprintf("%s%s[exit code %d]\n", r.out, r.err, r.code) }

func run(t *testing.T, s *kubectltest.Server, input string, args ...string) result {
	t.Helper()
	return runWith(t.Context(), s.Kubeconfig(t, "platform"), input, args...)
}

func runWith(ctx context.Context, kubeconfig, input string, args ...string) (r result) {
	var out, problems bytes.Buffer
	if len(args) == 0 || args[0] != "plan" && args[0] != "export" {
		args = append([]string{"--kubeconfig", kubeconfig}, args...)
	}
	r.code = Run(ctx, args, kubectl.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: &problems},
		Version:   "v1.2.3", Env: func(string) string { return "" }, Clock: stillClock,
	})
	r.out, r.err = out.String(), kubectltest.WithoutNote(problems.String(), kubeconfig)
	return r
}

func expectGolden(t *testing.T, name, text string) {
	t.Helper()
	kubectltest.Golden(t, *update, name, text)
}

const (
	guildID       = "1401681709430341704"
	applicationID = "1401681709430341700"
	alertsID      = "1401681709430341710"
	tokyoID       = "1401681709430341711"
)

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid of " + name), Generation: 1,
		CreationTimestamp: metav1.NewTime(now.Add(-72 * time.Hour)), Finalizers: []string{v1alpha1.CleanupFinalizer},
	}
}

// conditionsOf returns the conditions Ready, Progressing and Degraded. Only the condition whose
// type is kind is True; an empty kind means Ready.
func conditionsOf(kind, reason, message string) []metav1.Condition {
	condition := func(of string, is bool) metav1.Condition {
		c := metav1.Condition{
			Type: of, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: 1,
			LastTransitionTime: metav1.NewTime(now.Add(-4 * time.Minute)),
		}
		if is {
			c.Status = metav1.ConditionTrue
		}
		return c
	}
	return []metav1.Condition{
		condition("Ready", kind == ""), condition("Progressing", kind == "Progressing"), condition("Degraded", kind == "Degraded"),
	}
}

var ready = conditionsOf("", "Reconciled", "The object matches its spec.")

type school struct {
	server *v1alpha1.DiscordServer
	group  *v1alpha1.DiscordGroup
	tokyo  *v1alpha1.DiscordChannel
	osaka  *v1alpha1.DiscordChannel
	role   *v1alpha1.DiscordRole
	secret *corev1.Secret
}

func company(changes ...func(*school)) *school {
	s := &school{}
	s.server = &v1alpha1.DiscordServer{ObjectMeta: meta("platform", "company")}
	s.server.Spec.ServerID, s.server.Spec.Name = guildID, "Jujutsu High"
	s.server.Spec.TokenSecretRef = v1alpha1.TokenSecretReference{Name: "discord-bot", Key: "token"}
	s.server.Status = v1alpha1.DiscordServerStatus{
		Conditions: ready, ServerID: guildID, Name: "Jujutsu High", ApplicationID: applicationID, Namespaces: 3,
		InviteURL: "https://discord.com/oauth2/authorize?client_id=" + applicationID + "&disable_guild_select=true&guild_id=" +
			guildID + "&permissions=805307568&scope=bot",
		Channels: &v1alpha1.ChannelCount{Total: 214, Limit: 500}, Roles: &v1alpha1.RoleCount{Total: 31, Limit: 250},
	}
	ref := v1alpha1.ServerReference{Name: "company", Namespace: "platform"}
	s.group = &v1alpha1.DiscordGroup{ObjectMeta: meta("platform", "alerts")}
	s.group.Spec = v1alpha1.DiscordGroupSpec{ServerRef: ref, Name: "Alerts"}
	s.group.Status = v1alpha1.DiscordGroupStatus{Conditions: ready, GroupID: alertsID, ServerID: guildID}
	channel := func(namespace, name, id string) *v1alpha1.DiscordChannel {
		c := &v1alpha1.DiscordChannel{ObjectMeta: meta(namespace, name)}
		c.Spec = v1alpha1.DiscordChannelSpec{
			GroupRef: &v1alpha1.GroupReference{Name: "alerts", Namespace: "platform"}, Name: name,
			Webhook: &v1alpha1.ChannelWebhook{},
		}
		c.Status = v1alpha1.DiscordChannelStatus{
			Conditions: ready, ChannelID: id, ServerID: guildID, ServerRef: &ref, GroupID: alertsID,
			ChannelURL: "https://discord.com/channels/" + guildID + "/" + id,
		}
		return c
	}
	s.tokyo, s.osaka = channel("team-a", "tokyo-alerts", tokyoID), channel("team-b", "osaka-alerts", "1401681709430341712")
	s.role = &v1alpha1.DiscordRole{ObjectMeta: meta("platform", "on-call")}
	s.role.Spec = v1alpha1.DiscordRoleSpec{
		ServerRef: v1alpha1.ServerReference{Name: "company"}, Name: "On call", Members: []v1alpha1.UserID{"1111111", "2222222"},
		Permissions: []v1alpha1.Permission{"ViewChannel", "MentionEveryone"},
	}
	s.role.Status = v1alpha1.DiscordRoleStatus{Conditions: ready, RoleID: "1401681709430341720", ServerID: guildID}
	s.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "discord-bot"}, Data: map[string][]byte{"token": []byte("none")},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func (s *school) in(t *testing.T) *kubectltest.Server {
	t.Helper()
	server := kubectltest.New(t, kinds.Scheme(), kinds.All(), s.server, s.group, s.tokyo, s.osaka, s.role, s.secret)
	for _, namespace := range []string{"platform", "team-a", "team-b"} {
		server.Put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	return server
}

func broken(s *school) {
	s.server.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonMissingPermissions,
		"The bot lacks the permission ManageRoles, which it needs to manage this server and its groups, channels and roles.")
	s.server.Status.MissingPermissions = []v1alpha1.Permission{"ManageRoles"}
	s.osaka.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonRoleNotFound,
		`The server has no role "On cal". Did you mean "On call"?`)
	s.role.Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve
	s.role.Status.Conditions = conditionsOf("", v1alpha1.ReasonDifferencesFound, "Discord differs.")
	s.role.Status.Differences = []string{`color: "#000000" -> "#E67E22"`, "hoist: false -> true"}
}

func TestSee(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*school)
		args   string
		deny   []string
		code   int
	}{
		"status ready":   {nil, "status company", nil, 0},
		"status broken":  {broken, "status company", nil, 3},
		"status as json": {broken, "status company -o json", nil, 3},
		"status with a control character": {func(s *school) {
			broken(s)
			s.role.Status.Differences = []string{"evil\x1b[2J"}
		}, "status company", nil, 3},
		"status hidden": {nil, "status company", []string{
			"list discordgroups.discord.jutsu.com", "list namespaces",
		}, 0},
		"status new": {func(s *school) {
			s.server.Status = v1alpha1.DiscordServerStatus{ObservedGeneration: -1}
			s.server.CreationTimestamp = metav1.NewTime(now)
			s.tokyo.DeletionTimestamp = new(metav1.NewTime(now.Add(-time.Hour)))
			s.tokyo.Status.Conditions = conditionsOf("Progressing", v1alpha1.ReasonRateLimited, "It is retried by 03:00.")
			s.osaka.Generation = 2
			s.group.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
			s.group.Status.Conditions = append(conditionsOf("Progressing", v1alpha1.ReasonPaused, "The object is paused."),
				metav1.Condition{Type: v1alpha1.TypePaused, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPaused})
		}, "status company", nil, 3},
		"invite":            {nil, "invite company", nil, 0},
		"invite everywhere": {voices, "invite company -A --administrator", nil, 0},
		"invite own":        {voices, "invite company", nil, 0},
		"invite as yaml":    {nil, "invite company -o yaml", nil, 0},
		"invite hidden": {nil, "invite company -A", []string{
			"list discordchannels.discord.jutsu.com", "list namespaces",
		}, 0},
		"invite hidden as yaml": {nil, "invite company -A -o yaml", []string{
			"list discordchannels.discord.jutsu.com", "list namespaces",
		}, 0},
		"invite without refused objects": {func(s *school) {
			s.osaka.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"BanMembers"}}}
			s.osaka.Status.Conditions = conditionsOf("Degraded", v1alpha1.ReasonNotAllowed, "Its namespace is not allowed.")
		}, "invite company -A", nil, 0},
		"invite without Administrator": {func(s *school) {
			s.osaka.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"Administrator"}}}
			s.role.Spec.Permissions = []v1alpha1.Permission{"Administrator"}
		}, "invite company -A", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.change == nil {
				c.change = func(*school) {}
			}
			s := company(c.change).in(t)
			s.Deny(c.deny...)
			got := run(t, s, "", strings.Fields(c.args)...)
			if got.code != c.code || len(s.Writes()) > 0 {
				t.Errorf("exit code %d, want %d; it has written %v", got.code, c.code, s.Writes())
			}
			expectGolden(t, name, "$ kubectl discord "+c.args+"\n"+got.String())
		})
	}
}

func voices(s *school) {
	s.server.Spec.Community = v1alpha1.CommunityEnabled
	s.tokyo.Spec.Type, s.tokyo.Spec.Webhook = v1alpha1.ChannelTypeVoice, nil
	s.osaka.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}}}
	s.osaka.Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve
	s.group.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"AddReactions"}}}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	school := company()
	s := school.in(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"--kubeconfig", s.Kubeconfig(t, "platform"), "status", "company", "-w"}, kubectl.Options{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: write},
			Env:       func(string) string { return "" }, Clock: stillClock,
		})
		_ = write.Close()
	}()
	var all []byte
	until := func(text string) {
		t.Helper()
		for buffer := make([]byte, 4096); !strings.Contains(string(all), text); {
			n, err := read.Read(buffer)
			if all = append(all, buffer[:n]...); err != nil {
				t.Fatalf("%v after %s", err, all)
			}
		}
	}
	until("READY")
	broken(school)
	s.Put(school.server)
	until("DEGRADED")
	stop()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
}
