// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestReaderFollowsAGrowingLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	stop, event := errors.New("enough"), `{"kind":"Event","apiVersion":"audit.k8s.io/v1",`
	for _, step := range []struct {
		write string
		stop  string
		want  []string
	}{
		{write: ""},
		{write: "one\ntwo\nthr", want: []string{"one\n", "two\n"}},
		{write: ""},
		{write: "ee\n", want: []string{"three\n"}},
		{write: "\nfour\nfive\n", stop: "four\n", want: []string{"\n", "four\n"}},
		{write: "six", want: []string{"five\n"}},
		{write: "\n", want: []string{"six\n"}},
		{write: event + `"level":"Meta` + event + `"verb":"get"}` + "\n", want: []string{event + `"verb":"get"}` + "\n"}},
		{write: `{"kind":"Ev`},
		{write: event + `"verb":"list"}` + "\n", want: []string{event + `"verb":"list"}` + "\n"}},
	} {
		if _, err := file.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := log.Each(func(line []byte) error {
			got = append(got, string(line))
			if string(line) == step.stop {
				return stop
			}
			return nil
		})
		if errors.Is(err, stop) != (step.stop != "") {
			t.Errorf("after %q: %v", step.write, err)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("after %q: %q, want %q", step.write, got, step.want)
		}
	}
}

func TestOpenRefusesAMissingLog(t *testing.T) {
	t.Parallel()
	if _, err := Open(filepath.Join(t.TempDir(), "audit.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
