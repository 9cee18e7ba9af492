// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/dojo-operator/internal/cli/check"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/recovery"
	"jutsu.com/operators/dojo-operator/internal/cli/redact"
	"jutsu.com/operators/dojo-operator/internal/cli/view"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl/term"
)

const (
	maxLog        = 2 << 20
	reportTimeout = 2 * time.Minute
)

func (s *session) newReport() *cobra.Command {
	var file string
	cmd := s.forDojo("report", "Write a ZIP for support, without Secrets",
		`Writes a ZIP from which another person can understand the state of a Dojo: its status, the manifests of its
objects, events, the logs of its pods and of dojo-operator, discord-operator and CloudNativePG. The ZIP has no Secret.
The command removes the values of environment variables and most annotations, and any text that looks like a token, a
password or a webhook's URL. If you may list the Secrets of the Dojo's namespace and of the operators' namespaces, it
also removes the values of these Secrets from all files, but not addresses, names, certificates, and values of fewer
than 6 characters. The ZIP lacks the objects that you may not read, and about.txt lists these objects. Look into the ZIP
before you give it away.`,
		func(ctx context.Context, name string) error { return s.report(ctx, name, file) })
	cmd.Flags().StringVar(&file, "file", "", "the `FILE` to write; by default dojo-NAME-TIME.zip")
	return cmd
}

func (s *session) report(ctx context.Context, name, file string) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	w, err := s.world(ctx, name)
	if err != nil {
		return err
	}
	r := &reporter{session: s, world: w, raw: map[string]string{}, asked: map[string]bool{}}
	r.collect(ctx)
	files, count := r.redacted()
	file = cmp.Or(file, fmt.Sprintf("dojo-%s-%s.zip", name, s.Now().UTC().Format("20060102-150405")))
	content, err := zipped(files, s.Now())
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	s.Print("Wrote %s: %s, %d KiB, %s removed.\n", file, term.Count(len(files), "file"), len(content)>>10,
		term.Count(count, "value"))
	for _, missing := range r.missing {
		s.Print("  without %s\n", missing)
	}
	s.Print("Look into the ZIP before you give it away.\n")
	return nil
}

func zipped(files map[string]string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(entry, files[name]); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

type reporter struct {
	*session
	world *world.World
	// objects has the manifests. raw has all other files by name. Both still contain secrets.
	objects []map[string]any
	raw     map[string]string
	secrets []corev1.Secret
	missing []string

	asked map[string]bool
}

func (r *reporter) lack(what string, err error) {
	if err != nil {
		r.missing = append(r.missing, fmt.Sprintf("%s: %s", what, firstLine(err.Error())))
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (r *reporter) collect(ctx context.Context) {
	w := r.world
	r.addFiring(ctx, w)
	r.raw["status.txt"] = view.Status(w, term.Style{})
	r.raw["tree.txt"] = view.Tree(w, term.Style{})
	r.raw["backups.txt"] = backupText(w, backupReport{recovery.Windows(w), recovery.Backups(w)}, term.Style{})
	r.raw["events.txt"] = eventText(w.Events)
	lines, err := r.check(ctx)
	r.lack("check.txt", err)
	r.raw["check.txt"] = check.Text(lines, term.Style{})
	for _, denied := range w.DeniedResources() {
		r.missing = append(r.missing, denied+": you may not read them in the namespace "+w.Dojo.Namespace)
	}
	r.addObjects()
	r.addSecrets(ctx, w.Dojo.Namespace)
	r.addPodLogs(ctx)
	r.addOperators(ctx)
}

func eventText(events []corev1.Event) string {
	var rows [][]string
	for _, e := range events {
		rows = append(rows, []string{
			world.LastSeen(e).UTC().Format(time.RFC3339), e.Type, e.Reason, strconv.Itoa(int(e.Count)),
			e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, strings.Join(strings.Fields(e.Message), " "),
		})
	}
	return term.Table(rows, 2)
}

func (r *reporter) addObjects() {
	r.addObject(r.world.Dojo)
	for _, o := range r.world.Objects {
		r.addObject(o)
	}
	addAll[*batchv1.Job](r, r.world.Jobs)
	addAll[*cnpgv1.Backup](r, r.world.Backups)
	addAll[*unstructured.Unstructured](r, r.world.Stores)
	addAll[*corev1.Pod](r, r.world.Pods)
	addAll[*corev1.Pod](r, r.world.Instances)
}

func addAll[P interface {
	*T
	client.Object
}, T any](r *reporter, all []T) {
	for i := range all {
		r.addObject(P(&all[i]))
	}
}

func (r *reporter) addObject(o client.Object) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		r.lack(o.GetName(), err)
		return
	}
	if gvk, err := apiutil.GVKForObject(o, r.Scheme()); err == nil {
		object["kind"], object["apiVersion"] = gvk.Kind, gvk.GroupVersion().String()
	}
	// The report contains no Secret, but tree.txt lists the names of Secrets.
	if object["kind"] == kinds.Secret.Kind {
		return
	}
	r.objects = append(r.objects, runtime.DeepCopyJSON(object))
}

// addSecrets reads Secrets, so that their values can be removed from the report.
func (r *reporter) addSecrets(ctx context.Context, namespace string) {
	var all corev1.SecretList
	if err := r.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		r.lack("the removal of the values of the Secrets in "+namespace+" (the ZIP may contain values that do not look "+
			"like a secret)", err)
		return
	}
	r.secrets = append(r.secrets, all.Items...)
}

