// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
)

const (
	namespace = "chaos"
	// replicas is how many processes each operator has, as in deploy/.
	replicas = 2
	// nodes is how many fake nodes there are.
	nodes = 2
	// recoveryWait is how long the operator waits for the result of a lost create, and auditJitter how
	// much later than usual the audit log may have it: not as late as that.
	recoveryWait, auditJitter = 4 * time.Second, 2 * time.Second
	// sensei is a role of the guild, for overwrites.
	sensei = "Sensei"
	// users is how many members the guild has, besides its owner and the bot.
	users = 40
)

// stage is everything that runs.
type stage struct {
	*environment.Environment
	folder   string // of everything that a failure is explained by
	seed     uint64
	journal  *journal
	replicas []*replica // of both operators in turn
	ending   context.CancelFunc
	working  sync.WaitGroup

	ledger  *ledger
	discord *discordtest.Server
	botID   string
	guild   string // id

	hiding atomic.Bool // a channel is hidden from the bot

	mu    sync.Mutex // guards what follows
	token string     // of the bot, as it is valid now
	// made are the channels that users have made by hand, by id, as users have left them.
	made map[string]made
	// madeRoles are the roles that they have made.
	madeRoles map[string]discordtest.Role
	// dragged are the roles that users have moved.
	dragged map[string]bool
	// users are the ids of members of the guild.
	users []string
}

func newStage(ctx context.Context, folder string, seed uint64, j *journal, out io.Writer) (*stage, error) {
	s := &stage{folder: folder, seed: seed, journal: j}
	s.ledger = &ledger{taken: map[types.UID]bool{}, refused: map[string]string{}}
	if err := s.start(ctx, out); err != nil {
		return nil, errors.Join(fmt.Errorf("set up: %w", err), s.close())
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, out io.Writer) (err error) {
	s.Environment, err = environment.Start(ctx, environment.Options{
		Operators:     environment.All,
		Cluster:       testcluster.Options{ControllerManager: true, Nodes: nodes, Audit: true, Progress: out},
		CloudNativePG: environment.HealthyPostgres, Prometheus: true, Discord: s.startDiscord, Folder: s.folder,
	})
	if err != nil {
		return err
	}
	if err := s.setUp(ctx); err != nil {
		return err
	}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	s.ending = end
	for i := range replicas {
		s.replicas = append(s.replicas, newReplica(s, environment.Discord, i+1, "--recovery-wait="+recoveryWait.String(),
			"--namespace-selectors"),
			newReplica(s, environment.Dojo, i+1, "--database-deadline=1m"))
	}
	for _, k := range s.replicas {
		s.working.Go(func() { k.run(working) })
	}
	s.Postgres.PlayLogins(working, archive)
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

// startDiscord starts the simulated Discord with one guild. It is as strict as it can be, but for the
// limits that would make hours of waiting out of minutes: how often a name may change, and how often a
// bot may come back.
func (s *stage) startDiscord(context.Context) (environment.DiscordAPI, error) {
	limits := discordtest.StrictLimits()
	limits.NameTopic.Per = 10 * time.Second
	limits.Identify, limits.SessionStarts = discordtest.Rate{}, discordtest.Rate{}
	s.discord = discordtest.New(discordtest.Options{
		Limits: limits, Seed: s.seed, Weakness: weak(discordtest.Weakness{}), AuditJitter: auditJitter,
	})
	if err := s.discord.Start(); err != nil {
		return nil, err
	}
	bot := s.discord.AddBot(discordtest.Bot{Name: "operator"})
	s.botID, s.token = bot.UserID, bot.Token
	s.guild = s.discord.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High", Features: []string{"COMMUNITY", "NEWS"}}).ID
	s.discord.AddMember(s.guild, s.botID, botPermissions)
	s.made, s.madeRoles, s.dragged = map[string]made{}, map[string]discordtest.Role{}, map[string]bool{}
	s.noteRole(s.discord.AddRole(s.guild, sensei, 0))
	for i := range users {
		s.users = append(s.users, s.discord.AddUser(fmt.Sprintf("student-%d", i)))
		s.discord.AddMember(s.guild, s.users[i], 0)
	}
	return s.discord, nil
}

// botPermissions are those that the operator asks for.
const botPermissions = discordtest.Permissions(discordclient.PermissionsOverwrites)

// setUp installs the operators and makes what users have from the beginning to the end.
func (s *stage) setUp(ctx context.Context) error {
	for _, o := range environment.All {
		if err := s.Install(ctx, o); err != nil {
			return err
		}
	}
	shared := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster",
		"metadata": map[string]any{"namespace": namespace, "name": sharedCluster},
		"spec":     map[string]any{"instances": int64(1), "storage": map[string]any{"size": "1Gi"}},
	}}
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serverName},
		Spec: v1alpha1.DiscordServerSpec{
			TokenSecretRef: v1alpha1.TokenSecretReference{Name: tokenSecret}, ServerID: s.guild, Name: "Jujutsu High",
		}}
	allowGuest(&server.Spec)
	for _, o := range append(slices.Concat(abuserHas(), guestHas(), dataHas()),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenSecret},
			StringData: map[string]string{"token": s.token}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentialsSecret},
			StringData: map[string]string{
				"host": "dojo-rw", "port": "5432", "dbname": "app", "username": "app",
				"password": "the-first-password-of-them-all",
			}},
		server, shared,
	) {
		if err := s.Admin.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// close ends everything, the replicas first, or they would start their processes again.
func (s *stage) close() error {
	if s.ending != nil {
		s.ending()
		s.working.Wait()
	}
	if s.Environment == nil {
		return nil
	}
	return s.Stop()
}
