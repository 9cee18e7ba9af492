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
	replicas  = 2
	nodes     = 2
	// recoveryWait is the operator's longest wait before it recovers a lost create. auditJitter,
	// the longest delay of audit log entries, must be shorter.
	recoveryWait, auditJitter = 4 * time.Second, 2 * time.Second
	// Overwrites refer to the role sensei.
	sensei = "Sensei"
	users  = 40
)

type stage struct {
	*environment.Environment
	folder   string // of logs and evidence
	seed     uint64
	journal  *journal
	replicas []*replica // the first replica of each operator, and then the second of each
	ending   context.CancelFunc
	working  sync.WaitGroup

	ledger  *ledger
	minors  *minors
	discord *discordtest.Server
	botID   string
	guild   string // id

	hiding atomic.Bool // reports whether a channel is hidden from the bot

	mu           sync.Mutex // guards the fields below
	token        string     // the bot's valid token
	userChannels map[string]userChannel
	userRoles    map[string]discordtest.Role
	dragged      map[string]bool
	users        []string
}

func newStage(ctx context.Context, folder string, seed uint64, j *journal, out io.Writer) (*stage, error) {
	s := &stage{folder: folder, seed: seed, journal: j, minors: newMinors()}
	s.ledger = &ledger{deletedClusters: map[types.UID]bool{}, refused: map[string]string{}}
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
	if _, err := s.offer(func() int { return 1 }); err != nil {
		return err
	}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	s.ending = end
	for i := range replicas {
		s.replicas = append(s.replicas, newReplica(s, environment.Discord, i+1, "--recovery-wait="+recoveryWait.String(),
			"--namespace-selectors"),
			newReplica(s, environment.Dojo, i+1, "--database-deadline=1m",
				"--postgres-catalog="+s.catalogFolder()))
	}
	for _, k := range s.replicas {
		s.working.Go(func() { k.run(working) })
	}
	s.Postgres.PlayLogins(working, archive)
	return s.ready(ctx)
}

func (s *stage) ready(ctx context.Context) error {
	for _, k := range s.replicas {
		if err := k.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startDiscord relaxes the limits for names, topics and Gateway connections. With Discord's own
// limits, a run would take hours.
func (s *stage) startDiscord(context.Context) (environment.DiscordAPI, error) {
	limits := discordtest.StrictLimits()
	limits.NameTopic.Per = 10 * time.Second
	limits.Identify, limits.SessionStarts = discordtest.Rate{}, discordtest.Rate{}
	s.discord = discordtest.New(discordtest.Options{
		Limits: limits, Seed: s.seed, Weakness: weaklyConsistent(discordtest.Weakness{}), AuditJitter: auditJitter,
	})
	if err := s.discord.Start(); err != nil {
		return nil, err
	}
	bot := s.discord.AddBot(discordtest.Bot{Name: "operator"})
	s.botID, s.token = bot.UserID, bot.Token
	s.guild = s.discord.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High", Features: []string{"COMMUNITY", "NEWS"}}).ID
	s.discord.AddMember(s.guild, s.botID, botPermissions)
	s.userChannels, s.userRoles, s.dragged = map[string]userChannel{}, map[string]discordtest.Role{}, map[string]bool{}
	s.recordUserRole(s.discord.AddRole(s.guild, sensei, 0))
	for i := range users {
		s.users = append(s.users, s.discord.AddUser(fmt.Sprintf("student-%d", i)))
		s.discord.AddMember(s.guild, s.users[i], 0)
	}
	return s.discord, nil
}

const botPermissions = discordtest.Permissions(discordclient.PermissionsOverwrites)

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
	for _, o := range append(slices.Concat(abuserSetup(), guestSetup(), dataSetup()),
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

// close stops the replicas first, because they restart their processes.
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
