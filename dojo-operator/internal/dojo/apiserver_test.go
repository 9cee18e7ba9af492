package dojo

import (
	"flag"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// world holds the objects around one Dojo. It applies and updates them with the code that the API server itself runs for
// that (apimachinery's managedfields), so managedFields are the real ones. It runs no controllers.
type world struct {
	t          rapid.TB
	source     *corev1.Secret
	own        *corev1.Secret
	deployment *appsv1.Deployment
	service    *corev1.Service
	budget     *policyv1.PodDisruptionBudget
	ingress    *networkingv1.Ingress
	password   *corev1.Secret                        // of the database
	custom     map[string]*unstructured.Unstructured // by kind
	without    string                                // a kind that the cluster does not have
	jobs       []*batchv1.Job
	jobPods    []corev1.Pod
	sql        []string
	absentSQL  string
	pods       []corev1.Pod
	scaler     bool // whether a HorizontalPodAutoscaler of the Deployment exists
	version    int
}

// noon is when every pass takes place, unless a test says otherwise.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// see is what a pass sees of the world.
func (w *world) see(d *corev1api.Dojo) *observed {
	w.version++
	source := w.source
	if d.Spec.Postgres != nil {
		source = w.password
	}
	seen := &observed{
		now: noon, nonce: "nonce-" + strconv.Itoa(w.version), password: "password-" + strconv.Itoa(w.version),
		source: metadataOf(source), own: metadataOf(w.own),
		deployment: w.deployment.DeepCopy(), service: w.service.DeepCopy(), budget: w.budget.DeepCopy(), ingress: w.ingress.DeepCopy(), pods: w.pods,
		autoscaled: scaledByOthers(d, w.deployment, w.scaler),
		monitors:   map[string]*unstructured.Unstructured{},
	}
	for _, kind := range monitoringKinds {
		if w.without != kind.Kind {
			seen.monitors[kind.Kind] = w.custom[kind.Kind].DeepCopy()
		}
	}
	w.seeAlerts(d, &seen.alerts)
	if d.Spec.Postgres != nil {
		w.seeDatabase(d, &seen.db)
	}
	if seen.source != nil && shared(d, seen.source) && !taken(d, seen.own) && (!copied(d, seen.own, seen.source) || rewritten(d, seen.source)) {
		seen.sourceSecret, seen.ownSecret = source.DeepCopy(), w.own.DeepCopy()
	}
	return seen
}

func (w *world) seeAlerts(d *corev1api.Dojo, alerts *seenAlerts) {
	for _, kind := range append([]optional.Kind{channelKind, routingKind}, monitoringKinds...) {
		if kind.Kind == w.without {
			alerts.missing = append(alerts.missing, kind)
		}
	}
	channel := func(name string) *unstructured.Unstructured {
		if o := w.custom["DiscordChannel"]; o != nil && o.GetName() == name && w.without != "DiscordChannel" {
			return o.DeepCopy()
		}
		return nil
	}
	alerts.own, alerts.channel = channel(ownChannelName(d)), channel(channelName(d))
	if w.without != "AlertmanagerConfig" {
		alerts.routing = w.custom["AlertmanagerConfig"].DeepCopy()
	}
}

func (w *world) seeDatabase(d *corev1api.Dojo, db *seenDatabase) {
	if db.missing = firstMissing(func(k optional.Kind) bool { return k.Kind != w.without }, databaseKinds); db.missing == "" {
		db.cluster, db.role, db.database = w.custom["Cluster"].DeepCopy(), w.custom["DatabaseRole"].DeepCopy(), w.custom["Database"].DeepCopy()
		db.schedule, db.finalBackup = w.custom["ScheduledBackup"].DeepCopy(), w.custom["Backup"].DeepCopy()
	}
	db.sql, db.absentSQL, db.jobPods = w.sql, w.absentSQL, w.jobPods
	for _, job := range w.jobs {
		if db.cluster != nil && db.database != nil && job.Name == schemaName(d, db) {
			db.job = job
		} else {
			db.formerJobs = append(db.formerJobs, job)
		}
	}
}

// pass plans, carries out the plan, and returns it.
func (w *world) pass(d *corev1api.Dojo) *steps {
	w.t.Helper()
	s := plan(d, w.see(d), testConfig)
	w.carryOut(d, s)
	return s
}

// carryOut does what a plan says.
func (w *world) carryOut(d *corev1api.Dojo, s *steps) {
	w.t.Helper()
	for _, c := range s.apply {
		switch c.kind {
		case kindSecret:
			if c.name == credentialsName(d) {
				w.own = apply(w, w.own, c)
			} else {
				w.password = apply(w, w.password, c)
			}
		case kindIngress:
			w.ingress = apply(w, w.ingress, c)
		case kindJob:
			w.jobs = append(w.jobs, apply[batchv1.Job](w, nil, c))
		case kindDeployment:
			w.deployment = apply(w, w.deployment, c)
		case kindService:
			w.service = apply(w, w.service, c)
		case kindBudget:
			w.budget = apply(w, w.budget, c)
		default:
			w.applyCustom(c)
		}
	}
	for _, old := range s.remove {
		w.remove(old)
	}
	if s.finalizers != nil {
		d.Finalizers = s.finalizers
	}
}

func (w *world) remove(old *leftover) {
	switch old.kind {
	case kindBudget:
		w.budget = nil
	case kindIngress:
		w.ingress = nil
	case kindDeployment:
		w.deployment = nil
	case kindJob:
		w.jobs = slices.DeleteFunc(w.jobs, func(j *batchv1.Job) bool { return j.Name == old.object.GetName() })
	default:
		if w.custom[old.kind] == nil {
			w.t.Fatalf("plan removes a %s that is not there", old.kind)
		}
		delete(w.custom, old.kind)
	}
}

// serve makes the Deployment's status say that so many of the wanted pods are ready and that the rollout is at its end.
func (w *world) serve(ready int32) {
	wanted := *w.deployment.Spec.Replicas
	w.deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: w.deployment.Generation, Replicas: wanted, UpdatedReplicas: wanted,
		ReadyReplicas: ready, AvailableReplicas: ready,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: rolloutFinished,
		}},
	}
}

