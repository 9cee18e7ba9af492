package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster/cnpgtest"
)

// postgresSample is the sample with a database of its own.
const postgresSample = "deploy/samples/dojo-postgres.yaml"

// standInNote has to be in what is printed: nobody may take the stand-in for the real thing.
const standInNote = "STAND-IN: no containers run here, so CloudNativePG is played (libs/testcluster/cnpgtest). Its kinds are real, Postgres is not."

// playCloudNativePG plays CloudNativePG, whose kinds the cluster has.
func playCloudNativePG(ctx context.Context, config *rest.Config) (*cnpgtest.StandIn, error) {
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, err
	}
	return cnpgtest.Start(ctx, config, cnpgtest.Options{Sessions: func(ctx context.Context, namespace, database string) int {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "dojo"}); err != nil {
			return 1
		}
		sessions := 0
		for _, pod := range pods.Items {
			dojo := strings.ReplaceAll(pod.Labels["app.kubernetes.io/instance"], "-", "_")
			if strings.HasSuffix(database, "_"+dojo) {
				sessions++
			}
		}
		return sessions
	}})
}

// manifest is a sample without its comments, as somebody would write it.
func manifest(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the sample: %w", err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ""), nil
}
