// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/internal/kubectl"
	"jutsu.com/operators/test/testcluster"
)

var replacesToken = regexp.MustCompile(`(?s)\n\$ (kubectl create secret generic discord-bot .*?)\n\$`)

// The documented command keeps the annotation with the token's servers, and the Secret's other
// keys.
func TestReplacedTokenKeepsItsServers(t *testing.T) {
	g := NewWithT(t)
	cluster, admin := start(t, testcluster.Options{})
	kubectl.OnPath(t)
	t.Setenv("KUBECONFIG", cluster.Kubeconfig())
	run := func(command, input string) {
		shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
		shell.Stdin = strings.NewReader(input)
		out, err := shell.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	}
	run("kubectl apply --server-side -f -", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "discord-bot",
		"namespace": "default", "annotations": {"`+v1alpha1.AllowedServersAnnotation+`": "1"}},
		"stringData": {"token": "leaked", "other": "kept"}}`)
	file := filepath.Join(t.TempDir(), "token")
	g.Expect(os.WriteFile(file, []byte("new"), 0o600)).To(Succeed())

	command := replacesToken.FindStringSubmatch(text(t, "docs/troubleshooting.md"))
	g.Expect(command).To(HaveLen(2))
	run(strings.NewReplacer("FILE", file, "NAMESPACE", "default").Replace(command[1]), "")
	var secret corev1.Secret
	g.Expect(admin.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "discord-bot"}, &secret)).To(Succeed())
	g.Expect(secret.Annotations).To(HaveKeyWithValue(v1alpha1.AllowedServersAnnotation, "1"))
	g.Expect(secret.Data).To(Equal(map[string][]byte{"token": []byte("new"), "other": []byte("kept")}))
}
