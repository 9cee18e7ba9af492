// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type message struct {
	Content string
	Embeds  []struct{ Title, Description string }
}

func titles(ctx context.Context, channelID string) (all []string, err error) {
	messages, err := messages(ctx, channelID)
	return titlesOf(messages), err
}

func messages(ctx context.Context, channelID string) (all []message, err error) {
	err = askDiscord(ctx, "/channels/"+channelID+"/messages", &all)
	return all, err
}

func titlesOf(messages []message) (all []string) {
	for _, m := range messages {
		for _, e := range m.Embeds {
			all = append(all, e.Title)
		}
	}
	return all
}

type discordChannel struct {
	Name            string
	SlowmodeSeconds int `json:"rate_limit_per_user"`
}

func channelsOnDiscord(ctx context.Context, guild string) (channels []discordChannel, err error) {
	err = askDiscord(ctx, "/guilds/"+guild+"/channels", &channels)
	return channels, err
}

func askDiscord(ctx context.Context, path string, into any) error {
	address, stop, err := forward(ctx, DiscordNamespace, DiscordPort)
	if err != nil {
		return err
	}
	defer stop()
	return askAs(ctx, installed.Hand, "http://"+address, path, into)
}

func askAs(ctx context.Context, token, page, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page+"/api/v10"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bot "+token)
	request.Header.Set("User-Agent", "DiscordBot (jutsu.com/operators/test/e2e, 1)")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("discord: GET %s: %s: %s", path, response.Status, body)
	}
	return json.Unmarshal(body, into)
}

func forward(ctx context.Context, namespace string, port int) (address string, stop func(), err error) {
	var pods corev1.PodList
	if err := k8s.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return "", nil, err
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			return forwardPod(&pods.Items[i], port)
		}
	}
	return "", nil, fmt.Errorf("no pod runs in %s", namespace)
}

func forwardPod(pod *corev1.Pod, port int) (address string, stop func(), err error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", nil, err
	}
	url := typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).
		SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	end, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf("0:%d", port)}, end, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return "", nil, errors.Join(fmt.Errorf("forward a port of pod %s", pod.Name), err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		close(end)
		return "", nil, err
	}
	return fmt.Sprintf("localhost:%d", ports[0].Local), func() { close(end) }, nil
}

func (w *world) joinDiscord(ctx context.Context, guild string) {
	w.apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: discord-bot}
stringData: {token: %q}
---
apiVersion: discord.jutsu.com/v1alpha1
kind: DiscordServer
metadata: {name: jujutsu}
spec: {tokenSecretRef: {name: discord-bot}, serverId: %q}
---
apiVersion: discord.jutsu.com/v1alpha1
kind: DiscordGroup
metadata: {name: alerts}
spec: {serverRef: {name: jujutsu}, name: Alerts}
`, installed.Bot, guild))
}
