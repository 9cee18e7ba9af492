// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/dojo"
	"jutsu.com/operators/dojo-operator/internal/metrics"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

const (
	// maxRounds limits the reconciles of a stage. An upgrade of Postgres takes seven.
	maxRounds = 30
	maxStages = 20
)

// Input is the input of [New].
type Input struct {
	Live client.Reader
	// Checker may be nil; then the plan uses no dry runs.
	Checker Checker
	// Served reports whether the cluster has an optional kind.
	Served func(optionalkinds.Kind) bool
	// Config has the operator's flags.
	Config dojo.Config
	// Sizes and Catalog are the operator's database sizes and Postgres images.
	Sizes   sizes.Presets
	Catalog images.Catalog
	Now     time.Time
}

// Planner plans Dojos, one after another, in one simulated cluster.
type Planner struct {
	model      *Model
	reconciler *dojo.Reconciler
	clock      *stageClock
	// before has the live versions of the applied Dojos; nil for a new Dojo.
	before map[key]*object
}

// New returns a Planner. It sends no request.
func New(ctx context.Context, in Input) (*Planner, error) {
	m := NewModel(in.Live, in.Checker)
	m.stand = standIn{now: in.Now, webhookBase: in.Config.Monitoring.WebhookBase}
	counts, err := metrics.New(prometheus.NewRegistry(), m, nil)
	if err != nil {
		return nil, err
	}
	now := &stageClock{in.Now}
	r := &dojo.Reconciler{
		Client: m, Live: m, Events: &events.FakeRecorder{}, Metrics: counts, Kinds: served(in.Served), Clock: now,
		Config: in.Config, Sizes: mounted.Fixed(in.Sizes), Catalog: mounted.Fixed(in.Catalog),
	}
	return &Planner{model: m, reconciler: r, clock: now, before: map[key]*object{}}, r.Prepare(ctx, m)
}

type served func(optionalkinds.Kind) bool

func (s served) Has(kind optionalkinds.Kind) bool { return s(kind) }

func (s served) Defined(_ context.Context, kind optionalkinds.Kind) (bool, error) {
	return s(kind), nil
}

// stageClock shows one time per stage, so that a repeated reconcile writes nothing.
type stageClock struct{ now time.Time }

// stageTime is the simulated time between two stages. It must exceed noticeTime of package backup.
const stageTime = time.Minute

func (c *stageClock) Now() time.Time { return c.now }

func (c *stageClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// Apply adds an object as if the user had applied it. live is nil if the cluster lacks the object.
func (p *Planner) Apply(live, applied *object) {
	p.model.Put(applied)
	if k := keyOf(applied); k.GroupVersionKind == kinds.Dojo.GroupVersionKind {
		p.before[k] = live
		p.model.made[k] = live == nil
	}
}

// Plan plans a Dojo that exists in the cluster or was added by [Planner.Apply].
func (p *Planner) Plan(ctx context.Context, namespace, name string) (*Dojo, error) {
	k := key{kinds.Dojo.GroupVersionKind, types.NamespacedName{Namespace: namespace, Name: name}}
	target, err := p.dojo(ctx, k)
	if err != nil {
		return nil, err
	}
	p.model.stand.dojo, p.clock.now = target, p.model.stand.now
	planned := &Dojo{Namespace: namespace, Name: name}
	before := maps.Clone(p.model.objects)
	if live, applied := p.before[k]; applied {
		before[k] = live
	}
	if !p.watches(namespace) {
		planned.Stages = []Stage{p.stage(before, len(p.model.writes), nil)}
		planned.Problems = []string{fmt.Sprintf("dojo-operator does not watch the namespace %s (--watch-namespaces), and "+
			"leaves the Dojo as it is.", namespace)}
		return planned, nil
	}
	var after []string
	for range maxStages {
		writes := len(p.model.writes)
		problem, err := p.settle(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("Dojo %s/%s: %w", namespace, name, err)
		}
		stage := p.stage(before, writes, after)
		if problem != "" {
			planned.Problems = append(planned.Problems, problem)
		}
		if len(stage.Changes) > 0 || len(planned.Stages) == 0 {
			planned.Stages, after = append(planned.Stages, stage), nil
		}
		current, err := p.dojo(ctx, k)
		if err != nil || problem != "" {
			break // the Dojo was deleted, or the stage has a problem
		}
		happened := p.model.answer(ctx, current)
		if len(happened) == 0 {
			break
		}
		p.clock.now = p.clock.now.Add(stageTime)
		after = append(after, happened...)
		before = maps.Clone(p.model.objects)
	}
	p.conclude(ctx, k, planned)
	return planned, nil //nolint:nilerr // a Dojo that is gone ends its plan
}

func (p *Planner) watches(namespace string) bool {
	all := p.reconciler.Config.Credentials.Namespaces
	return len(all) == 0 || slices.Contains(all, namespace)
}

func (p *Planner) dojo(ctx context.Context, k key) (*corev1api.Dojo, error) {
	d := &corev1api.Dojo{}
	return d, p.model.Get(ctx, k.NamespacedName, d)
}

// settle reconciles the Dojo until a reconcile writes nothing. err is a failed read. problem is an
// error that the operator would retry, or says that the reconciles do not end.
func (p *Planner) settle(ctx context.Context, k key) (problem string, err error) {
	for range maxRounds {
		d, err := p.dojo(ctx, k)
		if err != nil {
			return "", client.IgnoreNotFound(err)
		}
		version, writes := p.model.version, len(p.model.writes)
		result, failed := p.reconciler.Reconcile(ctx, d)
		switch {
		case p.model.failed != nil:
			return "", p.model.failed
		case ctx.Err() != nil:
			return "", ctx.Err()
		case failed != nil:
			return failed.Error(), nil //nolint:nilerr // the operator would retry it
		case result.RequeueAfter == apply.StaleRetry: // the next reconcile reads the objects again
		case p.model.version == version && len(p.model.writes) == writes:
			return "", nil
		}
	}
	return fmt.Sprintf("The operator would still write after %d reconciles; the plan ends here.", maxRounds), nil
}

// stage compares the written objects with their earlier versions in before. It returns the changes, and the
// requests of this stage. The parameter writes is the number of requests before this stage.
func (p *Planner) stage(before map[key]*object, writes int, after []string) Stage {
	m := p.model
	stage := Stage{After: after}
	byName := func(a, b key) int {
		return strings.Compare(order(a)+a.Kind+a.Name, order(b)+b.Kind+b.Name)
	}
	net := map[string]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(m.written), byName) {
		was, now := before[k], m.objects[k]
		if _, read := before[k]; !read {
			was = m.original[k]
		}
		if change := compare(was, now); change != nil && !m.hides(k) {
			change.Unknown = m.nameUnknown(k)
			change.hideHashes(m.newDatabase(k.Namespace))
			stage.Changes = append(stage.Changes, *change)
			net[resourceOf(k).Resource+"/"+k.Name] = true
		}
	}
	for _, w := range m.writes[writes:] {
		w.Unknown = m.unknownName(w)
		if (len(m.hidden) == 0 || net[w.Resource+"/"+w.Name]) && !slices.Contains(stage.Writes, w) {
			stage.Writes = append(stage.Writes, w)
		}
	}
	return stage
}

