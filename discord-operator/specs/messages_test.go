// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func causes(err error) (all []string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			all = append(all, cause.Field+": "+cause.Message)
		}
	}
	return all
}

var _ = DescribeTable("An invalid value is refused with one message, a sentence that says what to write",
	func(ctx context.Context, kind, change, message string) {
		Expect(causes(submit(ctx, object(kind, change)))).To(ConsistOf(message))
	},
	Entry("a duration in words", "DiscordChannel", `{slowmode: soon}`,
		`spec.slowmode: Invalid value: "soon": must be a duration in whole seconds, such as 30s or 1h30m`),
	Entry("a duration with a fraction", "DiscordChannel", `{slowmode: 1.5h}`,
		`spec.slowmode: Invalid value: "1.5h": must be a duration in whole seconds, such as 30s or 1h30m`),
	Entry("an empty duration", "DiscordChannel", `{slowmode: ""}`,
		`spec.slowmode: Invalid value: "": must be a duration in whole seconds, such as 30s or 1h30m`),
	Entry("too long a duration", "DiscordChannel", `{type: Forum, forum: {threadSlowmode: 7h}}`,
		`spec.forum.threadSlowmode: Invalid value: "7h": must be at most 6h`),
	Entry("an invalid id of a server", "DiscordServer", `{serverId: jujutsu}`,
		`spec.serverId: Invalid value: "jujutsu": must be the id of a Discord server: 6 to 20 digits, in quotes`),
	Entry("an invalid id of a channel", "DiscordChannel", `{adopt: {id: alerts}}`,
		`spec.adopt.id: Invalid value: "alerts": must be a Discord id: 6 to 20 digits, in quotes`),
	Entry("an invalid name of a Secret", "DiscordChannel", `{webhook: {name: a, secretName: a..b}}`,
		`spec.webhook.secretName: Invalid value: "a..b": must be the name of a Secret: lower case letters, digits, `+
			`'-' and '.', with a letter or digit at both ends and beside every '.'`),
	Entry("an invalid name of a namespace", "DiscordGroup", `{serverRef: {name: a, namespace: "Team A"}}`,
		`spec.serverRef.namespace: Invalid value: "Team A": must be the name of a namespace: lower case letters, `+
			`digits and '-', starting and ending with a letter or digit`),
)