func (r *reporter) addPodLogs(ctx context.Context) {
	pods := slices.Concat(r.world.Pods, r.world.Instances)
	for label, value := range map[string]string{
		ownership.InstanceLabel: r.world.Dojo.Name, world.ClusterLabel: cmp.Or(cnpg.ClusterName(r.world.Dojo), "-"),
	} {
		var more corev1.PodList
		in := client.InNamespace(r.world.Dojo.Namespace)
		if err := r.List(ctx, &more, in, client.MatchingLabels{label: value}); err == nil {
			pods = append(pods, more.Items...)
		}
	}
	r.addLogs(ctx, pods)
}

func (r *reporter) addOperators(ctx context.Context) {
	for _, operator := range check.Operators {
		by := client.MatchingLabels{ownership.NameLabel: operator}
		var deployments appsv1.DeploymentList
		err := r.List(ctx, &deployments, by)
		r.lack("the Deployment of "+operator, err)
		for i := range deployments.Items {
			d := &deployments.Items[i]
			r.addObject(d)
			r.addSecrets(ctx, d.Namespace)
			var pods corev1.PodList
			r.lack("the pods of "+operator, r.List(ctx, &pods, client.InNamespace(d.Namespace), by))
			r.addLogs(ctx, pods.Items)
		}
	}
}

func (r *reporter) addLogs(ctx context.Context, pods []corev1.Pod) {
	for i := range pods {
		pod := &pods[i]
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			r.addLog(ctx, pod, status.Name, false)
			if status.RestartCount > 0 {
				r.addLog(ctx, pod, status.Name, true)
			}
		}
	}
}

func (r *reporter) addLog(ctx context.Context, pod *corev1.Pod, container string, previous bool) {
	file := fmt.Sprintf("logs/%s/%s/%s", pod.Namespace, pod.Name, container)
	if previous {
		file += ".previous"
	}
	file += ".log"
	if r.asked[file] {
		return
	}
	r.asked[file] = true
	text, err := r.core().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true,
		LimitBytes: new(int64(maxLog)), TailLines: new(int64(maxLog / 200)),
	}).DoRaw(ctx)
	if err != nil {
		r.lack(file, err)
		return
	}
	r.raw[file] = string(text)
}

// redacted learns all secrets before it redacts a file, because any file may contain any secret.
func (r *reporter) redacted() (files map[string]string, count int) {
	red := &redact.Redactor{}
	for i := range r.secrets {
		red.LearnSecret(&r.secrets[i])
	}
	for _, o := range r.objects {
		red.Object(o)
	}
	files = map[string]string{}
	for name, text := range r.raw {
		files[name] = red.Text(text)
	}
	for _, o := range r.objects {
		metadata, _ := o["metadata"].(map[string]any)
		text, err := yaml.Marshal(o)
		if err != nil {
			r.lack(fmt.Sprint(metadata["name"]), err)
			continue
		}
		name := fmt.Sprintf("objects/%v/%v/%v.yaml", metadata["namespace"], o["kind"], metadata["name"])
		files[name] = red.Text(string(text))
	}
	files["about.txt"] = red.Text(r.about())
	return files, red.Count
}

func (r *reporter) about() string {
	text := fmt.Sprintf("kubectl-dojo %s, %s\nDojo %s/%s\nAPI server %s\n", r.Version, r.Now().UTC().Format(time.RFC3339),
		r.world.Dojo.Namespace, r.world.Dojo.Name, r.Server)
	if len(r.missing) > 0 {
		text += "\nNot in this report:\n  " + strings.Join(r.missing, "\n  ") + "\n"
	}
	return text
}