func order(k key) string {
	if k.GroupVersionKind == kinds.Dojo.GroupVersionKind {
		return "0"
	}
	return "1"
}

// nameUnknown reports whether the name of a new object ends with a hash that depends on a later
// time or on a future UID.
func (m *Model) nameUnknown(k key) bool {
	switch {
	case !m.made[k]:
		return false
	case k.Kind == kinds.Backup.Kind && upgradeBackup.MatchString(k.Name):
		return true
	}
	return (k.Kind == kinds.Job.Kind || k.Kind == kinds.Backup.Kind) && m.newDatabase(k.Namespace) ||
		k.Kind == kinds.Job.Kind && m.makes(k.Namespace, kinds.Dojo)
}

var upgradeBackup = regexp.MustCompile(`-(?:before|after)-[0-9a-f]{8}$`)

func (m *Model) newDatabase(namespace string) bool {
	return m.makes(namespace, kinds.Cluster, kinds.Database, kinds.Role)
}

func (m *Model) makes(namespace string, of ...kinds.Kind) bool {
	for k, made := range m.made {
		if made && k.Namespace == namespace &&
			slices.ContainsFunc(of, func(kind kinds.Kind) bool { return kind.GroupVersionKind == k.GroupVersionKind }) {
			return true
		}
	}
	return false
}

func (m *Model) shownName(k key) string {
	if m.nameUnknown(k) {
		return withoutHash(k.Name)
	}
	return k.Name
}

func withoutHash(name string) string { return name[:strings.LastIndex(name, "-")+1] + unknownValue }

func (m *Model) unknownName(w Write) bool {
	for k := range m.made {
		if k.Name == w.Name && resourceOf(k).Resource == w.Resource {
			return m.nameUnknown(k)
		}
	}
	return false
}

func consequencesOfAll(stages []Stage) (all []Consequence) {
	for _, stage := range stages {
		for _, change := range stage.Changes {
			for _, c := range consequencesOf(change) {
				if !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

func (p *Planner) hiddenIn(namespace string) (hidden []string) {
	for of := range p.model.hidden {
		if of.namespace == namespace {
			hidden = append(hidden, resourceOf(key{GroupVersionKind: of.GroupVersionKind}).String())
		}
	}
	slices.Sort(hidden)
	return hidden
}

func (p *Planner) conclude(ctx context.Context, k key, planned *Dojo) {
	planned.Consequences = consequencesOfAll(planned.Stages)
	if hidden := p.hiddenIn(k.Namespace); len(hidden) > 0 {
		planned.Unknown = append(planned.Unknown, fmt.Sprintf("You may not read %s in the namespace %s: the plan assumes "+
			"that these objects do not change, and does not show them.", strings.Join(hidden, ", "), k.Namespace))
	}
	if p.model.elsewhere {
		planned.Unknown = append(planned.Unknown,
			"You may not list Dojos of other namespaces, so the plan does not know whether they use this Dojo's database.")
	}
	if len(p.model.unchecked) > 0 {
		planned.Unknown = append(planned.Unknown, "Not checked by a dry run, because you may not write them or update "+
			"dojos/finalizers: "+strings.Join(slices.Sorted(maps.Keys(p.model.unchecked)), ", ")+".")
	}
	p.model.unchecked = map[string]bool{}
	d, err := p.dojo(ctx, k)
	if err != nil {
		return
	}
	switch ready := meta.FindStatusCondition(d.Status.Conditions, conditions.TypeReady); {
	case meta.IsStatusConditionTrue(d.Status.Conditions, conditions.TypeDegraded):
		c := meta.FindStatusCondition(d.Status.Conditions, conditions.TypeDegraded)
		planned.Problems = append(planned.Problems, c.Reason+": "+c.Message)
	case ready == nil || ready.Status != "True":
		c := meta.FindStatusCondition(d.Status.Conditions, conditions.TypeProgressing)
		if c != nil {
			planned.Waits = c.Reason + ": " + c.Message
		}
	default:
		planned.Ready = true
	}
}
