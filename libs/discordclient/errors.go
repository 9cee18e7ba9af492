// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// Class is what an error means to the caller: what it should do about it.
type Class string

const (
	// ClassNone is the class of nil.
	ClassNone Class = ""
	// ClassGone means: the guild, channel, webhook, role or overwrite does not exist (any more). A
	// delete has succeeded. An unknown guild (code 10004) also means that the bot is not a member
	// of it; Discord has been seen to say so of guilds that were well, so check twice before acting
	// on it.
	ClassGone Class = "gone"
	// ClassDenied means: the bot is not allowed to. An administrator must change its permissions;
	// until then every further try counts towards Discord's limit of refused requests.
	ClassDenied Class = "denied"
	// ClassBadToken means: the token is refused. Every later call of this Client answers so without
	// asking Discord.
	ClassBadToken Class = "bad-token"
	// ClassInvalid means: the request is wrong in itself; the same request will be refused again.
	ClassInvalid Class = "invalid"
	// ClassLimit means: a limit of Discord is reached (500 channels, 50 children of a category, 250
	// roles, 15 webhooks), or the request conflicts with what is there. It may succeed when room was made.
	ClassLimit Class = "limit-reached"
	// ClassRateLimited means: too many calls; the error is a *[RateLimited] that says how long to
	// wait.
	ClassRateLimited Class = "rate-limited"
	// ClassTransient means: the call had no effect and may succeed later.
	ClassTransient Class = "transient"
	// ClassUnknown means: the call may or may not have had its effect: the connection broke or the
	// server failed while it was under way. Edits and deletes may be repeated. A create may NOT:
	// look first, see package recovery.
	ClassUnknown Class = "outcome-unknown"
)

// RateLimited says that a call was not carried out, and how long to wait before making it again. It
// is returned at once: nothing in this package waits.
type RateLimited struct {
	Op    string        // what was being done, such as "create channel"
	After time.Duration // how long to wait, more than 0
	// Scope is what is limited: user (this bot, in this bucket), shared (everybody, this resource),
	// global (this bot, all calls), tenant (half of those, see [WithTenant]), hidden (no header
	// announces it: name and topic), unknown (the first call of a route is under way), blocked
	// (refused by what is in front of Discord, or too many refusals).
	Scope string
	// Local is true when the call was not sent, because it was known that it would be refused.
	Local bool
	// Refusals says that too many calls were refused that count together with this one, see
	// [InvalidRequests].
	Refusals bool
}

// Queued reports whether the caller has a place in the call queue, see [WithCaller]: it waits for
// [Options].GlobalPerSecond, or for its tenant's share of that.
func (e *RateLimited) Queued() bool {
	return e.Local && (e.Scope == ratelimit.ScopeGlobal || e.ExceedsShare())
}

// ExceedsShare reports whether the tenant has used up its share of [Options].GlobalPerSecond, see
// [WithTenant].
func (e *RateLimited) ExceedsShare() bool { return e.Scope == ratelimit.ScopeTenant }

// Error names the call, the scope and the wait.
func (e *RateLimited) Error() string {
	return fmt.Sprintf("%s: rate limited (%s) for another %s", e.Op, e.Scope, e.After.Round(time.Millisecond))
}

// Field is one complaint of Discord about a request.
type Field struct {
	Path    string // such as "permission_overwrites[0].allow"; empty for the request as a whole
	Code    string // such as "BASE_TYPE_BAD_LENGTH"
	Message string
}

// Error is every failure of a call but a rate limit. It never contains a token or a webhook's URL.
type Error struct {
	Class   Class
	Op      string  // what was being done, such as "create channel"
	Status  int     // HTTP status, 0 when there was no answer
	Code    int     // Discord's own error code, 0 for none
	Message string  // Discord's message, or what happened instead of an answer
	Fields  []Field // the fields that Discord complains about, in the order of their paths
	unsent  bool    // it was never sent
	cause   error   // context.Canceled, context.DeadlineExceeded or Guard's, nothing that could hold a secret
}

