// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestRestorable(t *testing.T) {
	t.Parallel()
	for method, want := range map[string][]string{
		"volumeSnapshot": {"before"}, "plugin": {"before", "archived"},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := &StandIn{
				tables: map[types.UID]map[string]*table{}, dropped: map[types.UID]map[string]*table{},
				copies: map[types.UID]copied{},
			}
			cluster := object("Cluster", "pg", nil)
			cluster.SetUID("cluster")
			g.Expect(unstructured.SetNestedField(cluster.Object, int64(15), "status", "pgDataImageInfo", "majorVersion")).
				To(Succeed())
			backup := object("Backup", "b", map[string]any{"method": method})
			backup.SetUID("backup")
			s.createDatabase("cluster", "app")
			add := func(text string, major int64) {
				s.tables["cluster"]["app"].rows = append(s.tables["cluster"]["app"].rows, row{text, major})
			}
			add("before", 15)
			s.copyRows(backup, cluster)
			add("archived", 15)
			s.archive("cluster")
			add("in memory", 15)
			g.Expect(s.Restorable("backup", "app")).To(Equal(want))
			add("upgraded", 17)
			s.dropDatabase("cluster", "app")
			g.Expect(s.Rows("cluster", "app")).To(BeEmpty())
			g.Expect(s.Restorable("backup", "app")).To(Equal(want), "the Backup should outlive the database")
		})
	}
}
