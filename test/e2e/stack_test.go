// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/e2e/internal/cluster"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
)

const (
	// DiscordNamespace is the namespace and the Service of the simulated Discord.
	DiscordNamespace = "discord"
	// DiscordPort is the port of the simulated Discord's Service.
	DiscordPort = 8065

	discordURL = "http://discord.discord.svc:8065/api/v10"
	// Usually half a minute is enough.
	readyTimeout = 5 * time.Minute
	probe        = 200 * time.Millisecond
)

// Ids of the guilds in discord.yaml. Only one DiscordServer per cluster can manage a guild, so the
// DiscordServers of the specs need different guilds.
const (
	FirstUsersGuild = "1401681709430341704"
	TenLinesGuild   = "1401681709430341705"
	StandingGuild   = "1401681709430341706"
	TenantsGuild    = "1401681709430341710" // used by deploy/samples/install
)

var (
	//go:embed testdata/monitoring.yaml
	monitoring []byte
	//go:embed testdata/discord.yaml
	discord []byte
	//go:embed testdata/catalog.yaml
	catalog []byte
)

// Stack is everything that Install has installed. Test processes share its exported fields.
type Stack struct {
	admin    client.Client
	folder   string
	progress io.Writer
	Registry string
	// Images maps folders of main packages, such as DojoApp, and names of operators to image names.
	Images map[string]string
	// Plugins is the folder with kubectl-dojo.
	Plugins string
	// Bot is the token of discord-operator's bot. Specs change Discord with the bot token Hand.
	Bot, Hand string
}

// Install installs or updates the stack, and returns when the stack is ready. It builds this
// project's images in folder and pushes them to registry.
func Install(ctx context.Context, admin client.Client, registry, folder string, progress io.Writer) (*Stack, error) {
	s := &Stack{
		admin: admin, folder: folder, progress: progress,
		Registry: registry, Images: map[string]string{}, Bot: botToken(), Hand: botToken(),
	}
	for _, step := range []func(context.Context) error{
		s.installOthersAndBuild, s.installDiscord, s.installMonitoring, s.installOperators,
		s.ready} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("install: %w", err)
		}
	}
	return s, nil
}

func (s *Stack) installOthersAndBuild(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.installOthers(ctx) })
	group.Go(func() error { return s.pushPrograms(ctx) })
	return group.Wait()
}

func (s *Stack) installOthers(ctx context.Context) error {
	if err := manifests.ApplyTexts(ctx, s.admin, cluster.DefaultPostgres, catalog); err != nil {
		return err
	}
	for _, released := range []func(context.Context) (string, error){testcluster.CloudNativePGManifest,
		testcluster.PrometheusOperatorManifest} {
		path, err := released(ctx)
		if err != nil {
			return err
		}
		objects, err := manifests.Read(path)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, objects); err != nil {
			return err
		}
	}
	return nil
}

// installDiscord keeps the tokens of an earlier run.
func (s *Stack) installDiscord(ctx context.Context) error {
	objects, err := manifests.Parse(discord)
	if err != nil {
		return err
	}
	setImage(objects, s.Images[discordtest])
	if err := manifests.Apply(ctx, s.admin, objects[:1]); err != nil {
		return err
	}
	tokens := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: DiscordNamespace, Name: "tokens"},
		StringData: map[string]string{"bot": s.Bot, "admin": s.Hand},
	}
	if err := client.IgnoreAlreadyExists(s.admin.Create(ctx, tokens)); err != nil {
		return err
	}
	if err := s.admin.Get(ctx, client.ObjectKeyFromObject(tokens), tokens); err != nil {
		return err
	}
	s.Bot, s.Hand = string(tokens.Data["bot"]), string(tokens.Data["admin"])
	return manifests.Apply(ctx, s.admin, objects[1:])
}

func (s *Stack) installMonitoring(ctx context.Context) error {
	objects, err := manifests.Parse(monitoring)
	if err != nil {
		return err
	}
	return s.apply(ctx, objects)
}

// apply waits until the kinds of the objects exist. It repeats requests that time out, because the
// API server may be busy.
func (s *Stack) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	return s.await(ctx, func(ctx context.Context) (string, error) {
		err := manifests.Apply(ctx, s.admin, objects)
		if meta.IsNoMatchError(err) || apierrors.IsTimeout(err) {
			return err.Error(), nil
		}
		return "", err
	})
}

func (s *Stack) ready(ctx context.Context) error {
	return s.await(ctx, func(ctx context.Context) (string, error) {
		var deployments appsv1.DeploymentList
		if err := s.admin.List(ctx, &deployments); err != nil {
			return "", err
		}
		for i := range deployments.Items {
			d := &deployments.Items[i]
			if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < *d.Spec.Replicas ||
				d.Status.AvailableReplicas < *d.Spec.Replicas {
				return fmt.Sprintf("Deployment %s/%s has %d of %d replicas", d.Namespace, d.Name, d.Status.AvailableReplicas,
					*d.Spec.Replicas), nil
			}
		}
		return s.unreadyMonitor(ctx)
	})
}

func (s *Stack) unreadyMonitor(ctx context.Context) (missing string, err error) {
	var monitors unstructured.UnstructuredList
	monitors.SetAPIVersion("monitoring.coreos.com/v1")
	for _, kind := range []string{"PrometheusList", "AlertmanagerList"} {
		monitors.SetKind(kind)
		if err := s.admin.List(ctx, &monitors); meta.IsNoMatchError(err) {
			return err.Error(), nil
		} else if err != nil {
			return "", err
		}
		for _, m := range monitors.Items {
			if available, _, _ := unstructured.NestedInt64(m.Object, "status", "availableReplicas"); available == 0 {
				return fmt.Sprintf("%s %s has no replica yet", m.GetKind(), m.GetName()), nil
			}
		}
	}
	return "", nil
}

func (s *Stack) await(ctx context.Context, check func(context.Context) (missing string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	missing, reported := "", time.Now()
	err := wait.PollUntilContextCancel(ctx, probe, true, func(ctx context.Context) (done bool, err error) {
		if missing, err = check(ctx); missing != "" && time.Since(reported) > 15*time.Second {
			reported = time.Now()
			_, _ = fmt.Fprintf(s.progress, "waiting: %s\n", missing)
		}
		return missing == "", err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w: %s", err, missing)
	}
	return err
}

// botToken returns a text in the form of a bot token, because the Discord client refuses other
// texts.
func botToken() string { return rand.Text() + "." + rand.Text() + "." + rand.Text() }
