package operatortest

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Secrets are words that must show up nowhere but in Secrets. The zero value is empty and ready for use, by several goroutines too.
type Secrets struct {
	mutex sync.Mutex
	words []string
}

// Add adds a word and returns it.
func (s *Secrets) Add(word string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.words = append(s.words, word)
	return word
}

// ExpectNotIn looks for every word in a text, in the forms in which Go and JSON write it.
func (s *Secrets) ExpectNotIn(text string) {
	ginkgo.GinkgoHelper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, word := range s.words {
		for _, form := range []string{word, base64.StdEncoding.EncodeToString([]byte(word)), fmt.Sprintf("%d", []byte(word))} {
			gomega.Expect(strings.Contains(text, form)).To(gomega.BeFalse(), "a secret is told")
		}
	}
}

// ExpectNotLogged looks for every word in the operator's log.
func (s *Secrets) ExpectNotLogged(o *Operator) {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(o.LogFile())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	s.ExpectNotIn(string(text))
}
