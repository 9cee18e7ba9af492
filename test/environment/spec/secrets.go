// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"jutsu.com/operators/test/environment"
)

// Secrets are texts, such as passwords, that may appear only in Secret objects.
type Secrets struct{ environment.Secrets }

// ExpectNotIn expects that a text contains no secret.
func (s *Secrets) ExpectNotIn(text string) {
	ginkgo.GinkgoHelper()
	_, found := s.In(text)
	gomega.Expect(found).To(gomega.BeFalse(), "a secret is revealed")
}

// ExpectNotLogged expects that the operator's log contains no secret.
func (s *Secrets) ExpectNotLogged(o *Operator) {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(o.LogFile())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	s.ExpectNotIn(string(text))
}
