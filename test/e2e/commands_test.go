// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/project"
)

var (
	commands = regexp.MustCompile("(?s)```sh\n(.*?)```")
	nameOf   = regexp.MustCompile(`\bNAME\b`) // matches the word NAME, but not DBNAME
)

// runDocumented runs the commands in a section of a page of docs/do, with dojo instead of NAME.
// values are pairs of a text in the commands and its replacement.
func (w *world) runDocumented(ctx context.Context, page, section, dojo string, values ...string) string {
	GinkgoHelper()
	var script strings.Builder
	for _, block := range commands.FindAllStringSubmatch(task(page, section), -1) {
		script.WriteString(block[1])
	}
	Expect(script.String()).NotTo(BeEmpty(), "commands of the section %q of %s", section, page)
	text := nameOf.ReplaceAllString(script.String(), dojo)
	for pair := range slices.Chunk(values, 2) {
		Expect(text).To(ContainSubstring(pair[0]))
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	step("docs/do/%s, %s\n%s", page, section, text)
	shell := exec.CommandContext(ctx, "sh", "-euc", text)
	shell.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig(), programPath(ctx))
	output, err := shell.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	progress("%s", output)
	return string(output)
}

// task returns the text below a title in a page of docs/do, up to the next section. The title
// belongs to the page or to a section.
func task(page, section string) string {
	GinkgoHelper()
	path, err := project.Path("docs", "do", page)
	Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	_, after, found := strings.Cut("\n#"+string(text), "\n## "+section+"\n")
	Expect(found).To(BeTrue(), "section %q", section)
	within, _, _ := strings.Cut(after, "\n## ")
	return within
}

func (w *world) kubeconfig() string {
	GinkgoHelper()
	c, err := clientcmd.LoadFromFile(kubeconfigPath)
	Expect(err).NotTo(HaveOccurred())
	c.Contexts[c.CurrentContext].Namespace = w.namespace
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*c, path)).To(Succeed())
	return path
}

func programPath(ctx context.Context) string {
	return "PATH=" + strings.Join([]string{installed.Plugins, kubectlFolder(ctx), os.Getenv("PATH")}, ":")
}

func kubectlFolder(ctx context.Context) string {
	GinkgoHelper()
	paths, err := binaries.Locate(ctx, nil, binaries.Kubectl)
	Expect(err).NotTo(HaveOccurred())
	return filepath.Dir(paths[binaries.Kubectl])
}