// Error says what was being done, what is wrong and where.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Op, e.Class)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for i, f := range e.Fields {
		b.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0])
		if f.Path != "" {
			b.WriteString(f.Path + ": ")
		}
		b.WriteString(f.Message)
		if f.Code != "" {
			b.WriteString(" [" + f.Code + "]")
		}
	}
	switch {
	case e.Code != 0:
		fmt.Fprintf(&b, " (HTTP %d, code %d)", e.Status, e.Code)
	case e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	return b.String()
}

// Unwrap returns context.Canceled or context.DeadlineExceeded when the call ended with its context
// or by a timeout, this package's own or the dialler's, and the error of [Options].Guard when that
// has refused the call; otherwise nil.
func (e *Error) Unwrap() error { return e.cause }

// ClassOf returns the class of an error of this package, whatever wraps it; ClassTransient for
// errors of others.
func ClassOf(err error) Class {
	if err == nil {
		return ClassNone
	}
	if _, ok := errors.AsType[*RateLimited](err); ok {
		return ClassRateLimited
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ClassTransient
}

// CodeOf returns Discord's own error code out of an error, 0 for none.
func CodeOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return 0
}

// Codes that discordgo does not have. Source:
// https://discord.com/developers/docs/topics/opcodes-and-status-codes.
const (
	codeAntiAbuse             = 10008
	codeMaxGuildWebhooks      = 30058
	codeMaxOverwrites         = 30060
	codeTooManyGuildChannels  = 30061 // documented as a limit of the same family
	fieldCodeMaxChannelParent = "CHANNEL_PARENT_MAX_CHANNELS"
)

// classifyForeign decides the class of an answer without an error body of Discord: of a proxy on
// the way, or cut off. It says nothing about the token, and of a cut answer not whether what was
// asked for is gone.
func classifyForeign(status int, cut, mutating bool) Class {
	switch {
	case status == 401, cut && !mutating:
		return ClassTransient
	case cut:
		return ClassUnknown
	}
	return classify(status, 0, nil, mutating)
}

// classify decides the class of an HTTP answer that is not a success. mutating is true for
// everything but GET.
func classify(status, code int, fields []Field, mutating bool) Class {
	switch code {
	case discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodeUnknownOverwrite,
		discordgo.ErrCodeUnknownRole, discordgo.ErrCodeUnknownUser, discordgo.ErrCodeUnknownWebhook,
		discordgo.ErrCodeInvalidWebhookTokenProvided:
		return ClassGone
	case discordgo.ErrCodeMaximumNumberOfWebhooksReached, discordgo.ErrCodeMaximumNumberOfGuildChannelsReached,
		discordgo.ErrCodeMaximumGuildRolesReached, codeMaxGuildWebhooks, codeMaxOverwrites, codeTooManyGuildChannels:
		return ClassLimit
	case codeAntiAbuse, discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeMissingAccess:
		return ClassDenied // compatible servers send the latter with 400
	case discordgo.ErrCodeAPIResourceIsCurrentlyOverloaded, discordgo.ErrCodeFeatureTemporarilyDisabledServerSide:
		if mutating && status >= 500 {
			return ClassUnknown // the server may have failed halfway; only a 4xx is certain not to have begun
		}
		return ClassTransient
	}
	for _, f := range fields {
		if f.Code == fieldCodeMaxChannelParent {
			return ClassLimit
		}
	}
	switch {
	case status == 401:
		return ClassBadToken
	case status == 403:
		return ClassDenied
	case status == 404 && code != 0: // without a code there is no such route
		return ClassGone
	case status == 409:
		return ClassLimit
	case status >= 500 && mutating:
		return ClassUnknown // also 502: Discord says it means "not executed", a proxy in between may not
	case status >= 500 || status == 408:
		return ClassTransient
	default:
		return ClassInvalid // 4xx, and 3xx: redirects are not followed
	}
}

// contextCause keeps of an error only that its context ended.
func contextCause(err error) error {
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return nil
}

// IsHidden reports whether an error says that something is there and the bot may not view it: Discord
// answers so for a hidden channel, and never for one that was deleted.
func IsHidden(err error) bool {
	return ClassOf(err) == ClassDenied && CodeOf(err) == discordgo.ErrCodeMissingAccess
}
