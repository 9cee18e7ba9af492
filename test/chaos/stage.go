package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/cnpgtest"
	"jutsu.com/operators/test/internal/operator"
)

const (
	namespace = "chaos"
	// replicas is how many processes each operator has, as in deploy/.
	replicas = 2
	// nodes is how many fake nodes there are.
	nodes = 2
	// sensei is a role of the guild, for overwrites.
	sensei = "Sensei"
)

// stage is everything that runs.
type stage struct {
	folder   string // of everything that a failure is explained by
	journal  *journal
	cluster  *testcluster.Cluster
	admin    client.Client
	postgres *cnpgtest.StandIn
	replicas []*replica // of both operators in turn
	ending   context.CancelFunc
	running  sync.WaitGroup

	discord *discordtest.Server
	botID   string
	guild   string // id

	mu    sync.Mutex // guards what follows
	token string     // of the bot, as it is valid now
	// made are the channels that users have made by hand, by id, as users have left them.
	made map[string]made
}

func newStage(ctx context.Context, folder string, j *journal, out io.Writer) (*stage, error) {
	s := &stage{folder: folder, journal: j}
	if err := s.start(ctx, out); err != nil {
		return nil, errors.Join(fmt.Errorf("set the stage: %w", err), s.close())
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, out io.Writer) error {
	for _, o := range operator.All {
		if _, err := o.Binary(); err != nil {
			return err
		}
	}
	if err := s.startCluster(ctx, out); err != nil {
		return err
	}
	if err := s.startDiscord(); err != nil {
		return err
	}
	var err error
	if s.postgres, err = cnpgtest.Start(context.WithoutCancel(ctx), s.cluster.Config(), cnpgtest.Options{}); err != nil {
		return err
	}
	if err := s.furnish(ctx); err != nil {
		return err
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	s.ending = end
	for i := range replicas {
		s.replicas = append(s.replicas,
			newReplica(s, operator.Discord, i+1, "--discord-api-url="+s.discord.APIURL(), "--recovery-wait=4s"),
			newReplica(s, operator.Dojo, i+1))
	}
	for _, k := range s.replicas {
		s.running.Go(func() { k.run(running) })
	}
	return s.ready(ctx)
}

// ready returns when all operators report themselves ready.
func (s *stage) ready(ctx context.Context) error {
	for _, k := range s.replicas {
		if err := k.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) startCluster(ctx context.Context, out io.Writer) error {
	var crds []string
	for _, path := range []func(context.Context) (string, error){testcluster.CloudNativePGCRDs, testcluster.PrometheusOperatorCRDs} {
		folder, err := path(ctx)
		if err != nil {
			return err
		}
		crds = append(crds, folder)
	}
	for _, o := range operator.All {
		folder, err := o.CRDs()
		if err != nil {
			return err
		}
		crds = append(crds, folder)
	}
	var err error
	s.cluster, err = testcluster.Start(ctx, testcluster.Options{ControllerManager: true, Nodes: nodes, CRDs: crds, Audit: true, Progress: out})
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), corev1api.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	s.admin, err = client.New(s.cluster.Config(), client.Options{Scheme: scheme})
	return err
}

// startDiscord starts the simulated Discord with one guild. Its limits are Discord's, but for those that would make hours of waiting out of minutes: how often
// a name may change, and how often a bot may come back.
func (s *stage) startDiscord() error {
	limits := discordtest.DefaultLimits()
	limits.NameTopic.Per = 10 * time.Second
	limits.Identify, limits.SessionStarts = discordtest.Rate{}, discordtest.Rate{}
	s.discord = discordtest.New(discordtest.Options{Limits: limits})
	if err := s.discord.Start(); err != nil {
		return err
	}
	bot := s.discord.AddBot(discordtest.Bot{Name: "operator"})
	s.botID, s.token = bot.UserID, bot.Token
	s.guild = s.discord.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High", Features: []string{"COMMUNITY", "NEWS"}}).ID
	s.discord.AddMember(s.guild, s.botID, botPermissions)
	s.discord.AddRole(s.guild, sensei, 0)
	s.made = map[string]made{}
	return nil
}

// botPermissions are those that the operator asks for.
const botPermissions = discordtest.Permissions(discordclient.PermissionsOverwrites)

// furnish installs the operators and makes what users have from the beginning to the end.
func (s *stage) furnish(ctx context.Context) error {
	for _, o := range operator.All {
		if err := o.Install(ctx, s.cluster.Config()); err != nil {
			return err
		}
	}
	shared := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "metadata": map[string]any{"namespace": namespace, "name": sharedCluster},
		"spec": map[string]any{"instances": int64(1), "storage": map[string]any{"size": "1Gi"}},
	}}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenSecret}, StringData: map[string]string{"token": s.token}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentialsSecret}, StringData: map[string]string{
			"host": "dojo-rw", "port": "5432", "dbname": "app", "username": "app", "password": "the-first-password-of-them-all",
		}},
		&v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serverName}, Spec: v1alpha1.DiscordServerSpec{
			TokenSecretRef: v1alpha1.TokenSecretReference{Name: tokenSecret}, ServerID: s.guild, Name: "Jujutsu High",
		}},
		shared,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: scraper}},
	} {
		if err := s.admin.Create(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range operator.All { // whoever scrapes the metrics
		if err := s.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: scraper + "-" + o.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: o.Name + "-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: scraper}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// close ends everything, in an order in which nothing has to wait for what is gone.
func (s *stage) close() error {
	if s.ending != nil {
		s.ending()
		s.running.Wait()
	}
	if s.postgres != nil {
		s.postgres.Stop()
	}
	if s.discord != nil {
		s.discord.Close()
	}
	if s.cluster != nil {
		return s.cluster.Stop()
	}
	return nil
}
