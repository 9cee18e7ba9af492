// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/testcluster/project"
)

// For the files below out/e2e, see docs/contribute/e2e.md.
var _ = JustAfterEach(func(ctx SpecContext) {
	if report := CurrentSpecReport(); report.Failed() {
		reportEvidence(ctx, report.LeafNodeText)
	}
}, NodeTimeout(soon))

func reportEvidence(ctx context.Context, name string) {
	folder, err := project.Path("out", "e2e", fileName(name))
	if err == nil {
		err = errors.Join(os.RemoveAll(folder), keepEvidence(ctx, folder))
	}
	progress("what is known about the failure is in %s", folder)
	if err != nil {
		progress("not all of it could be kept: %v", err)
	}
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

func fileName(text string) string {
	name := strings.Trim(unfit.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return name[:min(len(name), 80)]
}

// keepEvidence continues after errors, because the cause of the failed spec may cause errors here.
func keepEvidence(ctx context.Context, folder string) error {
	errs := []error{keepObjects(ctx, folder), keepLogs(ctx, folder), keepDiscord(ctx, folder)}
	if ownCluster != nil {
		errs = append(errs, ownCluster.KeepLogs(filepath.Join(folder, "cluster")))
	}
	return errors.Join(errs...)
}

func keepObjects(ctx context.Context, folder string) error {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	kinds, err := discovery.ServerPreferredResources(typed.Discovery())
	errs := []error{err}
	for _, group := range kinds {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return err
		}
		for _, kind := range group.APIResources {
			if kind.Kind == "Secret" || !strings.Contains(strings.Join(kind.Verbs, " "), "list") {
				continue
			}
			list, err := objects.Resource(version.WithResource(kind.Name)).List(ctx, metav1.ListOptions{})
			if err == nil {
				err = keepList(folder, kind.Name+"."+version.Group, list)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func keepList(folder, name string, list *unstructured.UnstructuredList) error {
	if len(list.Items) == 0 {
		return nil
	}
	for i := range list.Items {
		list.Items[i].SetManagedFields(nil)
	}
	return keepValue(folder, "objects/"+strings.Trim(name, ".")+".yaml", list.Items)
}

func keepLogs(ctx context.Context, folder string) error {
	pods, err := typed.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, pod := range pods.Items {
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for suffix, previous := range map[string]bool{"": false, ".previous": true} {
				text, err := typed.CoreV1().Pods(pod.Namespace).
					GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name, Previous: previous}).DoRaw(ctx)
				if err != nil {
					continue // the container has no such log
				}
				errs = append(errs, keep(folder, filepath.Join("logs", pod.Namespace, pod.Name+"."+container.Name+suffix+".log"),
					text))
			}
		}
	}
	return errors.Join(errs...)
}

func keepDiscord(ctx context.Context, folder string) error {
	if installed == nil {
		return nil
	}
	var errs []error
	for _, guild := range []string{FirstUsersGuild, TenLinesGuild, StandingGuild, TenantsGuild} {
		errs = append(errs, keepGuild(ctx, folder, guild))
	}
	return errors.Join(errs...)
}

func keepGuild(ctx context.Context, folder, guild string) error {
	var channels []map[string]any
	if err := askDiscord(ctx, "/guilds/"+guild+"/channels", &channels); err != nil {
		return err
	}
	for _, channel := range channels {
		var messages json.RawMessage
		// The request fails for a category, which has no messages.
		if id, _ := channel["id"].(string); askDiscord(ctx, "/channels/"+id+"/messages", &messages) == nil {
			channel["messages"] = messages
		}
	}
	return keepValue(folder, "discord/"+guild+".yaml", channels)
}

func keepValue(folder, name string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	return keep(folder, name, text)
}

func keep(folder, name string, text []byte) error {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
