// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func BenchmarkViewOf500Channels(b *testing.B) {
	st, _ := newTestStore(b)
	guild := func(id int) []byte {
		var channels []string
		for i := range 500 {
			channels = append(channels, fmt.Sprintf(`{"id":"17592884729%08d","type":0,"name":"channel-%03d","position":%[2]d,"topic":"the topic of a channel, as long as topics are",`+
				`"permission_overwrites":[{"id":"%[3]d","type":0,"allow":"0","deny":"1024"},{"id":"175928847299117063","type":1,"allow":"1024","deny":"0"}]}`, id*1000+i, i, id))
		}
		return fmt.Appendf(nil, `{"id":"%d","name":"Jujutsu High","channels":[%s]}`, id, strings.Join(channels, ","))
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	st.Dispatch("GUILD_CREATE", guild(1), false) // warms up the decoders
	event := guild(2)
	before := heap()
	st.Dispatch("GUILD_CREATE", event, false)
	after := heap()
	runtime.KeepAlive(event)
	view, _ := st.Want("2")
	channels := view.Snapshot().Channels()
	if len(channels) != 500 || view.Snapshot().Mode != ModeLive {
		b.Fatalf("%d channels, %q", len(channels), view.Snapshot().Mode)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok := view.Snapshot().Channel(channels[i%500].ID); !ok {
			b.Fatal("not found")
		}
		i++
	}
	b.ReportMetric(float64(after-before)/1024, "KiB/view")
}