// liveChild is a pointer to a kind of object that can be a child.
type liveChild[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// apply answers a server-side apply of ours.
func apply[T any, L liveChild[T]](w *world, live L, c *child) L {
	w.t.Helper()
	desired, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.config)
	must(w.t, err)
	if live == nil {
		live = new(T)
		live.SetUID(types.UID("uid of the " + c.kind))
	}
	fields := fieldManager(w.t, live)
	after, err := fields.Apply(live, &unstructured.Unstructured{Object: desired}, FieldOwner, c.exists)
	must(w.t, err)
	return stored[T, L](w, after)
}

// edit answers an update by somebody; of an object that is not there it leaves nothing.
func edit[T any, L liveChild[T]](w *world, live L, manager string, change func(L)) L {
	w.t.Helper()
	if live == nil {
		return nil
	}
	edited := live.DeepCopyObject().(L)
	change(edited)
	after, err := fieldManager(w.t, live).Update(live, edited, manager)
	must(w.t, err)
	return stored[T, L](w, after)
}

func stored[T any, L liveChild[T]](w *world, o runtime.Object) L {
	live := o.(L)
	w.version++
	live.SetResourceVersion(strconv.Itoa(w.version))
	return live
}

// testScheme knows the children and, so that tests meet them, some of the defaults that the API server sets.
var testScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1api.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, batchv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	s.AddTypeDefaultingFunc(&appsv1.Deployment{}, func(o any) {
		spec := &o.(*appsv1.Deployment).Spec
		if spec.Replicas == nil {
			spec.Replicas = ptr.To[int32](1)
		}
		spec.RevisionHistoryLimit = ptr.To[int32](10)
		spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
		for i := range spec.Template.Spec.Containers {
			c := &spec.Template.Spec.Containers[i]
			c.ImagePullPolicy, c.TerminationMessagePath = corev1.PullIfNotPresent, corev1.TerminationMessagePathDefault
			if probe := c.LivenessProbe; probe != nil {
				probe.SuccessThreshold, probe.HTTPGet.Scheme = 1, corev1.URISchemeHTTP
			}
		}
	})
	s.AddTypeDefaultingFunc(&corev1.Service{}, func(o any) {
		spec := &o.(*corev1.Service).Spec
		spec.Type, spec.ClusterIP, spec.SessionAffinity = corev1.ServiceTypeClusterIP, "10.0.0.7", corev1.ServiceAffinityNone
		spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	})
	return s
}()

var typeConverter = applyconfigurations.NewTypeConverter(testScheme)

func fieldManager(t rapid.TB, live runtime.Object) *managedfields.FieldManager {
	t.Helper()
	kinds, _, err := testScheme.ObjectKinds(live)
	must(t, err)
	live.GetObjectKind().SetGroupVersionKind(kinds[0])
	fields, err := managedfields.NewDefaultFieldManager(typeConverter, testScheme, testScheme, testScheme,
		kinds[0], kinds[0].GroupVersion(), "", nil)
	must(t, err)
	return fields
}

func metadataOf(secret *corev1.Secret) *metav1.PartialObjectMetadata {
	if secret == nil {
		return nil
	}
	m := secretMetadata()
	m.ObjectMeta = *secret.ObjectMeta.DeepCopy()
	return m
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// One check of a property costs a tenth of a second of server-side applies, so there are fewer than rapid's own 100, and shorter histories;
// -rapid.checks and -rapid.steps ask for more.
func init() {
	for name, value := range map[string]string{"rapid.checks": "30", "rapid.steps": "15"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// testConfig is a configuration that differs from every default.
var testConfig = Config{Image: "registry.example/dojo:9", ProgressDeadline: 90 * time.Second, DatabaseDeadline: 10 * time.Minute, PostgresImage: "registry.example/postgres"}

// tokyo is a Dojo as the API server hands it out.
func tokyo(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	d := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", UID: "uid of tokyo", Generation: 3},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High", Replicas: ptr.To[int32](3), Database: corev1api.DatabasePostgres,
			CredentialsRef: &corev1api.SecretReference{Name: "pg-app"},
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func replicas(n int32) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) { d.Spec.Replicas = &n }
}

// pgApp is the Secret that tokyo refers to.
func pgApp(changes ...func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "pg-app", UID: "uid of pg-app", ResourceVersion: "7"},
		Data: map[string][]byte{
			"host": []byte("pg-rw"), "port": []byte("5432"), "dbname": []byte("app"), "user": []byte("yaga"), "password": []byte("hollow purple"),
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// settledWorld is one in which tokyo, as it is given, is settled.
func settledWorld(t rapid.TB, d *corev1api.Dojo) *world {
	t.Helper()
	w := &world{t: t, source: pgApp()}
	w.pass(d)
	w.serve(*w.deployment.Spec.Replicas)
	return w
}

var httpPort = intstr.FromString(portName)
