// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const maxLogged = 1024

// LogChange logs a changed reason of Ready. Call it after storing the conditions.
func LogChange(ctx context.Context, kind string, before, after []metav1.Condition) {
	was, is := reasonOf(before), meta.FindStatusCondition(after, TypeReady)
	if is == nil || is.Reason == was {
		return
	}
	message := is.Message
	if len(message) > maxLogged {
		message = strings.ToValidUTF8(message[:maxLogged-3], "") + "..."
	}
	logf.FromContext(ctx).Info("conditions changed", "kind", kind, "from", was, "to", is.Reason,
		"ready", is.Status, "message", message)
}

func reasonOf(conds []metav1.Condition) string {
	if ready := meta.FindStatusCondition(conds, TypeReady); ready != nil {
		return ready.Reason
	}
	return ""
}
